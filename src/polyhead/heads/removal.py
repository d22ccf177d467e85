"""The heads of a model: their names, ablation and pruning, and importance."""

import copy
import math
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any, Literal, NamedTuple, TypeVar

import torch
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from polyhead.checked import checked
from polyhead.decoder import Decoder, DecoderLayer
from polyhead.encoder import Encoder, EncoderLayer
from polyhead.multi_head.fused import MultiHeadAttention

Kind = Literal["encoder", "decoder", "cross"]  # self-attention of encoder or decoder, cross-attention
Model = TypeVar("Model", bound=nn.Module)
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
    known = all_heads(model)
    for head in heads:
        if head not in known:
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
            else:
                by_layer["decoder", number] = layer.self_attention
                by_layer["cross", number] = layer.cross_attention
    return {layer: attention for layer, attention in by_layer.items() if attention is not None}


def _gates(model: nn.Module) -> dict[Layer, Tensor]:
    """A factor of 1 for each head."""
    layers = attentions(model).items()
    return {layer: each.output_projection.weight.new_ones(each.num_heads) for layer, each in layers}


@contextmanager
def _gated(model: nn.Module, gates: Mapping[Layer, Tensor]) -> Iterator[None]:
    """Pass the gates to the attentions in all calls inside the block."""
    with hooked(
        attention.register_forward_pre_hook(partial(_with_gate, gates[layer]), with_kwargs=True)
        for layer, attention in attentions(model).items()
    ):
        yield


@contextmanager
def hooked(hooks: Iterable[RemovableHandle]) -> Iterator[None]:
    """Register hooks for the block; what `torch.compile` has compiled runs uncompiled inside it.

    >>> linear, inputs = nn.Linear(2, 3), []
    >>> with hooked([linear.register_forward_pre_hook(lambda module, args: inputs.append(args[0].shape))]):
    ...     output = linear(torch.ones(5, 2))
    >>> linear(torch.ones(7, 2)).shape, inputs
    (torch.Size([7, 3]), [torch.Size([5, 2])])
    """
    hooks = list(hooks)
    try:
        # Compiled code does not call hooks that are registered after its compilation. Where torch._dynamo,
        # whose import takes seconds, is not imported, nothing is compiled.
        compiler = "torch._dynamo" in sys.modules
        with torch.compiler.set_stance("force_eager") if compiler else nullcontext():
            yield
    finally:
        for hook in hooks:
            hook.remove()


def _with_gate(
    gate: Tensor, module: nn.Module, args: Any, kwargs: dict[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The arguments of an attention's call, with this gate times the one that they have."""
    outer = kwargs.get("head_gates")
    return args, {**kwargs, "head_gates": gate if outer is None else gate * outer}


@checked
def prune(model: Model, heads: Collection[Head]) -> Model:
    """Copy a model without these heads; the copy computes what the model does inside `ablate(model, heads)`.

    A head takes 3 · head_dim rows of its layer's `input_projection` with it, and head_dim columns of the
    `output_projection`: with biases, (4 · embed_dim + 3) · head_dim parameters. An attention without heads
    gives the bias of its output projection. The remaining heads are renumbered.

    Grouped keys and values go with the last head of their group; the remaining groups must have equally many
    heads. To load a pruned model from a file, prune a new model in the same way first.

    Raises:
        ValueError: the model lacks one of the heads, a projection is computed by a parametrization, or
            groups would differ in size.

    >>> from polyhead import Encoder
    >>> pruned = prune(Encoder(1, embed_dim=6, num_heads=3), [Head("encoder", 0, 1)])
    >>> pruned.layers[0].attention.input_projection
    Linear(in_features=6, out_features=12, bias=True)
    """
    heads, pruned = check_heads(model, heads), copy.deepcopy(model)
    with torch.no_grad():
        for layer, attention in attentions(pruned).items():
            numbers = range(attention.num_heads)
            _keep_heads(attention, [number for number in numbers if (*layer, number) not in heads])
    for module in pruned.modules():
        if isinstance(module, EncoderLayer):
            module.num_heads = module.attention.num_heads
        if isinstance(module, DecoderLayer):
            module.num_heads = module.self_attention.num_heads
    return pruned


def _keep_heads(attention: MultiHeadAttention, heads: list[int]) -> None:
    """Keep these heads, and the keys and values that they use."""
    group_size, head_dim = attention.num_heads // attention.num_kv_heads, attention.head_dim
    group_of_each = [head // group_size for head in heads]
    groups = sorted(set(group_of_each))
    if len({group_of_each.count(group) for group in groups}) > 1:
        raise ValueError(f"heads must leave equally many in each group of {group_size}, got {heads} left")
    queries, keys, _ = attention.sizes
    parts = (heads, 0), (groups, queries), (groups, queries + keys)
    rows = torch.cat([start + _rows_of(numbers, head_dim) for numbers, start in parts])
    _keep_slices(attention.input_projection, 0, rows)
    _keep_slices(attention.output_projection, 1, _rows_of(heads, head_dim))
    if attention.sinks is not None:
        sinks = attention.sinks
        attention.sinks = nn.Parameter(sinks[heads], sinks.requires_grad)
    attention.sizes = [len(numbers) * head_dim for numbers, _ in parts]
    attention.num_heads, attention.num_kv_heads = len(heads), max(len(groups), 1)  # a divisor is not 0


def _rows_of(heads: list[int], head_dim: int) -> Tensor:
    """The rows of these heads in a projection's matrix: h · head_dim … (h + 1) · head_dim - 1 for head h."""
    return (torch.tensor(heads, dtype=torch.long)[:, None] * head_dim + torch.arange(head_dim)).flatten()


def _keep_slices(linear: nn.Linear, dim: int, indices: Tensor) -> None:
    """Keep these rows (dim 0) or columns (dim 1) of a weight; a bias goes with the rows."""
    if not isinstance(linear.weight, nn.Parameter):
        raise ValueError(
            "model must have parameters to prune, got a projection that is computed, as by weight_norm: "
            "remove the parametrization first"
        )
    for name, tensor in list(linear.named_parameters()):
        if dim < tensor.ndim:
            slices = tensor.index_select(dim, indices.to(tensor.device))
            setattr(linear, name, nn.Parameter(slices, tensor.requires_grad))
    linear.out_features, linear.in_features = linear.weight.shape
