"""From token numbers to the vectors that a Transformer's first layer takes."""

from __future__ import annotations

import math

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from polyhead import _validate
from polyhead.cache import DecoderCache


class TokenEmbedding(nn.Module):
    """The row of each token, times √embed_dim where `scale`, then positions, segments, norm, dropout.

    Attributes:
        tokens: `nn.Embedding(vocab_size, embed_dim)`.
        positions: what adds the positions, as `SinusoidalPositions` does.
        segments: `nn.Embedding(num_segments, embed_dim)`, or None.
        norm: `nn.LayerNorm`, or None.

    Source: Vaswani et al. 2017, section 3.4; segments and norm, Devlin et al. 2018.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        positions: nn.Module,
        scale: bool = False,
        num_segments: int = 0,
        layer_norm_eps: float | None = None,
        dropout: float = 0.0,
    ) -> None:
        """Make the tables.

        Args:
            vocab_size: how many different tokens there are.
            embed_dim: size of each vector.
            positions: `SinusoidalPositions`, `LearnedPositions`, or anything called in the same way.
            scale: multiply each token's row by √embed_dim, as the paper does.
            num_segments: how many kinds of segment there are (BERT: 2), or 0.
            layer_norm_eps: normalise the sum, with this added to the variance; None for no norm.
            dropout: the probability with which a number of the sum is set to 0 in training.

        Raises:
            TypeError: an argument is of the wrong type.
            ValueError: a size is too small, or dropout is no probability.
        """
        super().__init__()
        self.tokens = nn.Embedding(
            _validate.at_least("vocab_size", vocab_size), _validate.at_least("embed_dim", embed_dim)
        )
        _validate.instance("positions", positions, nn.Module)
        self.positions = positions
        self.factor = math.sqrt(embed_dim) if _validate.flag("scale", scale) else 1.0
        kinds = _validate.at_least("num_segments", num_segments, minimum=0)
        self.segments = nn.Embedding(kinds, embed_dim) if kinds else None
        self.norm: nn.LayerNorm | None = None
        if layer_norm_eps is not None:
            self.norm = nn.LayerNorm(embed_dim, eps=_validate.positive("layer_norm_eps", layer_norm_eps))
        self.dropout = nn.Dropout(_validate.probability("dropout", dropout))

    def forward(
        self,
        token_ids: Int[Tensor, "batch length"],
        positions: Int[Tensor, "..."] | None = None,
        segment_ids: Int[Tensor, "batch length"] | None = None,
    ) -> Float[Tensor, "batch length embed_dim"]:
        """Look the tokens up.

        Args:
            token_ids: (batch, length), integers below `vocab_size`.
            positions: (length,) or (batch, length); 0, 1, 2, … if not given.
            segment_ids: (batch, length), integers below `num_segments`; 0 if not given.

        Returns:
            (batch, length, embed_dim).

        Raises:
            TypeError: an argument is no integer tensor.
            ValueError: a shape or device does not fit, or a number lies outside its table.
        """
        _validate.token_ids("token_ids", token_ids, self.tokens.num_embeddings)
        self._same_place("token_ids", token_ids)
        x = self.positions(self.tokens(token_ids.long()) * self.factor, positions)
        if self.segments is not None:
            if segment_ids is None:
                segment_ids = torch.zeros_like(token_ids)
            _validate.token_ids("segment_ids", segment_ids, self.segments.num_embeddings, "num_segments")
            self._same_place("segment_ids", segment_ids)
            if segment_ids.shape != token_ids.shape:
                raise ValueError(
                    f"segment_ids must have the shape of token_ids, {_validate.shape(token_ids)}, "
                    f"got {_validate.shape(segment_ids)}"
                )
            x = x + self.segments(segment_ids.long())
        elif segment_ids is not None:
            raise ValueError("segment_ids must be None, as this model has no segments, got some")
        x = x if self.norm is None else self.norm(x)
        embedded: Tensor = self.dropout(x)
        return embedded

    def _same_place(self, name: str, ids: Tensor) -> None:
        # PyTorch's own embedding would read at random where the numbers are on the device "meta".
        device = self.tokens.weight.device
        if ids.device != device:
            raise ValueError(f"{name} must be on the device of the table, {device}, got {ids.device}")


def places(
    token_ids: Int[Tensor, "batch length"],
    mask: Bool[Tensor, "batch length"] | None,
    cache: DecoderCache | None = None,
    name: str = "mask",
) -> tuple[Int[Tensor, "..."], Bool[Tensor, "batch 1 num_keys"] | None]:
    """Where each token stands, and which keys are tokens: padding counts for nothing, on either side.

    Args:
        token_ids: (batch, length): the new tokens, if there is a cache.
        mask: (batch, length), True = a token, False = padding; None if there is none.
        cache: what came before; it remembers the mask.
        name: what the caller calls the mask.

    Returns:
        The positions, (length,) or (batch, length): how many tokens of the sequence stand before this one;
        and the attention's mask, (batch, 1, num_keys), or None.

    Raises:
        TypeError: the mask is no boolean tensor, or the cache no `DecoderCache`.
        ValueError: the mask has not the shape of `token_ids`.
    """
    if cache is not None:
        _validate.instance("cache", cache, DecoderCache)
    if mask is not None:
        _validate.token_mask(name, mask, token_ids)
    batch, length = token_ids.shape
    earlier = 0 if cache is None else cache.length
    tokens = mask if cache is None else cache.mask_with(mask, batch, length, token_ids.device)
    if tokens is None:
        return torch.arange(earlier, earlier + length, device=token_ids.device), None
    positions = (tokens.cumsum(dim=1) - 1).clamp(min=0)[:, earlier:]
    return positions, tokens[:, None]
