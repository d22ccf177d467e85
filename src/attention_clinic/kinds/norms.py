"""Norms of tokens, RMSNorm and layer norm: functions, and modules with parameters of their own."""

import copy
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor, nn

from attention_clinic.arguments import ROLES, Roles, Subject
from attention_clinic.cases import Case, examine, samples, staged
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.modules import is_called_norm
from attention_clinic.trial import Trial

RMS = ROLES["rms_norm"]
LAYER: Roles = {**RMS, **ROLES["bias"]}

# The stages of a norm: for each a name, "" where it is right, and what it does. `Root` is what is divided by.
Root = Callable[[Tensor, float], Tensor]
_AXES: list[tuple[str, tuple[int, ...]]] = [
    ("", (-1,)), ("rms_axis", (-2,)), ("rms_axis", (0,)), ("rms_axis", (-2, -1)), ("rms_axis", (0, 1, 2)),
]  # fmt: skip
_ROOTS: list[tuple[str, Root]] = [
    ("", lambda squares, eps: (squares + eps).sqrt()),
    ("rms_eps_outside", lambda squares, eps: squares.sqrt() + eps),
    ("rms_eps", lambda squares, eps: squares.sqrt()),
    ("rms_eps", lambda squares, eps: (squares + eps**2).sqrt()),
    ("rms_inverted", lambda squares, eps: (squares + eps).rsqrt()),
    ("rms_no_root", lambda squares, eps: squares + eps),
    ("rms_root_twice", lambda squares, eps: (squares.sqrt() + eps).sqrt()),
]
_MEANS: list[tuple[str, Callable[[Tensor, int], Tensor]]] = [
    ("", lambda squares, size: squares),
    ("rms_sum", lambda squares, size: squares * size),
    ("rms_factor", lambda squares, size: squares * size**2),
]
_FACTORS: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("", lambda weight: weight),
    ("rms_no_weight", torch.ones_like),
    ("rms_offset", lambda weight: 1 + weight),
    ("rms_sum", lambda weight: weight / len(weight) ** 0.5),  # eps outside the sum: (mean + eps) · size
    ("rms_factor", lambda weight: weight / len(weight)),
]
# Whether the mean is subtracted, whether it is under the root, and whether the squares' mean is unbiased.
_RMS_CENTRES = [
    ("", (False, False, False)), ("rms_mean", (True, True, False)), ("rms_mean", (True, True, True)),
    ("rms_mean", (False, True, False)), ("rms_mean", (False, True, True)),
]  # fmt: skip
_LAYER_CENTRES = [
    ("", (True, True, False)), ("layer_unbiased", (True, True, True)),
    ("layer_no_mean", (False, False, False)),
]  # fmt: skip


def _normed(x: Tensor, weight: Tensor, eps: float, *stages: Any) -> Tensor:
    (centred, under_root, unbiased), axes, root, mean, factor, shift = stages
    middle = x - x.mean(dim=axes, keepdim=True)
    squares = (middle if under_root else x).square().mean(dim=axes, keepdim=True)
    count = x.numel() // squares.numel()
    squares = squares * (count / (count - 1)) if unbiased and count > 1 else squares
    result: Tensor = factor(weight) * (middle if centred else x) / root(mean(squares, count), eps) + shift
    return result


def layer_norm(*sizes: int, eps: float = 0.2, digits: int | None = None, bias: bool = True) -> Case:
    """Weight · (x - mean) / √(variance over the features + eps) + bias, with an eps that counts."""
    return _norm(sizes, eps, digits, bias, _LAYER_CENTRES, _MEANS[:2])


def rms_norm(*sizes: int, eps: float = 0.2, digits: int | None = None, bias: bool = False) -> Case:
    """Weight · x / √(mean of x² over the features + eps)."""
    return _norm(sizes, eps, digits, bias, _RMS_CENTRES, _MEANS)


def _norm(sizes: Any, eps: float, digits: int | None, bias: bool, centres: Any, means: Any) -> Case:
    x, weight, shift = samples(sizes, sizes[-1:], sizes[-1:], digits=digits)
    inputs = {"x": x, "weight": weight} | ({"bias": shift} if bias else {}) | {"eps": eps}
    shifts = [("", shift), ("layer_no_bias", 0 * shift)] if bias else [("", 0.0)]
    stages = (centres, _AXES, _ROOTS, means, _FACTORS, shifts)
    return staged(inputs, partial(_normed, x, weight, eps), *stages, most=3)


def is_norm(module: nn.Module) -> bool:
    """Whether a module has nothing but vectors of one size, one for each feature."""
    if not is_called_norm(type(module)):
        return False
    parameters = [each for each in module.parameters() if not nn.parameter.is_lazy(each)]
    sizes = {tuple(each.shape) for each in parameters}
    return 1 <= len(parameters) <= 2 and len(sizes) == 1 and len(*sizes) == 1


def kinds_of_norm(module: nn.Module) -> list[str]:
    """A norm that says what it is is no other; one that does not is what it is right as."""
    if not is_norm(module):
        return []
    if "rms" in type(module).__name__.lower():
        return ["rms_norm"]
    if len([*module.parameters()]) == 2 or isinstance(module, nn.LayerNorm):
        return ["layer_norm"]
    return ["layer_norm", "rms_norm"]


def diagnose_norm(trial: Trial, kind: str) -> Iterator[Finding]:
    """Findings about `candidate(x, weight[, bias], eps)`, or about a module with these as its own."""
    build: Callable[..., Case] = rms_norm if kind == "rms_norm" else layer_norm
    sizes = [(2, 5, 7), (1, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 3)]
    if isinstance(trial.candidate, nn.Module):
        subject, options = _with_parameters(trial, kind)
        size = next(trial.candidate.parameters()).numel()
        sizes, build = [(2, 5, size), (1, 1, size), (1, 2, size)], partial(build, **options)
    else:
        subject = Subject(trial, RMS if kind == "rms_norm" else LAYER)
    case, *small = (build(*size, digits=None if size == sizes[0] else 1) for size in sizes)
    trial.examined.append("numbers")
    yield from examine(subject, [case], small)


def _with_parameters(trial: Trial, kind: str) -> tuple[Subject, dict[str, Any]]:
    """A copy of a module as a function of its parameters, and its own eps where that cannot be set."""
    own = copy.deepcopy(trial.candidate).eval()
    parameters = [*own.parameters()]
    added = not any(bool(parameters[0].any()) for _ in parameters[:1])  # Gemma's weight begins at 0

    def norm(x: Tensor, weight: Tensor, eps: float, bias: Tensor | None = None) -> Any:
        values = [weight - 1 if added else weight, bias]
        for parameter, value in zip(parameters, values, strict=False):
            if value is not None:
                parameter.data = value.to(parameter).reshape(parameter.shape)
        for part, name in kept:
            setattr(part, name, eps)
        return own(x)

    every = product(own.modules(), (*RMS["eps"], "eps"))  # a norm may be PyTorch's in an own module
    kept = [(part, name) for part, name in every if isinstance(getattr(part, name, None), float)]
    options: dict[str, Any] = {} if kept else {"eps": 1e-6}
    options["bias"] = kind == "layer_norm" and len(parameters) == 2
    return Subject(trial, LAYER, norm), options
