"""The slow experiments of the chapter on heads: which heads are off, and how well the model then works.

    python experiments/heads.py minilm translator dropout

makes the tables `data/heads_….csv` anew, in many minutes. A row names the heads that were off, so that each
can soon be computed again on its own.
"""

from __future__ import annotations

import csv
import random
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from typing import NamedTuple

from torch import nn

from polyhead.heads.removal import Head, ablate, all_heads, by_layer

Measures = dict[str, float]
KINDS = "encoder", "decoder", "cross"
PARTS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
DRAWS = 10


class Trial(NamedTuple):
    """An experiment of that name with these heads off, and what was measured."""

    experiment: str
    off: list[Head]
    measures: Measures


def trials(table: str) -> list[Trial]:
    """The rows of a committed table: "minilm", "translator" or "dropout"."""
    text = resources.files(__package__).joinpath(f"data/heads_{table}.csv").read_text(encoding="utf-8")
    rows = csv.DictReader(text.splitlines())
    return [
        Trial(
            row.pop("experiment"), read(row.pop("off")), {name: float(row[name]) for name in row if row[name]}
        )
        for row in rows
    ]


def written(off: Iterable[Head]) -> str:
    """Heads in a cell of the table: e0.3 is head 3 of the encoder's layer 0, d the decoder, c the cross."""
    return " ".join(f"{head.kind[0]}{head.layer}.{head.head}" for head in off)


def read(cell: str) -> list[Head]:
    """The heads of a cell."""
    kinds = {kind[0]: kind for kind in KINDS}
    return [Head(kinds[word[0]], *map(int, word[1:].split("."))) for word in cell.split()]  # type: ignore[arg-type]


def random_heads(heads: Collection[Head], number: int, draw: int) -> list[Head]:
    """As many of them, drawn; the same for the same numbers."""
    return sorted(random.Random(f"{number} of {len(heads)}, {draw}").sample(sorted(heads), number))


def removals(model: nn.Module, scores: Mapping[Head, float]) -> Iterator[tuple[str, list[Head]]]:
    """What to switch off: nothing, everything, heads at random, by importance, layers and single heads."""
    heads = all_heads(model)
    yield "none", []
    yield "all", heads
    numbers = [round(part * len(heads)) for part in PARTS]
    for number in numbers:
        for draw in range(DRAWS):
            yield "random", random_heads(heads, number, draw)
    for name, used in ("", scores), (" in its layer", by_layer(scores)):
        order = sorted(heads, key=used.__getitem__)
        for number in numbers:
            yield "least important" + name, order[:number]
            yield "most important" + name, order[-number:]
    layers = sorted({(head.kind, head.layer) for head in heads})
    for place in layers:
        yield "layer", [head for head in heads if (head.kind, head.layer) == place]
    yield from _by_halves(heads)
    for head in heads:
        yield "single", [head]


def _by_halves(heads: Sequence[Head]) -> Iterator[tuple[str, list[Head]]]:
    """Equally many heads of the lower and of the upper half of the layers."""
    layers = sorted({head.layer for head in heads})
    half = len(layers) // 2
    for name, chosen in ("lower", layers[:half]), ("upper", layers[-half:]):
        own = [head for head in heads if head.layer in chosen]
        for number in (round(part * len(own)) for part in (0.2, 0.5, 0.8)):
            for draw in range(DRAWS):
                yield name, random_heads(own, number, draw)
        yield name, own


def measured(model: nn.Module, scores: Mapping[Head, float], measure: Callable[[], Measures]) -> list[Trial]:
    """All removals, with what the model then does; beside a head alone, its score too."""
    done = []
    for experiment, off in removals(model, scores):
        with ablate(model, off):
            measures = measure()
        if experiment == "single":
            measures["importance"] = scores[off[0]]
        done.append(Trial(experiment, off, measures))
        print(len(done), experiment, len(off), measures, file=sys.stderr, flush=True)
    return done
