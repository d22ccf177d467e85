"""`python -m polyhead_course.models.translation`: train, evaluate and use the date translator."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from polyhead.training import is_first_process
from polyhead_course.models.translation.evaluation import KINDS, alignment, exact_match
from polyhead_course.models.translation.learning import STEPS, train_translator
from polyhead_course.models.translation.pairs import TARGETS, held_out_pairs
from polyhead_course.models.translation.translator import CHECKPOINT, Translator, translate
from polyhead_course.words.language import set_language


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 1 after a failure, with the reason on stderr."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except (ValueError, OSError) as error:
        print(f"{options.command}: {error}", file=sys.stderr)
        return 1
    return 0


def _train(options: argparse.Namespace) -> None:
    if not options.out.parent.is_dir():  # now, not when the training is done
        raise FileNotFoundError(f"--out must be in an existing folder, got {options.out}")
    translator = train_translator(options.steps, options.seed, folder=options.folder)
    if is_first_process():
        translator.save(options.out)
        loss, size = translator.facts["losses"][-1], options.out.stat().st_size
        print(f"{options.out}: loss {loss}, {size // 1000} kB")


def _evaluate(options: argparse.Namespace) -> None:
    translator = Translator.load(options.checkpoint)
    print("held-out days, exact match, then cross-attention at the right word (the diagonal's share)")
    for to in TARGETS:
        pairs = held_out_pairs(to)
        shares = alignment(translator, pairs)
        columns = (f"{kind} {shares[kind][0]:.3f} ({shares[kind][1]:.3f})" for kind in KINDS)
        print(f"{to:5}  {len(pairs)}  {exact_match(translator, pairs):.4f}  {'  '.join(columns)}", flush=True)


def _translate(options: argparse.Namespace) -> None:
    try:
        translation = translate(options.text, options.to)
    except ValueError as error:
        raise ValueError(f"not understood: {error}") from None
    if options.weights is not None:
        from polyhead_course.figures import plots  # matplotlib takes a second to load

        set_language(options.to)
        drawing = plots.translation_weights(
            translation.weights, translation.source_tokens, translation.target_tokens
        )
        drawing.save(options.weights)
    print(translation.text)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m polyhead_course.models.translation", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    train = commands.add_parser("train", help="train a translator; also under torchrun")
    train.add_argument("--out", type=Path, default=Path("translator.safetensors"), help="the file to write")
    train.add_argument("--steps", type=int, default=STEPS)
    train.add_argument("--seed", type=int, default=0)
    train.add_argument("--folder", type=Path, help="where the state of a run is kept, to continue it")
    train.set_defaults(run=_train)

    evaluate = commands.add_parser("evaluate", help="translate all days that were held out")
    evaluate.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    evaluate.set_defaults(run=_evaluate)

    command = commands.add_parser("translate", help='translate a date, such as "Friday, November 20, 2026"')
    command.add_argument("text")
    command.add_argument("--to", choices=TARGETS, required=True)
    command.add_argument("--weights", type=Path, metavar="FILE", help="draw the cross-attention as SVG")
    command.set_defaults(run=_translate)
    return parser


if __name__ == "__main__":
    sys.exit(main())
