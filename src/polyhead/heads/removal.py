"""Heads by name, switched off one by one, and how much each of them matters."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.decoder import Decoder
from polyhead.encoder import Encoder
from polyhead.multi_head.fused import MultiHeadAttention

Kind = Literal["encoder", "decoder", "cross"]  # self-attention of the one or the other, cross-attention
Place = tuple[Kind, int]  # which attention: its kind, and its layer


class Head(NamedTuple):
    """One head of a model; layers and heads are counted from 0."""

    kind: Kind
    layer: int
    head: int


@checked
def all_heads(model: nn.Module) -> list[Head]:
    """The heads of a model, or of whatever has one encoder, one decoder or one of each in it, in order."""
    places = attentions(model).items()
    return [Head(*place, head) for place, attention in places for head in range(attention.num_heads)]


@contextmanager
@checked
def ablate(model: nn.Module, off: Collection[Head]) -> Iterator[None]:
    """Without these heads: in all calls of the model inside the block their outputs are times 0.

    The factor stands before W_O, so that the bias of the output projection stays; with all heads of an
    attention off, that bias is its output. Blocks inside one another add up.

    Source: Michel et al. 2019, section 2.3, whose ξ_h is the factor of head h.
    """
    gates = _gates(model)
    for head in known(model, off):
        gates[head.kind, head.layer][head.head] = 0.0
    with _gated(model, gates):
        yield


@checked
def importance(model: nn.Module, loss: Callable[[Any], Tensor], examples: Iterable[Any]) -> dict[Head, float]:
    """How much the loss of an example changes with a head's gate: the mean of |∂ loss(x) / ∂ gate_h|.

    A gate is a factor for the head's output, here 1. The absolute value is taken for each example, since
    gradients of different signs would cancel each other in a mean; an example may be a batch, which is faster
    and lets them. The model is used in the mode in which it is.

    Args:
        model: whatever `all_heads` takes.
        loss: a number, computed with the model from one example, with gradients.
        examples: at least one.

    Source: Michel et al. 2019, equation 2.
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
    """Scores divided by the root of the sum of squares of those of the same attention.

    Gradients differ in size from layer to layer; after this, heads of different layers can be compared.

    Source: Michel et al. 2019, who do so with their importance.
    """
    norms: dict[Place, float] = {}
    for kind, layer, _ in scores:
        own = [score for head, score in scores.items() if head[:2] == (kind, layer)]
        norms[kind, layer] = math.hypot(*own)
    return {head: score / norms[head.kind, head.layer] for head, score in scores.items()}


def known(model: nn.Module, off: Collection[Head]) -> set[Head]:
    """The same heads, if the model has them."""
    sizes = {" ".join(map(str, place)): each.num_heads for place, each in attentions(model).items()}
    for head in off:
        if head not in all_heads(model):
            raise ValueError(f"off must name heads of the model, which has {sizes}, got {tuple(head)}")
    return set(off)


def attentions(model: nn.Module) -> dict[Place, MultiHeadAttention]:
    """The attentions that have heads, by their places."""
    stacks = [module for module in model.modules() if isinstance(module, Encoder | Decoder)]
    if not stacks or len({type(stack) for stack in stacks}) < len(stacks):
        came = [type(stack).__name__ for stack in stacks]
        raise ValueError(f"model must have an Encoder, a Decoder, or one of each, got {came or 'neither'}")
    found: dict[Place, Any] = {}
    for stack in stacks:
        for number, layer in enumerate(stack.layers):
            if isinstance(stack, Encoder):
                found["encoder", number] = layer.attention
                continue
            found["decoder", number] = layer.self_attention
            if layer.cross_attention is not None:
                found["cross", number] = layer.cross_attention
    return found


def _gates(model: nn.Module) -> dict[Place, Tensor]:
    """A factor of 1 for each head."""
    return {
        place: attention.output_projection.weight.new_ones(attention.num_heads)
        for place, attention in attentions(model).items()
    }


@contextmanager
def _gated(model: nn.Module, gates: Mapping[Place, Tensor]) -> Iterator[None]:
    """Hand the gates to the attentions in all calls inside the block, whoever makes them."""

    def hand(gate: Tensor) -> Callable[..., tuple[Any, dict[str, Any]]]:
        def hook(module: nn.Module, args: Any, kwargs: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
            given = kwargs.get("head_gates")
            return args, {**kwargs, "head_gates": gate if given is None else gate * given}

        return hook

    hooks = [
        attention.register_forward_pre_hook(hand(gates[place]), with_kwargs=True)
        for place, attention in attentions(model).items()
    ]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
