"""How the committed translator was trained, and how to train another one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch

from polyhead.checked import Count, Size, checked
from polyhead.training import Recipe, device, provenance, train
from polyhead_course.models.translation.pairs import training_pairs
from polyhead_course.models.translation.translator import Translator

NUM_PAIRS, STEPS = 30_000, 1_200


@checked
def recipe(steps: Size = STEPS, seed: Count = 0) -> Recipe:
    """What the committed checkpoint was trained by."""
    return Recipe(
        steps=steps,
        batch_size=64,
        learning_rate=3e-3,
        warmup=steps // 10,
        weight_decay=0.01,
        betas=(0.9, 0.98),
        seed=seed,
    )


@checked
def train_translator(
    steps: Size = STEPS,
    seed: Count = 0,
    *,
    folder: str | Path | None = None,
    report: Callable[[int, float], None] | None = None,
) -> Translator:
    """A new translator, trained; the last two arguments are those of `training.train`.

    Its facts say how it was made, and have the loss of each step.
    """
    import babel

    plan, pairs = recipe(steps, seed), training_pairs(NUM_PAIRS, seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        translator = Translator.of(pairs)
    translator.model.to(device())
    losses = train(translator.model, translator.loss(pairs), len(pairs), plan, folder=folder, report=report)
    command = f"python -m polyhead_course.models.translation train --steps {steps} --seed {seed}"
    translator.facts = {
        **provenance(command, plan),
        "babel": babel.__version__,
        "num_pairs": NUM_PAIRS,
        "losses": [round(loss, 5) for loss in losses],
    }
    return translator
