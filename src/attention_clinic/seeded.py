"""Copies of a module whose parameters anybody can draw again."""

import contextlib
import copy
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

SEED = 1
Module = TypeVar("Module", bound=nn.Module)


def seeded_copy(module: Module, seed: int = SEED) -> Module:
    """Copy a module, in evaluation mode, with random parameters that follow from seed and shapes alone.

    This is what `diagnose` examines, since a fresh module may hide a bug by zeros. The outputs that it shows
    are those of this copy. It is on the CPU, and half precision becomes float32: what rounding alone hides is
    no mistake.

    Args:
        module: any module; it stays as it is.
        seed: another gives other parameters; the clinic takes 1.

    Example:
        >>> one, other = (seeded_copy(nn.Linear(2, 2)) for _ in range(2))
        >>> torch.equal(one.weight, other.weight)
        True
    """
    own = copy.deepcopy(module)
    own = own.to_empty(device="cpu") if any(each.is_meta for each in own.parameters()) else own.cpu()
    if any(each.dtype in (torch.float16, torch.bfloat16) for each in own.parameters()):
        own = own.float()
    randomize(own, seed)
    return own.eval()


def copied(module: Module) -> Module | None:
    """A copy, if the module can be copied."""
    with contextlib.suppress(Exception):
        return copy.deepcopy(module)
    return None


def around(function: Any) -> list[nn.Module]:
    """A module itself; those that a function names, is a method of, or has been given, and may call.

    Example:
        >>> layer = nn.Linear(4, 4)
        >>> around(lambda x: layer(x)) == around(layer.forward) == [layer]
        True
    """
    things = [function, getattr(function, "func", None), getattr(function, "__self__", None)]
    with contextlib.suppress(TypeError, ValueError):  # no Python function
        names = inspect.getclosurevars(function)
        things += [*names.nonlocals.values(), *names.globals.values()]
    return [each for each in things if isinstance(each, nn.Module)]


def randomize(
    module: nn.Module,
    seed: int = SEED,
    gain: float = 1.3,
    of_vectors: float = 0.65,
    chosen: Callable[[Tensor], bool] | None = None,
) -> None:
    """Draw parameters, all or those chosen: a matrix makes what it multiplies `gain` times as large."""
    generator = torch.Generator().manual_seed(seed)
    for parameter in filter(chosen or has_numbers, module.parameters()):
        scale = gain * (parameter.numel() / len(parameter)) ** -0.5 if parameter.ndim > 1 else of_vectors
        parameter.data.copy_(torch.randn(parameter.shape, generator=generator) * scale)


def has_numbers(parameter: Tensor) -> bool:
    """Whether it can be drawn; a single number that is not trained is a constant, such as a scale."""
    if nn.parameter.is_lazy(parameter) or not parameter.is_floating_point():
        return False
    return bool(parameter.numel()) and (parameter.requires_grad or parameter.ndim > 0)
