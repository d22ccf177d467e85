"""A small model that writes a word backwards.

Its checkpoint is written by `experiments/backwards.py`.
"""

from __future__ import annotations

from pathlib import Path

import torch
import torch.nn.functional as F
from jaxtyping import Int64
from torch import Tensor

from polyhead.checkpoint import load
from polyhead.transformer import Transformer

CHECKPOINT = Path(__file__).parent / "checkpoints" / "backwards.safetensors"
SIGNS = "_>.abcdefgh"  # padding, start, end, letters
PAD, START, END = 0, 1, 2
MAX_LENGTH = 6


def read(*words: str) -> Int64[Tensor, "num_words max_length"]:
    """Return the numbers of the letters of words, padded on the right.

    >>> read("bad")
    tensor([[4, 3, 6, 0, 0, 0]])
    """
    for word in words:
        if not 1 <= len(word) <= MAX_LENGTH or not set(word) <= set(SIGNS[3:]):
            raise ValueError(f"a word must have 1 to {MAX_LENGTH} of the letters {SIGNS[3:]}, got {word!r}")
    return torch.tensor([[SIGNS.index(sign) for sign in word.ljust(MAX_LENGTH, "_")] for word in words])


def spell(ids: Tensor) -> str:
    """Return the signs of one row of numbers.

    >>> spell(read("bad")[0])
    'bad___'
    """
    return "".join(SIGNS[i] for i in ids.tolist())


def make_words() -> tuple[Tensor, Tensor]:
    """Make different words of three to six random letters, (num_words, 6): for training, and 500 held out.

    >>> training, held_out = make_words()
    >>> spell(held_out[-1]), len(held_out)
    ('chafed', 500)
    """
    generator = torch.Generator().manual_seed(0)
    lengths = torch.randint(3, MAX_LENGTH + 1, (20_000, 1), generator=generator)
    words = torch.randint(3, len(SIGNS), (20_000, MAX_LENGTH), generator=generator)
    words = words.masked_fill(torch.arange(MAX_LENGTH) >= lengths, PAD).unique(dim=0)  # type: ignore[no-untyped-call]
    chafed = read("chafed")  # held out, as the chapters' example
    words = words[(words != chafed).any(dim=1)]
    words = words[torch.randperm(len(words), generator=generator)]
    return words[:-499], torch.cat([words[-499:], chafed])


def make_pairs(words: Int64[Tensor, "batch 6"]) -> tuple[Tensor, Tensor, Tensor]:
    """Return the encoder's input, the decoder's input, and the targets: (batch, 7) each.

    >>> [spell(row) for rows in make_pairs(read("bad")) for row in rows]
    ['bad.___', '>dab.__', 'dab.___']
    """
    rows, lengths = torch.arange(len(words)), (words != PAD).sum(dim=1)
    source = F.pad(words, (0, 1))
    source[rows, lengths] = END
    reversed_indices = (lengths[:, None] - 1 - torch.arange(MAX_LENGTH)) % MAX_LENGTH
    target = F.pad(words.gather(1, reversed_indices), (0, 1))
    target[rows, lengths] = END
    return source, F.pad(target[:, :-1], (1, 0), value=START), target


def make_model() -> Transformer:
    """Make a model with random weights: one layer on either side, and two heads.

    >>> source, target, _ = make_pairs(read("bad", "cab"))
    >>> make_model()(source, target).shape
    torch.Size([2, 7, 11])
    """
    sizes = {"embed_dim": 32, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
    return Transformer(len(SIGNS), **sizes, dropout=0.0)  # type: ignore[arg-type]


def load_model(path: str | Path = CHECKPOINT) -> Transformer:
    """Load the trained model, in evaluation mode.

    >>> source, target, _ = make_pairs(read("bad"))
    >>> spell(load_model()(source, target, source != PAD)[0, :4].argmax(dim=-1))
    'dab.'
    """
    model = make_model()
    model.load_state_dict(load(path).weights)
    return model.eval()
