"""What bugs do to SmolLM2: `bugs.csv` and `continuations.csv`, written by `experiments/smollm2_bugs.py`.

Each text is measured alone, without a cache. No start token comes before it, so that its first token is not
predicted. Each prompt is continued greedily, in one of the `WAYS`.
"""

import csv
import io
import math
from collections.abc import Iterable, Iterator
from importlib import resources
from typing import TYPE_CHECKING, NamedTuple

import torch
import torch.nn.functional as F
from torch import nn

from polyhead.pretrained import chat_prompt

if TYPE_CHECKING:
    from tokenizers import Tokenizer

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
    for row in _rows("bugs.csv"):
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
    return (Continuation(**row) for row in _rows("continuations.csv"))


@torch.no_grad()
def perplexities(model: nn.Module, tokenizer: "Tokenizer", texts: Iterable[str]) -> list[float]:
    """Compute exp(-mean log P) over the tokens of each text but the first, which nothing comes before.

    Args:
        model: `model(token_ids)` gives logits, (batch, length, vocab_size).
        tokenizer: Gives the tokens of a text, at least two of them.
        texts: Read one by one.

    >>> from polyhead.pretrained import smollm2
    >>> model, tokenizer, _ = smollm2()
    >>> easy, hard = perplexities(model, tokenizer, ["1, 2, 3, 4, 5, 6, 7, 8", "8, 1, 6, 2, 7, 3, 5, 4"])
    >>> easy < hard / 2
    True
    """
    found = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text).ids])
        if ids.shape[1] < 2:
            raise ValueError(f"texts must have two tokens or more each, got {text!r}")
        found.append(math.exp(F.cross_entropy(model(ids)[0, :-1], ids[0, 1:]).item()))
    return found


def _rows(file: str) -> "csv.DictReader[str]":
    table = resources.files(__package__).joinpath(file).read_text(encoding="utf-8")
    return csv.DictReader(io.StringIO(table))  # which leaves the lines of a text together
