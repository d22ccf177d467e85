"""Training of a translator, with the settings of the committed one."""

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
    """Return the recipe of the committed checkpoint, or the same with other steps and another seed.

    >>> recipe(steps=600).warmup
    60
    """
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
    """Train a new translator; `folder` and `report` are those of `training.train`.

    Its `facts` have its provenance, and the loss of each step.

    >>> translator = train_translator()  # doctest: +SKIP
    step 1200/1200  loss 0.0001  0 s left
    """
    import babel

    plan, pairs = recipe(steps, seed), training_pairs(NUM_PAIRS, seed)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        translator = Translator.of(pairs)
    translator.model.to(device())
    data = {"babel": babel.__version__, "num_pairs": NUM_PAIRS}
    losses = train(
        translator.model, translator.loss(pairs), len(pairs), plan, folder=folder, data=data, report=report
    )
    command = f"python -m polyhead_course.models.translation train --steps {steps} --seed {seed}"
    translator.facts = {
        **provenance(command, plan),
        **data,
        "losses": [round(loss, 5) for loss in losses],
    }
    return translator
