"""The exercises on the clinic's cases: attention, heads, masks, positions, and parts of modern decoders."""

import copy
from collections.abc import Callable

from torch import Tensor

from attention_clinic.cases import Case
from attention_clinic.kinds import attention as attention_kind
from attention_clinic.kinds import functions, heads, masks, positions
from attention_clinic.trial import CallFailed
from polyhead_course.exercises.checks.verdict import Findings, exercise, finding, result_of, verdict, verdicts
from polyhead_course.words.language import text

Head = tuple[Tensor, Tensor, Tensor]  # W_Q, W_K, W_V
Parallel = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor, int], object]


@exercise
def attention(candidate: Callable[[Tensor, Tensor, Tensor], object]) -> Findings:
    """Print whether `candidate(query, key, value)` is scaled dot-product attention, and if not, what it is.

    It gets (batch, num_queries, head_dim), (batch, num_keys, head_dim) and (batch, num_keys, value_dim), all
    different primes, so that no swapped dimension goes unnoticed.
    """
    yield from verdicts(candidate, attention_kind.case(2, 3, 5, 7, 11))


@exercise
def transpose_qkv(candidate: Callable[[Tensor, int], object]) -> Findings:
    """Print whether `candidate(X, num_heads)` is `polyhead.transpose_qkv`, and if not, what it is."""
    yield from verdicts(candidate, functions.split(2, 5, 3, 7))


@exercise
def masked_attention(candidate: Callable[[Tensor, Tensor, Tensor, Tensor], object]) -> Findings:
    """Print whether `candidate(query, key, value, mask)` is masked attention, and if not, what it is.

    The mask is boolean, (batch, num_queries, num_keys), where True = may attend. One query may attend to
    nothing: it must get zeros, and no gradient may be NaN.
    """
    case = attention_kind.blind_case()
    *inputs, mask = case.inputs.values()
    inputs = [each.requires_grad_() for each in inputs]
    output = result_of(candidate, *inputs, mask)
    yield verdict(output, case)
    if isinstance(output, Tensor) and output.requires_grad:
        yield finding(result_of(output.sum().backward) or output, case.expected)
    if any(each.grad is not None and each.grad.isnan().any() for each in inputs):
        yield text("check.mask_nan_gradient")


@exercise
def multi_head(candidate: Callable[[Tensor, list[Head], Tensor], object]) -> Findings:
    """Print whether `candidate(x, heads, W_O)` is multi-head self-attention, and if not, what it is.

    It gets the tokens, (batch, num_tokens, embed_dim); one triple (W_Q, W_K, W_V) a head, each (embed_dim,
    head_dim); and W_O, (num_heads · head_dim, embed_dim).
    """
    case = heads.listed(2, 5, 3, 4)
    output = _answer(candidate, case)
    if isinstance(output, CallFailed) and isinstance(output.error, RuntimeError):
        part = heads.misfit(case)
        fitting = _answer(candidate, part)
        if not isinstance(fitting, CallFailed) and part.names(fitting):
            yield verdict(fitting, part)
    yield verdict(output, case)


def _answer(candidate: Callable[..., object], case: Case) -> object:
    """Of a copy: what lies in the list of heads can be changed, too."""
    return result_of(candidate, *copy.deepcopy(tuple(case.inputs.values())))


@exercise
def multi_head_attention(candidate: Parallel) -> Findings:
    """Print whether `candidate(X, W_Q, W_K, W_V, W_O, num_heads)` is multi-head self-attention.

    It gets the tokens, (batch, num_tokens, embed_dim), and four matrices, (embed_dim, embed_dim), in which
    head i has columns i · head_dim to (i + 1) · head_dim - 1, of W_O rows.
    """
    yield from verdicts(candidate, heads.parallel(2, 7, 3, 5))


@exercise
def causal_mask(candidate: Callable[[int], object]) -> Findings:
    """Print whether `candidate(num_tokens)` is a causal mask, and if not, what it is.

    It returns a boolean mask, (num_tokens, num_tokens), where True = may attend.
    """
    yield from verdicts(candidate, masks.causal(5))


@exercise
def cached_mask(candidate: Callable[[int, int], object]) -> Findings:
    """Print whether `candidate(num_cached, num_new)` is the mask of new tokens after cached ones.

    It returns a boolean mask, (num_new, num_cached + num_new), where True = may attend: of several new tokens
    after several cached ones, then of one new token, then without a cache.
    """
    yield from verdicts(candidate, *(masks.cached(*sizes) for sizes in ((5, 3), (5, 1), (0, 4))))


@exercise
def rotary_positions(candidate: Callable[[Tensor, Tensor], object]) -> Findings:
    """Print whether `candidate(x, positions)` turns half-split pairs by position, and if not, what it does.

    It gets (batch, num_heads, length, head_dim) and (length,), positions that neither begin at 0 nor have no
    gaps, so that none can be guessed.
    """
    yield from verdicts(candidate, positions.rotary((2, 3, 5, 8, 13), 14, batch=2, heads=3))


@exercise
def sinusoidal_positions(candidate: Callable[[int, int], object]) -> Findings:
    """Print whether `candidate(length, embed_dim)` gives sinusoidal positions, and if not, what it gives."""
    yield from verdicts(candidate, positions.sinusoidal(7, 12))


@exercise
def window_mask(candidate: Callable[[int, int], object]) -> Findings:
    """Print whether `candidate(length, window)` is the mask of a sliding window, and if not, what it is.

    It returns a boolean mask, (length, length), where True = may attend.
    """
    yield from verdicts(candidate, masks.window(7, 3), masks.window(4, 9))


@exercise
def repeat_kv(candidate: Callable[[Tensor, int], object]) -> Findings:
    """Print whether `candidate(x, groups)` repeats keys or values for groups, and if not, what it does.

    It gets (batch, num_kv_heads, num_tokens, head_dim), and returns `groups` times as many heads.
    """
    yield from verdicts(candidate, functions.repeat(2, 3, 5, 4, groups=2))
