"""Heads and the batch: `transpose_qkv`, `transpose_output`, and keys and values for groups of heads."""

from __future__ import annotations

from collections.abc import Iterator

from torch import Tensor

from attention_clinic.arguments import roles
from attention_clinic.cases import Case, Names, examine, samples
from attention_clinic.diagnosis import Finding
from attention_clinic.subject import Subject
from attention_clinic.trial import Trial
from polyhead.multi_head.transposed import transpose_output, transpose_qkv

Named = Iterator[tuple[Names, Tensor]]

SPLIT = roles(X="x tensor t inputs input qkv", num_heads="heads h n_heads nhead nheads n_head")
REPEAT = roles(
    x="hidden_states kv k key keys tensor t inputs", groups="n_rep num_groups repeats times g n rep group"
)


def split(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """Each head's own slice of the features, in its own place in the batch."""
    (X,) = samples((batch, num_tokens, num_heads * head_dim), digits=digits)
    apart = X.reshape(batch, num_tokens, num_heads, head_dim)

    def mistakes() -> Named:
        entries = X.reshape(batch, num_tokens, head_dim, num_heads).permute(0, 3, 1, 2)
        yield ("view",), X.reshape(batch * num_heads, num_tokens, head_dim)
        yield ("heads_before_batch",), apart.permute(2, 0, 1, 3).flatten(0, 1)
        yield ("entries_before_heads",), entries.flatten(0, 1)
        yield ("heads_before_batch", "entries_before_heads"), entries.transpose(0, 1).flatten(0, 1)

    return Case({"X": X, "num_heads": num_heads}, transpose_qkv(X, num_heads), mistakes)


def join(batch: int, num_tokens: int, num_heads: int, head_dim: int, digits: int | None = None) -> Case:
    """The heads of each sequence side by side again."""
    (X,) = samples((batch * num_heads, num_tokens, head_dim), digits=digits)
    apart = X.reshape(batch, num_heads, num_tokens, head_dim)
    swapped = X.reshape(num_heads, batch, num_tokens, head_dim)

    def mistakes() -> Named:
        yield ("view_back",), X.reshape(batch, num_tokens, num_heads * head_dim)
        yield ("heads_before_batch",), swapped.permute(1, 2, 0, 3).flatten(2)
        yield ("entries_before_heads",), apart.permute(0, 2, 3, 1).flatten(2)
        yield ("heads_before_batch", "entries_before_heads"), swapped.permute(1, 2, 3, 0).flatten(2)
        yield (
            ("heads_before_batch", "view_back"),
            swapped.transpose(0, 1).reshape(batch, num_tokens, num_heads * head_dim),
        )

    return Case({"X": X, "num_heads": num_heads}, transpose_output(X, num_heads), mistakes)


def repeat(
    batch: int, heads: int, num_tokens: int, size: int, groups: int, digits: int | None = None
) -> Case:
    """Each head of keys or values serves `groups` neighbouring heads of queries."""
    (x,) = samples((batch, heads, num_tokens, size), digits=digits)

    def mistakes() -> Named:
        yield ("kv_tiled",), x.repeat(1, groups, 1, 1)

    return Case({"x": x, "groups": groups}, x.repeat_interleave(groups, dim=1), mistakes)


SIZES = (2, 5, 3, 7)
SMALL = ((1, 2, 2, 1), (1, 2, 2, 2), (2, 1, 2, 1), (2, 2, 2, 2))


def diagnose_split(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(X, num_heads)`, where X has a batch of sequences."""
    yield from examine(Subject(trial, SPLIT), [split(*SIZES)], [split(*sizes, digits=1) for sizes in SMALL])


def diagnose_join(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(X, num_heads)`, where X has heads in its batch."""
    yield from examine(Subject(trial, SPLIT), [join(*SIZES)], [join(*sizes, digits=1) for sizes in SMALL])


def diagnose_repeat(trial: Trial) -> Iterator[Finding]:
    """Findings about `candidate(x, groups)`, x being (batch, num_kv_heads, num_tokens, head_dim)."""
    small = [repeat(*sizes, digits=1) for sizes in ((1, 2, 1, 1, 2), (1, 2, 2, 1, 2), (1, 2, 2, 2, 2))]
    yield from examine(Subject(trial, REPEAT), [repeat(2, 3, 5, 7, 2)], small)
