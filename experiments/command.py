"""What the command lines of the experiments share."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path


def run_command(parser: argparse.ArgumentParser, arguments: list[str] | None = None) -> None:
    """Parse the arguments, and call their `run`, set by `set_defaults`, with the options.

    The options have `invocation`, the whole command, for the facts in a checkpoint. After an error the
    program ends with status 2, and one line on stderr.
    """
    arguments = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(arguments)
    options.invocation = f"{parser.prog} {shlex.join(arguments)}"
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
