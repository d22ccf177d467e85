"""The seven forms of multi-head attention behind one call, so that one test asks all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor, nn

from polyhead import (
    AnnotatedMultiHeadAttention,
    LoopedMultiHeadAttention,
    MultiHeadAttention,
    SplitMultiHeadAttention,
    TransposedMultiHeadAttention,
    copy_weights,
    padding_mask,
    to_torch_mha_masks,
)
from polyhead_course import peers


@dataclass(frozen=True)
class Sight:
    """Which query may see which key: a mask, or lengths, which every form understands; or neither."""

    mask: Tensor | None = None
    valid_lens: Tensor | None = None

    def as_mask(self, num_keys: int) -> Tensor | None:
        return self.mask if self.valid_lens is None else padding_mask(self.valid_lens, num_keys)


@dataclass(frozen=True)
class Form:
    """One of the seven; `attend(module, query, key, value, sight)` gives the output alone."""

    name: str
    make: Callable[[int, int, bool], nn.Module]
    attend: Callable[[nn.Module, Tensor, Tensor, Tensor, Sight], Tensor]
    takes_masks: bool = True
    takes_memory: bool = True
    ours: bool = True

    def __str__(self) -> str:
        return self.name

    def like(self, source: nn.Module, num_heads: int) -> nn.Module:
        """A module of this form with the weights, the dtype and the embed_dim of a `MultiHeadAttention`."""
        has_bias = source.output_projection.bias is not None
        module = self.make(source.embed_dim, num_heads, has_bias).to(source.output_projection.weight.dtype)
        copy_weights(source, module)
        return module


def _first(module, query, key, value, sight):
    return module(query, key, value, sight.as_mask(key.shape[1]))[0]


def _annotated(module, query, key, value, sight):
    return module(query, key, value, sight.as_mask(key.shape[1]))


def _split(module, query, key, value, sight):
    assert key is query
    assert value is query
    return module(query, sight.as_mask(key.shape[1]))[0]


def _with_lens(module, query, key, value, sight):
    assert sight.mask is None
    return module(query, key, value, sight.valid_lens)


def _with_weights(module, query, key, value, sight):
    return module(query, key, value, sight.as_mask(key.shape[1]), need_weights=True)[0]


def _torch(module, query, key, value, sight, need_weights):
    mask = sight.as_mask(key.shape[1])
    masks = {}
    if mask is not None:
        whole = len(query), module.num_heads, query.shape[1], key.shape[1]
        if mask.ndim == 1:
            mask = mask.expand(whole[2:])
        elif mask.ndim == 4:
            mask = mask.expand(whole)
        elif mask.ndim == 3 and mask.shape[1] > 1:
            mask = mask.expand(whole[0], *whole[2:])
        masks = to_torch_mha_masks(mask, module.num_heads)
    return module(query, key, value, need_weights=need_weights, **masks)[0]


def _make_annotated(embed_dim: int, num_heads: int, bias: bool) -> nn.Module:
    return AnnotatedMultiHeadAttention(num_heads, embed_dim, dropout=0.0)


def _make_split(embed_dim: int, num_heads: int, bias: bool) -> nn.Module:
    return SplitMultiHeadAttention(embed_dim, num_heads)


def _make_torch(embed_dim: int, num_heads: int, bias: bool) -> nn.Module:
    return nn.MultiheadAttention(embed_dim, num_heads, bias=bias, batch_first=True)


def _make_d2l(embed_dim: int, num_heads: int, bias: bool) -> nn.Module:
    return peers.d2l().MultiHeadAttention(embed_dim, num_heads, 0.0, bias=bias)


def _make_transposed(embed_dim: int, num_heads: int, bias: bool) -> nn.Module:
    return TransposedMultiHeadAttention(embed_dim, num_heads, 0.0, bias=bias)


def _make_looped(embed_dim: int, num_heads: int, bias: bool) -> nn.Module:
    return LoopedMultiHeadAttention(embed_dim, num_heads, bias=bias)


def _make_fused(embed_dim: int, num_heads: int, bias: bool) -> nn.Module:
    return MultiHeadAttention(embed_dim, num_heads, bias=bias)


LOOPED = Form("looped", _make_looped, _first)
TRANSPOSED = Form("transposed", _make_transposed, _with_lens, takes_masks=False)
ANNOTATED = Form("annotated", _make_annotated, _annotated)
SPLIT = Form("split", _make_split, _split, takes_memory=False)
FUSED = Form("fused", _make_fused, _first)
FUSED_WITH_WEIGHTS = Form("fused with weights", _make_fused, _with_weights)
TORCH = Form("torch", _make_torch, partial(_torch, need_weights=False), ours=False)
TORCH_WITH_WEIGHTS = Form("torch with weights", _make_torch, partial(_torch, need_weights=True), ours=False)
D2L = Form("d2l", _make_d2l, _with_lens, takes_masks=False, ours=False)

SEVEN = [LOOPED, TRANSPOSED, ANNOTATED, SPLIT, FUSED, TORCH, D2L]
FORMS = [*SEVEN, FUSED_WITH_WEIGHTS, TORCH_WITH_WEIGHTS]
OURS = [form for form in FORMS if form.ours]


def source(embed_dim: int, num_heads: int, bias: bool = True, dtype: torch.dtype = torch.float64):
    """A `MultiHeadAttention` to copy weights from; no bias is 0."""
    module = MultiHeadAttention(embed_dim, num_heads, bias=bias).to(dtype)
    for name, parameter in module.named_parameters():
        if name.endswith("bias"):
            nn.init.normal_(parameter)
    return module


def everything(form: Form, module: nn.Module, query, key, value, sight: Sight) -> dict[str, Tensor]:
    """The output, and the gradients of all inputs and parameters."""
    module.zero_grad()
    if key is query and value is query:
        leaves = {"x": query.clone().requires_grad_()}
        query = key = value = leaves["x"]
    else:
        leaves = {
            name: tensor.clone().requires_grad_()
            for name, tensor in (("query", query), ("key", key), ("value", value))
        }
        query, key, value = leaves.values()
    output = form.attend(module, query, key, value, sight)
    output.sin().sum().backward()
    found = {"output": output.detach()} | {name: leaf.grad for name, leaf in leaves.items()}
    return found | {name: parameter.grad.clone() for name, parameter in module.named_parameters()}


def weight_gradients(form: Form, module: nn.Module, num_heads: int, embed_dim: int) -> dict[str, Tensor]:
    """The gradients of the module's parameters, in the layout of `MultiHeadAttention`.

    They travel as the weights do: in a module whose weights they are, through `copy_weights`.
    """
    dtype = next(module.parameters()).dtype
    has_bias = any(name.endswith("bias") for name, _ in module.named_parameters())
    carrier = form.make(embed_dim, num_heads, has_bias).to(dtype)
    copy_weights(module, carrier)
    with torch.no_grad():
        for place, parameter in zip(carrier.parameters(), module.parameters(), strict=True):
            place.copy_(parameter.grad)
    common = MultiHeadAttention(embed_dim, num_heads, bias=has_bias).to(dtype)
    copy_weights(carrier, common)
    return {name: parameter.detach() for name, parameter in common.named_parameters()}
