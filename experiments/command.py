"""What the experiments share: their command lines, and checkpoints that say how they were made."""

from __future__ import annotations

import argparse
import datetime
import os
import shlex
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from torch import nn

from polyhead.training import Loss, Recipe, is_first_process, save, train

# What a page was written with, and as many that no page shows.
SEEDS = *range(10), *range(100, 110)


def run_command(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> None:
    """Parse the arguments, and call their `run`, set by `set_defaults`, with the options.

    The options have `invocation`, the whole command, for the facts in a checkpoint. After an error the
    program ends with status 2, and one line on stderr.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(arguments)
    options.invocation = shlex.join([*parser.prog.split(), *arguments])
    try:
        options.run(options)
    except (ImportError, OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog}: {error}\n")


def output_file(text: str) -> Path:
    """Convert an argument to a path in an existing folder: now, not when the training is done."""
    path = Path(text)
    if not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"must be in an existing folder, got {text}")
    return path


def provenance(command: str, recipe: Recipe) -> dict[str, Any]:
    """Return facts for a checkpoint about its training: command, recipe, version, threads, processes, day."""
    return {
        "command": command,
        "recipe": asdict(recipe),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "processes": int(os.environ.get("WORLD_SIZE", "1")),
        "date": datetime.date.today().isoformat(),
    }


def make_checkpoint(
    path: Path,
    model: nn.Module,
    loss: Loss,
    num_examples: int,
    recipe: Recipe,
    facts: dict[str, Any],
    command: str,
) -> None:
    """Train, and write a checkpoint; until then the run's state is in a folder beside `path`.

    The checkpoint has the facts, its provenance, and the first losses, to compare machines. The facts should
    identify the data: a run with other facts is not continued.
    """
    folder = Path(f"{path}.run")
    losses = train(model, loss, num_examples, recipe, folder=folder, data=facts)
    if is_first_process():
        first = [round(each, 4) for each in losses[:20]]
        save(path, model, {**facts, **provenance(command, recipe), "first_losses": first})
        shutil.rmtree(folder)
