"""What a decoder keeps while it generates: the keys and values of the tokens that are already there."""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from polyhead import _validate


class KVCache:
    """Keys and values of one attention layer, (batch, num_kv_heads, num_tokens, head_dim).

    Room is made for twice as many tokens whenever it runs out, so that n tokens are copied fewer than n times
    in all, not n times each. It writes in place, and so keeps no gradients: use it under `torch.no_grad()`.
    """

    def __init__(self, fixed: bool = False) -> None:
        """Make an empty cache.

        Args:
            fixed: the first update is the only one: a cross-attention's keys and values, which come from the
                encoder, are computed once. `MultiHeadAttention` then reads them and projects queries alone.

        Raises:
            TypeError: `fixed` is no bool.
        """
        self.fixed = _validate.flag("fixed", fixed)
        self.length = 0
        self._room: tuple[Tensor, Tensor] | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing more is to be added: `fixed`, and filled."""
        return self.fixed and self._room is not None

    def update(
        self,
        key: Float[Tensor, "batch num_kv_heads num_new head_dim"],
        value: Float[Tensor, "batch num_kv_heads num_new head_dim"],
    ) -> tuple[Tensor, Tensor]:
        """Add new tokens' keys and values after the others.

        Args:
            key: (batch, num_kv_heads, num_new, head_dim).
            value: the same shape.

        Returns:
            All keys and all values so far, (batch, num_kv_heads, num_tokens, head_dim): views, which later
            updates leave as they are.

        Raises:
            TypeError: the two are not floating tensors of one dtype.
            ValueError: they need gradients, do not fit together or what is there, or a fixed cache is full.
        """
        _validate.rank("key", _validate.floating("key", key), 4)
        _validate.same_kind("value", _validate.floating("value", value), "key", key)
        if value.shape != key.shape:
            raise ValueError(
                f"value must have the key's shape {_validate.shape(key)}, got {_validate.shape(value)}"
            )
        if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            raise ValueError(
                "key and value must need no gradient, got some that do: call the model under torch.no_grad()"
            )
        if self.complete:
            raise ValueError("a fixed cache must be updated once, got a second update")
        self._make_room(key, value)
        assert self._room is not None
        end = self.length + key.shape[2]
        for room, new in zip(self._room, (key, value), strict=True):
            room[:, :, self.length : end] = new
        self.length = end
        return self.read()

    def read(self) -> tuple[Tensor, Tensor]:
        """All keys and all values so far.

        Returns:
            Two tensors, (batch, num_kv_heads, num_tokens, head_dim).

        Raises:
            ValueError: nothing has been added yet.
        """
        if self._room is None:
            raise ValueError("the cache must have been updated before it is read, got an empty one")
        keys, values = self._room
        return keys[:, :, : self.length], values[:, :, : self.length]

    def select(self, rows: Int[Tensor, " new_batch"]) -> None:
        """Keep these sequences of the batch, in this order; one may come several times, or not at all.

        Args:
            rows: (new_batch,), integers below the batch. An empty cache stays empty.

        Raises:
            TypeError: `rows` is no integer tensor.
            ValueError: it has not one dimension, or a row is not there.
        """
        _validate.rank("rows", _validate.integers("rows", rows), 1)
        if self._room is not None:
            keys, values = self._room
            _validate.within("rows", rows, len(keys), "the batch")
            rows = rows.long()  # index_select takes no smaller ones
            self._room = keys.index_select(0, rows), values.index_select(0, rows)

    def _make_room(self, key: Tensor, value: Tensor) -> None:
        batch, heads, num_new, size = key.shape
        if self._room is None:
            # A fixed cache is as large as it will be; another starts with room for a few tokens.
            room = batch, heads, num_new if self.fixed else max(num_new, 16), size
            self._room = key.new_empty(room), value.new_empty(room)
            return
        there = self._room[0]
        if (batch, heads, size) != (there.shape[0], there.shape[1], there.shape[3]):
            raise ValueError(
                f"key must have the shape of the cache, ({there.shape[0]}, {there.shape[1]}, any, "
                f"{there.shape[3]}), got {_validate.shape(key)}"
            )
        _validate.same_kind("key", key, "the cache", there)
        needed = self.length + num_new
        if needed > there.shape[2]:
            wider = [old.new_empty(batch, heads, max(needed, 2 * there.shape[2]), size) for old in self._room]
            for new, old in zip(wider, self._room, strict=True):
                new[:, :, : self.length] = old[:, :, : self.length]
            self._room = wider[0], wider[1]


class LayerCache(NamedTuple):
    """The caches of one decoder layer."""

    self_attention: KVCache
    cross_attention: KVCache


class DecoderCache:
    """The caches of all layers of a decoder, and which of the tokens so far are padding.

    Attributes:
        layers: a `LayerCache` for each layer.
    """

    def __init__(self, num_layers: int) -> None:
        """Make empty caches.

        Args:
            num_layers: how many layers the decoder has.

        Raises:
            TypeError: it is no int.
            ValueError: it is below 1.
        """
        _validate.at_least("num_layers", num_layers)
        self.layers = [LayerCache(KVCache(), KVCache(fixed=True)) for _ in range(num_layers)]
        self._mask: Tensor | None = None

    @property
    def length(self) -> int:
        """How many tokens it holds, padding included."""
        return self.layers[0].self_attention.length

    def mask_with(
        self, new: Bool[Tensor, "batch num_new"] | None, batch: int, num_new: int, device: torch.device
    ) -> Bool[Tensor, "batch num_tokens"] | None:
        """Remember which of the tokens to come are padding.

        Args:
            new: (batch, num_new), True = a token, False = padding; None if there is none.
            batch: how many sequences.
            num_new: how many tokens will come.
            device: where they are.

        Returns:
            The same for all tokens, (batch, num_tokens); None if there has never been padding.

        Raises:
            ValueError: there were more or fewer sequences before.
        """
        if new is None and self._mask is None:
            return None
        if self._mask is None or self.length == 0:
            before = torch.ones(batch, self.length, dtype=torch.bool, device=device)
        else:
            before = self._mask[:, : self.length]  # not what a call that failed has left
        if len(before) != batch:
            raise ValueError(f"the new tokens must have the batch of the cache, {len(before)}, got {batch}")
        if new is None:
            new = torch.ones(batch, num_new, dtype=torch.bool, device=device)
        self._mask = torch.cat((before, new), dim=1)
        return self._mask

    def select(self, rows: Int[Tensor, " new_batch"]) -> None:
        """Keep these sequences of the batch, in this order, in every layer; see `KVCache.select`."""
        for layer in self.layers:
            for cache in layer:
                cache.select(rows)
        if self._mask is not None:
            self._mask = self._mask.index_select(0, rows.long())
