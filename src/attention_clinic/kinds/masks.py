"""Functions that make a mask: causal, of tokens after cached ones, of a window, of padding, of documents."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from attention_clinic.arguments import roles
from attention_clinic.cases import Case, Named, choices
from polyhead.masks import padding_mask

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
        for names, (left, last, inverted) in choices(lefts, rights, (("", False), ("mask_inverted", True))):
            near = whole.tril(last) & whole.triu(left)
            yield names, ~near if inverted else near

    inputs = {"length": length, "window": window}
    return Case(inputs, right, lambda: sorted(mistakes(), key=lambda mistake: len(mistake[0])))


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


def documents(
    document_ids: tuple[int, ...], shape: Callable[[Tensor], Tensor] = lambda m: m, batch: bool = False
) -> Case:
    """A token sees itself and what is before it in its own document."""
    ids = torch.tensor([document_ids] if batch else document_ids)
    own = ids[..., :, None] == ids[..., None, :]
    whole = torch.ones_like(own)
    right = own & whole.tril()

    def mistakes() -> Named:
        yield ("documents_leak",), shape(whole.tril())
        yield ("documents_future",), shape(own)
        yield ("documents_leak", "documents_future"), shape(whole)
        yield ("mask_inverted",), shape(~right)
        yield ("causal_strict",), shape(own & whole.tril(-1))
        yield ("causal_ahead",), shape(own & whole.tril(1))
        yield ("causal_upper",), shape(own & whole.triu())

    return Case({"document_ids": ids}, shape(right), mistakes)


# The shapes that a mask may have: of padding (batch, length), (batch, 1, length), (batch, 1, 1, length); of
# documents (length, length), (batch, length, length), (batch, 1, length, length).
PADDING_FORMS = [
    partial(padding, shape=shape) for shape in (lambda m: m, lambda m: m[:, None], lambda m: m[:, None, None])
]
DOCUMENT_FORMS: list[Callable[..., Case]] = [
    documents, partial(documents, batch=True), partial(documents, batch=True, shape=lambda m: m[:, None]),
]  # fmt: skip
