"""What bugs do to SmolLM2: `bugs.csv` and `continuations.csv`, written by `experiments/smollm2_bugs.py`.

Each text is measured alone, without a cache. No start token comes before it, so that its first token is not
predicted. Each prompt is continued greedily, in one of the `WAYS`.
"""

from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple

from polyhead.pretrained import chat_prompt
from polyhead_course.models.head_experiments import read_rows

_FOLDER = resources.files(__package__)
PROMPTS = {
    "fact": "The capital of France is",
    "copy": "The password is vutra kelomi sandrip. Write it down. The password is",
    "count": "1, 2, 3, 4, 5, 6, 7,",
    "story": "Once upon a time, there was a little girl who",
    "chat": chat_prompt("What is the capital of France?"),
}
"""What the model continues."""
WAYS = "cache", "no cache", "batch"
"""Each prompt alone with a cache, alone without one, all five with a cache and padding on the left."""


class BugRow(NamedTuple):
    """What the ten texts and the laws show of one bug.

    Attributes:
        bug: One of `attention_clinic.plant.PLANTABLE`, or "none".
        layer: The only layer that has it; None: all layers have it.
        perplexities: Of each text, by its kind.
        perplexity: Of all tokens of the ten texts, each text read alone.
        spread: The standard deviation of the logarithms of `perplexities`.
        joined: The perplexity of the ten texts read as one, with blank lines between them: 700 tokens.
        laws: The laws of `attention_clinic.laws` that see it in the model's first two layers; none were tried
            where one layer has it.

    >>> row = next(bugs())
    >>> row.bug, row.layer, row.laws
    ('none', None, ())
    """

    bug: str
    layer: int | None
    perplexities: dict[str, float]
    perplexity: float
    spread: float
    joined: float
    laws: tuple[str, ...]


class Continuation(NamedTuple):
    """What the model writes after a prompt, up to 24 tokens.

    Attributes:
        bug: One of `attention_clinic.plant.PLANTABLE`, or "none".
        way: One of `WAYS`.
        prompt: The name of one of `PROMPTS`.
        text: Up to the first token whose logit is less than 0.05 above another's; "FloatingPointError" where
            the logits are NaN.
        rest: From that token on: another machine may write something else.

    >>> next(continuations()).text[:6]
    ' Paris'
    """

    bug: str
    way: str
    prompt: str
    text: str
    rest: str


def bugs() -> Iterator[BugRow]:
    """Read the table of perplexities; its first row has no bug.

    >>> [row.perplexity > 1000 for row in bugs() if row.bug == "kv_tiled" and row.layer is None]
    [True]
    """
    for row in read_rows(_FOLDER.joinpath("bugs.csv")):
        bug, layer, laws = (row.pop(name) for name in ("bug", "layer", "laws"))
        numbers = {name: float(value) for name, value in row.items()}
        perplexity, spread, joined = (numbers.pop(name) for name in ("perplexity", "spread", "joined"))
        number = int(layer) if layer else None
        yield BugRow(bug, number, numbers, perplexity, spread, joined, tuple(laws.split()))


def continuations() -> Iterator[Continuation]:
    """Read the table of continuations.

    >>> {row.way for row in continuations()} == {*WAYS}
    True
    """
    return (Continuation(**row) for row in read_rows(_FOLDER.joinpath("continuations.csv")))
