"""Checks of what a caller passes in: every error says what was expected and what came."""

from __future__ import annotations

import math

import torch
from torch import Tensor

# PyTorch cannot compare the other unsigned ones.
_INTEGERS = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


def shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape as a plain tuple, which reads better in a message than `torch.Size`."""
    return tuple(tensor.shape)


def floating(name: str, tensor: object, min_rank: int = 2) -> Tensor:
    """Return `tensor` if it is a floating-point tensor of at least `min_rank` dimensions.

    Raises:
        TypeError: it is no tensor, it is sparse, or its dtype is not a floating one of at least 16 bits.
        ValueError: it has fewer dimensions.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor, got {type(tensor).__name__}")
    if tensor.layout != torch.strided:
        raise TypeError(f"{name} must be a dense tensor, got layout {tensor.layout}")
    if not tensor.is_floating_point() or tensor.dtype.itemsize < 2:
        raise TypeError(f"{name} must have a floating dtype such as torch.float32, got {tensor.dtype}")
    if tensor.ndim < min_rank:
        raise ValueError(f"{name} must have at least {min_rank} dimensions, got shape {shape(tensor)}")
    return tensor


def same_kind(name: str, tensor: Tensor, other_name: str, other: Tensor) -> None:
    """Raise unless the two tensors share dtype (TypeError) and device (ValueError)."""
    if tensor.dtype != other.dtype:
        raise TypeError(f"{name} must have the dtype of {other_name}, {other.dtype}, got {tensor.dtype}")
    if tensor.device != other.device:
        raise ValueError(f"{name} must be on the device of {other_name}, {other.device}, got {tensor.device}")


def boolean(name: str, tensor: object) -> Tensor:
    """Return `tensor` if it is a boolean tensor.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(
            f"{name} must be a boolean torch.Tensor (True = may attend), got {type(tensor).__name__}"
        )
    if tensor.dtype != torch.bool:
        raise TypeError(
            f"{name} must have dtype torch.bool (True = may attend), got {tensor.dtype}; "
            f"for 0 and 1 write {name}.bool(), for 0 and -inf write {name} == 0"
        )
    return tensor


def aligned_mask(mask: object, target: tuple[int, ...], device: torch.device, name: str = "mask") -> Tensor:
    """Return `mask` with the dimensions of `target`, (…, num_queries, num_keys), each whole or 1.

    A mask of three dimensions is (batch, num_queries, num_keys); where the scores have four, one for the
    heads, it serves every head alike.

    Raises:
        TypeError: the mask is no boolean tensor.
        ValueError: it does not broadcast to `target`, or is on another device.
    """
    checked = boolean(name, mask)
    if checked.device != device:
        raise ValueError(f"{name} must be on the device of the scores, {device}, got {checked.device}")
    aligned = checked.unsqueeze(1) if checked.ndim == 3 and len(target) == 4 else checked
    try:
        aligned.expand(target)
    except RuntimeError:
        raise ValueError(
            f"{name} must broadcast to (…, num_queries, num_keys) = {target}, got shape {shape(checked)}"
        ) from None
    return aligned[(None,) * (len(target) - aligned.ndim)]


def expanded_mask(mask: object, target: tuple[int, ...], device: torch.device) -> Tensor:
    """Return `mask` expanded to `target`; see `aligned_mask`."""
    return aligned_mask(mask, target, device).expand(target)


def query_and_key(query: object, key: object) -> None:
    """Raise unless the two are floating tensors that fit together: same leading and last dimensions.

    Raises:
        TypeError: one is not a floating tensor, or the dtypes differ.
        ValueError: the shapes or devices do not fit.
    """
    query, key = floating("query", query), floating("key", key)
    same_kind("key", key, "query", query)
    if query.shape[-1] == 0:
        raise ValueError(f"query must have at least one number in each vector, got shape {shape(query)}")
    if key.shape[-1] != query.shape[-1]:
        raise ValueError(
            f"key must have the query's last dimension, {query.shape[-1]}, got shape {shape(key)}"
        )
    if key.shape[:-2] != query.shape[:-2]:
        raise ValueError(
            f"key must have the query's leading dimensions, {shape(query)[:-2]}, got shape {shape(key)}"
        )


def key_and_value(key: Tensor, value: object) -> None:
    """Raise unless `value` has one row for each key.

    Raises:
        TypeError: it is not a floating tensor of the key's dtype.
        ValueError: its shape or device does not fit.
    """
    value = floating("value", value)
    same_kind("value", value, "key", key)
    if value.shape[:-1] != key.shape[:-1]:
        raise ValueError(
            f"value must have one row for each key, shape ({', '.join(map(str, key.shape[:-1]))}, any), "
            f"got {shape(value)}"
        )


def rank(name: str, tensor: Tensor, expected: int) -> None:
    """Raise ValueError unless the tensor has `expected` dimensions."""
    if tensor.ndim != expected:
        raise ValueError(f"{name} must have {expected} dimensions, got shape {shape(tensor)}")


def tokens(
    query: object,
    key: object,
    value: object,
    weight: Tensor,
    names: tuple[str, str, str] = ("query", "key", "value"),
) -> None:
    """Raise unless the three fit together, and the first projection, whose `weight` is (any, embed_dim).

    Raises:
        TypeError: one is not a floating tensor, or has another dtype than the projection.
        ValueError: one is not (batch, num_tokens, embed_dim), or batches, devices, or the numbers of keys and
            values differ.
    """
    embed_dim = weight.shape[1]
    checked = [floating(name, each) for name, each in zip(names, (query, key, value), strict=True)]
    for name, tensor in zip(names, checked, strict=True):
        same_kind(name, tensor, "the projections", weight)
        if tensor.ndim != 3 or tensor.shape[2] != embed_dim:
            raise ValueError(
                f"{name} must have shape (batch, num_tokens, embed_dim = {embed_dim}), got {shape(tensor)}"
            )
        if len(tensor) != len(checked[0]):
            raise ValueError(
                f"{name} must have the batch of {names[0]}, {len(checked[0])}, got {len(tensor)}"
            )
    if checked[2].shape[1] != checked[1].shape[1]:
        raise ValueError(
            f"{names[2]} must have one row for each of {names[1]}, {checked[1].shape[1]}, "
            f"got {checked[2].shape[1]}"
        )


def divided(name: str, number: int, by_name: str, by: object) -> int:
    """Return `number` / `by` if `by` is an int of at least 1 that divides it.

    Raises:
        TypeError: `by` is no int.
        ValueError: it is below 1, or does not divide.
    """
    divisor = at_least(by_name, by)
    if number % divisor:
        raise ValueError(f"{by_name} must divide {name} = {number}, got {divisor}")
    return number // divisor


def head_dim(
    embed_dim: int, num_heads: object, name: str = "embed_dim", heads_name: str = "num_heads"
) -> int:
    """Return embed_dim / num_heads; see `divided`."""
    return divided(name, embed_dim, heads_name, num_heads)


def finite(name: str, tensor: Tensor, why: str = "") -> None:
    """Raise ValueError if `tensor` holds NaN or an infinity, and say where the first one is."""
    if tensor.is_meta:  # no numbers to look at, only a shape
        return
    bad = ~torch.isfinite(tensor)
    if bad.any():
        first = tuple(bad.nonzero()[0].tolist())
        raise ValueError(f"{name} must be finite{why}, got {tensor[first].item()} at index {first}")


def instance(name: str, value: object, kind: type) -> None:
    """Raise TypeError unless `value` is a `kind`."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, got {type(value).__name__}")


def flag(name: str, value: object) -> bool:
    """Return `value` if it is True or False.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be True or False, got {type(value).__name__} {value!r}")
    return value


def at_least(name: str, value: object, minimum: int = 1) -> int:
    """Return `value` if it is an int of at least `minimum`; booleans do not count as ints.

    Raises:
        TypeError: it is no int.
        ValueError: it is below `minimum`.
    """
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{name} must be an int, got {type(value).__name__} {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}, got {value}")
    return value


def positive(name: str, value: object) -> float:
    """Return `value` as a float if it is a finite number above 0.

    Raises:
        TypeError: it is no number.
        ValueError: it is 0, negative, infinite or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number above 0, got {type(value).__name__} {value!r}")
    if not 0.0 < value < math.inf:
        raise ValueError(f"{name} must be a finite number above 0, got {value}")
    return float(value)


def at_least_zero(name: str, value: object) -> float:
    """Return `value` as a float if it is a finite number that is not negative.

    Raises:
        TypeError: it is no number.
        ValueError: it is negative, infinite or NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number of at least 0, got {type(value).__name__} {value!r}")
    if not 0.0 <= value < math.inf:
        raise ValueError(f"{name} must be a finite number of at least 0, got {value}")
    return float(value)


def probability(name: str, value: object) -> float:
    """Return `value` as a float if it lies in [0, 1].

    Raises:
        TypeError: it is no number.
        ValueError: it lies outside [0, 1], or is NaN.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} must be a number from 0 to 1, got {type(value).__name__} {value!r}")
    if not 0.0 <= value <= 1.0:
        raise ValueError(f"{name} must lie between 0 and 1, got {value}")
    return float(value)


def integers(name: str, tensor: object) -> Tensor:
    """Return `tensor` if it is a tensor of integers.

    Raises:
        TypeError: it is not.
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"{name} must be a torch.Tensor of integers, got {type(tensor).__name__}")
    if tensor.dtype not in _INTEGERS:
        raise TypeError(f"{name} must have an integer dtype such as torch.int64, got {tensor.dtype}")
    return tensor


def within(name: str, tensor: Tensor, limit: int | None, limit_name: str) -> None:
    """Raise ValueError if an integer is negative, or not below `limit`; looked at on the CPU only."""
    if tensor.device.type != "cpu" or torch.compiler.is_compiling() or tensor.numel() == 0:
        return
    least, greatest = (int(bound) for bound in tensor.aminmax())
    if least < 0:
        raise ValueError(f"{name} must be at least 0, got {least}")
    if limit is not None and greatest >= limit:
        raise ValueError(f"{name} must be below {limit_name} = {limit}, got {greatest}")


def token_ids(name: str, tensor: object, limit: int, limit_name: str = "vocab_size") -> Tensor:
    """Return `tensor` if it is (batch, length), at least one token, with integers below `limit`.

    Raises:
        TypeError: it is no tensor of integers.
        ValueError: its shape is another, or a number lies outside.
    """
    checked = integers(name, tensor)
    if checked.ndim != 2 or checked.shape[1] == 0:
        raise ValueError(f"{name} must have shape (batch, length), length at least 1, got {shape(checked)}")
    within(name, checked, limit, limit_name)
    return checked


def token_mask(name: str, mask: object, tokens: Tensor) -> Tensor:
    """Return `mask` if it is boolean and (batch, length) as `tokens`.

    Raises:
        TypeError: it is no boolean tensor.
        ValueError: its shape or device is another.
    """
    checked = boolean(name, mask)
    if checked.shape != tokens.shape:
        raise ValueError(
            f"{name} must have the shape of the tokens, {shape(tokens)}, True = a token, got {shape(checked)}"
        )
    if checked.device != tokens.device:
        raise ValueError(f"{name} must be on the device of the tokens, {tokens.device}, got {checked.device}")
    return checked
