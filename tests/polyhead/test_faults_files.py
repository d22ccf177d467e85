"""Hostile, broken and half-written files: nothing runs, nothing outside is read, the error says why."""

from __future__ import annotations

import json
import os
import pickle
import resource
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from polyhead.pretrained import read_gguf
from polyhead.training import load, save
from tests.faults import full_disk
from tests.polyhead.test_gguf import MERGES, theirs, write
from tests.polyhead.training_run import run

WORDS = {"facts": "{}", "shared": "{}"}


def entry(start: int, end: int, shape: list[int] | None = None, dtype: object = "F32") -> dict[str, Any]:
    return {"dtype": dtype, "shape": shape or [2], "data_offsets": [start, end]}


def safetensors(header: object, size: int = 8, length: int | None = None) -> bytes:
    """A file of this header and as many zeros, whose first bytes tell another length of it."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + bytes(size)


def of_one(**fields: Any) -> bytes:
    return safetensors({"__metadata__": WORDS, "a": entry(0, 8) | fields})


def with_words(**words: str) -> bytes:
    return safetensors({"__metadata__": WORDS | words}, size=0)


class Intruder:
    """What a pickle calls where somebody loads it."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[[str], int], tuple[str]]:
        return os.system, (f"touch '{self.mark}'",)


HOSTILE = {
    "a header of 2^63 bytes": safetensors(b"{}", length=2**63),
    "a header of 2^64 - 1 bytes": safetensors(b"{}", length=2**64 - 1),
    "a header that is longer than the file": safetensors(b"{}", length=99),
    "a header that is no object": safetensors(b"[]"),
    "a header that is no UTF-8": safetensors(b'{"\xff": 1}'),
    "a deep header": safetensors(b'{"a":' * 100_000),
    "data after the file's end": of_one(data_offsets=[2, 10]),
    "data far after it": of_one(data_offsets=[2**62, 2**62 + 8]),
    "data that begin before the file": of_one(data_offsets=[-8, 0]),
    "data that end before they begin": of_one(data_offsets=[8, 0]),
    "a gap": safetensors({"__metadata__": WORDS, "a": entry(4, 12)}, size=12),
    "two tensors that overlap": safetensors(
        {"__metadata__": WORDS, "a": entry(0, 8), "b": entry(4, 12)}, size=12
    ),
    "an unknown dtype": of_one(dtype="C256"),
    "a dtype that is a number": of_one(dtype=5),
    "another dtype's size": of_one(dtype="F64"),
    "a product of sizes above 2^64": of_one(shape=[2**40, 2**40]),
    "a size above 2^63": of_one(shape=[2**63, 2]),
    "no facts": safetensors({"a": entry(0, 8)}),
    "facts that are no JSON": with_words(facts="{"),
    "facts that are a list": with_words(facts="[1]"),
    "deep facts": with_words(facts="[" * 100_000),
    "a shared tensor that is not there": with_words(shared='{"b": "a"}'),
    "shared tensors in a list": with_words(shared="[1]"),
    "a shared tensor without a name": with_words(shared='{"b": ["a"]}'),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_checkpoint_is_refused_by_its_name(tmp_path: Path, name: str) -> None:
    path = tmp_path / "hostile.safetensors"
    path.write_bytes(HOSTILE[name])
    with pytest.raises(ValueError, match=r"path must be a file that `save` wrote, got .*hostile.safetensors"):
        load(path)


def test_of_a_name_that_comes_twice_only_what_fits_the_file_is_read(tmp_path: Path) -> None:
    header = f'{{"__metadata__": {json.dumps(WORDS)}, "a": {json.dumps(entry(0, 4, [1]))}, '
    path = tmp_path / "twice.safetensors"
    path.write_bytes(safetensors(f'{header}"a": {json.dumps(entry(0, 8))}}}'.encode()))
    assert load(path).weights["a"].tolist() == [0, 0]


def test_a_renamed_pickle_is_refused_and_not_loaded(tmp_path: Path) -> None:
    mark, path = tmp_path / "mark", tmp_path / "renamed"
    pickle.loads(pickle.dumps(Intruder(mark)))  # it would do so, if it were loaded
    mark.unlink()
    path.write_bytes(pickle.dumps(Intruder(mark)))
    for read in (load, read_gguf):
        with pytest.raises(ValueError, match="renamed"):
            read(path)
    torch.save({"weight": Intruder(mark)}, path)
    for read in (load, read_gguf):
        with pytest.raises(ValueError, match="renamed"):
            read(path)
    assert not mark.exists()


# ---- GGUF


def text(value: bytes) -> bytes:
    return struct.pack("<Q", len(value)) + value


def gguf(fields: bytes = b"", count: int = 1, tensors: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, count) + fields + bytes(100)


def field(kind: int, value: bytes, name: bytes = b"a") -> bytes:
    return text(name) + struct.pack("<I", kind) + value


NUMBER, TEXT, LIST = 4, 8, 9
GGUF_HEADERS = {
    "2^63 tensors": gguf(b"", 0, tensors=2**63),
    "2^63 settings": gguf(b"", 2**63),
    "a name of 2^63 bytes": gguf(struct.pack("<Q", 2**63)),
    "a text of 2^62 bytes": gguf(field(TEXT, struct.pack("<Q", 2**62))),
    "a list of 2^62 numbers": gguf(field(LIST, struct.pack("<IQ", NUMBER, 2**62))),
    "a list of a thousand million bytes": gguf(field(LIST, struct.pack("<IQ", 0, 10**9))),
    "lists in lists": gguf(field(LIST, struct.pack("<IQ", LIST, 1) * 3000 + struct.pack("<IQ", NUMBER, 0))),
    "a setting of no type": gguf(field(77, b"")),
    "a setting that comes twice": gguf(field(NUMBER, bytes(4)) * 2, 2),
    "a name that is no UTF-8": gguf(field(NUMBER, bytes(4), name=b"\xff")),
    "a text that is no UTF-8": gguf(field(TEXT, text(b"\xff"), name=b"general.architecture")),
    "another architecture": gguf(field(NUMBER, bytes(4), name=b"general.architecture")),
    "an alignment of 0": gguf(field(NUMBER, bytes(4), name=b"general.alignment")),
    "another version": gguf(b"", 0, version=99),
    "nothing": b"",
}


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return write(tmp_path_factory.mktemp("gguf") / "good.gguf", theirs().state_dict()).read_bytes()


def packed_at(good: bytes, name: bytes, skip: int, form: str, number: int) -> bytes:
    """The file with a number written over that which stands `skip` bytes after a name."""
    changed = bytearray(good)
    struct.pack_into(form, changed, good.index(text(name)) + len(text(name)) + skip, number)
    return bytes(changed)


def setting(name: bytes, number: int) -> tuple[bytes, int, str, int]:
    return b"llama." + name, 4, "<I", number


TENSOR = (
    b"token_embd.weight"  # after its name: 4 bytes for 2 dimensions, 16 of sizes, 4 of its type, its place
)
CHANGES: dict[str, tuple[bytes, int, str, int]] = {
    "2^31 dimensions": (TENSOR, 0, "<I", 2**31),
    "a size of 2^62": (TENSOR, 4, "<Q", 2**62),
    "no such type": (TENSOR, 20, "<I", 99),
    "a place far after the end": (TENSOR, 24, "<Q", 2**62),
    "a place just after the end": (TENSOR, 24, "<Q", 2**19),
    "a place before the data": (TENSOR, 24, "<Q", 2**64 - 32),
    "no heads": setting(b"attention.head_count", 0),
    "heads that do not divide": setting(b"attention.head_count", 5),
    "2^32 - 1 heads": setting(b"attention.head_count", 2**32 - 1),
    "no heads for keys": setting(b"attention.head_count_kv", 0),
    "2^32 - 1 layers": setting(b"block_count", 2**32 - 1),
}


@pytest.mark.parametrize("name", [*GGUF_HEADERS, *CHANGES, "merges of nothing", "merges of one"])
def test_a_hostile_gguf_file_is_refused_by_its_name(tmp_path: Path, good: bytes, name: str) -> None:
    path = tmp_path / "hostile.gguf"
    first = MERGES[0].encode()
    merges = {
        "merges of nothing": good.replace(text(first), text(b"q\xc3 ")),
        "merges of one": good.replace(first, b"thh"),
    }
    content = GGUF_HEADERS.get(name) or merges.get(name)
    if content is None:
        content = packed_at(good, *CHANGES[name]) if name in CHANGES else b""
    assert content != good
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"hostile.gguf"):
        read_gguf(path)


def test_tensors_that_overlap_read_the_same_bytes_and_nothing_else(tmp_path: Path, good: bytes) -> None:
    path = tmp_path / "overlap.gguf"
    path.write_bytes(packed_at(good, TENSOR, 24, "<Q", 32))
    moved = read_gguf(path).state_dict["model.embed_tokens.weight"].flatten()
    path.write_bytes(good)
    assert torch.equal(moved[:-8], read_gguf(path).state_dict["model.embed_tokens.weight"].flatten()[8:])


# ---- a full disk, a broken state


def test_a_full_disk_leaves_the_last_checkpoint_and_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    model = nn.Linear(20, 30)
    save(path, model, {"steps": 1})
    before = path.read_bytes()
    with full_disk(1000), pytest.raises(OSError, match=r"too large: '.*/model.safetensors'"):
        save(path, model, {"steps": 2})
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [before]
    save(path, model, {"steps": 2})
    assert load(path).facts == {"steps": 2}


def test_a_full_disk_leaves_the_last_state_and_the_run_goes_on_from_there(tmp_path: Path) -> None:
    losses, _ = run(steps=8)
    steps: list[int] = []

    def fills_up(step: int, loss: float) -> None:
        steps.append(step)
        if step == 5:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    with full_disk(2**40), pytest.raises(OSError, match=r"too large: '.*/state.safetensors'"):
        run(tmp_path, fills_up, steps=8)
    assert [path.name for path in tmp_path.iterdir()] == ["state.safetensors"]
    assert run(tmp_path, lambda step, loss: steps.append(step), steps=8)[0] == losses
    assert steps == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_broken_state_is_named_and_without_it_the_run_begins_anew(tmp_path: Path) -> None:
    losses, _ = run(tmp_path, steps=4)
    state = tmp_path / "state.safetensors"
    whole = state.read_bytes()
    for content in (b"", b"junk of some length", whole[:999], whole[:-1]):
        state.write_bytes(content)
        with pytest.raises(ValueError, match=r"must be a file that `save` wrote, got .*/state.safetensors"):
            run(tmp_path, steps=4)
    state.unlink()
    assert run(tmp_path, steps=4)[0] == losses
