"""Train models that repeat the letter before, twenty seeds for each method: the table of chapter 5."""

from __future__ import annotations

import argparse

from experiments.command import SEEDS, run_command
from experiments.heads import FOLDER, report, write_trials
from polyhead_course.models.echo import METHODS, TRAINED, accuracy, train
from polyhead_course.models.head_experiments import Trial

EVERY = 5  # positions whose shares of right letters are averaged


def trial(method: str, num_layers: int, seed: int) -> Trial:
    """Train a model, and measure it at the positions 1 to 4, 5 to 9, 10 to 14, …."""
    model = train(method, seed, num_layers)
    right = accuracy(model, TRAINED if method == "learned" else 4 * TRAINED).tolist()
    groups = {first: right[max(0, first - 1) : first + EVERY - 1] for first in range(0, len(right), EVERY)}
    means = {str(first): sum(group) / len(group) for first, group in groups.items()}
    return Trial(method, [], {"layers": num_layers, "seed": seed, **means})


def measure(_: argparse.Namespace) -> None:
    """Write the table."""
    trials = []
    for num_layers in (1, 2):
        for method in METHODS:
            for seed in SEEDS:
                trials.append(trial(method, num_layers, seed))
                report(trials)
    write_trials(FOLDER / "heads_echo.csv", trials)


def main(arguments: list[str] | None = None) -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("python -m experiments.echo", description=__doc__)
    parser.set_defaults(run=measure)
    run_command(parser, arguments)


if __name__ == "__main__":
    main()
