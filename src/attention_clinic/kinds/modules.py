"""A multi-head module: one to examine, and its projections, read from its parameters by their shapes.

Names of parameters say which reading is tried first, never what is wrong: a reading counts when what the
module gives follows from it.
"""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from attention_clinic.arguments import ROLES, Roles, plain, signature
from attention_clinic.seeded import seeded_copy
from attention_clinic.trial import CallFailed, Trial, call_text

NAMES = ROLES["projections"]
COUNTS = ("num_heads", "n_head", "nhead", "heads", "h", "num_head", "n_heads", "nheads", "n_heads_q")
WIDTHS = (*sorted(ROLES["making"]["embed_dim"] - {"dim", "size"}),)
HEAD_DIMS = ("head_dim", "d_k", "d_head", "dim_head", "head_size")


class Linear(NamedTuple):
    """A linear layer, y = x W + b, or what is read as one."""

    weight: Tensor  # (in, out)
    bias: Tensor
    name: str = ""
    is_turnable: bool = False  # whether the weight may be (out, in)
    place: str = ""  # where it is in the module, the same in all modules of a list

    def project(self, x: Tensor) -> Tensor:
        """What the layer makes of x."""
        return x @ self.weight + self.bias

    def turned(self) -> "Linear":
        """The same matrix as (out, in); a bias stays as it is."""
        bias = self.bias if self.bias.any() else self.bias.new_zeros(len(self.weight))
        return self._replace(weight=self.weight.mT, bias=bias)


@dataclass(frozen=True, eq=False)
class Reading:
    """The layers of queries, keys, values and output, if there is one, and how many heads they have.

    Norms of queries and keys act on each head, or before the split on all of them, as their sizes have it.
    """

    inputs: Sequence[Linear]  # of queries, keys and values
    output: Linear | None
    num_heads: int
    num_kv_heads: int
    norms: tuple[nn.Module, ...] = ()  # of queries and of keys
    is_declared: bool = True  # num_heads is the module's own number

    @property
    def widths(self) -> tuple[int, int, int]:
        """The sizes of a query's token, of a key's token, and of an output."""
        query, key, _ = self.inputs
        return len(query.weight), len(key.weight), (self.output or query).weight.shape[1]

    @property
    def has_one_width(self) -> bool:
        """Whether all tokens that come in, and those that an output projection gives, have one size."""
        outputs = [self.output.weight.shape[1]] if self.output else []
        return len({*(len(each.weight) for each in self.inputs), *outputs}) == 1

    @property
    def head_dim(self) -> int:
        """The size of a head's queries."""
        return self.inputs[0].weight.shape[1] // self.num_heads

    @property
    def num_names(self) -> int:
        """How many layers have a name that tells what they are for."""
        named = zip((*self.inputs, self.output), NAMES.values(), strict=True)
        return sum(layer is not None and layer.name in names for layer, names in named)

    def project(self, number: int, x: Tensor) -> Tensor:
        """What the projection of queries 0, keys 1, values 2 or the output 3 makes of x."""
        layer = (*self.inputs, self.output)[number]
        return x if layer is None else layer.project(x)

    def normed(self, number: int, x: Tensor) -> Tensor:
        """Queries 0 or keys 1 behind their norm, if it is one for a last dimension of this size."""
        if number >= len(self.norms) or norm_size(self.norms[number]) != x.shape[-1]:
            return x
        result: Tensor = self.norms[number](x)
        return result


def readings(module: nn.Module) -> list[Reading]:
    """All ways to read a module's parameters as projections, the likely ones first.

    Likely are as many heads, or heads of the size, that the module declares; then layers with telling names.
    """
    norms = tuple(norm for name, norm in norms_of(module) if _is_of_heads(name))
    linears, found = [*_linears(module)], list[Reading]()
    ways = [linears]
    if any(each.is_turnable for each in linears):
        ways.append([each.turned() if each.is_turnable else each for each in linears])
    for way in ways:
        if all(len(each.bias) == each.weight.shape[1] for each in way):
            found += _readings(way, norms)
    most = max((each.num_names for each in found), default=0)
    # That tokens of keys, or outputs, have a size of their own, only names can tell.
    found = [each for each in found if each.has_one_width or each.num_names == most]
    for number, names in (("num_heads", COUNTS), ("head_dim", HEAD_DIMS)):
        own = declared(module, *names)
        if any(getattr(each, number) == own for each in found):
            found = [replace(each, is_declared=getattr(each, number) == own) for each in found]
            break
    return sorted(found, key=lambda each: (not each.is_declared, each.num_heads, -each.num_names))


def _readings(linears: list[Linear], norms: tuple[nn.Module, ...]) -> Iterator[Reading]:
    """What may be queries, keys, values and output, in the ways in which the sizes fit each other."""
    if len(linears) in (3, 5) and linears[-2].weight.shape[1] == len(linears[-1].weight):
        *others, first, second = linears  # the last two are one after the other
        both = Linear(first.weight @ second.weight, second.project(first.bias), second.name)
        yield from _readings([*others, both], norms)
    for output in (*reversed(linears), None):
        rest = [each for each in linears if each is not output]
        for layers, size in _inputs(rest, output):
            query, key, value = (layer.weight.shape[1] for layer in layers)
            inner = query if output is None else len(output.weight)
            if key == value and query == inner and query % key == 0:
                for head_dim in [size] if size else range(1, key + 1):
                    if key % head_dim == 0:
                        yield Reading(layers, output, query // head_dim, key // head_dim, norms)


Inputs = Iterator[tuple[Sequence[Linear], int | None]]


def _inputs(linears: list[Linear], output: Linear | None) -> Inputs:
    """What may be queries, keys and values: one layer for all, one for each, or one for each in each head.

    Each head may have one for all, too.
    """
    widths = [each.weight.shape[1] for each in linears]
    inner = len(output.weight) if output else sum(widths) // 3
    if len(linears) > 1 == len({each.place for each in linears}) and sum(widths) == 3 * inner:
        parts = zip(*(_chunks(each) for each in linears), strict=True)
        size = inner // len(linears)
        yield from ((order, size) for order in itertools.permutations([_beside(each) for each in parts]))
        return
    if len(linears) == 1:
        yield from _cut(linears[0], inner)
    elif len(linears) == 2 and output:
        for query, both in itertools.permutations(linears):
            yield from (((query, *parts), head_dim) for parts, head_dim in _cut(both, 0))
    elif len(linears) == 3:
        size, shapes = len(linears[0].weight), {each.weight.shape for each in linears}
        if shapes == {(size, size)} and size < inner and inner % size == 0:
            shared = [_repeated(each, inner // size) for each in linears]
            yield from ((order, size) for order in itertools.permutations(shared))
        yield from ((order, None) for order in itertools.permutations(linears))
    elif len(linears) % 3 == 0 and 0 < 3 * inner == sum(widths):
        heads = len(linears) // 3
        by_head = [linears[i::3] for i in range(3)]
        by_role = [linears[i : i + heads] for i in range(0, len(linears), heads)]
        for groups in (by_head, by_role):
            if all(len({each.weight.shape for each in group}) == 1 for group in groups):
                layers = [_beside(group) for group in groups]
                yield from ((order, widths[0]) for order in itertools.permutations(layers))


def _cut(whole: Linear, num_queries: int) -> Inputs:
    """One layer for so many features of queries, if any, keys and values: side by side, or head by head."""
    width = whole.weight.shape[1]
    size, odd = divmod(width - num_queries, 2)
    for heads in () if odd else range(1, size + 1):
        if size % heads == num_queries % heads == 0:
            sizes = [each // heads for each in (num_queries, size, size) if each]
            columns = torch.split(torch.arange(width).reshape(heads, -1), sizes, dim=1)
            parts = [Linear(whole.weight[:, c.flatten()], whole.bias[c.flatten()]) for c in columns]
            head_dim = None if heads == 1 else size // heads
            yield from ((order, head_dim) for order in itertools.permutations(parts))


def _chunks(head: Linear) -> list[Linear]:
    return [Linear(*each) for each in zip(head.weight.chunk(3, dim=1), head.bias.chunk(3), strict=True)]


def _beside(heads: Sequence[Linear]) -> Linear:
    """Layers of one head each as one."""
    weight, bias = (torch.cat(parts, dim=-1) for parts in zip(*(each[:2] for each in heads), strict=True))
    return Linear(weight, bias, heads[0].name)


def _repeated(head: Linear, heads: int) -> Linear:
    """One layer as small as a head, which all heads share, as one for all features."""
    weight = torch.kron(torch.eye(heads), head.weight.contiguous())
    return Linear(weight, head.bias.repeat(heads), head.name)


# The parameters of PyTorch's layers.
_OF_LAYERS = ("weight", "bias", "in_proj_weight", "in_proj_bias", *(f"{name}_proj_weight" for name in "qkv"))


def _linears(module: nn.Module) -> Iterator[Linear]:
    """The linear layers, and matrices that are parameters of their own.

    PyTorch's packed input projection counts as one; where heads come before a matrix, they are side by side.
    """
    for path, part in module.named_modules():
        is_layer = isinstance(part, nn.Linear | nn.MultiheadAttention) or _is_pointwise(part)
        names = _OF_LAYERS if is_layer else [name for name, _ in part.named_parameters(recurse=False)]
        every = {name: getattr(part, name, None) for name in names}
        own = {name: x.detach() for name, x in every.items() if isinstance(x, Tensor) and not is_lazy(x)}
        if "in_proj_bias" in own:
            own |= zip((f"{name}_proj_bias" for name in "qkv"), own["in_proj_bias"].chunk(3), strict=True)
        for raw, weight in own.items():
            biases = (own.get(raw.replace(*pair)) for pair in (("weight", "bias"), ("W", "b"), ("w", "b")))
            bias = next((x.flatten() for x in biases if x is not None and x.ndim < weight.ndim), None)
            full = path if raw == "weight" else f"{path}.{raw}"
            place = full if full[-1:].isdigit() else "".join(each for each in full if not each.isdigit())
            name = plain(full.rpartition(".")[2].removesuffix("weight"))
            if is_layer and weight.ndim > 1:
                weight = weight.flatten(1).mT
            elif weight.ndim == 3:
                is_last = name in NAMES["output"]
                weight = weight.flatten(0, 1) if is_last else weight.transpose(0, 1).flatten(1)
            if weight.ndim == 2 and not isinstance(part, nn.Embedding):
                bias = weight.new_zeros(weight.shape[1]) if bias is None else bias
                is_turnable = not is_layer and type(part).__name__ != "Conv1D"  # GPT-2's
                yield Linear(weight, bias, name, is_turnable, place)


def _is_pointwise(part: nn.Module) -> bool:
    return isinstance(part, nn.Conv1d | nn.Conv2d) and {*part.kernel_size} == {1} and part.groups == 1


def declared(candidate: object, *names: str) -> int | None:
    """The first of these attributes that is a number, of an object or of a module in it.

    Of a method it is its object's.
    """
    owner = getattr(candidate, "__self__", candidate)
    parts = [*owner.modules()] if isinstance(owner, nn.Module) else [owner]
    found = (getattr(part, "__dict__", {}).get(name) for name in names for part in parts)
    return next((each for each in found if type(each) is int and each > 0), None)


def is_called_norm(kind: type) -> bool:
    """Whether a class has the name of a norm."""
    return any(word in kind.__name__.lower() for word in ("norm", "rms"))


def norms_of(module: nn.Module) -> Iterator[tuple[str, nn.Module]]:
    """Each norm in a module, with its name."""
    for name, part in module.named_modules():
        is_leaf = not any(True for _ in part.children())
        if is_leaf and is_called_norm(type(part)) and norm_size(part):
            yield name.rpartition(".")[2].lower(), part


def norm_size(norm: nn.Module) -> int | None:
    """The number of features that a norm is for."""
    shape = getattr(norm, "normalized_shape", None)
    size = shape[-1] if shape else next((len(p) for p in norm.parameters() if not is_lazy(p)), None)
    return size if isinstance(size, int) and not isinstance(norm, nn.GroupNorm) else None


def is_read(module: nn.Module) -> bool:
    """Whether all parameters are those of linear layers and norms."""
    norms = {id(p) for _, norm in norms_of(module) for p in norm.parameters()}
    linear = sum(w.numel() + int(b.count_nonzero()) for w, b, *_ in _linears(module))
    return linear == sum(p.numel() for p in module.parameters() if id(p) not in norms)


def _is_of_heads(name: str) -> bool:
    return any(part in ("q", "k", "query", "key") for part in name.replace("norm", "_").split("_"))


def of_matrices(weights: Sequence[Tensor], num_heads: int) -> Reading:
    """W_Q, W_K, W_V and W_O, without biases."""
    *inputs, output = (Linear(each, torch.zeros(each.shape[1])) for each in weights)
    return Reading(inputs, output, num_heads, num_heads)


MAKING: Roles = {**ROLES["making"], "num_heads": ROLES["making"]["num_heads"] | {*COUNTS}}
_CONFIG = ("config", "cfg", "args", "conf", "params")


def _role(name: str) -> str:
    """What an argument of this name is for; "" if that is not known."""
    return next((role for role, names in MAKING.items() if plain(name) in names), "")


class SmallConfig(dict[str, Any]):
    """What a module may ask a configuration for, by any of the usual names, as attribute or as key."""

    def __missing__(self, name: str) -> Any:
        role = _role(name)
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
    """Build a small module with a class or factory; None if a factory's arguments are not known.

    It has 3 heads of size 4, or 6 heads where keys and values may have fewer, namely 2. A norm keeps all its
    defaults: there `dim` may be an axis, and `p` a part of the features.

    Raises:
        CallFailed: a class cannot be made with such arguments.
    """
    parameters = [p for p in signature(trial.candidate) or [] if p.kind is not p.VAR_POSITIONAL]
    grouped = any(_role(p.name) == "num_kv_heads" for p in parameters)
    width, heads, kv_heads = (24, 6, 2) if grouped else (12, 3, 3)
    config = SmallConfig(
        embed_dim=width, num_heads=heads, head_dim=4, output_dim=width, dropout=0.0, length=64,
        num_kv_heads=kv_heads, bias=False, dtype=torch.float32,
    )  # fmt: skip
    required = {p.name for p in parameters if p.default is p.empty}
    is_class = isinstance(trial.candidate, type)
    filled = required if is_class and is_called_norm(trial.candidate) else {p.name for p in parameters}
    arguments: dict[str, Any] = {}
    for name in (p.name for p in parameters if p.name in filled):
        role = _role(name)
        if plain(name) in _CONFIG:
            arguments[name] = config
        elif role == "batch_first":  # of a configuration it is not asked
            arguments[name] = True
        elif role in config and (name in required or role not in ("bias", "dtype")):
            arguments[name] = config[role]
    is_known = config in arguments.values() or len(arguments) >= min(2, len(parameters))
    if not is_class and (not is_known or required - {*arguments}):
        return None
    made = call_text("candidate", arguments)
    try:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            module = trial.call(trial.candidate, **arguments)
    except CallFailed as stop:
        if stop.finding.name == "raises":  # what the arguments are for was a guess
            trial.tried, trial.question = [made], f"candidate={trial.candidate.__name__}(…)"
            stop.finding = replace(stop.finding, name="not_called")
        raise
    trial.made = made
    return module if isinstance(module, nn.Module) else None


def evaluation_copy(module: nn.Module) -> nn.Module:
    """Its `seeded_copy`; a module that cannot be copied itself."""
    try:
        return seeded_copy(module)
    except Exception:
        return module.eval()
