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


def test_causal_mask_square():
    assert_close(causal_mask(3), booleans(["100", "110", "111"]))


def test_causal_mask_is_aligned_to_the_lower_right():
    assert_close(causal_mask(3, 5), booleans(["11100", "11110", "11111"]))
    assert_close(causal_mask(1, 5), booleans(["11111"]))


@given(st.integers(1, 13), st.integers(0, 11))
def test_causal_mask_is_the_end_of_the_square_one(num_queries, earlier):
    num_keys = num_queries + earlier
    mask = causal_mask(num_queries, num_keys)
    assert mask.dtype == torch.bool
    assert_close(mask, causal_mask(num_keys)[earlier:])
    for i in range(num_queries):
        assert mask[i].tolist() == [j <= i + earlier for j in range(num_keys)]


def test_a_later_token_changes_nothing_before_it():
    x = torch.randn(BATCH, KEYS, HEAD_DIM)
    changed = x.clone()
    changed[:, 3] += 1
    before, _ = scaled_dot_product_attention(x, x, x, causal_mask(KEYS))
    after, _ = scaled_dot_product_attention(changed, changed, changed, causal_mask(KEYS))
    assert_close(before[:, :3], after[:, :3], rtol=0, atol=0)
    assert (before[:, 3:] != after[:, 3:]).any(dim=-1).all()


# ---- padding_mask


def test_padding_mask_of_one_length_a_sequence():
    mask = padding_mask(torch.tensor([3, 0, 5]), 5)
    assert mask.shape == (3, 1, 5)
    assert_close(mask[:, 0], booleans(["11100", "00000", "11111"]))


def test_padding_mask_of_one_length_a_query():
    mask = padding_mask(torch.tensor([[1, 2, 3], [5, 0, 4]]), 5)
    assert_close(mask[0], booleans(["10000", "11000", "11100"]))
    assert_close(mask[1], booleans(["11111", "00000", "11110"]))


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
def test_small_integers_hold_lengths_of_long_sequences(dtype):
    mask = padding_mask(torch.tensor([100, 3], dtype=dtype), 300)
    assert mask.sum(dim=-1).flatten().tolist() == [100, 3]


@pytest.mark.parametrize("dtype", [torch.int8, torch.int16, torch.int32, torch.int64], ids=str)
def test_padding_mask_of_every_integer(dtype):
    lens = torch.tensor([2, 3], dtype=dtype)
    assert_close(padding_mask(lens, 300), padding_mask(lens.long(), 300))


@pytest.mark.usefixtures("unchecked")
def test_padding_mask_of_bytes():
    assert_close(
        padding_mask(torch.tensor([2, 3], dtype=torch.uint8), 300), padding_mask(torch.tensor([2, 3]), 300)
    )


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


def test_polarity_is_turned_round():
    assert_close(to_torch_mha_masks(booleans(["10"]), 2)["attn_mask"], booleans(["01"]))


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
    query, memory = (
        torch.randn(BATCH, QUERIES, EMBED_DIM, dtype=dtype),
        torch.randn(BATCH, KEYS, EMBED_DIM, dtype=dtype),
    )
    arguments = to_torch_mha_masks(mask, HEADS)
    assert {key: tuple(tensor.shape) for key, tensor in arguments.items()} == {name: expected}
    theirs, their_weights = module(query, memory, memory, **arguments, average_attn_weights=False)

    heads = []
    parts = zip(
        (query, memory, memory), module.in_proj_weight.chunk(3), module.in_proj_bias.chunk(3), strict=True
    )
    for x, weight, bias in parts:
        heads.append((x @ weight.T + bias).unflatten(-1, (HEADS, HEAD_DIM)).transpose(1, 2))
    output, weights = scaled_dot_product_attention(*heads, mask)
    assert_close(weights, their_weights)
    assert_close(module.out_proj(output.transpose(1, 2).flatten(-2)), theirs)


def test_masks_are_not_changed():
    mask, lens = visible(BATCH, QUERIES, KEYS), torch.tensor([1, 2])
    copies = mask.clone(), lens.clone()
    for tensor in to_torch_mha_masks(mask, HEADS).values():
        tensor.fill_(True)
    padding_mask(lens, KEYS)
    assert_close((mask, lens), copies)


@pytest.mark.parametrize(
    "shape",
    [(QUERIES, KEYS), (BATCH, 1, KEYS), (BATCH, 1, QUERIES, KEYS), (BATCH, HEADS, QUERIES, KEYS)],
    ids=str,
)
def test_result_shares_no_memory_with_the_mask(shape):
    mask = visible(*shape)
    copy = mask.clone()
    for tensor in to_torch_mha_masks(mask, HEADS).values():
        tensor.fill_(True)
    assert_close(mask, copy)


# ---- what no annotation says

LENS = torch.tensor([1, 2])
REFUSED = {
    "fewer keys than queries": (lambda: causal_mask(5, 3), "num_keys", "3"),
    "too long": (lambda: padding_mask(torch.tensor([1, 7]), 5), "valid_lens", "7"),
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
