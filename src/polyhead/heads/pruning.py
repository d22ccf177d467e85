"""Heads really removed: smaller matrices instead of factors of 0."""

from __future__ import annotations

import copy
from collections.abc import Collection
from typing import TypeVar

import torch
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.decoder import DecoderLayer
from polyhead.encoder import EncoderLayer
from polyhead.heads.removal import Head, attentions, known
from polyhead.multi_head.fused import MultiHeadAttention

Model = TypeVar("Model", bound=nn.Module)


@checked
def prune(model: Model, off: Collection[Head]) -> Model:
    """A copy without these heads, which computes what the model does inside `ablate(model, off)`.

    A head takes 3 · head_dim rows of its layer's `input_projection` with it, and head_dim columns of the
    `output_projection`: with biases, (4 · embed_dim + 3) · head_dim parameters. An attention without heads
    gives the bias of its output projection. The heads that stay are numbered anew.

    Where keys and values are grouped, they go when the last head of their group goes; the groups that stay
    must keep equally many heads. To read a pruned model from a file, prune a new one likewise, then load.
    """
    off, pruned = known(model, off), copy.deepcopy(model)
    with torch.no_grad():
        for place, attention in attentions(pruned).items():
            kept = [head for head in range(attention.num_heads) if Head(*place, head) not in off]
            _shrink(attention, kept)
    for layer in pruned.modules():  # what a layer says of itself
        if isinstance(layer, EncoderLayer):
            layer.num_heads = layer.attention.num_heads
        if isinstance(layer, DecoderLayer):
            layer.num_heads = layer.self_attention.num_heads
    return pruned


def _shrink(attention: MultiHeadAttention, kept: list[int]) -> None:
    """Keep these heads, and the keys and values that they ask."""
    group, size = attention.num_heads // attention.num_kv_heads, attention.head_dim
    asked = [head // group for head in kept]
    groups = sorted(set(asked))
    if len({asked.count(each) for each in groups}) > 1:
        raise ValueError(f"off must leave equally many heads in each group of {group}, got heads {kept} left")
    queries, keys, _ = attention.sizes
    parts = (kept, 0), (groups, queries), (groups, queries + keys)
    rows = torch.cat([start + _places(heads, size) for heads, start in parts])
    _take(attention.input_projection, 0, rows)
    _take(attention.output_projection, 1, _places(kept, size))
    if attention.sinks is not None:
        sinks = attention.sinks
        attention.sinks = nn.Parameter(sinks[kept], sinks.requires_grad)
    attention.sizes = [len(heads) * size for heads, _ in parts]
    attention.num_heads, attention.num_kv_heads = len(kept), max(len(groups), 1)  # a divisor is not 0


def _places(heads: list[int], size: int) -> Tensor:
    """Where the numbers of these heads stand: head h has h · size … (h + 1) · size - 1."""
    return (torch.tensor(heads, dtype=torch.long)[:, None] * size + torch.arange(size)).flatten()


def _take(linear: nn.Linear, dim: int, places: Tensor) -> None:
    """Keep these rows (dim 0) or columns (dim 1) of a weight; a bias goes with the rows."""
    for name, tensor in list(linear.named_parameters()):
        if dim < tensor.ndim:
            taken = tensor.index_select(dim, places.to(tensor.device))
            setattr(linear, name, nn.Parameter(taken, tensor.requires_grad))
    linear.out_features, linear.in_features = linear.weight.shape
