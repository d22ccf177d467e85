"""Copies the weights of one form of multi-head attention into another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.multi_head.annotated import AnnotatedMultiHeadAttention
from polyhead.multi_head.fused import MultiHeadAttention
from polyhead.multi_head.looped import LoopedMultiHeadAttention
from polyhead.multi_head.split import SplitMultiHeadAttention
from polyhead.multi_head.transposed import TransposedMultiHeadAttention


@checked
def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Copy the weights of `source` into `target`, so that both compute the same.

    Both can be any of the five forms here, `torch.nn.MultiheadAttention`, or d2l's `MultiHeadAttention`.
    Grouped keys and values are repeated for a target that has one of them for each head; biases that the
    source lacks become zeros. `target` keeps its own dtype, device and dropout.

    Raises:
        ValueError: the target cannot compute what `source` does; it is unchanged.
        TypeError: one of them is no multi-head attention of these forms.

    >>> source, target = SplitMultiHeadAttention(6, 3), MultiHeadAttention(6, 3)
    >>> copy_weights(source, target)
    >>> x = torch.randn(2, 5, 6)
    >>> torch.allclose(source(x)[0], target(x)[0], atol=1e-6)
    True
    """
    weights, views = _read(source), _read(target)
    if any(nn.parameter.is_lazy(weight) for each in weights.projections for weight in each.weights):
        raise ValueError(
            "source must have weights, got d2l's module before its first call: call it once, or copy into it"
        )
    for name in ("embed_dim", "num_heads", "head_dim"):
        expected, got = getattr(weights, name), getattr(views, name)
        if expected != got:
            raise ValueError(f"target must have the source's {name} {expected}, got {got}")
    if weights.num_kv_heads != views.num_kv_heads:
        weights = _ungrouped(weights, views.num_kv_heads)
    for name, read, view in zip(
        ("query", "key", "value", "output"), weights.projections, views.projections, strict=True
    ):
        if read.biases and not view.biases:
            raise ValueError(
                f"target must have biases, as the source's {name} projection has, got one without"
            )
        for tensor in (*read.weights, *read.biases, *view.weights, *view.biases):
            if tensor.is_meta:
                raise ValueError(
                    f"source and target must hold numbers, got a {name} projection on the meta device: call "
                    "to_empty first"
                )
        for tensor in (*view.weights, *view.biases):
            if not isinstance(tensor if tensor._base is None else tensor._base, nn.Parameter):
                raise ValueError(
                    f"target must have parameters to copy into, got a {name} projection that is computed, as "
                    "by weight_norm: remove the parametrization first"
                )
    with torch.no_grad():
        _materialize(target, weights.embed_dim)
        for read, view in zip(weights.projections, views.projections, strict=True):
            weight = torch.cat(list(read.weights))
            _fill(view.weights, weight)
            if view.biases:
                zeros = weight.new_zeros(len(weight))
                _fill(view.biases, torch.cat(list(read.biases)) if read.biases else zeros)


def _fill(views: Sequence[Tensor], tensor: Tensor) -> None:
    """Copy a tensor into views that hold its rows one after another."""
    for view, part in zip(views, torch.split(tensor, [len(each) for each in views]), strict=True):
        view.copy_(part)


class _Projection(NamedTuple):
    """One projection as views into its module; several where each head has its own."""

    weights: Sequence[Tensor]
    biases: Sequence[Tensor] = ()


class _Weights(NamedTuple):
    """A module's projections: query, key, value, output."""

    projections: Sequence[_Projection]
    embed_dim: int
    num_heads: int
    num_kv_heads: int
    explicit_head_dim: int | None = None

    @property
    def head_dim(self) -> int:
        return self.explicit_head_dim or self.embed_dim // self.num_heads


# The names of the linear layers for query, key, value and output; of a list of heads, those of each head.
_LAYERS: dict[type[nn.Module], tuple[str, str, str, str]] = {
    LoopedMultiHeadAttention: (
        "query_projection",
        "key_projection",
        "value_projection",
        "output_projection",
    ),
    TransposedMultiHeadAttention: ("W_q", "W_k", "W_v", "W_o"),
    AnnotatedMultiHeadAttention: ("linears.0", "linears.1", "linears.2", "linears.3"),
    SplitMultiHeadAttention: ("query", "key", "value", "out"),
}


def _read(module: nn.Module) -> _Weights:
    if isinstance(module, MultiHeadAttention):
        for name in ("rotary", "query_norm", "window", "sinks"):
            if getattr(module, name) is not None:
                raise ValueError(
                    f"MultiHeadAttention must be made without {name}, which the other forms lack"
                )
        packed = _split_packed(module.input_projection.weight, module.input_projection.bias, module.sizes)
        layers = [*packed, _projection([module.output_projection])]
        return _Weights(layers, module.embed_dim, module.num_heads, module.num_kv_heads, module.head_dim)
    if isinstance(module, nn.MultiheadAttention):
        return _read_torch(module)
    if _is_d2l(module):
        return _read_d2l(module)
    for kind, names in _LAYERS.items():
        if isinstance(module, kind):
            return _read_linears(module, names)
    kinds = ", ".join(kind.__name__ for kind in (*_LAYERS, MultiHeadAttention, nn.MultiheadAttention))
    raise TypeError(
        f"copy_weights needs one of {kinds} or d2l's MultiHeadAttention, got {type(module).__name__}"
    )


def _read_linears(module: Any, names: Sequence[str]) -> _Weights:
    heads = list(getattr(module, "heads", [module]))
    owners = [heads, heads, heads, [module]]
    layers = [
        [cast("nn.Linear", module.get_submodule(name)) for module in modules]
        for modules, name in zip(owners, names, strict=True)
    ]
    embed_dim = layers[3][0].out_features
    num_heads = module.h if isinstance(module, AnnotatedMultiHeadAttention) else module.num_heads
    return _Weights([_projection(each) for each in layers], embed_dim, num_heads, num_heads)


def _projection(layers: Sequence[nn.Linear]) -> _Projection:
    return _Projection(
        [each.weight for each in layers], [each.bias for each in layers if each.bias is not None]
    )


def _split_packed(weight: Tensor, bias: Tensor | None, sizes: list[int]) -> list[_Projection]:
    biases = [()] * len(sizes) if bias is None else [(each,) for each in torch.split(bias, sizes)]
    return [_Projection([each], bias) for each, bias in zip(torch.split(weight, sizes), biases, strict=True)]


def _read_torch(module: nn.MultiheadAttention) -> _Weights:
    for name, used in (
        ("kdim or vdim", module.in_proj_weight is None),
        ("add_bias_kv", module.bias_k is not None),
        ("add_zero_attn", module.add_zero_attn),
    ):
        if used:
            raise ValueError(
                f"torch.nn.MultiheadAttention must be made without {name}, which the other forms lack"
            )
    packed = _split_packed(module.in_proj_weight, module.in_proj_bias, [module.embed_dim] * 3)
    layers = [*packed, _projection([module.out_proj])]
    return _Weights(layers, module.embed_dim, module.num_heads, module.num_heads)


def _read_d2l(module: nn.Module) -> _Weights:
    weights = _read_linears(module, _LAYERS[TransposedMultiHeadAttention])
    layers = [each.weights[0] for each in weights.projections]
    sizes = tuple(weight.shape[1] for weight in layers if not nn.parameter.is_lazy(weight))
    if any(size != weights.embed_dim for size in sizes):
        raise ValueError(
            "d2l's MultiHeadAttention must have been called with inputs of its num_hiddens = "
            f"{weights.embed_dim}, got layers for inputs of {sizes}"
        )
    return weights


def _is_d2l(module: nn.Module) -> bool:
    """Whether it is d2l's class, without an import of d2l."""
    return type(module).__module__ == "d2l.torch" and type(module).__name__ == "MultiHeadAttention"


def _materialize(target: nn.Module, embed_dim: int) -> None:
    """Call d2l's layers once, as they take their input size from their first call."""
    if _is_d2l(target):
        for layer in target.children():
            weight = getattr(layer, "weight", None)
            if weight is not None and nn.parameter.is_lazy(weight):
                layer(torch.zeros(1, embed_dim, dtype=weight.dtype, device=weight.device))


def _ungrouped(weights: _Weights, num_kv_heads: int) -> _Weights:
    """Repeat the keys and values of each group for each of its heads."""
    if num_kv_heads != weights.num_heads:
        raise ValueError(
            f"target must have the source's num_kv_heads {weights.num_kv_heads}, or one of them for each of "
            f"the {weights.num_heads} heads, got {num_kv_heads}"
        )

    def repeat(tensors: Sequence[Tensor]) -> list[Tensor]:
        groups = [group for tensor in tensors for group in tensor.chunk(weights.num_kv_heads)]
        return [group for group in groups for _ in range(weights.num_heads // weights.num_kv_heads)]

    query, key, value, output = weights.projections
    key, value = (_Projection(repeat(each.weights), repeat(each.biases)) for each in (key, value))
    return weights._replace(projections=(query, key, value, output), num_kv_heads=num_kv_heads)
