"""What each head of SmolLM2 looks at in twelve short texts, and what the model writes with heads off.

`experiments/smollm2_live.py` writes the files.
"""

import json
import zlib
from importlib import resources
from typing import NamedTuple

import torch
from jaxtyping import UInt8
from torch import Tensor

FOLDER = resources.files(__package__).joinpath("readings")
FILE = resources.files(__package__).joinpath("readings.json")


BUGS = "unscaled", "rotary_layout", "kv_tiled"
"""Bugs with which the weights of the first text are kept, too."""


class Reading(NamedTuple):
    """One text, as SmolLM2 reads and continues it.

    Attributes:
        name: the name of the text, and of the file of its weights.
        language: the readers to whom it is shown; "" for all.
        text: at most 22 tokens, without a start token, which changes the weights little.
        tokens: the characters that each covers; a character's pieces have numbers.
        continuations: what the model writes: under "none" with all heads; under a kind of head without its
            heads, and without as many others that were drawn at random.
    """

    name: str
    language: str
    text: str
    tokens: list[str]
    continuations: dict[str, list[str]]

    def percents(self) -> UInt8[Tensor, "num_layers num_heads num_tokens num_tokens"]:
        """Read the attention weights of all heads, in per cent; 0 above the diagonal.

        >>> readings("en")[0].percents()[17, 3].shape
        torch.Size([18, 18])
        """
        numbers = zlib.decompress(FOLDER.joinpath(f"{self.name}.bin").read_bytes())
        rows, columns = torch.tril_indices(len(self.tokens), len(self.tokens))
        weights = torch.zeros(30, 9, len(self.tokens), len(self.tokens), dtype=torch.uint8)
        weights[:, :, rows, columns] = torch.tensor(list(numbers), dtype=torch.uint8).view(30, 9, -1)
        return weights


def readings(language: str) -> list[Reading]:
    """Read the four texts for all readers, and the two for the readers of a language.

    >>> [reading.name for reading in readings("ko")]
    ['password', 'sentences', 'list', 'dialogue', 'mountain', 'spring']
    """
    found = [Reading(**each) for each in json.loads(FILE.read_text(encoding="utf-8"))]
    return [reading for reading in found if reading.language in ("", language)]
