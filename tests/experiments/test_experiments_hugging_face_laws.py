"""The table of laws: three rows as they are measured now, and a remark on each violation."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import pytest

from experiments import hugging_face_laws as experiment
from tests.polyhead.hugging_face import transformers

ROWS = {row["class"]: row for row in experiment.read()}


def class_of(name: str) -> Any:
    model = getattr(transformers, name)
    return experiment.Class(model, model.config_class, ROWS[name]["kind"])


@pytest.mark.parametrize("name", ["LlamaForCausalLM", "MoshiForCausalLM", "MobileBertForMaskedLM"])
def test_a_row_is_what_is_measured(name: str) -> None:
    row = experiment.examine(class_of(name))
    for law in experiment.LAWS_OF[row["kind"]]:
        assert row[law] in ("", "0") if ROWS[name][law] in ("", "0") else float(row[law]) > 0, law
    assert experiment.violations(row) == experiment.violations(ROWS[name])
    assert row["parameters"] == ROWS[name]["parameters"]


def test_each_violation_and_each_model_that_is_not_built_has_a_remark() -> None:
    assert len(ROWS) > 200
    for row in ROWS.values():
        assert bool(row["remark"]) == (experiment.violations(row) != () or not row["parameters"]), row[
            "class"
        ]
    assert sum(bool(row["parameters"]) for row in ROWS.values()) > 170


def test_a_model_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(experiment, "examine", lambda each: time.sleep(60))
    assert experiment.limited(class_of("LlamaForCausalLM"), 0.5)["remark"] == "not ended after 0.5 seconds"


def test_a_remark_is_kept_while_the_same_laws_are_broken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    found = {"class": "A", "model_type": "a", "kind": "decoder", "parameters": "1", "chunk": "0.5"}
    monkeypatch.setattr(experiment, "classes", lambda: iter([None]))
    monkeypatch.setattr(experiment, "limited", lambda each: dict(found))
    options = argparse.Namespace(folder=tmp_path, processes=1)
    experiment.measure(options)
    path = tmp_path / "hugging_face_laws.csv"
    path.write_text(path.read_text().replace(",,5.", ",looked into,5."))
    assert experiment.read(path)[0]["remark"] == "looked into"
    for law, remark in (("chunk", "looked into"), ("step", "")):
        found[law] = "0.7"
        experiment.measure(options)
        assert experiment.read(path)[0]["remark"] == remark
    assert "1 models in" in capsys.readouterr().out
