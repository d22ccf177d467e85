"""Train models to write words backwards, twenty seeds each, with the code of chapter 8: its table."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from experiments.cells import run_cells
from experiments.command import SEEDS, run_command
from experiments.heads import FOLDER, report, write_trials
from polyhead_course.models.head_experiments import Trial

FORMS = {  # the function that makes the model, the one that runs it, the steps
    "encoder and decoder": ("make_model", "both_halves", 350),
    "decoder alone": ("make_alone", "decoder_alone", 350),
    "no memory": ("make_deaf", "both_halves", 100),
    "no positions": ("make_placeless", "both_halves", 350),
    "decoder alone, longer": ("make_alone", "decoder_alone", 1050),
}


def page() -> dict[str, Any]:
    """Run the cells of the chapter that define its models and its training."""
    return run_cells(
        "08-cross-attention", "setup", "words", "word-lists", "training-functions", "learn-code",
        "decoder-alone-code", ("ablation-models", "n = "),
    )  # fmt: skip


def trained(names: dict[str, Any], form: str, seed: int) -> tuple[nn.Module, Callable[..., Any], list[float]]:
    """Train a model of this form; give it with the function that runs it, and the loss of each step."""
    make, run, steps = FORMS[form]
    model, run_model = names[make](seed), names[run]
    return model, run_model, names["learn"](model, run_model, seed, steps)


@torch.no_grad()
def on_place(names: dict[str, Any], model: Any, alone: bool) -> Tensor:
    """Measure each head's mean weight on the letter to write, (num_heads,), over the held-out words."""
    shares = []
    for size in range(3, 7):
        words = [word for word in names["held_out"] if len(word) == size]
        source, given, _ = names["make_pairs"](words)
        rows = torch.arange(size)
        if alone:
            texts = torch.cat((source[:, :-1], given), dim=1)  # (num_words, 2 · size + 1)
            weights = torch.cat(model.attention_weights(texts), dim=1)[:, :, size + rows]
        else:
            weights = torch.cat(model.attention_weights(source, given).cross, dim=1)[:, :, rows]
        shares.append(weights[:, :, rows, size - 1 - rows].mean(dim=-1))  # (num_words, num_heads)
    return torch.cat(shares).mean(dim=0)


def measure(options: argparse.Namespace) -> None:
    """Write the table."""
    names, trials = page(), list[Trial]()
    for form in FORMS:
        for seed in SEEDS:
            model, run, losses = trained(names, form, seed)
            with torch.no_grad():
                logits, target = run(model, names["held_out"])
            held_out = names["F"].cross_entropy(logits.mT, target, ignore_index=names["PAD"]).item()
            measures = {"seed": seed, "exact": names["exact_match"](model, run), "held-out loss": held_out}
            if "no" not in form.split():
                shares = on_place(names, model, alone="alone" in form)
                measures |= {"lowest head": shares.min().item(), "highest head": shares.max().item()}
            if len(losses) == 350 and "no" not in form.split():
                measures |= {f"loss {step}": losses[step] for step in range(0, 350, 10)}
            trials.append(Trial(form, [], measures))
            report(trials)
            write_trials(FOLDER / "heads_backwards.csv", trials)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.backwards", description=__doc__)
    parser.set_defaults(run=measure)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
