"""`python -m polyhead_course.models.translation`: train, evaluate and use the date translator."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from polyhead.training import is_first_process
from polyhead_course.models.translation.dates import read_date
from polyhead_course.models.translation.evaluation import KINDS, alignment, exact_match
from polyhead_course.models.translation.learning import STEPS, train_translator
from polyhead_course.models.translation.pairs import TARGETS, held_out_pairs
from polyhead_course.models.translation.translator import CHECKPOINT, Translator, translate
from polyhead_course.words.language import set_language


def main(arguments: list[str] | None = None) -> int:
    """Do what the command line asks; 1 where that cannot be done, with the reason on stderr."""
    chosen = _parser().parse_args(arguments)
    try:
        chosen.run(chosen)
    except (ValueError, OSError) as error:
        print(f"{chosen.command}: {error}", file=sys.stderr)
        return 1
    return 0


def _train(chosen: argparse.Namespace) -> None:
    if not chosen.out.parent.is_dir():  # said now, not when the training is done
        raise FileNotFoundError(f"--out must lie in a folder that is there, got {chosen.out}")
    translator = train_translator(chosen.steps, chosen.seed, folder=chosen.folder)
    if is_first_process():
        translator.save(chosen.out)
        print(f"{chosen.out}: loss {translator.facts['losses'][-1]}, {chosen.out.stat().st_size // 1000} kB")


def _evaluate(chosen: argparse.Namespace) -> None:
    translator = Translator.load(chosen.checkpoint)
    print("held-out days, exact match, then cross-attention at the right word (the diagonal's share)")
    for to in TARGETS:
        pairs = held_out_pairs(to)
        shares = alignment(translator, pairs)
        looks = (f"{kind} {shares[kind][0]:.3f} ({shares[kind][1]:.3f})" for kind in KINDS)
        print(f"{to:5}  {len(pairs)}  {exact_match(translator, pairs):.4f}  {'  '.join(looks)}", flush=True)


def _translate(chosen: argparse.Namespace) -> None:
    try:
        read_date(chosen.text)
    except ValueError as error:
        raise ValueError(f"not understood: {error}") from None
    translation = translate(chosen.text, chosen.to)
    if chosen.weights is not None:
        from polyhead_course.models.translation.picture import (
            attention_picture,  # matplotlib takes a second to load
        )

        set_language(chosen.to)
        attention_picture(translation).save(chosen.weights)
    print(translation.text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m polyhead_course.models.translation", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    train = commands.add_parser("train", help="train a translator; also under torchrun")
    train.add_argument("--out", type=Path, default=Path("translator.safetensors"), help="the file to write")
    train.add_argument("--steps", type=int, default=STEPS)
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--folder", type=Path, help="where a killed run is kept, to go on")
    train.set_defaults(run=_train)

    evaluate = commands.add_parser("evaluate", help="ask for all days that were held out")
    evaluate.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    evaluate.set_defaults(run=_evaluate)

    asked = commands.add_parser("translate", help='translate a date, such as "Friday, November 20, 2026"')
    asked.add_argument("text")
    asked.add_argument("--to", choices=TARGETS, required=True)
    asked.add_argument("--weights", type=Path, metavar="FILE", help="draw the cross-attention as SVG")
    asked.set_defaults(run=_translate)
    return parser


if __name__ == "__main__":
    sys.exit(main())
