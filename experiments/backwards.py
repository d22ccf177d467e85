"""Train the model that writes a word backwards."""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from experiments.command import output_file, run_command
from polyhead.training import Recipe, device, make_checkpoint
from polyhead_course.models.backwards import PAD, SIGNS, make_model, make_pairs, make_words

RECIPE = Recipe(steps=500, batch_size=32, learning_rate=0.01, warmup=150)


def train(options: argparse.Namespace) -> None:
    """Train and write the checkpoint; a run that was killed is continued."""
    words, _ = make_words()

    def loss(model: nn.Module, rows: Tensor) -> tuple[Tensor, int]:
        source, shifted, target = (ids.to(device()) for ids in make_pairs(words[rows]))
        logits = model(source, shifted, source != PAD)  # (batch, 7, vocab_size)
        total = F.cross_entropy(logits.flatten(0, 1), target.flatten(), ignore_index=PAD, reduction="sum")
        return total, int((target != PAD).sum())

    torch.manual_seed(RECIPE.seed)
    model = make_model().to(device())
    make_checkpoint(options.out, model, loss, len(words), RECIPE, {"signs": SIGNS}, options.invocation)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.backwards", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("train", help="train the model; a run that was killed is continued")
    command.add_argument("--out", type=output_file, default="backwards.safetensors", help="the file to write")
    command.set_defaults(run=train)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
