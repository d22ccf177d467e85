"""Faults and hostile input where the course is built and where its small models are used."""

from __future__ import annotations

import json
import math
import multiprocessing
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
import safetensors.torch
import torch

from experiments import names as names_command
from polyhead.checkpoint import load
from polyhead_course.models.names import NameWriter
from polyhead_course.models.names.model import CHECKPOINT as NAMES
from polyhead_course.models.translation import Translator, translate
from polyhead_course.models.translation.translator import CHECKPOINT as TRANSLATOR
from polyhead_course.workshop import publish
from polyhead_course.workshop.publish import publish as publish_site
from tests.faults import full_disk

# ---- the site's copy

FILES = 40
_FORK = multiprocessing.get_context("fork")


def lay_out(folder: Path, text: str) -> None:
    (folder / "ko").mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        (folder / "ko" / f"{number}.html").write_text(text)


def read(site: Path) -> list[str]:
    return [path.read_text() for path in site.rglob("*.html")]


def test_killed_at_random_moments_the_site_is_whole_and_the_next_copy_leaves_nothing_else(
    tmp_path: Path,
) -> None:
    built, site = tmp_path / "built", tmp_path / "html"
    lay_out(built, "0")
    began = time.perf_counter()
    publish_site(built, [], site)
    took, moments = time.perf_counter() - began, random.Random(27)
    last = "0"
    for number in range(1, 7):
        lay_out(built, str(number))
        process = _FORK.Process(target=publish_site, args=(built, [], site))
        process.start()
        process.join(moments.uniform(0, 1.5 * took))
        process.kill()
        process.join()
        shown = read(site)
        assert len(shown) == FILES
        assert len({*shown}) == 1
        assert shown[0] in (last, str(number)), "neither the site of before nor the new one"
        last = shown[0]
    publish_site(built, [], site)
    assert {*read(site)} == {"6"}
    assert {path.name for path in tmp_path.iterdir()} == {"built", "html"}


def die_at_line(number: int, built: Path, site: Path) -> None:
    """Publish, but end without a word before so many lines of the program."""
    left = number

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != publish.__file__:
            return None
        left -= event == "line"
        if not left:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)
    publish_site(built, [], site)


def test_killed_before_any_line_of_its_program_the_site_is_whole(tmp_path: Path) -> None:
    built, site = tmp_path / "built", tmp_path / "html"
    lay_out(built, "0")
    publish_site(built, [], site)
    killed = 0
    for number in range(1, 40):
        lay_out(built, str(number))
        process = _FORK.Process(target=die_at_line, args=(number, built, site))
        process.start()
        process.join()
        shown = read(site)
        assert (len(shown), len({*shown})) == (FILES, 1), f"killed at line {number}"
        if process.exitcode == 0:
            break
        killed += 1
    assert killed >= 10
    assert {*read(site)} == {str(number)}
    assert {path.name for path in tmp_path.iterdir()} == {"built", "html"}


@pytest.mark.parametrize("atomic", [True, False])
def test_a_full_disk_leaves_the_last_site_and_gives_back_what_it_took(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, atomic: bool
) -> None:
    if not atomic:  # as on a disk without the system call
        monkeypatch.setattr(publish, "exchange", lambda *_: False)
    built, site = tmp_path / "built", tmp_path / "html"
    built.mkdir()
    (built / "index.html").write_text("good")
    publish_site(built, [], site)
    (built / "index.html").write_text("b" * 5000)
    with full_disk(1000), pytest.raises(OSError, match="too large"):
        publish_site(built, [], site)
    assert read(site) == ["good"]
    assert {path.name for path in tmp_path.iterdir()} == {"built", "html"}
    publish_site(built, [], site)
    assert read(site) == ["b" * 5000]


# ---- the translator and the writer of names

MEGABYTE = 2**20
TEXTS = {
    "a megabyte": "a" * MEGABYTE,
    "a megabyte of digits": "1" * MEGABYTE,
    "NUL": "Nov 20,\0 2026",
    "emoji": "🙂 Nov 20, 2026",
    "right to left": "\u202eNov 20, 2026\u202c",
    "Arabic": "٢٠ نوفمبر ٢٠٢٦",
    "half of a pair": "\ud83d Nov 20, 2026",
    "an end": "</s>",
}


@pytest.fixture(scope="module")
def writer() -> NameWriter:
    return NameWriter()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", TEXTS)
def test_hostile_texts_are_refused_in_a_short_line(writer: NameWriter, name: str) -> None:
    text = TEXTS[name]
    calls: list[Callable[[], object]] = [
        lambda: translate(text, "ko"),
        lambda: translate("Nov 20, 2026", text),  # type: ignore[arg-type]
        lambda: writer.perplexity("en", ["Rome", text]),
        lambda: writer.perplexity(text, ["Rome"]),
        lambda: writer.write(text),
    ]
    for call in calls:
        with pytest.raises(ValueError) as caught:
            call()
        assert len(str(caught.value)) < 300


def test_a_megabyte_of_spaces_around_a_date_is_its_translation() -> None:
    spaces = " " * MEGABYTE
    assert translate(f"{spaces}Nov{spaces}20, 2026{spaces}", "ko").text == "2026. 11. 20."


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("temperature", value) for value in (math.nan, math.inf, -math.inf, 0, -1.0)),
        *(("top_p", value) for value in (math.nan, 0.0, 1.5)),
        *((name, value) for name in ("top_k", "count") for value in (0, -5)),
    ],
)
def test_hostile_numbers_are_refused_by_their_name(writer: NameWriter, option: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{option} must be .* got (int|float) {value}"):
        writer.write("en", **{option: value})  # type: ignore[arg-type]


def test_numbers_that_no_machine_holds_are_only_large(writer: NameWriter) -> None:
    def first(**options: float) -> list[str]:
        return writer.write("en", generator=torch.Generator().manual_seed(5), **options)  # type: ignore[arg-type]

    assert first(top_k=10**30) == first()
    assert first(temperature=1e-300) == first(top_k=1)


@pytest.mark.parametrize("seed", [2**64, 10**20, -(2**63) - 1, -(10**30)])
def test_a_seed_that_overflows_is_refused_in_one_line(capsys: pytest.CaptureFixture[str], seed: int) -> None:
    with pytest.raises(SystemExit) as caught:
        names_command.main(["write", "--language=ko", f"--seed={seed}"])
    assert caught.value.code == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith(f"argument --seed: must be from -2**63 to 2**64 - 1, got {seed}")


def test_a_checkpoint_of_another_model_is_refused_by_its_name(tmp_path: Path) -> None:
    weights, facts = load(NAMES)
    with pytest.raises(ValueError, match=r"checkpoint of polyhead_course.models.names, got .*translator"):
        NameWriter(TRANSLATOR)
    with pytest.raises(ValueError, match=r"checkpoint of polyhead_course.models.translation, got .*names"):
        Translator.load(NAMES)
    # The right facts beside weights that are not theirs.
    words = {"facts": json.dumps({**facts, "characters": "ab"}), "shared": "{}"}
    safetensors.torch.save_file(weights, tmp_path / "small.safetensors", words)
    with pytest.raises(RuntimeError, match=r"size mismatch for embedding.tokens.weight"):
        NameWriter(tmp_path / "small.safetensors")
