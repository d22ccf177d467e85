"""Carries the weights of one form of multi-head attention over to another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import torch
from torch import Tensor, nn

from polyhead.multi_head.annotated import AnnotatedMultiHeadAttention
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.multi_head.looped import LoopedMultiHeadAttention
from polyhead.multi_head.split import SplitMultiHeadAttention
from polyhead.multi_head.transposed import TransposedMultiHeadAttention
from polyhead.single_head import SingleHeadAttention


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Give `target` the weights of `source`, so that both compute the same.

    Both can be any of the five forms here, `torch.nn.MultiheadAttention`, or d2l's `MultiHeadAttention`.
    Grouped keys and values are repeated for a target that has one of them for each head; biases that the
    source lacks become zeros. `target` keeps its own dtype and device, and its own dropout; a target that is
    refused stays as it was.

    Args:
        source: where the weights come from; it is not changed.
        target: where they go.

    Raises:
        TypeError: one of the two is none of the seven.
        ValueError: `target` cannot compute what `source` does: another size or number of heads, no place for
            a bias, or a feature that it lacks.
    """
    weights, place = _read(source), _read(target)
    if any(nn.parameter.is_lazy(w) for projection in weights.projections for w in projection.weights):
        raise ValueError(
            "source must have weights, got d2l's module before its first call: call it once, or copy into it"
        )
    if weights.embed_dim != place.embed_dim:
        raise ValueError(
            f"target must have the source's embed_dim {weights.embed_dim}, got {place.embed_dim}"
        )
    if weights.num_heads != place.num_heads:
        raise ValueError(
            f"target must have the source's num_heads {weights.num_heads}, got {place.num_heads}"
        )
    if weights.num_kv_heads != place.num_kv_heads:
        weights = _ungrouped(weights, place.num_kv_heads)
    for name, matrices, places in zip(
        ("query", "key", "value", "output"), weights.projections, place.projections, strict=True
    ):
        if matrices.biases is not None and places.biases is None:
            raise ValueError(
                f"target must have biases, as the source's {name} projection has, got one without"
            )
    with torch.no_grad():
        _settle(target, weights.embed_dim)
        for matrices, places in zip(weights.projections, place.projections, strict=True):
            matrices.copy_to(places)


@dataclass(frozen=True)
class _Projection:
    """One projection as views into the module that owns it; several where each head has its own."""

    weights: Sequence[Tensor]
    biases: Sequence[Tensor] | None

    def copy_to(self, other: _Projection) -> None:
        whole = torch.cat(list(self.weights))
        _fill(other.weights, whole)
        if other.biases is not None:
            _fill(
                other.biases,
                whole.new_zeros(len(whole)) if self.biases is None else torch.cat(list(self.biases)),
            )


def _fill(places: Sequence[Tensor], whole: Tensor) -> None:
    for place, part in zip(places, torch.split(whole, [len(p) for p in places]), strict=True):
        place.copy_(part)


@dataclass(frozen=True)
class _Weights:
    """A module's projections: query, key, value, output."""

    projections: tuple[_Projection, _Projection, _Projection, _Projection]
    num_heads: int
    num_kv_heads: int
    embed_dim: int


def _read(module: nn.Module) -> _Weights:
    if isinstance(module, nn.MultiheadAttention):
        return _from_torch(module)
    if _is_d2l(module):
        return _from_d2l(module)
    for kind, read in _READERS.items():
        if isinstance(module, kind):
            return read(module)
    names = ", ".join(kind.__name__ for kind in _READERS)
    raise TypeError(
        f"copy_weights needs one of {names}, torch.nn.MultiheadAttention or d2l's MultiHeadAttention, "
        f"got {type(module).__name__}"
    )


def _linear(*layers: nn.Linear) -> _Projection:
    biases: list[Tensor] = [layer.bias for layer in layers if layer.bias is not None]
    return _Projection([layer.weight for layer in layers], biases or None)


def _packed(weight: Tensor, bias: Tensor | None, sizes: list[int]) -> list[_Projection]:
    weights = torch.split(weight, sizes)
    if bias is None:
        return [_Projection([w], None) for w in weights]
    return [_Projection([w], [b]) for w, b in zip(weights, torch.split(bias, sizes), strict=True)]


def _from_looped(module: LoopedMultiHeadAttention) -> _Weights:
    heads = cast("list[SingleHeadAttention]", list(module.heads))
    query = _linear(*(head.query_projection for head in heads))
    key = _linear(*(head.key_projection for head in heads))
    value = _linear(*(head.value_projection for head in heads))
    layers = query, key, value, _linear(module.output_projection)
    return _Weights(layers, module.num_heads, module.num_heads, module.embed_dim)


def _from_transposed(module: TransposedMultiHeadAttention) -> _Weights:
    layers = _linear(module.W_q), _linear(module.W_k), _linear(module.W_v), _linear(module.W_o)
    return _Weights(layers, module.num_heads, module.num_heads, module.num_hiddens)


def _from_annotated(module: AnnotatedMultiHeadAttention) -> _Weights:
    query, key, value, output = map(_linear, cast("list[nn.Linear]", list(module.linears)))
    return _Weights((query, key, value, output), module.h, module.h, module.d_model)


def _from_split(module: SplitMultiHeadAttention) -> _Weights:
    layers = _linear(module.query), _linear(module.key), _linear(module.value), _linear(module.out)
    return _Weights(layers, module.num_heads, module.num_heads, module.embed_dim)


def _from_fused(module: MultiHeadAttention) -> _Weights:
    packed = module.input_projection
    kv_dim = module.num_kv_heads * module.head_dim
    query, key, value = _packed(packed.weight, packed.bias, [module.embed_dim, kv_dim, kv_dim])
    layers = query, key, value, _linear(module.output_projection)
    return _Weights(layers, module.num_heads, module.num_kv_heads, module.embed_dim)


def _from_torch(module: nn.MultiheadAttention) -> _Weights:
    for name, used in (
        ("kdim or vdim", module.in_proj_weight is None),
        ("add_bias_kv", module.bias_k is not None),
        ("add_zero_attn", module.add_zero_attn),
    ):
        if used:
            raise ValueError(
                f"torch.nn.MultiheadAttention must be made without {name}, which the other forms lack"
            )
    query, key, value = _packed(module.in_proj_weight, module.in_proj_bias, [module.embed_dim] * 3)
    layers = query, key, value, _linear(module.out_proj)
    return _Weights(layers, module.num_heads, module.num_heads, module.embed_dim)


def _is_d2l(module: nn.Module) -> bool:
    """Whether it is d2l's class; nobody needs d2l to ask."""
    return type(module).__module__ == "d2l.torch" and type(module).__name__ == "MultiHeadAttention"


def _d2l_layers(module: nn.Module) -> list[nn.Linear]:
    return [getattr(module, name) for name in ("W_q", "W_k", "W_v", "W_o")]


def _from_d2l(module: nn.Module) -> _Weights:
    layers = _d2l_layers(module)
    embed_dim = layers[3].out_features
    sizes = tuple(layer.in_features for layer in layers if not nn.parameter.is_lazy(layer.weight))
    if any(size != embed_dim for size in sizes):
        raise ValueError(
            f"d2l's MultiHeadAttention must have been called with inputs of its num_hiddens = {embed_dim}, "
            f"got layers for inputs of {sizes}"
        )
    query, key, value, output = map(_linear, layers)
    heads: int = module.num_heads  # type: ignore[assignment]
    return _Weights((query, key, value, output), heads, heads, embed_dim)


def _settle(target: nn.Module, embed_dim: int) -> None:
    """Give d2l's layers their input size, which they take from their first call; this is one."""
    if _is_d2l(target):
        for layer in _d2l_layers(target):
            if nn.parameter.is_lazy(layer.weight):
                layer(torch.zeros(1, embed_dim, dtype=layer.weight.dtype, device=layer.weight.device))


def _ungrouped(weights: _Weights, num_kv_heads: int) -> _Weights:
    """Repeat the keys and values of each group for each of its heads."""
    if num_kv_heads != weights.num_heads:
        raise ValueError(
            f"target must have the source's num_kv_heads {weights.num_kv_heads}, or one of them for each of "
            f"the {weights.num_heads} heads, got {num_kv_heads}"
        )
    times = weights.num_heads // weights.num_kv_heads

    def repeat(tensors: Sequence[Tensor]) -> list[Tensor]:
        whole = torch.cat(list(tensors))
        grouped = whole.view(weights.num_kv_heads, -1, *whole.shape[1:])
        return [grouped.repeat_interleave(times, dim=0).flatten(0, 1)]

    query, key, value, output = weights.projections
    key, value = (_Projection(repeat(p.weights), p.biases and repeat(p.biases)) for p in (key, value))
    return replace(weights, projections=(query, key, value, output), num_kv_heads=weights.num_heads)


_READERS: dict[type[nn.Module], Callable[..., _Weights]] = {
    LoopedMultiHeadAttention: _from_looped,
    TransposedMultiHeadAttention: _from_transposed,
    AnnotatedMultiHeadAttention: _from_annotated,
    SplitMultiHeadAttention: _from_split,
    MultiHeadAttention: _from_fused,
}
