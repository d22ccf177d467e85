"""Token ids to the vectors of a Transformer's first layer, and hidden states back to logits."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float, Integer
from torch import Tensor, nn

from polyhead.checked import Count, Positive, Probability, Size, check_range, checked


class TokenEmbedding(nn.Module):
    """The vector of each token, times √embed_dim with `scale`, then positions, segments, norm, dropout.

    `positions` are `SinusoidalPositions`, `LearnedPositions`, or anything called in the same way; None with
    `RotaryPositions`, which act in the attention.

    Source: Vaswani et al. 2017, section 3.4; segments and norm, Devlin et al. 2018.

    >>> embedding = TokenEmbedding(vocab_size=11, embed_dim=6, positions=SinusoidalPositions(6))
    >>> embedding(torch.tensor([[3, 1, 4]])).shape
    torch.Size([1, 3, 6])
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
        """Make the tables; segments only with a number of them (BERT: 2), the norm only with an eps."""
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
    ) -> Float[Tensor, "batch length {self.embed_dim}"]:
        """Look up the tokens; positions are 0, 1, 2, … by default, and all segments 0."""
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
    """Look up rows of a table."""
    device = table.weight.device
    if ids.device != device:  # for ids on "meta", which have no numbers, PyTorch would take rows at random
        raise ValueError(f"{name} must be on the device of the table, {device}, got {ids.device}")
    check_range(name, ids, table.num_embeddings, "the table's length")
    return table(ids.long())


class TiedOutput(nn.Module):
    """Hidden states to logits with the embedding's table: logits = states · tableᵀ.

    It has no parameter of its own and reads the table when it is called: after a load both have the same.

    Source: Press & Wolf 2017.

    >>> embedding = TokenEmbedding(vocab_size=11, embed_dim=6, positions=None)
    >>> output = TiedOutput(embedding)
    >>> output.weight is embedding.tokens.weight, output(torch.randn(2, 6)).shape
    (True, torch.Size([2, 11]))
    """

    def __init__(self, embedding: TokenEmbedding) -> None:
        """Refer to the embedding in a tuple: as a submodule it would be in each state dict twice."""
        super().__init__()
        self.embed_dim, self._embedding = embedding.embed_dim, (embedding,)
        self.register_load_state_dict_pre_hook(_check_second_table)  # type: ignore[no-untyped-call]

    @property
    def weight(self) -> Tensor:
        """The embedding's table, (vocab_size, embed_dim)."""
        return self._embedding[0].tokens.weight

    @checked
    def forward(self, states: Float[Tensor, "*batch {self.embed_dim}"]) -> Float[Tensor, "*batch vocab_size"]:
        """Compute a logit for each token of the vocabulary."""
        # The replicas of `nn.DataParallel` share the embedding of the first device, where gradients add up.
        is_replica = getattr(self, "_is_replica", False)
        return F.linear(states, self.weight.to(states.device) if is_replica else self.weight)


def _check_second_table(output: TiedOutput, state_dict: dict[str, Any], prefix: str, *lists: Any) -> None:
    """Accept a second copy of the table as the output's weight, as some state dicts have it; no other one.

    A model loads its embedding before its output: the table is the new one already.
    """
    weight, table = state_dict.pop(f"{prefix}weight", None), output.weight
    if weight is None or weight.is_meta or table.is_meta:
        return
    if weight.shape != table.shape or not torch.equal(weight.to(table), table):
        *_, errors = lists  # the last of what a hook gets: strings that `load_state_dict` raises together
        errors.append(f"{prefix}weight must be the embedding's table, as the output is tied, got another one")
