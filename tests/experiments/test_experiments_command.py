"""What the experiments share."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path

import pytest
import torch
from torch import nn

from experiments.command import make_checkpoint
from polyhead.training import Recipe, load

CHECKPOINTS = Path("src/polyhead_course/models/checkpoints")


@pytest.mark.parametrize("name", ["copier", "names", "translator"])
def test_the_command_in_a_checkpoint_is_one_that_there_is(name, monkeypatch):
    assert name in {path.stem for path in CHECKPOINTS.iterdir()}
    facts, parsed = load(CHECKPOINTS / f"{name}.safetensors").facts, []
    python, option, module, *arguments = shlex.split(facts["command"])
    assert shlex.join([python, option, module, *arguments]) == facts["command"]
    assert (python, option, "torch" in facts) == ("python", "-m", True)
    program = importlib.import_module(module)
    monkeypatch.setattr(program, "run_command", lambda parser, words: parsed.append(parser.parse_args(words)))
    program.main(arguments)
    assert facts.get("seed", facts.get("recipe", {}).get("seed")) == vars(parsed[0]).get("seed", 0)


def test_a_checkpoint_says_how_it_was_made(tmp_path, capsys):
    def loss(model, rows):
        return model(rows[:, None].float()).square().sum(), len(rows)

    path, recipe = tmp_path / "model.safetensors", Recipe(steps=3, batch_size=4, learning_rate=0.1, seed=5)
    make_checkpoint(path, nn.Linear(1, 1), loss, 4, recipe, {"data": "0 to 3"}, "python train.py")
    assert [each.name for each in tmp_path.iterdir()] == [path.name], "the state of the run is removed"
    got = load(path).facts
    assert (got["data"], got["command"], got["recipe"]["seed"]) == ("0 to 3", "python train.py", 5)
    assert (got["torch"], got["threads"], got["processes"]) == (
        torch.__version__, torch.get_num_threads(), 1,
    )  # fmt: skip
    assert [round(loss, 4) for loss in got["first_losses"]] == got["first_losses"] != []
