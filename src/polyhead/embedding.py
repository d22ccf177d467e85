"""From token numbers to the vectors that a Transformer's first layer takes, and back to one logit a token."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.checked import Count, Positive, Probability, Size, checked, within


class TokenEmbedding(nn.Module):
    """The row of each token, times √embed_dim where `scale`, then positions, segments, norm, dropout.

    `positions` are `SinusoidalPositions`, `LearnedPositions`, or anything called in the same way; None where
    the attention alone knows positions, as with `RotaryPositions`.

    Source: Vaswani et al. 2017, section 3.4; segments and norm, Devlin et al. 2018.
    """

    @checked
    def __init__(
        self,
        vocab_size: Size,
        embed_dim: Size,
        positions: nn.Module | None,
        scale: bool = False,
        num_segments: Count = 0,
        layer_norm_eps: Positive | None = None,
        dropout: Probability = 0.0,
    ) -> None:
        """Make the tables: segments only if there are some (BERT: 2), the norm only with an eps."""
        super().__init__()
        if (size := getattr(positions, "embed_dim", embed_dim)) != embed_dim:
            raise ValueError(f"positions must have embed_dim = {embed_dim}, got {size}")
        self.embed_dim = embed_dim
        self.tokens = nn.Embedding(vocab_size, embed_dim)
        self.positions = positions
        self.factor = math.sqrt(embed_dim) if scale else 1.0
        self.segments = nn.Embedding(num_segments, embed_dim) if num_segments else None
        self.norm = None if layer_norm_eps is None else nn.LayerNorm(embed_dim, eps=layer_norm_eps)
        self.dropout = nn.Dropout(dropout)

    @checked
    def forward(
        self,
        token_ids: Integer[Tensor, "batch length"],
        positions: Integer[Tensor, "..."] | None = None,
        segment_ids: Integer[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "batch length embed_dim"]:
        """Look the tokens up; positions are 0, 1, 2, … if not given, and all segments 0."""
        x = _rows(self.tokens, "token_ids", token_ids) * self.factor
        x = x if self.positions is None else self.positions(x, positions)
        if self.segments is not None:
            segment_ids = torch.zeros_like(token_ids) if segment_ids is None else segment_ids
            x = x + _rows(self.segments, "segment_ids", segment_ids)
        elif segment_ids is not None:
            raise ValueError("segment_ids must be None, as this model has no segments, got some")
        x = x if self.norm is None else self.norm(x)
        return self.dropout(x)


def _rows(table: nn.Embedding, name: str, ids: Tensor) -> Tensor:
    """The table's rows of these numbers, which must be in its range."""
    place = table.weight.device
    if ids.device != place:  # of ids without numbers, on "meta", PyTorch would take rows at random
        raise ValueError(f"{name} must be on the device of the table, {place}, got {ids.device}")
    within(name, ids, table.num_embeddings, "the table's length")
    return table(ids.long())


class TiedOutput(nn.Module):
    """From hidden states to logits with the embedding's own table: logits = states · tableᵀ.

    It has no parameter of its own, and reads the table when it is called: whatever is loaded into the
    embedding, both have it.

    Source: Press & Wolf 2017.
    """

    def __init__(self, embedding: TokenEmbedding) -> None:
        """Remember the embedding, in a tuple: as a submodule it would be in each state dict twice."""
        super().__init__()
        self.embed_dim, self._embedding = embedding.embed_dim, (embedding,)
        self.register_load_state_dict_pre_hook(_without_the_table)  # type: ignore[no-untyped-call]

    @property
    def weight(self) -> Tensor:
        """The table as it is now, (vocab_size, embed_dim)."""
        return self._embedding[0].tokens.weight

    @checked
    def forward(self, states: Float[Tensor, "*batch embed_dim"]) -> Float[Tensor, "*batch vocab_size"]:
        """A logit for each token of the vocabulary."""
        return F.linear(states, self.weight)


def _without_the_table(output: nn.Module, state_dict: dict[str, Any], prefix: str, *_: object) -> None:
    """Some state dicts hold the table a second time, as the weight of the output."""
    state_dict.pop(f"{prefix}weight", None)
