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

import polyhead
from polyhead import attention_scores, masked_softmax, scaled_dot_product_attention

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


def test_scores_of_two_queries_have_a_row_each():
    query, key = torch.tensor([[1.0], [10.0]]), torch.tensor([[1.0], [2.0], [3.0]])
    assert_close(attention_scores(query, key), torch.tensor([[1.0, 2, 3], [10, 20, 30]]), rtol=0, atol=0)


def test_softmax_by_hand():
    weights = masked_softmax(torch.tensor([[3.0, 0, 0, 3]], dtype=torch.float64))
    large, small = E3 / (2 * E3 + 2), 1 / (2 * E3 + 2)
    assert_close(weights, torch.tensor([[large, small, small, large]], dtype=torch.float64))


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


@pytest.mark.parametrize("lead", [(), (BATCH,), (BATCH, HEADS), (BATCH, HEADS, 1)])
def test_shapes(lead):
    query, key, value = qkv(*lead)
    output, weights = scaled_dot_product_attention(query, key, value)
    assert attention_scores(query, key).shape == (*lead, QUERIES, KEYS)
    assert output.shape == (*lead, QUERIES, VALUE_DIM)
    assert weights.shape == (*lead, QUERIES, KEYS)


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


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_dtype_stays(dtype):
    query, key, value = qkv(BATCH, dtype=dtype)
    output, weights = scaled_dot_product_attention(query, key, value, blind_mask(), dropout=0.25)
    assert attention_scores(query, key).dtype == dtype
    assert masked_softmax(attention_scores(query, key)).dtype == dtype
    assert (output.dtype, weights.dtype) == (dtype, dtype)


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


@given(finite_scores, masks, arrays(np.float64, (QUERIES, 1), elements=st.floats(-50, 50)))
def test_a_constant_added_to_a_row_changes_nothing(scores, mask, constant):
    mask = torch.from_numpy(mask)
    before = masked_softmax(torch.from_numpy(scores), mask)
    assert_close(masked_softmax(torch.from_numpy(scores + constant), mask), before)


@given(finite_scores, masks, rubbish)
def test_hidden_scores_do_not_matter(scores, mask, what):
    scores, mask = torch.from_numpy(scores), torch.from_numpy(mask)
    changed = scores.masked_fill(~mask, what).requires_grad_()
    weights = masked_softmax(changed, mask)
    weights.square().sum().backward()
    assert_close(weights.detach(), masked_softmax(scores, mask), rtol=0, atol=0)
    assert torch.isfinite(changed.grad).all()
    assert (changed.grad[~mask] == 0).all()


@given(seeds, masks, st.permutations(range(KEYS)), st.permutations(range(QUERIES)))
def test_permutations(seed, mask, key_order, query_order):
    """Another order of the keys changes no output; another order of the queries reorders the outputs."""
    torch.manual_seed(seed)
    (query, key, value), mask = qkv(dtype=torch.float64), torch.from_numpy(mask)
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    moved, moved_weights = scaled_dot_product_attention(
        query[query_order], key[key_order], value[key_order], mask[query_order][:, key_order]
    )
    assert_close(moved, output[query_order])
    assert_close(moved_weights, weights[query_order][:, key_order])


@given(seeds, masks, rubbish)
def test_what_nobody_sees_reaches_neither_outputs_nor_gradients(seed, mask, what):
    torch.manual_seed(seed)
    (query, key, value), mask = qkv(dtype=torch.float64), torch.from_numpy(mask)
    blind, unseen = ~mask.any(dim=1, keepdim=True), ~mask.any(dim=0)[:, None]
    changed = query.masked_fill(blind, what), key.masked_fill(unseen, what), value.masked_fill(unseen, what)
    expected, actual = gradients(query, key, value, mask), gradients(*changed, mask)
    assert_close(actual, expected, rtol=0, atol=0)
    assert all(torch.isfinite(tensor).all() for tensor in actual)


@pytest.mark.parametrize("what", [NAN, INF, -INF])
def test_rubbish_in_padding_of_one_sequence(what):
    query, key, value = qkv(BATCH)
    mask = polyhead.padding_mask(torch.tensor([KEYS, 2]), KEYS)
    expected = gradients(query, key, value, mask)
    key[1, 2:], value[1, 2:] = what, what
    assert_close(gradients(query, key, value, mask), expected, rtol=0, atol=0)


@given(seeds, masks)
def test_a_key_that_nobody_sees_could_be_left_out(seed, mask):
    torch.manual_seed(seed)
    (query, key, value), mask = qkv(dtype=torch.float64), torch.from_numpy(mask)
    mask[:, 3] = False
    kept = [0, 1, 2, 4]
    output, weights = scaled_dot_product_attention(query, key, value, mask)
    without, fewer = scaled_dot_product_attention(query, key[kept], value[kept], mask[:, kept])
    assert_close(output, without)
    assert_close(weights[:, kept], fewer)


@given(seeds, masks)
def test_output_lies_between_the_visible_values(seed, mask):
    torch.manual_seed(seed)
    (query, key, value), mask = qkv(dtype=torch.float64), torch.from_numpy(mask)
    output, _ = scaled_dot_product_attention(10 * query, key, value, mask)
    for row, seen in zip(output, mask, strict=True):
        if seen.any():
            assert (row >= value[seen].amin(dim=0) - 1e-12).all()
            assert (row <= value[seen].amax(dim=0) + 1e-12).all()
        else:
            assert (row == 0).all()


# ---- queries that see nothing


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_blind_query_gets_zeros_and_zero_gradients(dtype):
    output, weights, *grads = gradients(*qkv(BATCH, dtype=dtype), blind_mask())
    query_grad, key_grad, value_grad = grads
    assert (output[:, 1] == 0).all()
    assert (weights[:, 1] == 0).all()
    assert (query_grad[:, 1] == 0).all()
    assert (key_grad[:, -1] == 0).all()
    assert (value_grad[:, -1] == 0).all()
    assert all(torch.isfinite(grad).all() and grad.any() for grad in grads)


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_nothing_to_see_at_all(dtype):
    nothing = torch.zeros(QUERIES, KEYS, dtype=torch.bool)
    for tensor in gradients(*qkv(BATCH, dtype=dtype), nothing):
        assert (tensor == 0).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_minus_infinity_hides_a_score(dtype):
    scores = torch.tensor([[-INF, 0.0, 0.0]], dtype=dtype)
    assert masked_softmax(scores).tolist() == [[0, 0.5, 0.5]]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_no_nan_arises_even_on_the_way(dtype):
    """PyTorch's anomaly detection looks at every step backward, not only at the gradients that come out."""
    with torch.autograd.set_detect_anomaly(True):
        gradients(*qkv(BATCH, dtype=dtype), blind_mask())
        scores = torch.full((QUERIES, KEYS), NAN, dtype=dtype, requires_grad=True)
        masked_softmax(scores, torch.zeros(QUERIES, KEYS, dtype=torch.bool)).square().sum().backward()


# ---- masks of every shape

MASK_SHAPES = [
    ((BATCH,), None),
    ((BATCH,), ()),
    ((BATCH,), (KEYS,)),
    ((BATCH,), (1, KEYS)),
    ((BATCH,), (QUERIES, KEYS)),
    ((BATCH,), (BATCH, 1, KEYS)),
    ((BATCH,), (BATCH, QUERIES, KEYS)),
    ((BATCH, HEADS), (QUERIES, KEYS)),
    ((BATCH, HEADS), (BATCH, 1, KEYS)),
    ((BATCH, HEADS), (BATCH, QUERIES, KEYS)),
    ((BATCH, HEADS), (BATCH, 1, QUERIES, KEYS)),
    ((BATCH, HEADS), (1, HEADS, QUERIES, KEYS)),
    ((BATCH, HEADS), (BATCH, HEADS, QUERIES, KEYS)),
    ((BATCH, BATCH), (BATCH, QUERIES, KEYS)),
]


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


def test_gradients_agree_with_pytorch():
    query, key, value = qkv(BATCH, dtype=torch.float64)
    mask = random_mask(BATCH, QUERIES, KEYS)
    ours = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    theirs = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    scaled_dot_product_attention(*ours, mask)[0].sin().sum().backward()
    F.scaled_dot_product_attention(*theirs, mask).sin().sum().backward()
    assert_close([tensor.grad for tensor in ours], [tensor.grad for tensor in theirs])


def test_mask_of_three_dimensions_is_one_a_sequence_even_with_as_many_heads():
    query, key, value = qkv(QUERIES, QUERIES)
    mask = random_mask(QUERIES, QUERIES, KEYS)
    _, weights = scaled_dot_product_attention(query, key, value, mask)
    for sequence in range(QUERIES):
        for head in range(QUERIES):
            assert_close(weights[sequence, head] > 0, mask[sequence])


def test_mask_that_forbids_nothing_changes_nothing():
    query, key, value = qkv(BATCH)
    everything = torch.ones(BATCH, QUERIES, KEYS, dtype=torch.bool)
    with_mask = scaled_dot_product_attention(query, key, value, everything)
    assert_close(with_mask, scaled_dot_product_attention(query, key, value), rtol=0, atol=0)


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
