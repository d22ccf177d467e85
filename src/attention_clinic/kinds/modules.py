"""A multi-head module: one to examine, and its projections, read from its parameters by their shapes.

Names of parameters say which reading is tried first, never what is wrong: a reading counts when what the
module gives follows from it.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.arguments import Roles, plain, roles, signature
from attention_clinic.seeded import seeded_copy
from attention_clinic.trial import Trial
from polyhead.modes import evaluation_mode

Pair = tuple[Tensor, Tensor | None]  # weight as (in, out), and bias
Linear = tuple[str, Tensor, Tensor | None]  # with its name

NAMES: Roles = roles(
    query="q queries wq w_q q_proj fc_q query_projection lin_q to_q q_linear",
    key="k keys wk w_k k_proj fc_k key_projection lin_k to_k k_linear",
    value="v values wv w_v v_proj fc_v value_projection lin_v to_v v_linear",
    output="o out wo w_o o_proj out_proj proj fc output_projection lin_out to_out dense c_proj",
)
COUNTS = ("num_heads", "n_head", "nhead", "heads", "h", "num_head", "n_heads", "nheads", "n_heads_q")


@dataclass(frozen=True, eq=False)
class Reading:
    """Weights as y = x W + b, one pair each for queries, keys, values and output, and how many heads."""

    pairs: tuple[Pair, ...]
    num_heads: int
    num_kv_heads: int
    is_declared: bool = True  # num_heads is the module's own number

    @property
    def embed_dim(self) -> int:
        """The size of a token."""
        return self.pairs[3][0].shape[1]

    @property
    def head_dim(self) -> int:
        """The size of a head's queries."""
        return self.pairs[0][0].shape[1] // self.num_heads

    def project(self, number: int, x: Tensor) -> Tensor:
        """What the projection of queries 0, keys 1, values 2 or the output 3 makes of x."""
        weight, bias = self.pairs[number]
        return x @ weight if bias is None else x @ weight + bias


def readings(module: nn.Module) -> Iterator[Reading]:
    """All ways to read a module's parameters as four projections, the likely ones first."""
    groups = [*_projections(module)]
    if not groups:
        return
    width = groups[0][3][0].shape[1]
    declared = next((n for name in COUNTS if type(n := _attribute(module, name)) is int and n > 0), None)
    counts = [n for n in range(1, width + 1) if width % n == 0]
    if declared in counts:
        counts.remove(declared)
        counts.insert(0, declared)
    for count in counts:
        for pairs in groups:
            sizes = [pair[0].shape[1] for pair in pairs[:3]]
            if sizes[0] % count or sizes[1] != sizes[2] or sizes[1] % (sizes[0] // count):
                continue
            kv_heads = sizes[1] // (sizes[0] // count)
            if count % kv_heads == 0 and pairs[3][0].shape[0] == sizes[0]:
                yield Reading(tuple(pairs), count, kv_heads, count == declared or declared is None)


def _attribute(module: nn.Module, name: str) -> object:
    """An attribute of a module, or of a module in it."""
    return next((value for part in module.modules() if (value := vars(part).get(name)) is not None), None)


def _projections(module: nn.Module) -> Iterator[list[Pair]]:
    linears = [*_linears(module)]
    if len(linears) == 2:  # one for queries, keys and values together, and the output
        for whole, last in (linears, linears[::-1]):
            yield from _fused(whole[1:], last[1:])
    elif len(linears) == 4:
        yield from _orders(linears)
    elif len(linears) % 3 == 1 and len(linears) > 4:
        yield from _heads(linears)


def _linears(module: nn.Module) -> Iterator[Linear]:
    """Each linear layer: name, weight as (in, out), bias; PyTorch's packed input projection counts as one."""
    for name, part in module.named_modules():
        if isinstance(part, nn.MultiheadAttention) and part.in_proj_weight is not None:
            bias = part.in_proj_bias
            yield name, part.in_proj_weight.detach().mT, None if bias is None else bias.detach()
        elif isinstance(part, nn.Linear) and not nn.parameter.is_lazy(part.weight):
            bias = part.bias
            yield name, part.weight.detach().mT, None if bias is None else bias.detach()
        elif type(part).__name__ == "Conv1D" and getattr(part, "weight", torch.empty(0)).ndim == 2:
            yield name, part.weight.detach(), part.bias.detach()  # GPT-2's, already (in, out)


def _fused(whole: Pair, last: Pair) -> Iterator[list[Pair]]:
    weight, bias = whole
    width = last[0].shape[0]
    if weight.shape[1] <= width or (weight.shape[1] - width) % 2:
        return
    sizes = [width, *[(weight.shape[1] - width) // 2] * 2]
    biases = [None] * 3 if bias is None else [*torch.split(bias, sizes)]
    parts = [*zip(torch.split(weight, sizes, dim=1), biases, strict=True)]
    for order in itertools.permutations(range(3)) if len({*sizes}) == 1 else [(0, 1, 2)]:
        yield [*(parts[i] for i in order), last]
    if len({*sizes}) == 1:  # [q_1 k_1 v_1 q_2 …], a head at a time
        for heads in (n for n in range(2, width + 1) if width % n == 0):
            places = torch.arange(3 * width).reshape(heads, 3, -1).transpose(0, 1).reshape(3, -1)
            yield [*((weight[:, p], None if bias is None else bias[p]) for p in places), last]


def _orders(linears: list[Linear]) -> Iterator[list[Pair]]:
    """Yield the order that the names imply, if they imply one, then all others."""
    own = [name.rpartition(".")[2].lower() for name, *_ in linears]
    declared = []
    for names in NAMES.values():
        declared += [i for i, name in enumerate(own) if name in names][:1]
    orders = [*itertools.permutations(range(4))]
    if len({*declared}) == 4:
        orders.insert(0, tuple(declared))
    for order in orders:
        pairs = [linears[i][1:] for i in order]
        if pairs[0][0].shape[0] == pairs[1][0].shape[0] == pairs[2][0].shape[0] == pairs[3][0].shape[1]:
            yield pairs


def _heads(linears: list[Linear]) -> Iterator[list[Pair]]:
    """Three small layers for each head, and one for the output, which is the largest."""
    last = max(linears, key=lambda linear: linear[1].numel())
    rest = [linear[1:] for linear in linears if linear is not last]
    heads = len(rest) // 3
    for groups in ([rest[i::3] for i in range(3)], [rest[i * heads : (i + 1) * heads] for i in range(3)]):
        for order in itertools.permutations(range(3)):
            pairs = []
            for i in order:
                weights, biases = zip(*groups[i], strict=True)
                if len({weight.shape for weight in weights}) > 1:
                    return
                bias = None if any(b is None for b in biases) else torch.cat(biases)
                pairs.append((torch.cat(weights, dim=1), bias))
            yield [*pairs, last[1:]]


def of_matrices(weights: Sequence[Tensor], num_heads: int) -> Reading:
    """W_Q, W_K, W_V and W_O, without biases."""
    return Reading(tuple((weight, None) for weight in weights), num_heads, num_heads)


MAKING = roles(
    embed_dim="d_model dim num_hiddens hidden_size n_embd dim_model width model_dim size d_in",
    num_heads=" ".join(COUNTS),
    dropout="attn_drop p dropout_p attention_dropout",
    output_dim="d_out",
    batch_first="",
)


def build_module(trial: Trial) -> nn.Module | None:
    """Build a module of 12 features and 3 heads with a class or factory; None if that is not possible."""
    parameters = signature(trial.candidate) or []
    arguments: dict[str, Any] = {}
    values = {"embed_dim": 12, "num_heads": 3, "dropout": 0.0, "output_dim": 12, "batch_first": True}
    for role, value in values.items():
        arguments |= {p.name: value for p in parameters if plain(p.name) in MAKING[role]}
    needed = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL}
    unlike = not isinstance(trial.candidate, type) and len(arguments) < min(2, len(parameters))
    if unlike or needed - {*arguments}:
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = trial.call(trial.candidate, **arguments)
    trial.made = f"candidate({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    return module if isinstance(module, nn.Module) else None


@contextlib.contextmanager
def evaluation_copy(module: nn.Module) -> Iterator[nn.Module]:
    """A copy with random parameters, in evaluation mode; where it cannot be copied the module itself."""
    try:
        own = seeded_copy(module)
    except Exception:
        with evaluation_mode(module):
            yield module
        return
    yield own
