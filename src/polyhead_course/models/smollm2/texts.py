"""The texts on which SmolLM2 is measured, and random tokens that come twice."""

import json
from collections.abc import Sequence
from functools import cache
from importlib import resources

import torch
from torch import Tensor


@cache
def texts() -> dict[str, str]:
    """Return ten short English texts of ten kinds, each under its kind; they were written for this course.

    >>> list(texts())[:4], texts()["dialogue"][:28]
    (['story', 'recipe', 'news', 'science'], 'Anna: Did you feed the cat? ')
    """
    file = resources.files(__package__).joinpath("texts.json")
    return dict(json.loads(file.read_text(encoding="utf-8")))


def sentence_starts(tokens: Sequence[str]) -> list[bool]:
    """Find the tokens that begin a sentence: the first, and each after one that ends with ".", "!" or "?".

    A quotation mark may follow the full stop in its token.

    >>> sentence_starts(["Yes", ".", "ĠShe", "Ġsaid", '."', "Ġ2"])
    [True, False, True, False, False, True]
    """
    ends = [token.rstrip('"').endswith((".", "!", "?")) for token in tokens[:-1]]
    return [True, *ends]


def repeated_tokens(seed: int, length: int = 25, batch: int = 8) -> Tensor:
    """Draw token ids that come twice, (batch, 1 + 2 · length): in the second half only copying helps.

    The first token is <|im_start|>, the others are drawn from 1,000 … 39,999, words and parts of words.

    Source: Olsson et al. 2022, https://arxiv.org/abs/2209.11895.

    >>> repeated_tokens(0, length=3, batch=1)
    tensor([[    1, 16044, 17239, 36933, 16044, 17239, 36933]])
    """
    tokens = torch.randint(1_000, 40_000, (batch, length), generator=torch.Generator().manual_seed(seed))
    return torch.cat([torch.ones_like(tokens[:, :1]), tokens, tokens], dim=1)
