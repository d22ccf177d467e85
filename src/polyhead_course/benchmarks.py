"""Time and memory of the forms of multi-head attention, from `data/benchmarks.csv`.

The table is written by `make bench TABLE=1`, which runs `benchmarks/`.
"""

from __future__ import annotations

import csv
from importlib import resources
from typing import NamedTuple


class Measurement(NamedTuple):
    """One form of multi-head attention at one length.

    Attributes:
        form: which one
        pass_: "forward" or "forward and backward"
        length: of the sequence, in tokens
        time: divided by the baseline's: projections and PyTorch's fused attention, without any check
        mebibytes: the most that tensors hold at one time, without the input and the parameters
    """

    form: str
    pass_: str
    length: int
    time: float
    mebibytes: float


class Measurements(NamedTuple):
    """The machine and the date of the measurements, and one row for each."""

    conditions: str
    rows: list[Measurement]


def measurements() -> Measurements:
    """Read the committed table.

    >>> conditions, rows = measurements()
    >>> rows[0].form
    'baseline'
    """
    table = resources.files("polyhead_course") / "data" / "benchmarks.csv"
    text = table.read_text(encoding="utf-8")
    first, *lines = text.splitlines()
    rows = [
        Measurement(row["form"], row["pass"], int(row["length"]), float(row["time"]), float(row["mebibytes"]))
        for row in csv.DictReader(lines)
    ]
    return Measurements(first.removeprefix("# "), rows)
