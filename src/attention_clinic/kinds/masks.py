"""Functions that make a mask: causal, of tokens after cached ones, of a window, of padding, of documents."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import partial

import torch
from torch import Tensor

from attention_clinic.arguments import Roles, roles
from attention_clinic.cases import Case, Names, answer, examine
from attention_clinic.diagnosis import Finding
from attention_clinic.subject import Subject
from attention_clinic.trial import Stopped, Trial
from polyhead.masks import padding_mask

Named = Iterator[tuple[Names, Tensor]]

CAUSAL = roles(num_tokens="n size length seq_len t l num_queries sz tgt_len max_len block_size")
CACHED = roles(
    num_cached="past past_len past_length cached num_past old offset cache_len cache_length start_pos p",
    num_new="new new_len num_queries q_len n t seq_len length m",
)
WINDOW = roles(
    length="num_tokens n size seq_len t l num_queries", window="window_size w sliding_window width span"
)
PADDING = roles(
    lengths="valid_lens valid_len lens seq_lens lengths_ sequence_lengths",
    length="num_keys max_len maxlen max_length num_tokens size n t",
)
DOCUMENTS = roles(document_ids="documents doc_ids docs ids segment_ids segments document doc doc_id")


KINDS = ("causal_mask", "cached_mask", "window_mask", "padding_mask", "document_mask")


def causal(num_tokens: int) -> Case:
    """A token sees itself and what is before it."""
    whole = torch.ones(num_tokens, num_tokens, dtype=torch.bool)
    right = whole.tril()

    def mistakes() -> Named:
        yield ("causal_additive",), torch.zeros(whole.shape).masked_fill(~right, -torch.inf)
        yield ("causal_floats",), right.float()
        yield ("mask_inverted",), ~right
        yield ("causal_strict",), whole.tril(-1)
        yield ("causal_ahead",), whole.tril(1)
        yield ("causal_upper",), whole.triu()
        yield ("causal_open",), whole
        yield ("mask_inverted", "causal_strict"), whole.triu()
        yield ("mask_inverted", "causal_ahead"), whole.triu(2)

    return Case({"num_tokens": num_tokens}, right, mistakes)


def cached(num_cached: int, num_new: int) -> Case:
    """New tokens see the cached ones, themselves and the new ones before them."""
    whole = torch.ones(num_new, num_cached + num_new, dtype=torch.bool)
    right = whole.tril(num_cached)

    def mistakes() -> Named:
        old, new = whole[:, :num_cached], whole[:, num_cached:].tril()
        yield ("cache_upper_left",), whole.tril()
        yield ("mask_inverted",), ~right
        yield ("cache_strict",), whole.tril(num_cached - 1)
        yield ("cache_ahead",), whole.tril(num_cached + 1)
        yield ("cache_open",), whole
        yield ("cache_hidden",), torch.cat((~old, new), dim=1)
        yield ("cache_order",), torch.cat((new, old), dim=1)
        yield ("mask_inverted", "cache_upper_left"), ~whole.tril()
        yield ("cache_upper_left", "cache_strict"), whole.tril(-1)
        yield ("cache_upper_left", "cache_ahead"), whole.tril(1)

    return Case({"num_cached": num_cached, "num_new": num_new}, right, mistakes)


def window(length: int, window: int) -> Case:
    """A token sees `window` tokens, itself and those before it."""
    whole = torch.ones(length, length, dtype=torch.bool)
    right = whole.tril() & whole.triu(1 - window)

    def mistakes() -> Named:
        lefts = (("", 1 - window), ("window_one_more", -window), ("window_one_less", 2 - window))
        rights = (("", 0), ("causal_strict", -1), ("causal_ahead", 1))
        for width, left in lefts:
            yield (*filter(None, (width,)), "window_both_ways"), whole.tril(-left) & whole.triu(left)
        yield ("window_both_ways",), whole.triu(1 - window)
        yield ("window_ignored",), whole.tril()
        yield ("causal_open",), whole
        for (width, left), (edge, last) in itertools.product(lefts, rights):
            for polarity in ("", "mask_inverted"):
                if names := tuple(filter(None, (width, edge, polarity))):
                    near = whole.tril(last) & whole.triu(left)
                    yield names, ~near if polarity else near

    return Case({"length": length, "window": window}, right, lambda: sorted(mistakes(), key=_number))


def _number(mistake: tuple[Names, Tensor]) -> int:
    return len(mistake[0])


def padding(lengths: tuple[int, ...], length: int, shape: Callable[[Tensor], Tensor] = lambda m: m) -> Case:
    """Only the first `lengths` keys of each sequence count."""
    lens, places = torch.tensor(lengths), torch.arange(length)
    right = padding_mask(lens, length)[:, 0]
    left = places >= length - lens[:, None]

    def mistakes() -> Named:
        yield ("padding_inverted",), shape(~right)
        yield ("padding_wrong_side",), shape(left)
        yield ("padding_inverted", "padding_wrong_side"), shape(~left)
        yield ("padding_ignored",), shape(torch.ones_like(right))
        yield ("causal_floats",), shape(right.float())
        yield ("causal_additive",), shape(torch.zeros(right.shape).masked_fill(~right, -torch.inf))

    return Case({"lengths": lens, "length": length}, shape(right), mistakes)


def documents(*ids: int, shape: Callable[[Tensor], Tensor] = lambda m: m, batch: bool = False) -> Case:
    """A token sees itself and what is before it in its own document."""
    numbers = torch.tensor([ids] if batch else ids)
    whole = torch.ones(len(ids), len(ids), dtype=torch.bool)
    own = numbers[..., :, None] == numbers[..., None, :]
    if batch:
        whole = whole[None]
    right = own & whole.tril()

    def mistakes() -> Named:
        yield ("documents_leak",), shape(whole.tril())
        yield ("documents_future",), shape(own)
        yield ("documents_leak", "documents_future"), shape(whole)
        yield ("mask_inverted",), shape(~right)
        yield ("causal_strict",), shape(own & whole.tril(-1))
        yield ("causal_ahead",), shape(own & whole.tril(1))
        yield ("causal_upper",), shape(own & whole.triu())

    return Case({"document_ids": numbers}, shape(right), mistakes)


def _heads_too(mask: Tensor) -> Tensor:
    return mask[:, None, None] if mask.ndim == 2 else mask[:, None]


def forms(kind: str) -> tuple[Roles, list[tuple[list[Case], list[Case]]]]:
    """The roles of a kind of mask, and for each shape that it may have the cases, and small ones."""
    if kind == "causal_mask":
        return CAUSAL, [([causal(5)], [causal(2), causal(3)])]
    if kind == "cached_mask":
        exams = [cached(*sizes) for sizes in ((5, 3), (5, 1), (0, 4))]
        return CACHED, [(exams, [cached(1, 2), cached(2, 2), cached(2, 3)])]
    if kind == "window_mask":
        return WINDOW, [([window(9, 4), window(11, 3)], [window(2, 1), window(3, 2), window(5, 3)])]
    shapes: list[Callable[[Tensor], Tensor]] = [lambda m: m, lambda m: m[:, None], _heads_too]
    if kind == "padding_mask":
        tries = [
            ([padding((4, 1, 5), 7, shape)], [padding((1,), 3, shape), padding((2,), 4, shape)])
            for shape in shapes
        ]
        return PADDING, tries
    apart: list[tuple[list[Case], list[Case]]] = []
    for batch in (False, True):
        for shape in shapes[: 1 + batch]:
            build = partial(documents, shape=shape, batch=batch)
            apart.append(([build(0, 0, 0, 1, 1, 2, 2)], [build(0, 0, 1), build(0, 0, 1, 1)]))
    return DOCUMENTS, apart


def diagnose_mask(trial: Trial, kind: str) -> Iterator[Finding]:
    """Findings about a function that makes a mask, in the shape that it has."""
    wanted, tries = forms(kind)
    subject = Subject(trial, wanted)
    exams, small = tries[0]
    for each in tries:
        result = answer(subject, each[0][0])
        if not isinstance(result, Stopped) and result.shape == each[0][0].expected.shape:
            exams, small = each
            break
    yield from examine(subject, exams, small)
