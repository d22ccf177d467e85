"""RMSNorm, and the softmax of scores."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from attention_clinic.arguments import roles
from attention_clinic.cases import Case, Names, examine, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.kinds.attention import HIDING, WEIGHING, visible
from attention_clinic.subject import Subject
from attention_clinic.trial import Trial
from polyhead.functional import masked_softmax
from polyhead.masks import padding_mask

Named = Iterator[tuple[Names, Tensor]]

RMS = roles(
    x="hidden_states inputs input t tokens h", weight="w gamma scale g gain", eps="epsilon variance_epsilon e"
)
SOFTMAX = roles(
    scores="x s logits attn_scores input inputs", mask="m attn_mask attention_mask keep allowed visible",
    valid_lens="valid_len lengths lens",
)  # fmt: skip

# The root of the mean square: eps inside, missing, outside, as a minimum, squared.
_ROOTS: list[tuple[str, Callable[[Tensor, float], Tensor]]] = [
    ("", lambda squares, eps: (squares + eps).sqrt()),
    ("rms_eps", lambda squares, eps: squares.sqrt()),
    ("rms_eps", lambda squares, eps: squares.sqrt() + eps),
    ("rms_eps", lambda squares, eps: squares.sqrt().clamp(min=eps)),
    ("rms_eps", lambda squares, eps: (squares + eps**2).sqrt()),
]
_AXES: list[tuple[str, tuple[int, ...]]] = [
    ("", (-1,)), ("rms_axis", (-2,)), ("rms_axis", (0,)), ("rms_axis", (-2, -1)), ("rms_axis", (0, 1, 2)),
]  # fmt: skip
_FACTORS: list[tuple[str, Callable[[Tensor], Tensor]]] = [
    ("", lambda weight: weight),
    ("rms_no_weight", torch.ones_like),
    ("rms_offset", lambda weight: 1 + weight),
]


def rms_norm(batch: int, num_tokens: int, size: int, eps: float = 0.2, digits: int | None = None) -> Case:
    """Weight · x / √(mean of x² over the features + eps), with an eps that counts."""
    x, weight = samples((batch, num_tokens, size), (size,), digits=digits)

    def normed(
        centred: bool,
        axes: tuple[int, ...],
        root: Callable[[Tensor, float], Tensor],
        factor: Callable[[Tensor], Tensor],
        unbiased: bool = False,
    ) -> Tensor:
        middle = x - x.mean(dim=axes, keepdim=True) if centred else x
        squares = middle.square().mean(dim=axes, keepdim=True)
        count = middle.numel() / squares.numel()
        squares = squares * (count / (count - 1)) if unbiased and count > 1 else squares
        return factor(weight) * middle / root(squares, eps)

    def mistakes() -> Named:
        means = (("", False, False), ("rms_mean", True, False), ("rms_mean", True, True))
        stages = itertools.product(means, _AXES, _ROOTS, _FACTORS)
        for choice in sorted(stages, key=lambda each: sum(bool(stage[0]) for stage in each)):
            names = tuple(stage[0] for stage in choice if stage[0])
            (_, centred, unbiased), (_, axes), (_, root), (_, factor) = choice
            if 0 < len(names) < 4:
                yield names, normed(centred, axes, root, factor, unbiased)

    right = normed(False, (-1,), _ROOTS[0][1], _FACTORS[0][1])
    return Case({"x": x, "weight": weight, "eps": eps}, right, mistakes)


def diagnose_rms_norm(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(x, weight, eps)`, x being (batch, num_tokens, features)."""
    small = [rms_norm(*sizes, digits=1) for sizes in ((1, 1, 2), (1, 2, 2), (2, 2, 2), (2, 2, 3))]
    yield from examine(Subject(trial, RMS), [rms_norm(2, 5, 7)], small)


def softmax(
    batch: int, queries: int, keys: int, given: str | None = "mask", digits: int | None = None
) -> Case:
    """Weights of scores, with a mask, lengths, or neither."""
    (scores,) = samples((batch, queries, keys), digits=digits)
    lens = torch.arange(batch) % (keys - 1) + 1
    mask = {
        "mask": visible((batch,), queries, keys),
        "valid_lens": padding_mask(lens, keys).expand(batch, queries, keys),
    }.get(given or "")
    more = {} if given is None else {given: lens if given == "valid_lens" else mask}

    def mistakes() -> Named:
        hidings = [""] if mask is None else list(HIDING)
        for hiding, weighing in itertools.product(hidings, WEIGHING):
            names = tuple(filter(None, (hiding, weighing)))
            if names:
                shown = scores if mask is None else HIDING[hiding](scores, mask)
                weights = WEIGHING[weighing](shown)
                yield names, weights * mask if hiding == "mask_after" and mask is not None else weights

    inputs = {"scores": scores, **more}
    return Case(
        inputs, masked_softmax(scores, mask), lambda: sorted(mistakes(), key=lambda each: len(each[0]))
    )


def diagnose_softmax(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(scores[, mask or valid_lens])`."""
    subject = Subject(trial, SOFTMAX)
    given = next((role for role in ("mask", "valid_lens") if role in subject.accepts), None)
    build = partial(softmax, given=given)
    small = [build(*sizes, digits=1) for sizes in ((1, 1, 2), (1, 2, 2), (1, 2, 3), (2, 2, 3))]
    exams = [build(2, 5, 7)]
    if given in subject.optional:
        exams.append(softmax(2, 5, 7, given=None))
    yield from examine(subject, exams, small)
