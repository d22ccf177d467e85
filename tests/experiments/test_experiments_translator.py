"""Training of the translator, and its command."""

from __future__ import annotations

import functools

import pytest
from torch.testing import assert_close

from experiments import translator
from experiments.heads import FOLDER
from experiments.translator import main, train_translator
from polyhead_course.models.head_experiments import trials
from polyhead_course.models.translation import TARGETS, Translator, held_out_pairs, load_translator
from tests.experiments.interruption import first_losses


@pytest.fixture(scope="module", autouse=True)
def cached_pairs():
    """The 30,000 pairs are made once for all tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translator, "training_pairs", functools.cache(translator.training_pairs))
        yield


def test_training_begins_like_the_committed_run():
    losses = first_losses(12, lambda report: train_translator(report=report))
    assert losses[-1] < losses[0] - 1
    assert_close(losses, load_translator().facts["losses"][:12], rtol=0.05, atol=0)


def test_the_command_prints_the_translation_alone(capsys):
    main(["translate", "Friday, November 20, 2026", "--to", "ko"])
    assert capsys.readouterr() == ("2026년 11월 20일 금요일\n", "")


def test_the_picture_is_in_the_language_of_the_target(tmp_path):
    for to, title in (("zh-TW", "交叉注意力"), ("ko", "크로스 어텐션")):
        path = tmp_path / f"{to}.svg"
        main(["translate", "Friday, November 20, 2026", "--to", to, "--weights", str(path)])
        svg = path.read_text(encoding="utf-8")
        assert svg.startswith("<svg")
        assert all(f">{word}<" in svg for word in (title, "November", "Friday", f"&lt;{to}&gt;"))


def test_the_committed_table_of_the_small_models_that_is_read_and_written_is_the_same(
    tmp_path, monkeypatch, capsys
):
    stored = {(trial.experiment, trial.measures["seed"]): trial.measures for trial in trials("dates")}
    for task in ("translation", "combination", "calendar"):
        monkeypatch.setattr(translator, task, lambda seed, task=task: stored[task, seed])
    monkeypatch.setattr(translator, "FOLDER", tmp_path)
    main(["seeds"])
    assert (tmp_path / "heads_dates.csv").read_bytes() == (FOLDER / "heads_dates.csv").read_bytes()
    assert len(capsys.readouterr().out.splitlines()) == 60


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["translate", "November 31, 2026", "--to", "ko"], "November 2026 has 30 days, got 31"),
        (["translate", "Nov 20, 2026", "--to", "ko", "--weights", "/nowhere/there.svg"], "No such file"),
        (["evaluate", "--checkpoint", "/nowhere.safetensors"], "No such file"),
        (["train", "--steps", "0"], "steps must be an int of at least 1, got int 0"),
        (["train", "--seed", "-1"], "seed must be an int of at least 0, got int -1"),
        (["train", "--out", "/nowhere/there.safetensors"], "must be in an existing folder"),
        (["translate", "Nov 20, 2026", "--to", "fr"], "invalid choice: 'fr'"),
        ([], "required: command"),
    ],
)
def test_bad_arguments_are_reported(arguments, message, capsys, unchecked):
    with pytest.raises(SystemExit) as exit:
        main(arguments)
    assert exit.value.code == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err
    assert "Traceback" not in err


def test_the_command_trains_and_evaluates(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(translator, "held_out_pairs", lambda to: held_out_pairs(to)[::99])
    path = tmp_path / "short.safetensors"
    main(["train", "--out", str(path), "--steps", "2", "--folder", str(tmp_path / "run")])
    out, err = capsys.readouterr()
    assert out.startswith(f"{path}: loss ")
    assert err.startswith("step 2/2")
    short, committed = Translator.load(path), load_translator()
    assert short.source.tokens == committed.source.tokens
    assert short.target.tokens == committed.target.tokens
    assert short.facts.keys() == committed.facts.keys()
    assert short.facts["command"] == "python -m experiments.translator train --steps 2 --seed 0"
    assert short.facts["recipe"] == {**committed.facts["recipe"], "steps": 2, "warmup": 0}
    main(["evaluate", "--checkpoint", str(path)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == list(TARGETS)
