"""The tables `data/heads_*.csv`, of chapters 5, 8, 10 and 11: measurements of models, some with heads off.

`experiments/heads.py` writes `minilm`, `halves`, `translator` and `dropout`; `experiments.translator seeds`
writes `dates`, and `backwards`, `echo` and `induction` have each a module of that name in `experiments/`.
A row names the heads that were off, so that it can be computed again on its own.
"""

import csv
import io
from collections.abc import Iterator
from importlib import resources
from importlib.resources.abc import Traversable
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
    """Read a committed table, such as "minilm", "translator" or "dates".

    >>> trials("minilm")[0].experiment
    'tf-idf'
    """
    return read_trials(resources.files(__package__).joinpath(f"data/heads_{table}.csv"))


def read_trials(file: Traversable) -> list[Trial]:
    """Read a table that `experiments.heads.write_trials` wrote.

    >>> len(read_trials(resources.files(__package__).joinpath("data/heads_dropout.csv")))
    126
    """
    found = []
    for row in read_rows(file):
        name, off = row.pop("experiment"), parse_heads(row.pop("off"))
        found.append(Trial(name, off, {name: float(value) for name, value in row.items() if value}))
    return found


def read_rows(file: Traversable) -> Iterator[dict[str, str]]:
    """Read the rows of a table, in whose cells there may be line breaks.

    >>> next(read_rows(resources.files(__package__).joinpath("data/heads_dropout.csv")))["experiment"]
    'none'
    """
    return csv.DictReader(io.StringIO(file.read_text(encoding="utf-8")))


def parse_heads(cell: str) -> list[Head]:
    """Read the heads in a cell of a table: the first letter of the kind, the layer, the head.

    >>> parse_heads("e0.3")
    [Head(kind='encoder', layer=0, head=3)]
    """
    kinds = {kind[0]: kind for kind in KINDS}
    return [Head(kinds[word[0]], *map(int, word[1:].split("."))) for word in cell.split()]  # type: ignore[arg-type]
