"""Keys and values to fill a cache with."""

from __future__ import annotations

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from polyhead import KVCache

BATCH, KV_HEADS, HEAD_DIM, SOURCE, VOCAB = 3, 2, 5, 7, 11
EXACT = {"rtol": 1e-10, "atol": 1e-10}


def pair(num_new: int, batch: int = BATCH) -> tuple[torch.Tensor, torch.Tensor]:
    key, value = torch.randn(2, batch, KV_HEADS, num_new, HEAD_DIM)
    return key, value


def add(cache: KVCache, new: tuple[torch.Tensor, torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor]:
    """What an attention does with it."""
    views = cache.update(*new)
    cache.advance()
    return views


def filled(num_new: int = 3, fixed: bool = False) -> KVCache:
    cache = KVCache(fixed)
    add(cache, pair(num_new))
    return cache


class Copied(TorchDispatchMode):
    """How many numbers are copied, and how many are made room for."""

    def __init__(self) -> None:
        super().__init__()
        self.copied = self.allocated = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.overloadpacket.__name__
        if name in ("copy_", "cat", "clone", "index_select"):
            self.copied += result.numel()
        if name in ("new_empty", "empty", "cat", "clone", "new_zeros", "zeros"):
            self.allocated += result.numel()
        return result


class Interrupted(BaseException):
    """What is no error, as KeyboardInterrupt."""


def fail(module: torch.nn.Module, *_: object) -> None:
    raise Interrupted
