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
    query="q queries wq w_q q_proj fc_q query_projection lin_q to_q q_linear w_query",
    key="k keys wk w_k k_proj fc_k key_projection lin_k to_k k_linear w_key",
    value="v values wv w_v v_proj fc_v value_projection lin_v to_v v_linear w_value",
    output="o out wo w_o o_proj out_proj proj fc output_projection lin_out to_out dense c_proj",
)
COUNTS = ("num_heads", "n_head", "nhead", "heads", "h", "num_head", "n_heads", "nheads", "n_heads_q")
HEAD_DIMS = ("head_dim", "d_k", "d_head", "dim_head", "head_size")


@dataclass(frozen=True, eq=False)
class Reading:
    """Weights as y = x W + b, one pair each for queries, keys, values and output, and how many heads.

    Without an output projection its pair is None; norms of queries and keys act on each head, or before the
    split on all of them, as their sizes have it.
    """

    pairs: tuple[Pair | None, ...]
    num_heads: int
    num_kv_heads: int
    is_declared: bool = True  # num_heads is the module's own number
    norms: tuple[nn.Module, ...] = ()  # of queries and of keys

    @property
    def widths(self) -> tuple[int, int, int]:
        """The sizes of a query's token, of a key's token, and of an output."""
        query, key, _, output = (pair and pair[0] for pair in self.pairs)
        assert query is not None and key is not None
        return len(query), len(key), query.shape[1] if output is None else output.shape[1]

    @property
    def embed_dim(self) -> int:
        """The size of a token."""
        return self.widths[0]

    @property
    def head_dim(self) -> int:
        """The size of a head's queries."""
        pair = self.pairs[0]
        assert pair is not None
        return pair[0].shape[1] // self.num_heads

    def project(self, number: int, x: Tensor) -> Tensor:
        """What the projection of queries 0, keys 1, values 2 or the output 3 makes of x."""
        pair = self.pairs[number]
        if pair is None:
            return x
        weight, bias = pair
        return x @ weight if bias is None else x @ weight + bias

    def normed(self, number: int, x: Tensor) -> Tensor:
        """Queries 0 or keys 1 behind their norm, if it is one for a last dimension of this size."""
        if number >= len(self.norms) or norm_size(self.norms[number]) != x.shape[-1]:
            return x
        result: Tensor = self.norms[number](x)
        return result


Group = tuple[list[Pair | None], int | None]  # four pairs, and how many heads they must have


def readings(module: nn.Module) -> Iterator[Reading]:
    """All ways to read a module's parameters as projections, the likely ones first."""
    declared = _declared(module, *COUNTS)
    norms = tuple(norm for name, norm in norms_of(module) if _is_of_heads(name))
    has_matrices = any(True for part in module.modules() for _ in _own_matrices(part))
    shown = [
        group
        for turned in ((False, True) if has_matrices else (False,))
        for group in _projections([*_linears(module, turned)])
    ]
    widest = max((pairs[0][0].shape[1] for pairs, _ in shown if pairs[0]), default=0)
    head_dim = _declared(module, *HEAD_DIMS)
    if declared is None and head_dim and widest % head_dim == 0:
        declared = widest // head_dim
    counts = [n for n in range(1, widest + 1) if widest % n == 0]
    if declared in counts:
        counts.remove(declared)
        counts.insert(0, declared)
    for count in counts:
        for pairs, own in shown:
            sizes = [pair[0].shape[1] for pair in pairs[:3] if pair]
            inner = sizes[0] if pairs[3] is None else len(pairs[3][0])
            if own not in (None, count) or sizes[0] % count or sizes[0] != inner or sizes[1] != sizes[2]:
                continue
            if sizes[1] % (size := sizes[0] // count) or count % (sizes[1] // size):
                continue
            is_declared = own is not None or declared in (None, count)
            yield Reading(tuple(pairs), count, sizes[1] // size, is_declared, norms)


def _declared(module: nn.Module, *names: str) -> int | None:
    """The first of these attributes that is a number, of a module or of a module in it."""
    found = (vars(part).get(name) for name in names for part in module.modules())
    return next((each for each in found if type(each) is int and each > 0), None)


def norms_of(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Each norm in a module, with its name."""
    for name, part in module.named_modules():
        is_leaf = not any(True for _ in part.children())
        if is_leaf and "norm" in type(part).__name__.lower() and norm_size(part):
            yield name.rpartition(".")[2].lower(), part


def norm_size(norm: nn.Module) -> int | None:
    """The number of features that a norm is for."""
    shape = getattr(norm, "normalized_shape", None)
    size = shape[-1] if shape else next((len(p) for p in norm.parameters() if not _is_lazy(p)), None)
    return size if isinstance(size, int) and not isinstance(norm, nn.GroupNorm) else None


def is_read(module: nn.Module) -> bool:
    """Whether all parameters are those of linear layers and norms."""
    norms = {id(p) for _, norm in norms_of(module) for p in norm.parameters()}
    linear = sum(w.numel() + (0 if b is None else b.numel()) for _, w, b in _linears(module))
    return linear == sum(p.numel() for p in module.parameters() if id(p) not in norms)


def _is_of_heads(name: str) -> bool:
    return any(part in ("q", "k", "query", "key") for part in name.replace("norm", "_").split("_"))


def _projections(linears: list[Linear]) -> Iterator[Group]:
    """Groups of four pairs, as so many layers can be read."""
    number = len(linears)
    bare: list[Pair] = [linear[1:] for linear in linears]
    if number == 1:
        yield from _fused(bare[0], None)
    elif number == 2:  # one for queries, keys and values together, and the output
        for whole, last in (bare, bare[::-1]):
            yield from _fused(whole, last)
    elif number == 3:
        for order in itertools.permutations(range(3)):
            query, both, last = (bare[i] for i in order)
            if both[0].shape[1] % 2 == 0 and len(last[0]) == query[0].shape[1]:
                key, value = _cut(both, [both[0].shape[1] // 2] * 2)
                yield [query, key, value, last], None
                yield [query, value, key, last], None
    elif number == 4:
        yield from _orders(linears, 4)
        yield from _for_each_head(bare)
    elif number % 3 == 1:
        yield from _heads(linears, max(linears, key=lambda linear: linear[1].numel()))
    if number > 4 and number % 3 == 0:
        yield from _heads(linears, None)
    if number in (3, 5) and bare[-2][0].shape[1] == len(bare[-1][0]):
        yield from _projections([*linears[:-2], (linears[-1][0], *_chained(*bare[-2:]))])
    if number == 3:
        yield from _orders(linears, 3)


def _own_matrices(part: nn.Module) -> Iterator[Linear]:
    """Matrices that are no layer's; where heads come before them, those side by side."""
    if isinstance(part, nn.Linear | nn.MultiheadAttention | nn.Embedding) or _is_pointwise(part):
        return
    own = {name: each.detach() for name, each in part.named_parameters(recurse=False) if not _is_lazy(each)}
    for name, weight in own.items():
        biases = (own.get(name.replace(*pair)) for pair in (("weight", "bias"), ("W", "b"), ("w", "b")))
        bias = next((each.flatten() for each in biases if each is not None and each.ndim < weight.ndim), None)
        if weight.ndim == 3:
            last = plain(name) in NAMES["output"]
            weight = weight.flatten(0, 1) if last else weight.transpose(0, 1).flatten(1)
        if weight.ndim == 2:
            yield name, weight, bias


def _is_lazy(parameter: Any) -> bool:
    return nn.parameter.is_lazy(parameter)


def _is_pointwise(part: nn.Module) -> bool:
    return isinstance(part, nn.Conv1d | nn.Conv2d) and {*part.kernel_size} == {1} and part.groups == 1


def _linears(module: nn.Module, turned: bool = False) -> Iterator[Linear]:
    """Each linear layer: name, weight as (in, out), bias; PyTorch's packed input projection counts as one.

    Matrices that are no layer's may be the other way round: then they are `turned`.
    """
    for name, part in module.named_modules():
        weight, bias = getattr(part, "weight", None), getattr(part, "bias", None)
        bias = bias.detach() if isinstance(bias, Tensor) and not _is_lazy(bias) else None
        if isinstance(part, nn.MultiheadAttention) and part.in_proj_weight is not None:
            own = part.in_proj_bias
            yield name, part.in_proj_weight.detach().mT, None if own is None else own.detach()
        elif isinstance(part, nn.MultiheadAttention):
            parts = [None] * 3 if part.in_proj_bias is None else part.in_proj_bias.detach().chunk(3)
            for letter, offset in zip("qkv", parts, strict=True):
                yield f"{letter}_proj", getattr(part, f"{letter}_proj_weight").detach().mT, offset
        elif not isinstance(weight, Tensor) or not (isinstance(part, nn.Linear) or _is_pointwise(part)):
            for raw, matrix, raw_bias in _own_matrices(part):
                is_turned = turned and type(part).__name__ != "Conv1D"  # GPT-2's layer: (in, out)
                shown = name if raw == "weight" else f"{name}.{raw}"
                yield shown, matrix.mT if is_turned else matrix, raw_bias
        elif not _is_lazy(weight):
            yield name, weight.detach().flatten(1).mT, bias


def _cut(whole: Pair, sizes: list[int]) -> list[Pair]:
    weight, bias = whole
    biases = [None] * len(sizes) if bias is None else [*torch.split(bias, sizes)]
    return [*zip(torch.split(weight, sizes, dim=1), biases, strict=True)]


def _chained(first: Pair, second: Pair) -> Pair:
    """Two layers, one after the other, as one."""
    (weight, bias), (last, offset) = first, second
    moved = [each for each in (None if bias is None else bias @ last, offset) if each is not None]
    return weight @ last, torch.stack(moved).sum(dim=0) if moved else None


def _fused(whole: Pair, last: Pair | None) -> Iterator[Group]:
    weight, bias = whole
    width = len(last[0]) if last else weight.shape[1] // 3
    if weight.shape[1] <= width or (weight.shape[1] - width) % 2:
        return
    sizes = [width, *[(weight.shape[1] - width) // 2] * 2]
    parts = _cut(whole, sizes)
    for order in itertools.permutations(range(3)) if len({*sizes}) == 1 else [(0, 1, 2)]:
        yield [*(parts[i] for i in order), last], None
    if len({*sizes}) == 1:  # [q_1 k_1 v_1 q_2 …], a head at a time
        for heads in (n for n in range(2, width + 1) if width % n == 0):
            places = torch.arange(3 * width).reshape(heads, 3, -1).transpose(0, 1).reshape(3, -1)
            yield [*((weight[:, p], None if bias is None else bias[p]) for p in places), last], None


def _orders(linears: list[Linear], number: int) -> Iterator[Group]:
    """Yield the order that the names imply, if they imply one, then all others."""
    own = [name.rpartition(".")[2].lower() for name, *_ in linears]
    declared = []
    for names in [*NAMES.values()][:number]:
        declared += [i for i, name in enumerate(own) if name in names or plain(name) in names][:1]
    orders = [*itertools.permutations(range(number))]
    if len({*declared}) == number:
        orders.insert(0, tuple(declared))
    for order in orders:
        pairs: list[Pair | None] = [*(linears[i][1:] for i in order), None][:4]
        widths = {pair[0].shape[i // 3] for i, pair in enumerate(pairs) if pair}
        if len(widths) == 1 or order == tuple(declared):  # tokens of keys may be of another size
            yield pairs, None


def _for_each_head(bare: list[Pair]) -> Iterator[Group]:
    """Three layers as small as a head, which all heads share, and one for the output."""
    last = max(bare, key=lambda pair: pair[0].numel())
    small = [pair for pair in bare if pair is not last]
    size = len(small[0][0])
    if len(last[0]) % size or any(pair[0].shape != (size, size) for pair in small) or size == len(last[0]):
        return
    heads = len(last[0]) // size
    for order in itertools.permutations(small):
        shared: list[Pair | None] = [
            (torch.kron(torch.eye(heads), weight.contiguous()), None if bias is None else bias.repeat(heads))
            for weight, bias in order
        ]
        yield [*shared, last], heads


def _heads(linears: list[Linear], last: Linear | None) -> Iterator[Group]:
    """Three small layers for each head, and perhaps one for the output, which is the largest."""
    rest = [linear[1:] for linear in linears if linear is not last]
    heads = len(rest) // 3
    for groups in ([rest[i::3] for i in range(3)], [rest[i * heads : (i + 1) * heads] for i in range(3)]):
        for order in itertools.permutations(range(3)):
            pairs: list[Pair | None] = []
            for i in order:
                weights, biases = zip(*groups[i], strict=True)
                if len({weight.shape for weight in weights}) > 1:
                    return
                bias = None if any(b is None for b in biases) else torch.cat(biases)
                pairs.append((torch.cat(weights, dim=1), bias))
            yield [*pairs, last[1:] if last else None], heads


def of_matrices(weights: Sequence[Tensor], num_heads: int) -> Reading:
    """W_Q, W_K, W_V and W_O, without biases."""
    return Reading(tuple((weight, None) for weight in weights), num_heads, num_heads)


MAKING = roles(
    embed_dim="d_model dim num_hiddens hidden_size n_embd dim_model width model_dim size d_in emb_dim"
    " embed_size",
    num_heads="num_attention_heads " + " ".join(COUNTS),
    num_kv_heads="n_kv_heads num_key_value_heads num_kv_groups n_kv_head kv_heads n_query_groups",
    head_dim="d_k d_v d_head dim_head head_size",
    output_dim="d_out",
    dropout="attn_drop p dropout_p attention_dropout attn_pdrop resid_pdrop drop_rate attn_dropout",
    length="context_length block_size max_len max_seq_len max_seq_length seq_len ctx_len",
    bias="qkv_bias",
    batch_first="",
    dtype="",
)
_CONFIG = ("config", "cfg", "args", "conf", "params")


class SmallConfig(dict[str, Any]):
    """What a module may ask a configuration for, by any of the usual names, as attribute or as key."""

    def __missing__(self, name: str) -> Any:
        role = next((role for role, names in MAKING.items() if plain(name) in names), name)
        if role == name or role not in self:
            raise KeyError(name)
        return self[role]

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __repr__(self) -> str:
        return f"SmallConfig({super().__repr__()})"


def build_module(trial: Trial) -> nn.Module | None:
    """Build a small module with a class or factory; None if its arguments are not known.

    It has 3 heads of size 4, or 6 heads where keys and values may have fewer, namely 2.
    """
    parameters = signature(trial.candidate) or []
    grouped = any(plain(p.name) in MAKING["num_kv_heads"] for p in parameters)
    width, heads, kv_heads = (24, 6, 2) if grouped else (12, 3, 3)
    values = {"embed_dim": width, "num_heads": heads, "head_dim": 4, "output_dim": width, "dropout": 0.0}
    values |= {"length": 64} | ({"num_kv_heads": kv_heads} if grouped else {})
    config = SmallConfig(values | {"num_kv_heads": kv_heads, "bias": False, "dtype": torch.float32})
    arguments: dict[str, Any] = {}
    for parameter in parameters:
        name = plain(parameter.name)
        role = next((role for role, names in MAKING.items() if name in names), "")
        if name in _CONFIG:
            arguments[parameter.name] = config
        elif role == "batch_first":
            arguments[parameter.name] = True
        elif role in config and (role in values or parameter.default is parameter.empty):
            arguments[parameter.name] = config[role]
    needed = {p.name for p in parameters if p.default is p.empty and p.kind is not p.VAR_POSITIONAL}
    few = not {*arguments} & {p.name for p in parameters if p.name in _CONFIG}
    unlike = not isinstance(trial.candidate, type) and few and len(arguments) < min(2, len(parameters))
    if unlike or needed - {*arguments}:
        return None
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        module = trial.call(trial.candidate, **arguments)
    trial.made = f"candidate({', '.join(f'{name}={value!r}' for name, value in arguments.items())})"
    return module if isinstance(module, nn.Module) else None


@contextlib.contextmanager
def evaluation_copy(module: nn.Module) -> Iterator[nn.Module]:
    """Its `seeded_copy`; a module that cannot be copied itself."""
    try:
        own = seeded_copy(module)
    except Exception:
        with evaluation_mode(module):
            yield module
        return
    yield own
