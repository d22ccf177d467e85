"""Train the date translator, evaluate it on held-out days, or translate a date with it."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import babel
import torch

from experiments.command import output_file, provenance, run_command
from polyhead.training import device, is_first_process
from polyhead.training import train as run_training
from polyhead_course.models.translation import (
    TARGETS,
    Translator,
    alignment,
    exact_match,
    held_out_pairs,
    recipe,
    training_pairs,
    translate,
)
from polyhead_course.models.translation.evaluation import KINDS
from polyhead_course.models.translation.translator import CHECKPOINT, NUM_PAIRS, STEPS
from polyhead_course.words.language import set_language


def train_translator(
    steps: int = STEPS,
    seed: int = 0,
    *,
    folder: Path | None = None,
    report: Callable[[int, float], None] | None = None,
    num_pairs: int = NUM_PAIRS,
) -> Translator:
    """Train a new translator; `folder` and `report` are those of `polyhead.training.train`.

    Its `facts` have its provenance, and the loss of each step.
    """
    plan, pairs = recipe(steps, seed), training_pairs(num_pairs, seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        translator = Translator.of(pairs)
    translator.model.to(device())
    data = {"babel": babel.__version__, "num_pairs": num_pairs}
    losses = run_training(
        translator.model, translator.loss(pairs), len(pairs), plan, folder=folder, data=data, report=report
    )
    command = f"python -m experiments.translator train --steps {steps} --seed {seed}"
    translator.facts = {**provenance(command, plan), **data, "losses": [round(loss, 5) for loss in losses]}
    return translator


def train(options: argparse.Namespace) -> None:
    """Train a translator and write its checkpoint."""
    translator = train_translator(options.steps, options.seed, folder=options.folder)
    if is_first_process():
        translator.save(options.out)
        loss, size = translator.facts["losses"][-1], options.out.stat().st_size
        print(f"{options.out}: loss {loss}, {size // 1000} kB")


def evaluate(options: argparse.Namespace) -> None:
    """Print, for each language, exact match and alignment on all held-out days."""
    translator = Translator.load(options.checkpoint)
    print("held-out days, exact match, then cross-attention at the right word (the diagonal's share)")
    for to in TARGETS:
        pairs = held_out_pairs(to)
        shares = alignment(translator, pairs)
        columns = (f"{kind} {shares[kind][0]:.3f} ({shares[kind][1]:.3f})" for kind in KINDS)
        print(f"{to:5}  {len(pairs)}  {exact_match(translator, pairs):.4f}  {'  '.join(columns)}", flush=True)


def translate_date(options: argparse.Namespace) -> None:
    """Print the translation, and draw its cross-attention if `options.weights` names a file."""
    translation = translate(options.text, options.to)
    if options.weights is not None:
        from polyhead_course.figures import plots  # matplotlib takes a second to load

        set_language(options.to)
        drawing = plots.translation_weights(
            translation.weights, translation.source_tokens, translation.target_tokens
        )
        drawing.save(options.weights)
    print(translation.text)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.translator", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)

    command = commands.add_parser("train", help="train a translator; also under torchrun")
    command.add_argument(
        "--out", type=output_file, default="translator.safetensors", help="the file to write"
    )
    command.add_argument("--steps", type=int, default=STEPS)
    command.add_argument("--seed", type=int, default=0)
    command.add_argument("--folder", type=Path, help="where the state of a run is stored, to continue it")
    command.set_defaults(run=train)

    command = commands.add_parser("evaluate", help="translate all days that were held out")
    command.add_argument("--checkpoint", type=Path, default=CHECKPOINT)
    command.set_defaults(run=evaluate)

    command = commands.add_parser("translate", help='translate a date, such as "Friday, November 20, 2026"')
    command.add_argument("text")
    command.add_argument("--to", choices=TARGETS, required=True)
    command.add_argument("--weights", type=Path, metavar="FILE", help="draw the cross-attention as SVG")
    command.set_defaults(run=translate_date)

    run_command(parser, arguments)


if __name__ == "__main__":
    main()
