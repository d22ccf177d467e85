"""The settings with which `experiments/translator.py` trains the translator."""

from __future__ import annotations

from polyhead.checked import Count, Size, checked
from polyhead.training import Recipe

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
