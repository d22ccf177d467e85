"""Functions that make a mask: causal, of tokens after cached ones, of a window, of padding, of documents."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from attention_clinic.arguments import ROLES
from attention_clinic.cases import Case, choices
from polyhead.masks import padding_mask

OF_IDS_AND_PADDING = {**ROLES["token_ids"], **ROLES["padding_id"]}
OF_LENGTHS = {"lengths": ROLES["padding_mask"]["lengths"]}


def _case(
    inputs: dict[str, Any], right: Tensor, wrong: list[tuple[str, Tensor]], inverted: str = "mask_inverted"
) -> Case:
    """A mask, and what it may be instead: of another form, of a `wrong` pattern, or the wrong way round.

    The names of a pattern's mistakes are separated by spaces.
    """
    additive = torch.zeros(right.shape).masked_fill(~right, -torch.inf)
    masks = [("causal_additive", additive), ("causal_floats", right.float()), *wrong]
    masks += [(f"{inverted} {names}", ~mask) for names, mask in [("", right), *wrong]]
    mistakes = [((*names.split(),), mask) for names, mask in masks]
    return Case(inputs, right, lambda: sorted(mistakes, key=lambda mistake: len(mistake[0])))


def causal(num_tokens: int) -> Case:
    """A token sees itself and what is before it."""
    whole = torch.ones(num_tokens, num_tokens, dtype=torch.bool)
    wrong = [
        ("causal_strict", whole.tril(-1)), ("causal_ahead", whole.tril(1)), ("causal_upper", whole.triu()),
        ("causal_open", whole),
    ]  # fmt: skip
    return _case({"num_tokens": num_tokens}, whole.tril(), wrong)


def causal_of_ids(num_tokens: int, batch: bool = False) -> Case:
    """The same for a batch of so many tokens, none of which is padding."""
    ids, lead = torch.tensor([[3, 1, 4, 1, 5, 9], [2, 6, 5, 3, 5, 8]])[:, :num_tokens], (2,) if batch else ()
    return causal(num_tokens).seen_as({"token_ids": ids}, lambda mask: mask.expand(*lead, *mask.shape))


def cached(num_cached: int, num_new: int) -> Case:
    """New tokens see the cached ones, themselves and the new ones before them."""
    whole = torch.ones(num_new, num_cached + num_new, dtype=torch.bool)
    old, new = whole[:, :num_cached], whole[:, num_cached:].tril()
    wrong = [
        ("cache_upper_left", whole.tril()),
        ("cache_strict", whole.tril(num_cached - 1)),
        ("cache_ahead", whole.tril(num_cached + 1)),
        ("cache_open", whole),
        ("cache_hidden", torch.cat((~old, new), dim=1)),
        ("cache_order", torch.cat((new, old), dim=1)),
        ("cache_upper_left cache_strict", whole.tril(-1)),
        ("cache_upper_left cache_ahead", whole.tril(1)),
    ]
    return _case({"num_cached": num_cached, "num_new": num_new}, whole.tril(num_cached), wrong)


def window(length: int, window: int) -> Case:
    """A token sees `window` tokens, itself and those before it."""
    whole = torch.ones(length, length, dtype=torch.bool)
    lefts = [("", 1 - window), ("window_one_more", -window), ("window_one_less", 2 - window)]
    rights = [("", 0), ("causal_strict", -1), ("causal_ahead", 1)]
    wrong = [(f"{width} window_both_ways", whole.triu(left) & whole.tril(-left)) for width, left in lefts]
    wrong += [
        ("window_both_ways", whole.triu(1 - window)), ("window_ignored", whole.tril()),
        ("causal_open", whole),
    ]  # fmt: skip
    wrong += [
        (" ".join(names), whole.triu(left) & whole.tril(right))
        for names, (left, right) in reversed([*choices(lefts, rights)])  # a window of 1 less is none
    ]
    return _case({"length": length, "window": window}, whole.triu(1 - window) & whole.tril(), wrong)


Shape = Callable[[Tensor], Tensor]


def padding(lengths: tuple[int, ...], length: int, shape: Shape = lambda mask: mask) -> Case:
    """Only the first `lengths` keys of each sequence count."""
    lens = torch.tensor(lengths)
    right = padding_mask(lens, length)[:, 0]
    wrong = [("padding_wrong_side", right.flip(-1)), ("padding_ignored", torch.ones_like(right))]
    inputs = {"lengths": lens, "length": length}
    return _case(inputs, right, wrong, "padding_inverted").seen_as(inputs, shape)


def padding_of_lengths(lengths: tuple[int, ...], _: int, shape: Shape) -> Case:
    """The same, as long as the longest sequence."""
    case = padding(lengths, max(lengths), shape)
    return replace(case, inputs={"lengths": case.inputs["lengths"]})


def padding_of_ids(
    lengths: tuple[int, ...], length: int, shape: Shape, padding_id: int | None = None
) -> Case:
    """The same from the token ids; padding is 0, or the second argument."""
    case = padding(lengths, length, shape)
    tokens = torch.arange(len(lengths) * length).reshape(-1, length) % 7 + 1
    ids = torch.where(padding_mask(case.inputs["lengths"], length)[:, 0], tokens, padding_id or 0)
    more = {} if padding_id is None else {"padding_id": padding_id}
    return replace(case, inputs={"token_ids": ids, **more})


def documents(document_ids: tuple[int, ...], batch: bool = False) -> Case:
    """A token sees itself and what is before it in its own document."""
    ids = torch.tensor([document_ids] if batch else document_ids)
    own = ids[..., :, None] == ids[..., None, :]
    whole = torch.ones_like(own)
    wrong = [
        ("documents_leak", whole.tril()), ("documents_future", own),
        ("documents_leak documents_future", whole), ("causal_strict", own & whole.tril(-1)),
        ("causal_ahead", own & whole.tril(1)), ("causal_upper", own & whole.triu()),
    ]  # fmt: skip
    return _case({"document_ids": ids}, own & whole.tril(), wrong)


# The shapes that a mask may have, apart from dimensions of size 1: of padding (batch, length), or with a row
# for each query; of documents (length, length), (batch, length, length).
_OF_PADDING: list[Shape] = [lambda m: m, lambda m: m[:, None].expand(-1, m.shape[1], -1)]
PADDING_FORMS = [partial(padding, shape=shape) for shape in _OF_PADDING]
PADDING_OF_LENGTHS = [partial(padding_of_lengths, shape=shape) for shape in _OF_PADDING]
PADDING_OF_IDS = [partial(padding_of_ids, shape=shape) for shape in _OF_PADDING]
PADDING_OF_IDS_AND_ID: list[Callable[..., Case]] = [partial(each, padding_id=9) for each in PADDING_OF_IDS]
CAUSAL_OF_IDS: list[Callable[..., Case]] = [causal_of_ids, partial(causal_of_ids, batch=True)]
DOCUMENT_FORMS: list[Callable[..., Case]] = [documents, partial(documents, batch=True)]
