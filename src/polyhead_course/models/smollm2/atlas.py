"""What each of SmolLM2's 270 heads does: tables that `experiments/smollm2.py` writes."""

from collections.abc import Mapping
from importlib import resources
from typing import NamedTuple

from polyhead.heads import Head
from polyhead_course.models.head_experiments import Trial, read_rows, read_trials

# A head is of the first kind of which its share exceeds the number. Heads that look for copies come first:
# most of them look at the first token where there is none.
THRESHOLDS = {"induction": 0.4, "duplicate": 0.4, "previous": 0.5, "self": 0.5, "sentence": 0.5, "first": 0.5}


class AtlasRow(NamedTuple):
    """One head of SmolLM2.

    Attributes:
        head: the head.
        kind: see `kind_of`.
        shares: its share of each pattern of `polyhead.heads.pattern_keys`: "induction" and "duplicate" on
            random tokens that come twice, of ten seeds, the others on the ten `texts`.
        losses: by how many nats the mean cross-entropy of a token rises with the head off: "zero" and "mean"
            on the ten texts, with 0 or the head's mean output in place of its output; "copying" with 0 on the
            second half of the repeated tokens of seed 0.
    """

    head: Head
    kind: str
    shares: dict[str, float]
    losses: dict[str, float]


def atlas() -> list[AtlasRow]:
    """Read the table of heads, layer by layer.

    >>> rows = atlas()
    >>> len(rows), rows[-1].head
    (270, Head(kind='decoder', layer=29, head=8))
    """
    rows = []
    for row in read_rows(resources.files(__package__).joinpath("atlas.csv")):
        head = Head("decoder", int(row.pop("layer")), int(row.pop("head")))
        kind, shares = row.pop("kind"), {name: float(row.pop(name)) for name in THRESHOLDS}
        rows.append(AtlasRow(head, kind, shares, {name: float(loss) for name, loss in row.items()}))
    return rows


def kind_of(shares: Mapping[str, float]) -> str:
    """Name a head's pattern: the first of `THRESHOLDS` that its share exceeds; "mixed" if there is none.

    >>> kind_of({"induction": 0.7, "duplicate": 0, "previous": 0, "self": 0, "sentence": 0, "first": 0.6})
    'induction'
    """
    return next((name for name, least in THRESHOLDS.items() if shares[name] > least), "mixed")


def copying() -> list[Trial]:
    """Read the cross-entropy of random tokens that come twice with copying heads off, of ten seeds.

    >>> {trial.experiment for trial in copying()} >= {"none", "induction", "previous"}
    True
    """
    return read_trials(resources.files(__package__).joinpath("copying.csv"))


def sinks() -> list[Trial]:
    """Read the shares of the first token in each of the `texts`, and the cross-entropy without those heads.

    >>> sinks()[0].experiment
    'story'
    """
    return read_trials(resources.files(__package__).joinpath("sinks.csv"))
