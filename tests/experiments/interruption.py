"""Training that is interrupted after some steps."""

from __future__ import annotations

from collections.abc import Callable

import pytest


def first_losses(num_steps: int, run: Callable[[Callable[[int, float], None]], object]) -> list[float]:
    """The losses of the first steps of `run(report)`."""
    losses = []

    def report(step: int, loss: float) -> None:
        losses.append(loss)
        if step == num_steps:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        run(report)
    return losses
