"""What the experiments measured for each seed, as the committed tables have it."""

from __future__ import annotations

from collections.abc import Collection

from polyhead_course.models.head_experiments import trials


def seed_measures(
    table: str, experiment: str, seeds: Collection[int], **equal: float
) -> list[dict[str, float]]:
    """Read the rows of a committed table in which no head is off: one for each seed.

    Args:
        table: Its name, such as "backwards".
        experiment: The rows' experiment.
        seeds: Their seeds.
        equal: Measures that they have, such as `layers=2`.

    Raises:
        ValueError: A seed has no such row, or several.
    """
    found = [
        t.measures
        for t in trials(table)
        if t.experiment == experiment and not t.off and t.measures["seed"] in seeds
    ]
    found = [row for row in found if equal.items() <= row.items()]
    if sorted(row["seed"] for row in found) != sorted(seeds):
        raise ValueError(f"expected one row of {experiment!r} in {table!r} for each of {seeds}, got {found}")
    return found
