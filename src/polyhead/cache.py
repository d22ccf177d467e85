"""What a decoder keeps of the tokens that are already there, and where it places those that come."""

from __future__ import annotations

import copy
from typing import NamedTuple

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from polyhead.checked import Size, checked, within


class KVCache:
    """Keys and values of one attention, (batch, num_kv_heads, num_tokens, head_dim).

    Room is made for twice as many tokens whenever it runs out, so that n tokens are copied fewer than n times
    in all, not n times each. It writes in place, and so keeps no gradients: use it under `torch.no_grad()`.
    New tokens count when the attention is done with them: after an error the same call can be made again.

    A `fixed` one is filled by its first use alone: a cross-attention's keys and values, which come from the
    encoder, are computed once, and after that `MultiHeadAttention` projects queries only.

    `positions` are where its tokens stand, (batch or 1, num_tokens), if that was told; otherwise 0, 1, 2, …
    """

    @checked
    def __init__(self, fixed: bool = False) -> None:
        """Make an empty cache."""
        self.fixed, self.length, self._new = fixed, 0, 0
        self._room: tuple[Tensor, Tensor] | None = None
        self.positions: Tensor | None = None
        self._new_positions: Tensor | None = None

    @property
    def complete(self) -> bool:
        """Whether nothing more is to be added: `fixed`, and filled."""
        return self.fixed and self.length > 0

    @property
    def num_bytes(self) -> int:
        """The memory of the keys and values that it holds, without the room for those to come."""
        return 0 if self._room is None else sum(each.numel() * each.itemsize for each in self.read())

    def length_with(self, new: Float[Tensor, "batch num_new embed_dim"]) -> int:
        """How many tokens it will hold with these; a complete one stays as it is."""
        return self.length if self.complete else self.length + new.shape[1]

    def positions_with(self, num_new: int, positions: Tensor | None) -> Tensor | None:
        """Where all its tokens stand, (batch or 1, num_tokens), if these come next; None: as counted."""
        told = self.positions if positions is None else positions
        if told is None:
            return None
        counted = torch.arange(self.length + num_new, device=told.device).unsqueeze(0)
        before = counted[:, : self.length] if self.positions is None else self.positions
        new = counted[:, self.length :] if positions is None else positions.reshape(-1, num_new)
        batch = max(len(before), len(new))
        return torch.cat((before.expand(batch, -1), new.expand(batch, -1)), dim=1)

    @checked
    def update(
        self,
        key: Float[Tensor, "batch num_kv_heads num_new head_dim"],
        value: Float[Tensor, "batch num_kv_heads num_new head_dim"],
        positions: Integer[Tensor, "..."] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Write new tokens' keys and values after the others, and give all; they count from `advance` on."""
        if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            raise ValueError(
                "key and value must need no gradient, got some that do: call the model under torch.no_grad()"
            )
        if self.complete:
            raise ValueError("a fixed cache must be updated once, got a second update")
        keys, values = self._room = self._room_for(key)
        self._new = key.shape[2]
        self._new_positions = self.positions_with(self._new, positions)
        end = self.length + self._new
        keys[:, :, self.length : end], values[:, :, self.length : end] = key, value
        return keys[:, :, :end], values[:, :, :end]

    def advance(self) -> None:
        """Count what the last `update` wrote."""
        self.length, self._new = self.length + self._new, 0
        self.positions = self._new_positions

    def read(self) -> tuple[Tensor, Tensor]:
        """All keys and all values so far, (batch, num_kv_heads, num_tokens, head_dim)."""
        if self._room is None:
            raise ValueError("the cache must have been updated before it is read, got an empty one")
        keys, values = self._room
        return keys[:, :, : self.length], values[:, :, : self.length]

    @checked
    def select(self, rows: Integer[Tensor, " new_batch"]) -> None:
        """Keep these sequences of the batch, in this order; one may come several times, or not at all."""
        if self._room is not None:
            within("rows", rows, len(self._room[0]), "the batch")
            keys, values = (each.index_select(0, rows.long()) for each in self._room)
            self._room = keys, values
        if self.positions is not None and len(self.positions) > 1:
            self.positions = self.positions.index_select(0, rows.long())

    def _room_for(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """Room for the new keys and values, with what is there already in it."""
        batch, heads, num_new, size = key.shape
        needed = self.length + num_new
        if self._room is None or self.length == 0:
            # A fixed cache is as large as it will be; another starts with room for a few tokens.
            room = batch, heads, num_new if self.fixed else max(num_new, 16), size
            return key.new_empty(room), key.new_empty(room)
        there = self._room[0]
        if key.dtype != there.dtype or key[:, :, :0].shape != there[:, :, :0].shape:
            raise ValueError(
                f"key must have the dtype and, but for num_tokens, the shape of the cache, {there.dtype} "
                f"{tuple(there.shape)}, got {key.dtype} {tuple(key.shape)}"
            )
        if needed <= there.shape[2]:
            return self._room
        wider = [old.new_empty(batch, heads, max(needed, 2 * there.shape[2]), size) for old in self._room]
        for new, old in zip(wider, self._room, strict=True):
            new[:, :, : self.length] = old[:, :, : self.length]
        return wider[0], wider[1]


class LayerCache(NamedTuple):
    """The caches of one decoder layer."""

    self_attention: KVCache
    cross_attention: KVCache


class _Kept(NamedTuple):
    """What a decoder's cache is, in one place, so that one assignment changes all of it, or none."""

    layers: list[LayerCache]
    mask: Tensor | None = None  # (batch, length): which tokens are no padding; None: all
    memory: Tensor | None = None  # what the cross-attentions' keys and values were made of


class DecoderCache:
    """The caches of all layers of a decoder; all grow at once, when the last layer is done."""

    @checked
    def __init__(self, num_layers: Size) -> None:
        """Make empty caches."""
        self._kept = _Kept([LayerCache(KVCache(), KVCache(fixed=True)) for _ in range(num_layers)])

    @property
    def layers(self) -> list[LayerCache]:
        """A `LayerCache` for each layer, as they are now."""
        return self._kept.layers

    @property
    def length(self) -> int:
        """How many tokens it holds, padding included."""
        return self.layers[0].self_attention.length

    @property
    def num_bytes(self) -> int:
        """The memory of all keys and values that it holds."""
        return sum(each.num_bytes for layer in self.layers for each in layer)

    @property
    def mask(self) -> Tensor | None:
        """Which of its tokens are no padding, (batch, length); None if there has never been padding."""
        return self._kept.mask

    def begin(self, num_layers: int, memory: Tensor | None) -> list[LayerCache]:
        """Copies for the layers to add to, if their keys were made of this memory."""
        if len(self.layers) != num_layers:
            raise ValueError(f"cache must be one of {num_layers} layers, got one of {len(self.layers)}")
        kept = self._kept.memory
        if kept is not None and memory is not None and not _same(memory, kept):
            sizes = f"{tuple(kept.shape)}, got another, {tuple(memory.shape)}"
            raise ValueError(f"memory must be the one that the cache has the keys of, {sizes}")
        return self._copies()

    def finish(self, layers: list[LayerCache], mask: Tensor | None, memory: Tensor | None) -> None:
        """Keep what all layers have added, and which tokens the attention's mask calls padding."""
        if mask is not None:
            mask = mask[:, 0] if mask.ndim == 3 and mask.shape[1] == 1 else None
        self._kept = _Kept(layers, mask, memory)

    def take(self, other: DecoderCache) -> None:
        """Become what another one is: a copy that a model has tried out, to the end."""
        self._kept = other._kept

    @checked
    def select(self, rows: Integer[Tensor, " new_batch"]) -> None:
        """Keep these sequences of the batch, in this order, in every layer; see `KVCache.select`."""
        layers = self._copies()
        for layer in layers:
            for each in layer:
                each.select(rows)
        mask, memory = (
            None if each is None else each.index_select(0, rows.long()) for each in self._kept[1:]
        )
        self._kept = _Kept(layers, mask, memory)

    def _copies(self) -> list[LayerCache]:
        """Each with a length of its own, and the same room: only one of both may go on."""
        return [LayerCache(*map(copy.copy, layer)) for layer in self.layers]


def _same(memory: Tensor, kept: Tensor) -> bool:
    if memory is kept or memory.shape != kept.shape:
        return memory is kept
    return memory.is_meta or torch.compiler.is_compiling() or torch.equal(memory, kept)


def places(
    token_ids: Tensor, mask: Tensor | None, cache: DecoderCache | None = None
) -> tuple[Tensor, Tensor | None]:
    """Where each new token stands, and which keys are tokens: padding counts for nothing, on either side.

    The mask is (batch, length), True = a token. The positions are (length,) or (batch, length): how many
    tokens of the sequence stand before this one. What comes with them is the attention's mask, (batch, 1,
    num_keys), or None.
    """
    earlier, before = (0, None) if cache is None else (cache.length, cache.mask)
    if mask is None and before is None:
        return torch.arange(earlier, earlier + token_ids.shape[1], device=token_ids.device), None
    mask = torch.ones_like(token_ids, dtype=torch.bool) if mask is None else mask
    before = mask.new_ones(len(mask), earlier) if before is None else before
    if len(before) != len(mask):
        raise ValueError(f"new tokens must have the batch of the cache, {len(before)}, got {len(mask)}")
    tokens = torch.cat((before, mask), dim=1)
    return (tokens.cumsum(dim=1) - 1).clamp(min=0)[:, earlier:], tokens[:, None]
