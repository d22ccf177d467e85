"""Training of the model that writes words backwards."""

from __future__ import annotations

from dataclasses import replace

from torch.testing import assert_close

from experiments import backwards
from polyhead.training import load
from polyhead_course.models.backwards import CHECKPOINT, load_model


def test_a_short_run_begins_like_the_committed_one_and_leaves_only_the_checkpoint(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(backwards, "RECIPE", replace(backwards.RECIPE, steps=151))
    path = tmp_path / "short.safetensors"
    backwards.main(["train", "--out", str(path)])
    assert list(tmp_path.iterdir()) == [path]
    assert "step 151/151" in capsys.readouterr().err
    facts = load(path).facts
    assert facts["command"] == f"python -m experiments.backwards train --out {path}"
    assert facts["first_losses"][19] < facts["first_losses"][0] - 1
    assert_close(facts["first_losses"], load(CHECKPOINT).facts["first_losses"], rtol=0.02, atol=0.0)
    assert load_model(path).state_dict().keys() == load_model().state_dict().keys()
