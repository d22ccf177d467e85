# ruff: noqa: E501  in the table of bad input, each case is one line
from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from polyhead import causal_mask, padding_mask, scaled_dot_product_attention, to_torch_mha_masks
from polyhead.masks import broadcast_mask

BATCH, QUERIES, KEYS, HEADS, HEAD_DIM = 2, 3, 5, 7, 11
EMBED_DIM = HEADS * HEAD_DIM


def booleans(rows: list[str]) -> torch.Tensor:
    """ "10" is True, False."""
    return torch.tensor([[letter == "1" for letter in row] for row in rows])


# ---- causal_mask


@given(st.integers(1, 13), st.integers(0, 11))
def test_causal_mask_is_the_end_of_the_square_one(num_queries, earlier):
    num_keys = num_queries + earlier
    mask = causal_mask(num_queries, num_keys)
    assert mask.dtype == torch.bool
    assert_close(mask, causal_mask(num_keys)[earlier:])
    for i in range(num_queries):
        assert mask[i].tolist() == [j <= i + earlier for j in range(num_keys)]


# ---- padding_mask


def test_padding_mask_of_one_length_a_query():
    mask = padding_mask(torch.tensor([[1, 2, 3], [5, 0, 4]]), 5)
    assert_close(mask[0], booleans(["10000", "11000", "11100"]))
    assert_close(mask[1], booleans(["11111", "00000", "11110"]))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
def test_small_integers_hold_lengths_of_long_sequences(dtype):
    mask = padding_mask(torch.tensor([100, 3], dtype=dtype), 300)
    assert mask.sum(dim=-1).flatten().tolist() == [100, 3]


@given(st.lists(st.integers(0, KEYS), min_size=1, max_size=7))
def test_padding_mask_counts_its_lengths(lens):
    mask = padding_mask(torch.tensor(lens), KEYS)
    assert mask.dtype == torch.bool
    assert mask.sum(dim=(1, 2)).tolist() == lens
    assert_close(mask.int(), mask.int().sort(descending=True).values)


def test_padding_mask_of_no_sequence_and_of_meta():
    assert padding_mask(torch.tensor([], dtype=torch.int64), 5).shape == (0, 1, 5)
    mask = padding_mask(torch.ones(2, dtype=torch.int64, device="meta"), 5)
    assert mask.is_meta
    assert mask.shape == (2, 1, 5)


# ---- to_torch_mha_masks


def visible(*shape: int) -> torch.Tensor:
    mask = torch.rand(shape) < 0.5
    mask[..., 0] = True
    return mask


@pytest.mark.parametrize(
    ("shape", "name", "expected"),
    [
        ((QUERIES, KEYS), "attn_mask", (QUERIES, KEYS)),
        ((BATCH, 1, KEYS), "key_padding_mask", (BATCH, KEYS)),
        ((BATCH, 1, 1, KEYS), "key_padding_mask", (BATCH, KEYS)),
        ((BATCH, QUERIES, KEYS), "attn_mask", (BATCH * HEADS, QUERIES, KEYS)),
        ((BATCH, 1, QUERIES, KEYS), "attn_mask", (BATCH * HEADS, QUERIES, KEYS)),
        ((BATCH, HEADS, QUERIES, KEYS), "attn_mask", (BATCH * HEADS, QUERIES, KEYS)),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_torch_module_sees_what_we_see(shape, name, expected, dtype):
    """With the projections of `nn.MultiheadAttention` done by hand, each head is our function."""
    mask = visible(*shape)
    module = nn.MultiheadAttention(EMBED_DIM, HEADS, batch_first=True, dtype=dtype).eval()
    query, memory = (torch.randn(BATCH, count, EMBED_DIM, dtype=dtype) for count in (QUERIES, KEYS))
    arguments = to_torch_mha_masks(mask, HEADS)
    assert {key: tuple(tensor.shape) for key, tensor in arguments.items()} == {name: expected}
    theirs, their_weights = module(query, memory, memory, **arguments, average_attn_weights=False)

    projections = zip(module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3), strict=True)
    heads = [
        (x @ weight.T + bias).unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2)
        for x, (weight, bias) in zip((query, memory, memory), projections, strict=True)
    ]
    output, weights = scaled_dot_product_attention(*heads, mask)
    assert_close(weights, their_weights)
    assert_close(module.out_proj(output.transpose(1, 2).flatten(-2)), theirs)


@pytest.mark.parametrize("shape", [(BATCH, 1, KEYS), (BATCH, QUERIES, KEYS)], ids=str)
def test_torch_module_gives_nan_where_nothing_is_seen(shape):
    mask = visible(*shape)
    mask[0] = False
    module = nn.MultiheadAttention(EMBED_DIM, HEADS, batch_first=True).eval()
    query, memory = (torch.randn(BATCH, count, EMBED_DIM) for count in (QUERIES, KEYS))
    output, weights = module(query, memory, memory, **to_torch_mha_masks(mask, HEADS))
    assert output[0].isnan().all() and weights[0].isnan().all()
    assert output[1].isfinite().all()


@pytest.mark.parametrize(
    "shape",
    [(QUERIES, KEYS), (BATCH, 1, KEYS), (BATCH, QUERIES, KEYS), (BATCH, HEADS, QUERIES, KEYS)],
    ids=str,
)
def test_result_shares_no_memory_with_the_mask(shape):
    mask = visible(*shape)
    before = mask.clone()
    for tensor in to_torch_mha_masks(mask, HEADS).values():
        tensor.fill_(True)
    assert_close(mask, before)


# ---- what no annotation says

LENS = torch.tensor([1, 2])
REFUSED = {
    "fewer keys than queries": (lambda: causal_mask(5, 3), "num_keys", "3"),
    "too long": (lambda: padding_mask(torch.tensor([0, 7]), 5), "valid_lens", "7"),
    "negative": (lambda: padding_mask(torch.tensor([[1, -2]]), 5), "valid_lens", "-2"),
    "no mask of rank 1": (lambda: to_torch_mha_masks(torch.ones(5).bool(), 2), "mask", "(5,)"),
    "other heads": (lambda: to_torch_mha_masks(torch.ones(2, 7, 3, 5).bool(), 11), "num_heads = 11", "(2, 7, 3, 5)"),
    "too wide": (lambda: broadcast_mask(torch.ones(3, 7).bool(), (2, 3, 5)), "(2, 3, 5)", "(3, 7)"),
    "another batch": (lambda: broadcast_mask(torch.ones(3, 3, 5).bool(), (2, 11, 3, 5)), "(2, 11, 3, 5)", "(3, 3, 5)"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "expected", "got"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(call, expected, got):
    with pytest.raises(ValueError, match=f"(?s){re.escape(expected)}.*{re.escape(got)}"):
        call()
