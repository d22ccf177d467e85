"""Pruning: smaller matrices, instead of heads multiplied by 0."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import TypeVar

import torch
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.decoder import DecoderLayer
from polyhead.encoder import EncoderLayer
from polyhead.heads.removal import Head, attentions, check_heads
from polyhead.multi_head.fused import MultiHeadAttention

Model = TypeVar("Model", bound=nn.Module)


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
        raise ValueError(
            f"heads must leave equally many heads in each group of {group_size}, got {heads} left"
        )
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
