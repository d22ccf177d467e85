"""The heads of a model: their names, ablation, and importance."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.decoder import Decoder
from polyhead.encoder import Encoder
from polyhead.multi_head.fused import MultiHeadAttention

Kind = Literal["encoder", "decoder", "cross"]  # self-attention of encoder or decoder, cross-attention
Layer = tuple[Kind, int]  # one attention of a model: its kind, and the number of its layer


class Head(NamedTuple):
    """One head of a model; layers and heads are counted from 0.

    >>> Head("encoder", layer=2, head=0)
    Head(kind='encoder', layer=2, head=0)
    """

    kind: Kind
    layer: int
    head: int


@checked
def all_heads(model: nn.Module) -> list[Head]:
    """List the heads of a model, or of any module that contains one encoder, one decoder, or one of each.

    >>> from polyhead import Encoder
    >>> all_heads(Encoder(1, embed_dim=6, num_heads=2))
    [Head(kind='encoder', layer=0, head=0), Head(kind='encoder', layer=0, head=1)]
    """
    layers = attentions(model).items()
    return [Head(*layer, head) for layer, attention in layers for head in range(attention.num_heads)]


@contextmanager
@checked
def ablate(model: nn.Module, heads: Collection[Head]) -> Iterator[None]:
    """Switch heads off: in all calls of the model inside the block their outputs are multiplied by 0.

    The factor comes before W_O, so that the bias of the output projection remains; with all heads of an
    attention off, that bias is its output. Nested blocks add up. What `torch.compile` has compiled runs
    uncompiled inside the block.

    Source: Michel et al. 2019, section 2.3, whose ξ_h is the factor of head h.

    >>> from polyhead import Encoder
    >>> encoder, x = Encoder(1, embed_dim=6, num_heads=2).eval(), torch.ones(1, 3, 6)
    >>> before, _ = encoder(x)
    >>> with ablate(encoder, [Head("encoder", 0, 1)]):
    ...     torch.equal(encoder(x)[0], before)
    False
    >>> torch.equal(encoder(x)[0], before)
    True
    """
    gates = _gates(model)
    for head in check_heads(model, heads):
        gates[head.kind, head.layer][head.head] = 0.0
    with _gated(model, gates):
        yield


@checked
def importance(model: nn.Module, loss: Callable[[Any], Tensor], examples: Iterable[Any]) -> dict[Head, float]:
    """Measure how much the loss of an example x depends on a head's gate: the mean of |∂ loss(x) / ∂ gate_h|.

    A gate is a factor for the head's output, here 1. The absolute value is taken for each example, since
    gradients of different signs would cancel each other in a mean; an example may be a batch, which is faster
    and lets them. The model keeps its mode. What `torch.compile` has compiled runs uncompiled.

    Args:
        model: as for `all_heads`.
        loss: computes a number with gradients from one example, with the model.
        examples: the arguments of `loss`, at least one.

    Source: Michel et al. 2019, equation 2.

    >>> from polyhead import Encoder
    >>> encoder = Encoder(1, embed_dim=6, num_heads=2)
    >>> scores = importance(encoder, lambda x: encoder(x)[0][0, 0, 0], [torch.ones(1, 3, 6)])
    >>> list(scores) == all_heads(encoder)
    True
    """
    gates, count = [gate.requires_grad_() for gate in _gates(model).values()], 0
    totals = [torch.zeros_like(gate) for gate in gates]
    with _gated(model, dict(zip(attentions(model), gates, strict=True))):
        for example in examples:
            gradients = torch.autograd.grad(loss(example), gates, materialize_grads=True)
            totals = [total + gradient.abs() for total, gradient in zip(totals, gradients, strict=True)]
            count += 1
    if count == 0:
        raise ValueError("examples must have at least one, got none")
    scores = torch.cat(totals) / count
    return dict(zip(all_heads(model), scores.tolist(), strict=True))


def by_layer(scores: Mapping[Head, float]) -> dict[Head, float]:
    """Divide scores by the root of the sum of squares of those of the same attention; if all are 0, by 1.

    Gradients differ in size from layer to layer; after this, heads of different layers can be compared.

    Source: Michel et al. 2019, who do so with their importance.

    >>> by_layer({Head("encoder", 0, 0): 3.0, Head("encoder", 0, 1): 4.0, Head("encoder", 1, 0): 7.0})
    ... # doctest: +NORMALIZE_WHITESPACE
    {Head(kind='encoder', layer=0, head=0): 0.6, Head(kind='encoder', layer=0, head=1): 0.8,
     Head(kind='encoder', layer=1, head=0): 1.0}
    """
    norms: dict[Layer, float] = {}
    for kind, layer, _ in scores:
        same = [score for head, score in scores.items() if head[:2] == (kind, layer)]
        norms[kind, layer] = math.hypot(*same) or 1.0
    return {head: score / norms[head.kind, head.layer] for head, score in scores.items()}


def check_heads(model: nn.Module, heads: Collection[Head]) -> set[Head]:
    """Return the heads as a set; ValueError if the model lacks one of them.

    >>> from polyhead import Encoder
    >>> check_heads(Encoder(1, embed_dim=6, num_heads=2), [Head("cross", 0, 1)])
    Traceback (most recent call last):
    ValueError: heads must be heads of the model, which has {'encoder 0': 2}, got ('cross', 0, 1)
    """
    sizes = {" ".join(map(str, layer)): each.num_heads for layer, each in attentions(model).items()}
    for head in heads:
        if head not in all_heads(model):
            raise ValueError(f"heads must be heads of the model, which has {sizes}, got {tuple(head)}")
    return set(heads)


def attentions(model: nn.Module) -> dict[Layer, MultiHeadAttention]:
    """Return the attentions of a model, each under its kind and layer.

    >>> from polyhead import Encoder
    >>> list(attentions(Encoder(2, embed_dim=6, num_heads=2)))
    [('encoder', 0), ('encoder', 1)]
    """
    stacks = [module for module in model.modules() if isinstance(module, Encoder | Decoder)]
    if not stacks or len({type(stack) for stack in stacks}) < len(stacks):
        names = [type(stack).__name__ for stack in stacks]
        raise ValueError(f"model must have an Encoder, a Decoder, or one of each, got {names or 'neither'}")
    by_layer: dict[Layer, Any] = {}
    for stack in stacks:
        for number, layer in enumerate(stack.layers):
            if isinstance(stack, Encoder):
                by_layer["encoder", number] = layer.attention
                continue
            by_layer["decoder", number] = layer.self_attention
            if layer.cross_attention is not None:
                by_layer["cross", number] = layer.cross_attention
    return by_layer


def _gates(model: nn.Module) -> dict[Layer, Tensor]:
    """A factor of 1 for each head."""
    return {
        layer: attention.output_projection.weight.new_ones(attention.num_heads)
        for layer, attention in attentions(model).items()
    }


@contextmanager
def _gated(model: nn.Module, gates: Mapping[Layer, Tensor]) -> Iterator[None]:
    """Pass the gates to the attentions in all calls inside the block."""

    def add_gates(gate: Tensor) -> Callable[..., tuple[Any, dict[str, Any]]]:
        def hook(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            outer = kwargs.get("head_gates")
            return args, {**kwargs, "head_gates": gate if outer is None else gate * outer}

        return hook

    hooks = [
        attention.register_forward_pre_hook(add_gates(gates[layer]), with_kwargs=True)
        for layer, attention in attentions(model).items()
    ]
    try:
        # Compiled code does not call hooks that are registered after its compilation. Where torch._dynamo,
        # whose import takes seconds, is not imported, nothing is compiled.
        compiler = "torch._dynamo" in sys.modules
        with torch.compiler.set_stance("force_eager") if compiler else nullcontext():
            yield
    finally:
        for hook in hooks:
            hook.remove()
