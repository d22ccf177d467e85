from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from torch.testing import assert_close

from polyhead import attention_scores, masked_softmax, scaled_dot_product_attention
from polyhead.functional import hide_unseen

BATCH, QUERIES, KEYS, HEAD_DIM, VALUE_DIM, HEADS = 2, 3, 5, 7, 11, 13
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
NAN, INF = math.nan, math.inf
E3 = math.exp(3)


def qkv(*lead: int, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    sizes = (QUERIES, HEAD_DIM), (KEYS, HEAD_DIM), (KEYS, VALUE_DIM)
    query, key, value = (torch.randn(*lead, *size, dtype=torch.float64).to(dtype) for size in sizes)
    return query, key, value


def random_mask(*shape: int) -> torch.Tensor:
    """About half True; the first key is always seen, so that no query is blind."""
    mask = torch.rand(shape) < 0.5
    mask[..., 0] = True
    return mask


def blind_mask() -> torch.Tensor:
    """The middle query sees nothing, and nobody sees the last key."""
    mask = torch.ones(QUERIES, KEYS, dtype=torch.bool)
    mask[1] = False
    mask[:, -1] = False
    return mask


def gradients(query, key, value, mask):
    leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    output, weights = scaled_dot_product_attention(*leaves, mask)
    (output.sin().sum() + weights.square().sum()).backward()
    return output.detach(), weights.detach(), *(leaf.grad for leaf in leaves)


# ---- values computed by hand


def test_scores_are_dot_products_over_the_root_of_head_dim():
    query = torch.tensor([[2.0, 0.0, 0.0, 2.0]])
    key = torch.tensor([[1.0, 0, 0, 2], [0, 2, 0, 0], [0, 2, 2, 0], [1, 0, 2, 2]])
    assert_close(attention_scores(query, key), torch.tensor([[3.0, 0, 0, 3]]), rtol=0, atol=0)


def test_masked_softmax_by_hand():
    scores = torch.tensor([[3.0, 0, 7], [math.log(2), math.log(3), 0]], dtype=torch.float64)
    mask = torch.tensor([[True, True, False], [True, True, True]])
    expected = torch.tensor([[E3 / (E3 + 1), 1 / (E3 + 1), 0], [2 / 6, 3 / 6, 1 / 6]], dtype=torch.float64)
    assert_close(masked_softmax(scores, mask), expected)


def test_attention_by_hand():
    query = torch.tensor([[0.0], [math.log(3)]], dtype=torch.float64)
    key = torch.tensor([[0.0], [1.0]], dtype=torch.float64)
    value = torch.tensor([[4.0, 0, 8], [8.0, 4, 0]], dtype=torch.float64)
    output, weights = scaled_dot_product_attention(query, key, value)
    assert_close(weights, torch.tensor([[0.5, 0.5], [0.25, 0.75]], dtype=torch.float64))
    assert_close(output, torch.tensor([[6.0, 2, 4], [7.0, 3, 2]], dtype=torch.float64))


# ---- shapes


def test_no_keys_give_zeros():
    query, _, _ = qkv(BATCH)
    output, weights = scaled_dot_product_attention(
        query, torch.empty(BATCH, 0, HEAD_DIM), torch.empty(BATCH, 0, VALUE_DIM)
    )
    assert weights.shape == (BATCH, QUERIES, 0)
    assert_close(output, torch.zeros(BATCH, QUERIES, VALUE_DIM))


@pytest.mark.parametrize("size", [(0, QUERIES), (BATCH, 0)], ids=["no sequence", "no query"])
def test_nothing_to_compute(size):
    batch, num_queries = size
    _, key, value = qkv(batch)
    mask = torch.ones(num_queries, KEYS, dtype=torch.bool)
    output, weights = scaled_dot_product_attention(torch.ones(*size, HEAD_DIM), key, value, mask)
    assert output.shape == (*size, VALUE_DIM)
    assert weights.shape == (*size, KEYS)


def test_meta_tensors_give_shapes():
    query, key, value = (tensor.to("meta") for tensor in qkv(BATCH))
    output, weights = scaled_dot_product_attention(query, key, value, blind_mask().to("meta"))
    assert output.is_meta
    assert output.shape == (BATCH, QUERIES, VALUE_DIM)
    assert weights.shape == (BATCH, QUERIES, KEYS)


# ---- properties

finite_scores = arrays(np.float64, (QUERIES, KEYS), elements=st.floats(-50, 50))
any_scores = arrays(
    np.float64, (QUERIES, KEYS), elements=st.floats(allow_nan=False, max_value=np.finfo(np.float64).max)
)
masks = arrays(np.bool_, (QUERIES, KEYS))
rubbish = st.sampled_from([NAN, INF, -INF, 1e300, 0.0])
seeds = st.integers(0, 2**31)


@given(any_scores, masks)
def test_rows_sum_to_one_or_zero(scores, mask):
    """Whatever the scores: the largest numbers there are, the smallest, and -inf."""
    weights = masked_softmax(torch.from_numpy(scores), torch.from_numpy(mask))
    seen = torch.from_numpy(mask & (scores != -INF))
    assert (weights >= 0).all()
    assert (weights[~seen] == 0).all()
    assert_close(weights.sum(dim=-1), seen.any(dim=-1).double())


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_lowest_visible_score_is_still_visible(dtype):
    """Some code masks with the lowest number of its dtype: a hidden score must not take a share from it."""
    scores = torch.tensor([[torch.finfo(dtype).min, 3.0]], dtype=dtype)
    weights = masked_softmax(scores, torch.tensor([[True, False]]))
    assert_close(weights, torch.tensor([[1.0, 0.0]], dtype=dtype), rtol=0, atol=0)


@given(finite_scores, masks, rubbish)
def test_hidden_scores_do_not_matter(scores, mask, what):
    scores, mask = torch.from_numpy(scores), torch.from_numpy(mask)
    changed = scores.masked_fill(~mask, what).requires_grad_()
    weights = masked_softmax(changed, mask)
    weights.square().sum().backward()
    assert_close(weights.detach(), masked_softmax(scores, mask), rtol=0, atol=0)
    assert torch.isfinite(changed.grad).all()
    assert (changed.grad[~mask] == 0).all()


@given(seeds, masks, rubbish)
def test_what_nobody_sees_reaches_neither_outputs_nor_gradients(seed, mask, what):
    torch.manual_seed(seed)
    (query, key, value), mask = qkv(dtype=torch.float64), torch.from_numpy(mask)
    blind, unseen = ~mask.any(dim=1, keepdim=True), ~mask.any(dim=0)[:, None]
    changed = query.masked_fill(blind, what), key.masked_fill(unseen, what), value.masked_fill(unseen, what)
    expected, actual = gradients(query, key, value, mask), gradients(*changed, mask)
    assert_close(actual, expected, rtol=0, atol=0)
    assert all(torch.isfinite(tensor).all() for tensor in actual)


# ---- queries that see nothing


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_blind_query_gets_zeros_and_zero_gradients(dtype):
    """Also on the way: PyTorch's anomaly detection refuses a NaN at any step backward."""
    with torch.autograd.set_detect_anomaly(True):
        output, weights, *grads = gradients(*qkv(BATCH, dtype=dtype), blind_mask())
        scores = torch.full((QUERIES, KEYS), NAN, dtype=dtype, requires_grad=True)
        nothing = torch.zeros(QUERIES, KEYS, dtype=torch.bool)
        masked_softmax(scores, nothing).square().sum().backward()
    query_grad, key_grad, value_grad = grads
    assert (output.dtype, weights.dtype) == (dtype, dtype)
    assert (output[:, 1] == 0).all()
    assert (weights[:, 1] == 0).all()
    assert (query_grad[:, 1] == 0).all()
    assert (key_grad[:, -1] == 0).all()
    assert (value_grad[:, -1] == 0).all()
    assert all(torch.isfinite(grad).all() and grad.any() for grad in grads)
    assert not any(tensor.any() for tensor in gradients(*qkv(BATCH, dtype=dtype), nothing))


# ---- masks of every shape

MASK_SHAPES = [
    ((BATCH,), None), ((BATCH,), ()), ((BATCH,), (KEYS,)), ((BATCH,), (1, KEYS)),
    ((BATCH,), (QUERIES, KEYS)), ((BATCH,), (BATCH, 1, KEYS)), ((BATCH,), (BATCH, QUERIES, KEYS)),
    ((BATCH, HEADS), (QUERIES, KEYS)), ((BATCH, HEADS), (BATCH, 1, KEYS)),
    ((BATCH, HEADS), (BATCH, QUERIES, KEYS)), ((BATCH, HEADS), (BATCH, 1, QUERIES, KEYS)),
    ((BATCH, HEADS), (1, HEADS, QUERIES, KEYS)), ((BATCH, HEADS), (BATCH, HEADS, QUERIES, KEYS)),
    ((BATCH, BATCH), (BATCH, QUERIES, KEYS)),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize(("lead", "shape"), MASK_SHAPES, ids=str)
def test_agrees_with_pytorch(lead, shape, dtype):
    query, key, value = qkv(*lead, dtype=dtype)
    mask = None if shape is None else random_mask(*shape) if shape else torch.tensor(True)
    per_head = mask[:, None] if shape is not None and len(shape) == 3 and len(lead) == 2 else mask
    expected = F.scaled_dot_product_attention(query, key, value, per_head)
    output, _ = scaled_dot_product_attention(query, key, value, mask)
    tolerance = {"rtol": 0.02, "atol": 0.02} if dtype == torch.bfloat16 else {}
    assert_close(output, expected, **tolerance)


# ---- gradients


def doubles(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize(
    "check", [torch.autograd.gradcheck, partial(torch.autograd.gradgradcheck, fast_mode=True)]
)
@pytest.mark.parametrize("mask", [None, blind_mask()], ids=["no mask", "blind query"])
def test_gradcheck(check, mask):
    query, key, value = doubles(QUERIES, 2), doubles(KEYS, 2), doubles(KEYS, 2)
    assert check(lambda q, k, v: scaled_dot_product_attention(q, k, v, mask), (query, key, value))
    assert check(lambda scores: masked_softmax(scores, mask), (doubles(QUERIES, KEYS),))
    assert check(attention_scores, (query, key))


# ---- dropout


@pytest.mark.parametrize("kind", [int, float])
def test_dropout_of_nothing_and_of_everything(kind):
    query, key, value = qkv(BATCH)
    plain = scaled_dot_product_attention(query, key, value)
    assert_close(scaled_dot_product_attention(query, key, value, dropout=kind(0)), plain, rtol=0, atol=0)
    assert not any(each.any() for each in scaled_dot_product_attention(query, key, value, dropout=kind(1)))


@pytest.mark.parametrize("probability", [0.25, 0.5])
def test_dropout_rescales_what_it_keeps_and_keeps_the_expectation(probability):
    query, key, value = (tensor.expand(2000, -1, -1) for tensor in qkv(dtype=torch.float64))
    output, weights = scaled_dot_product_attention(query, key, value, blind_mask(), dropout=probability)
    plain_output, plain = scaled_dot_product_attention(query, key, value, blind_mask())
    kept = weights != 0
    assert_close(weights[kept], plain[kept] / (1 - probability))
    assert_close(kept[plain > 0].double().mean().item(), 1 - probability, rtol=0, atol=0.02)
    assert_close(weights.mean(dim=0), plain[0], rtol=0, atol=0.05)
    assert_close(output.mean(dim=0), plain_output[0], rtol=0, atol=0.15)
    assert_close(output, weights @ value)


# ---- inputs stay as they are


def test_inputs_are_not_changed():
    query, key, value = qkv(BATCH)
    value[:, -1] = NAN
    mask = blind_mask()
    scores = torch.tensor([[NAN, 1.0], [-INF, 2.0]])
    hidden = torch.tensor([[False, True], [True, True]])
    arguments = query, key, value, mask, scores, hidden
    before = [(argument.clone(), argument._version) for argument in arguments]
    scaled_dot_product_attention(query, key, value, mask, dropout=0.5)
    attention_scores(query, key)
    masked_softmax(scores, hidden)
    for argument, (copy, version) in zip(arguments, before, strict=True):
        assert argument._version == version
        assert_close(argument, copy, rtol=0, atol=0, equal_nan=True)


# ---- extremes


def test_long_half_precision_vectors_do_not_overflow():
    # 1024 · 20 · 20 is 409,600, beyond float16; divided by √1024 = 32 it is 12,800.
    query, key = torch.full((1, 1024), 20.0).half(), torch.full((1, 1024), -20.0).half()
    assert attention_scores(query, key).item() == -12800.0


def test_what_no_query_sees_and_queries_that_see_nothing_are_0():
    query, key, value = torch.full((2, 1), 5.0), torch.full((3, 1), 7.0), torch.full((3, 2), 9.0)
    mask = torch.tensor([[False, False, False], [True, False, True]])
    found = [each[:, 0].tolist() for each in hide_unseen(query, key, value, mask)]
    assert found == [[0, 5], [7, 0, 7], [9, 0, 9]]
