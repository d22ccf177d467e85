"""The tables of the chapter on heads: which heads were off, and how well the model then worked.

`data/heads_minilm.csv`, `heads_translator.csv` and `heads_dropout.csv` are written by `experiments/heads.py`.
A row names the heads that were off, so that it can be computed again on its own.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from importlib import resources
from typing import NamedTuple

from polyhead.heads import Head

KINDS = "encoder", "decoder", "cross"


class Trial(NamedTuple):
    """A row of a table: the name of an experiment, the heads that were off, and the measurements.

    >>> Trial("single", [Head("encoder", 0, 11)], {"exact_match": 0.5}).measures["exact_match"]
    0.5
    """

    experiment: str
    off: list[Head]
    measures: dict[str, float]


def trials(table: str) -> list[Trial]:
    """Read a committed table: "minilm", "translator" or "dropout".

    >>> trials("minilm")[0].experiment
    'tf-idf'
    """
    text = resources.files(__package__).joinpath(f"data/heads_{table}.csv").read_text(encoding="utf-8")
    return [
        Trial(
            row.pop("experiment"),
            parse_heads(row.pop("off")),
            {name: float(value) for name, value in row.items() if value},
        )
        for row in csv.DictReader(text.splitlines())
    ]


def format_heads(heads: Iterable[Head]) -> str:
    """Write heads into a cell of a table: the first letter of the kind, the layer, the head.

    >>> format_heads([Head("encoder", 0, 3), Head("cross", 1, 2)])
    'e0.3 c1.2'
    """
    return " ".join(f"{head.kind[0]}{head.layer}.{head.head}" for head in heads)


def parse_heads(cell: str) -> list[Head]:
    """Read the heads that `format_heads` wrote.

    >>> parse_heads("e0.3")
    [Head(kind='encoder', layer=0, head=3)]
    """
    kinds = {kind[0]: kind for kind in KINDS}
    return [Head(kinds[word[0]], *map(int, word[1:].split("."))) for word in cell.split()]  # type: ignore[arg-type]
