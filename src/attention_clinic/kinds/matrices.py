"""Multi-head attention as functions of tokens and matrices, of which every head has its own, or all one."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor

from attention_clinic.arguments import roles, signature
from attention_clinic.cases import Case, Names, answer, case_finding, examine, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.heads import outputs
from attention_clinic.kinds.projections import of_matrices
from attention_clinic.subject import Subject
from attention_clinic.trial import Stopped, Trial

Head = tuple[Tensor, Tensor, Tensor]  # W_Q, W_K, W_V
Named = Iterator[tuple[Names, Tensor]]

LISTED = roles(x="X tokens inputs", heads="head_weights hs params", W_O="w_o wo w_out output")
PARALLEL = roles(
    X="x tokens inputs", W_Q="w_q wq q", W_K="w_k wk k", W_V="w_v wv v", W_O="w_o wo w_out o",
    num_heads="h heads n_heads n_head nhead",
)  # fmt: skip


def parallel(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """Four matrices for all heads: head i has columns i · head_dim to (i + 1) · head_dim - 1, of W_O rows."""
    width = num_heads * head_dim
    X, *rest = samples((batch, num_tokens, width), *[(width, width)] * 4, digits=digits)
    weights = rest if digits is not None else [weight / math.sqrt(width) for weight in rest]
    reading, inputs = of_matrices(weights, num_heads), (X, X, X)
    (_, right), *_ = outputs(reading, inputs, None, most=0)
    given = {"X": X, **dict(zip(("W_Q", "W_K", "W_V", "W_O"), weights, strict=True)), "num_heads": num_heads}
    return Case(given, right, lambda: _wrong(outputs(reading, inputs, None)))


def listed(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """One triple of matrices for each head, (embed_dim, head_dim), and W_O."""
    width = num_heads * head_dim
    x, W_O, *rest = samples(
        (batch, num_tokens, width), (width, width), *[(width, head_dim)] * (3 * num_heads), digits=digits
    )
    heads = [(rest[i] / 3, rest[i + 1] / 3, rest[i + 2]) for i in range(0, len(rest), 3)]
    W_Q, W_K, W_V = (torch.cat(each, dim=1) for each in zip(*heads, strict=True))
    reading, inputs = of_matrices([W_Q, W_K, W_V, W_O], num_heads), (x, x, x)
    (_, right), *_ = outputs(reading, inputs, None, most=0)
    given = {"x": x, "heads": heads, "W_O": W_O}
    return Case(given, right, lambda: _joined(_wrong(outputs(reading, inputs, None))))


def _joined(each: Named) -> Named:
    """Heads of a list are not split: joining them along tokens does what a view does on the way back."""
    for names, output in each:
        yield tuple("concat_axis" if name == "view_back" else name for name in names), output


def misfit(case: Case) -> Case:
    """Heads that are not concatenated do not fit W_O; they fit the rows of it that are one head's."""
    x, heads, W_O = (case.inputs[name] for name in ("x", "heads", "W_O"))
    part = W_O[: heads[0][0].shape[1]]

    def mistakes() -> Named:
        for divisor, name in (
            (math.sqrt(len(part)), ""),
            (1.0, "unscaled"),
            (math.sqrt(len(W_O)), "model_root"),
        ):
            right = [((x @ q) @ (x @ k).mT / divisor).softmax(-1) @ (x @ v) for q, k, v in heads]
            for wrong, joined in (
                ("heads_summed", torch.stack(right).sum(dim=0)),
                ("heads_averaged", torch.stack(right).mean(dim=0)),
                *(("concat_axis", torch.cat(right, dim)) for dim in (0, 1)),
                *(("concat_axis", torch.stack(right, dim)) for dim in (0, 1, 2)),
            ):
                yield (*filter(None, (wrong, name)),), joined @ part

    return Case({"x": x, "heads": heads, "W_O": part}, case.expected, mistakes)


def _wrong(each: Named) -> Named:
    return (pair for pair in each if pair[0])


def diagnose_functions(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(x, heads, W_O)` or `candidate(X, W_Q, W_K, W_V, W_O, num_heads)`."""
    needed = [each for each in signature(trial.candidate) or [] if each.default is each.empty]
    sizes = ((1, 2, 2, 1), (1, 2, 2, 2), (2, 2, 2, 2), (2, 3, 2, 2))
    if len(needed) > 3:
        subject = Subject(trial, PARALLEL)
        yield from examine(subject, [parallel(2, 7, 3, 5)], [parallel(*each, digits=1) for each in sizes])
        return
    subject = Subject(trial, LISTED)
    exam = listed(2, 5, 3, 4)
    result = answer(subject, exam)
    if isinstance(result, Stopped) and isinstance(result.error, RuntimeError):
        part = misfit(exam)
        fitted = answer(subject, part)
        names = None if isinstance(fitted, Stopped) else part.names(fitted)
        if names:
            for name in names:
                yield case_finding(name, exam, None)
            return
    yield from examine(subject, [exam], [listed(*each, digits=1) for each in sizes])
