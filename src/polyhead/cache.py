"""Keys and values of earlier tokens, kept so that each step computes those of the new tokens alone.

A step either happens in all layers, or leaves the cache as it was: after an error or an interrupt the same
call can be made again. Every write therefore has two phases, at three levels:

1. A model takes `draft()`, a second view of its cache, for its decoder, and makes it the cache with
   `commit` once there are logits.
2. A decoder takes the layers' caches from `begin`, and hands them back with `finish` after the last layer.
3. An attention writes new keys and values with `update`, behind those that count, and counts them with
   `advance` once it has its output.

A draft shares the memory of its cache and has a length of its own. It writes only behind that length, so
dropping a draft undoes a step without a copy.
"""

import copy
from typing import NamedTuple, TypeVar

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from polyhead.checked import Size, check_range, checked

Cache = TypeVar("Cache", "KVCache", "DecoderCache")


class KVCache:
    """Keys and values of one attention, (batch, num_kv_heads, num_tokens, head_dim).

    Room is allocated for twice as many tokens whenever it runs out, so that n tokens are copied fewer than n
    times in all, not n times each. Writing is in place and keeps no gradients: use it under
    `torch.no_grad()`.

    A `fixed` cache is filled by its first use alone: a cross-attention's keys and values, which come from the
    encoder, are computed once, and after that `MultiHeadAttention` projects queries only.

    `positions` are those of its tokens, (batch or 1, num_tokens), if any were given; otherwise 0, 1, 2, …
    `copy.copy` and `copy.deepcopy` give a cache with memory of its own.

    >>> cache = KVCache()
    >>> key = value = torch.ones(1, 2, 3, 5)
    >>> keys, values = cache.update(key, value)
    >>> cache.advance()
    >>> cache.length, keys.shape
    (3, torch.Size([1, 2, 3, 5]))
    """

    @checked
    def __init__(self, fixed: bool = False) -> None:
        """Make an empty cache."""
        self.fixed, self.length, self._num_new = fixed, 0, 0
        self._room: tuple[Tensor, Tensor] | None = None
        self.positions: Tensor | None = None
        self._positions_with_new: Tensor | None = None

    def __copy__(self) -> "KVCache":
        """Copy the keys and values too: both caches may go on."""
        return copy.deepcopy(self)

    def draft(self) -> "KVCache":
        """Give a cache of its own length and the same memory: only one of both may go on."""
        return _with_same_attributes(self)

    @property
    def complete(self) -> bool:
        """Whether nothing more is to be added: `fixed`, and filled."""
        return self.fixed and self.length > 0

    @property
    def num_bytes(self) -> int:
        """The memory of its keys and values in bytes, without the room for further ones."""
        return 0 if self._room is None else sum(each.numel() * each.itemsize for each in self.read())

    def length_with(self, new: Float[Tensor, "batch num_new embed_dim"]) -> int:
        """Count its tokens and these; a complete cache stays as it is."""
        return self.length if self.complete else self.length + new.shape[1]

    def positions_with(self, num_new: int, positions: Tensor | None) -> Tensor | None:
        """Give the positions of its tokens and the next ones, (batch or 1, num_tokens); None: as counted."""
        if positions is None and self.positions is None:
            return None
        device = (self.positions if positions is None else positions).device  # type: ignore[union-attr]
        counted = torch.arange(self.length + num_new, device=device).unsqueeze(0)
        earlier = counted[:, : self.length] if self.positions is None else self.positions
        new = counted[:, self.length :] if positions is None else positions.reshape(-1, num_new)
        batch = max(earlier.shape[0], new.shape[0])
        return torch.cat((earlier.expand(batch, -1), new.expand(batch, -1)), dim=1)

    @checked
    def update(
        self,
        key: Float[Tensor, "batch num_kv_heads num_new head_dim"],
        value: Float[Tensor, "batch num_kv_heads num_new head_dim"],
        positions: Integer[Tensor, "..."] | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Write new keys and values behind the others, and return all; they count from `advance` on.

        Raises:
            ValueError: some need a gradient, the cache is complete, or the shape or dtype is another one.
        """
        if torch.is_grad_enabled() and (key.requires_grad or value.requires_grad):
            raise ValueError(
                "key and value must need no gradient, got some that do: call the model under torch.no_grad()"
            )
        if self.complete:
            raise ValueError("a fixed cache must be updated once, got a second update")
        keys, values = self._room = self._room_for(key)
        self._num_new = key.shape[2]
        self._positions_with_new = self.positions_with(self._num_new, positions)
        end = self.length + self._num_new
        keys[:, :, self.length : end], values[:, :, self.length : end] = key, value
        return keys[:, :, :end], values[:, :, :end]

    def advance(self) -> None:
        """Count what the last `update` wrote."""
        self.length, self._num_new = self.length + self._num_new, 0
        self.positions = self._positions_with_new

    def read(self) -> tuple[Tensor, Tensor]:
        """Return all keys and all values so far, (batch, num_kv_heads, num_tokens, head_dim)."""
        if self._room is None:
            raise ValueError("the cache must have been updated before it is read, got an empty one")
        keys, values = self._room
        return keys[:, :, : self.length], values[:, :, : self.length]

    @checked
    def select(self, rows: Integer[Tensor, " new_batch"]) -> None:
        """Keep these sequences of the batch, in this order; one may come several times, or not at all."""
        if self._room is not None:
            check_range("rows", rows, self._room[0].shape[0], "the batch")
            keys, values = (each.index_select(0, rows.long()) for each in self._room)
            self._room = keys, values
        if self.positions is not None and self.positions.shape[0] > 1:
            self.positions = self.positions.index_select(0, rows.long())

    def _room_for(self, key: Tensor) -> tuple[Tensor, Tensor]:
        """Give memory for the new keys and values, in which the earlier ones are already."""
        batch, heads, num_new, size = key.shape
        needed = self.length + num_new
        if self._room is None or self.length == 0:
            # A fixed cache is as large as it will be; another begins with room for a few tokens.
            shape = batch, heads, num_new if self.fixed else max(num_new, 16), size
            return key.new_empty(shape), key.new_empty(shape)
        room = self._room[0]
        if key.dtype != room.dtype or (*room.shape[:2], room.shape[3]) != (batch, heads, size):
            raise ValueError(
                f"key must have the dtype and, but for num_tokens, the shape of the cache, {room.dtype} "
                f"{tuple(room.shape)}, got {key.dtype} {tuple(key.shape)}"
            )
        # PyTorch allows no write into a tensor of `inference_mode` where that is off.
        writable = (
            torch.compiler.is_compiling() or torch.is_inference_mode_enabled() or not room.is_inference()
        )
        if needed <= room.shape[2] and writable:
            return self._room
        wider = [old.new_empty(batch, heads, max(needed, 2 * room.shape[2]), size) for old in self._room]
        for new, old in zip(wider, self._room, strict=True):
            new[:, :, : self.length] = old[:, :, : self.length]
        return wider[0], wider[1]


def _with_same_attributes(cache: Cache) -> Cache:
    """Give another object with the same attributes, as `copy.copy` would without a `__copy__`."""
    other = object.__new__(type(cache))
    other.__dict__.update(cache.__dict__)
    return other


class LayerCache(NamedTuple):
    """The caches of one decoder layer.

    >>> LayerCache(KVCache(), KVCache(fixed=True)).cross_attention.complete
    False
    """

    self_attention: KVCache
    cross_attention: KVCache

    def draft(self) -> "LayerCache":
        """Give drafts of both; see `KVCache.draft`."""
        return LayerCache(self.self_attention.draft(), self.cross_attention.draft())


class CacheState(NamedTuple):
    """What a decoder's cache holds, in one object: a single assignment changes all of it, or nothing.

    >>> CacheState([]).mask is None
    True
    """

    layers: list[LayerCache]
    mask: Tensor | None = None  # (batch, length), True = no padding; None: there is none
    memory: Tensor | None = None  # what the cross-attentions' keys and values were computed from


class DecoderCache:
    """The caches of all layers of a decoder; all grow at once, when the last layer is done.

    `copy.copy` and `copy.deepcopy` give a cache with memory of its own.

    >>> cache = DecoderCache(num_layers=2)
    >>> len(cache.layers), cache.length, cache.num_bytes
    (2, 0, 0)
    """

    @checked
    def __init__(self, num_layers: Size) -> None:
        """Make empty caches."""
        self._state = CacheState([LayerCache(KVCache(), KVCache(fixed=True)) for _ in range(num_layers)])

    def __copy__(self) -> "DecoderCache":
        """Copy all keys and values too: both caches may go on."""
        other = self.draft()
        other._state = self._state._replace(layers=copy.deepcopy(self.layers))
        return other

    @property
    def layers(self) -> list[LayerCache]:
        """A `LayerCache` for each layer, as they are now."""
        return self._state.layers

    @property
    def length(self) -> int:
        """How many tokens it holds, padding included."""
        return self.layers[0].self_attention.length

    @property
    def num_bytes(self) -> int:
        """The memory of all keys and values in bytes."""
        return sum(each.num_bytes for layer in self.layers for each in layer)

    @property
    def mask(self) -> Tensor | None:
        """Which of its tokens are no padding, (batch, length); None if there has never been padding."""
        return self._state.mask

    def begin(self, num_layers: int, memory: Tensor | None) -> list[LayerCache]:
        """Give drafts for the layers to add to, if their keys come from this memory."""
        if len(self.layers) != num_layers:
            raise ValueError(f"cache must be one of {num_layers} layers, got one of {len(self.layers)}")
        cached = self._state.memory
        if cached is not None and memory is not None and not _equal(memory, cached):
            sizes = f"{tuple(cached.shape)}, got another, {tuple(memory.shape)}"
            raise ValueError(f"memory must be the one that the cache has the keys of, {sizes}")
        return [layer.draft() for layer in self.layers]

    def finish(self, layers: list[LayerCache], mask: Tensor | None, memory: Tensor | None) -> None:
        """Keep the layers' drafts, and which tokens the attention's mask hides as padding."""
        if mask is not None:
            mask = mask[:, 0] if mask.ndim == 3 and mask.shape[1] == 1 else None
        self._state = CacheState(layers, mask, memory)

    def draft(self) -> "DecoderCache":
        """Give a second cache for one step of a model; `commit` makes its state this one's."""
        return _with_same_attributes(self)

    def commit(self, draft: "DecoderCache") -> None:
        """Take over the state of a draft."""
        self._state = draft._state

    @checked
    def select(self, rows: Integer[Tensor, " new_batch"]) -> None:
        """Keep these sequences of the batch, in this order, in every layer; see `KVCache.select`."""
        layers = [layer.draft() for layer in self.layers]
        for layer in layers:
            for each in layer:
                each.select(rows)
        mask, memory = (None if x is None else x.index_select(0, rows.long()) for x in self._state[1:])
        self._state = CacheState(layers, mask, memory)


def _equal(memory: Tensor, cached: Tensor) -> bool:
    """Whether both are the same numbers, as far as that can be known without running anything."""
    if memory is cached or memory.shape != cached.shape:
        return memory is cached
    return memory.is_meta or torch.compiler.is_compiling() or torch.equal(memory, cached)


def positions_and_mask(
    token_ids: Tensor, mask: Tensor | None, cache: DecoderCache | None = None
) -> tuple[Tensor, Tensor | None]:
    """Count the new tokens' positions without padding, and make the attention's mask of a mask of tokens.

    Args:
        token_ids: the new tokens, (batch, length).
        mask: which of them are no padding, (batch, length); None: all.
        cache: the earlier tokens.

    Returns:
        The positions, (length,) or (batch, length): how many tokens of the sequence come before each one. The
        mask of all keys, (batch, 1, num_keys), or None without padding.

    >>> ids = torch.tensor([[0, 7, 8]])
    >>> positions_and_mask(ids, torch.tensor([[False, True, True]]))
    (tensor([[0, 0, 1]]), tensor([[[False,  True,  True]]]))
    """
    num_earlier, earlier = (0, None) if cache is None else (cache.length, cache.mask)
    if mask is None and earlier is None:
        return torch.arange(num_earlier, num_earlier + token_ids.shape[1], device=token_ids.device), None
    mask = torch.ones_like(token_ids, dtype=torch.bool) if mask is None else mask
    earlier = mask.new_ones(mask.shape[0], num_earlier) if earlier is None else earlier
    if earlier.shape[0] != mask.shape[0]:
        raise ValueError(f"new tokens must have the cache's batch, {earlier.shape[0]}, got {mask.shape[0]}")
    tokens = torch.cat((earlier, mask), dim=1)
    return (tokens.cumsum(dim=1) - 1).clamp(min=0)[:, num_earlier:], tokens[:, None]
