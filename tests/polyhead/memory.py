"""What an operation takes, for tests of memory."""

from __future__ import annotations

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LargestFloat(TorchDispatchMode):
    """Notes how many floating-point numbers the largest tensor of any operation holds."""

    def __init__(self) -> None:
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        found = func(*args, **(kwargs or {}))
        for leaf in tree_leaves(found):
            if isinstance(leaf, torch.Tensor) and leaf.is_floating_point():
                self.numel = max(self.numel, leaf.untyped_storage().nbytes() // leaf.element_size())
        return found


def largest_float(module: nn.Module, *arguments: object, **options: object) -> int:
    """The same of a module's call, forward and backward."""
    with LargestFloat() as mode:
        output = module(*arguments, **options)
        (output[0] if isinstance(output, tuple) else output).sum().backward()
    return mode.numel
