"""Copies the weights of one form of multi-head attention into another."""

from collections.abc import Sequence
from typing import Any, NamedTuple

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
    weights, places = _read(source), _read(target)
    if any(nn.parameter.is_lazy(tensor) for each in weights.projections for tensor in each.weights):
        raise ValueError(
            "source must have weights, got d2l's module before its first call: call it once, or copy into it"
        )
    for name in ("embed_dim", "num_heads", "head_dim"):
        expected, got = getattr(weights, name), getattr(places, name)
        if expected != got:
            raise ValueError(f"target must have the source's {name} {expected}, got {got}")
    if places.num_kv_heads not in (weights.num_kv_heads, weights.num_heads):
        raise ValueError(
            f"target must have the source's num_kv_heads {weights.num_kv_heads}, or one of them for each of "
            f"the {weights.num_heads} heads, got {places.num_kv_heads}"
        )
    pairs = list(zip(_NAMES, weights.projections, places.projections, strict=True))
    for name, read, place in pairs:
        if read.biases and not place.biases:
            raise ValueError(f"target must have biases, as the source's {name} projection has, got none")
        if any(tensor.is_meta for tensor in (*read.weights, *read.biases, *place.weights, *place.biases)):
            raise ValueError(
                f"source and target must hold numbers, got a {name} projection on the meta device: call "
                "to_empty first"
            )
        for tensor in (*place.weights, *place.biases):
            if not isinstance(tensor if tensor._base is None else tensor._base, nn.Parameter):
                raise ValueError(
                    f"target must have parameters to copy into, got a {name} projection that is computed, as "
                    "by weight_norm: remove the parametrization first"
                )
    with torch.no_grad():
        _materialize(target, weights.embed_dim)
        for name, read, place in pairs:
            weight = torch.cat(list(read.weights))
            bias = torch.cat(list(read.biases)) if read.biases else weight.new_zeros(len(weight))
            copies = places.num_kv_heads // weights.num_kv_heads if name in ("key", "value") else 1
            for tensor, parts in ((weight, place.weights), (bias, place.biases)):
                heads = [head for head in torch.split(tensor, weights.head_dim) for _ in range(copies)]
                _fill(parts, torch.cat(heads))


def _fill(places: Sequence[Tensor], tensor: Tensor) -> None:
    """Copy a tensor's rows into places that hold them one after another."""
    for place in places:
        place.copy_(tensor[: len(place)])
        tensor = tensor[len(place) :]


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
    head_dim: int


_NAMES = ("query", "key", "value", "output")
# The names of the linear layers for query, key, value and output; of a list of heads, those of each head.
_LAYERS: dict[type[nn.Module], Sequence[str]] = {
    LoopedMultiHeadAttention: [f"{name}_projection" for name in _NAMES],
    TransposedMultiHeadAttention: ["W_q", "W_k", "W_v", "W_o"],
    AnnotatedMultiHeadAttention: [f"linears.{number}" for number in range(4)],
    SplitMultiHeadAttention: ["query", "key", "value", "out"],
}


def _read(module: nn.Module) -> _Weights:
    if isinstance(module, MultiHeadAttention):
        options = ("rotary", "query_norm", "window", "sinks")
        _refuse("MultiHeadAttention", {name: getattr(module, name) is not None for name in options})
        linear = module.input_projection
        return _read_packed(module, linear.weight, linear.bias, module.output_projection, module.sizes)
    if isinstance(module, nn.MultiheadAttention):
        _refuse("torch.nn.MultiheadAttention", {
            "kdim or vdim": module.in_proj_weight is None,
            "add_bias_kv": module.bias_k is not None,
            "add_zero_attn": module.add_zero_attn,
        })  # fmt: skip
        sizes = [module.embed_dim] * 3
        return _read_packed(module, module.in_proj_weight, module.in_proj_bias, module.out_proj, sizes)
    if _is_d2l(module):
        return _read_d2l(module)
    for kind, names in _LAYERS.items():
        if isinstance(module, kind):
            return _read_linears(module, names)
    kinds = ", ".join(kind.__name__ for kind in (*_LAYERS, MultiHeadAttention, nn.MultiheadAttention))
    raise TypeError(
        f"copy_weights needs one of {kinds} or d2l's MultiHeadAttention, got {type(module).__name__}"
    )


def _refuse(kind: str, options: dict[str, bool]) -> None:
    for name, used in options.items():
        if used:
            raise ValueError(f"{kind} must be made without {name}, which the other forms lack")


def _read_packed(
    module: Any, weight: Tensor, bias: Tensor | None, output: nn.Linear, sizes: list[int]
) -> _Weights:
    """Read a module whose first projection has queries, keys and values in rows of these `sizes`."""
    biases = [()] * 3 if bias is None else [(each,) for each in torch.split(bias, sizes)]
    parts = zip(torch.split(weight, sizes), biases, strict=True)
    layers = [*(_Projection([each], bias) for each, bias in parts), _projection([output])]
    kv_heads = sizes[1] // module.head_dim
    return _Weights(layers, module.embed_dim, module.num_heads, kv_heads, module.head_dim)


def _read_linears(module: Any, names: Sequence[str]) -> _Weights:
    heads = list(getattr(module, "heads", [module]))
    owners = [heads, heads, heads, [module]]
    layers = [[each.get_submodule(name) for each in owner] for owner, name in zip(owners, names, strict=True)]
    embed_dim = layers[3][0].out_features
    num_heads = module.h if isinstance(module, AnnotatedMultiHeadAttention) else module.num_heads
    head_dim = embed_dim // num_heads
    return _Weights([_projection(each) for each in layers], embed_dim, num_heads, num_heads, head_dim)


def _projection(layers: Sequence[nn.Linear]) -> _Projection:
    return _Projection(
        [each.weight for each in layers], [each.bias for each in layers if each.bias is not None]
    )


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
