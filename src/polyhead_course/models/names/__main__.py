"""`python -m polyhead_course.models.names train | write | evaluate`: checkpoint, names, measurement."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

import torch

from polyhead_course.models.names.data import LOCALES, read_names
from polyhead_course.models.names.model import CHECKPOINT, NameWriter
from polyhead_course.models.names.runs import evaluate, train_names


def main(arguments: list[str] | None = None) -> None:
    """Run the command; print one line to stderr after a failure."""
    arguments = sys.argv[1:] if arguments is None else arguments
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        if options.command == "train":
            train_names(options.out, f"python -m polyhead_course.models.names {shlex.join(arguments)}")
        else:
            writer = NameWriter(options.checkpoint)
            _write(writer, options) if options.command == "write" else _evaluate(writer, options.count)
    except (ImportError, OSError, ValueError) as error:
        parser.exit(2, f"{parser.prog} {options.command}: {error}\n")


def _write(writer: NameWriter, options: argparse.Namespace) -> None:
    generator = torch.Generator()
    _ = generator.seed() if options.seed is None else generator.manual_seed(options.seed)
    sampling = {name: getattr(options, name) for name in ("temperature", "top_k", "top_p")}
    print(*writer.write(options.language, options.count, generator=generator, **sampling), sep="\n")


def _evaluate(writer: NameWriter, count: int) -> None:
    print("language  held out  perplexity  own trigram  one trigram  different   new  real")
    for language, got in evaluate(writer, read_names(), count).items():
        print(
            f"{language:8}  {got.num_held_out:8}  {got.perplexity:10.2f}  {got.own_trigram:11.2f}"
            f"  {got.one_trigram:11.2f}  {got.different:9}  {got.new:4}  {got.real:4}"
        )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m polyhead_course.models.names", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    train = commands.add_parser("train", help="train the model; a run that was killed is continued")
    train.add_argument("--out", type=Path, default="names.safetensors", help="the checkpoint to write")
    write = commands.add_parser("write", help="write names, one a line")
    write.add_argument("--language", required=True, help=", ".join(LOCALES))
    write.add_argument("--count", type=int, default=10)
    write.add_argument("--temperature", type=float, default=1.0)
    write.add_argument("--top-k", type=int)
    write.add_argument("--top-p", type=float)
    write.add_argument("--seed", type=int, help="the same names each time")
    measure = commands.add_parser("evaluate", help="perplexity on held-out names, and how many are new")
    measure.add_argument("--count", type=int, default=1000, help="names to write in each language")
    for each in (write, measure):
        each.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    return parser


if __name__ == "__main__":
    main()
