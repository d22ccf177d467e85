from __future__ import annotations

import math
from functools import partial

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from polyhead import (
    SingleHeadAttention,
    causal_mask,
    padding_mask,
    scaled_dot_product_attention,
    to_torch_mha_masks,
)

BATCH, QUERIES, KEYS, EMBED_DIM, HEAD_DIM = 2, 3, 5, 7, 11
NAN, INF = math.nan, math.inf
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]


def inputs(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """What asks, and what is looked at."""
    return torch.randn(BATCH, QUERIES, EMBED_DIM).to(dtype), torch.randn(BATCH, KEYS, EMBED_DIM).to(dtype)


def blind_mask() -> torch.Tensor:
    """The middle query sees nothing, and nobody sees the last key."""
    mask = torch.ones(QUERIES, KEYS, dtype=torch.bool)
    mask[1] = False
    mask[:, -1] = False
    return mask


def everything(module: nn.Module, query, key, value, mask):
    """Outputs, and the gradients of all inputs and parameters."""
    module.zero_grad()
    leaves = [tensor.clone().requires_grad_() for tensor in (query, key, value)]
    output, weights = module(*leaves, mask)
    (output.sin().sum() + weights.square().sum()).backward()
    grads = [leaf.grad for leaf in leaves] + [parameter.grad.clone() for parameter in module.parameters()]
    return [output.detach(), weights.detach(), *grads]


def test_by_hand():
    """One token in, two vectors wide: each projection is a matrix product plus its own bias."""
    module = SingleHeadAttention(2, 1).double()
    numbers = {"query": ([[1.0, 0.0]], [0.5]), "key": ([[0.0, 1.0]], [-1.0]), "value": ([[2.0, 3.0]], [10.0])}
    for name, (weight, bias) in numbers.items():
        module.get_submodule(f"{name}_projection").load_state_dict(
            {
                "weight": torch.tensor(weight, dtype=torch.float64),
                "bias": torch.tensor(bias, dtype=torch.float64),
            }
        )
    x = torch.tensor([[0.5, 1.0], [1.5, 2.0]], dtype=torch.float64)
    # queries 1, 2; keys 0, 1; values 14, 19
    e, e2 = math.exp(1), math.exp(2)
    expected = torch.tensor([[1 / (1 + e), e / (1 + e)], [1 / (1 + e2), e2 / (1 + e2)]], dtype=torch.float64)
    output, weights = module(x)
    assert_close(weights, expected)
    assert_close(output, expected @ torch.tensor([[14.0], [19.0]], dtype=torch.float64))


@pytest.mark.parametrize("bias", [True, False])
def test_number_of_parameters(bias):
    module = SingleHeadAttention(EMBED_DIM, HEAD_DIM, bias=bias)
    sizes = {name: tuple(parameter.shape) for name, parameter in module.named_parameters()}
    expected = {f"{name}_projection.weight": (HEAD_DIM, EMBED_DIM) for name in ("query", "key", "value")}
    if bias:
        expected |= {f"{name}_projection.bias": (HEAD_DIM,) for name in ("query", "key", "value")}
    assert sizes == expected
    total = sum(parameter.numel() for parameter in module.parameters())
    assert total == 3 * (EMBED_DIM * HEAD_DIM + bias * HEAD_DIM)


def test_head_dim_is_embed_dim_if_not_given():
    assert SingleHeadAttention(EMBED_DIM).head_dim == EMBED_DIM
    assert repr(SingleHeadAttention(EMBED_DIM, HEAD_DIM)).startswith(
        f"SingleHeadAttention(\n  embed_dim={EMBED_DIM}, head_dim={HEAD_DIM}\n"
    )


@pytest.mark.parametrize("lead", [(), (BATCH,), (BATCH, 13)])
def test_shapes(lead):
    module = SingleHeadAttention(EMBED_DIM, HEAD_DIM)
    output, weights = module(torch.randn(*lead, QUERIES, EMBED_DIM), torch.randn(*lead, KEYS, EMBED_DIM))
    assert output.shape == (*lead, QUERIES, HEAD_DIM)
    assert weights.shape == (*lead, QUERIES, KEYS)


def test_missing_arguments():
    module = SingleHeadAttention(EMBED_DIM, HEAD_DIM)
    query, memory = inputs()
    assert_close(module(query), module(query, query, query), rtol=0, atol=0)
    assert_close(module(query, memory), module(query, memory, memory), rtol=0, atol=0)
    assert_close(module(query, value=query + 1), module(query, query, query + 1), rtol=0, atol=0)


@pytest.mark.parametrize("bias", [True, False])
def test_is_the_function_after_three_projections(bias):
    module = SingleHeadAttention(EMBED_DIM, HEAD_DIM, bias=bias)
    for parameter in module.parameters():
        nn.init.normal_(parameter)
    query, memory = inputs()
    value = torch.randn_like(memory)
    projected = module.query_projection(query), module.key_projection(memory), module.value_projection(value)
    expected = scaled_dot_product_attention(*projected, blind_mask())
    assert_close(module(query, memory, value, blind_mask()), expected)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("mask", [None, causal_mask(QUERIES, KEYS), padding_mask(torch.tensor([2, 5]), KEYS)])
def test_is_torch_multihead_attention_of_one_head(mask, bias):
    ours = SingleHeadAttention(EMBED_DIM, bias=bias).double()
    theirs = nn.MultiheadAttention(EMBED_DIM, 1, bias=bias, batch_first=True).double().eval()
    projections = ours.query_projection, ours.key_projection, ours.value_projection
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([projection.weight for projection in projections]))
        theirs.out_proj.weight.copy_(torch.eye(EMBED_DIM))
        if bias:
            for projection in projections:
                nn.init.normal_(projection.bias)
            theirs.in_proj_bias.copy_(torch.cat([projection.bias for projection in projections]))
    query, memory = inputs(torch.float64)
    value = torch.randn_like(memory)
    arguments = {} if mask is None else to_torch_mha_masks(mask, 1)
    expected, expected_weights = theirs(query, memory, value, **arguments)
    output, weights = ours(query, memory, value, mask)
    assert_close(output, expected)
    assert_close(weights, expected_weights)
    output.sin().sum().backward()
    expected.sin().sum().backward()
    ours_grad = torch.cat([projection.weight.grad for projection in projections])
    assert_close(ours_grad, theirs.in_proj_weight.grad)


@given(st.sampled_from([NAN, INF, -INF, 1e30]))
def test_what_nobody_sees_reaches_neither_outputs_nor_gradients(what):
    torch.manual_seed(0)
    module, mask = SingleHeadAttention(EMBED_DIM, HEAD_DIM), blind_mask()
    query, memory = inputs()
    value = torch.randn_like(memory)
    expected = everything(module, query, memory, value, mask)
    query[:, 1], memory[:, -1], value[:, -1] = what, what, what
    actual = everything(module, query, memory, value, mask)
    assert_close(actual, expected, rtol=0, atol=0)
    assert all(torch.isfinite(tensor).all() for tensor in actual)


def test_rubbish_in_the_padding_of_self_attention():
    module = SingleHeadAttention(EMBED_DIM, HEAD_DIM)
    x = torch.randn(BATCH, KEYS, EMBED_DIM)
    lens = torch.tensor([KEYS, 2])
    mask = padding_mask(lens, KEYS)
    both = mask & mask.transpose(1, 2)
    expected = everything(module, x, x, x, both)
    x[1, 2:] = NAN
    assert_close(everything(module, x, x, x, both), expected, rtol=0, atol=0)
    output, _ = module(x, mask=both)
    assert (output[1, 2:] == 0).all()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_blind_query_gets_zeros_and_zero_gradients(dtype):
    module = SingleHeadAttention(EMBED_DIM, HEAD_DIM).to(dtype)
    query, memory = inputs(dtype)
    output, weights, query_grad, *others = everything(module, query, memory, memory, blind_mask())
    assert (output.dtype, weights.dtype) == (dtype, dtype)
    assert (output[:, 1] == 0).all()
    assert (weights[:, 1] == 0).all()
    assert (query_grad[:, 1] == 0).all()
    assert all(torch.isfinite(tensor).all() for tensor in others)
    nothing = torch.zeros_like(blind_mask())
    assert not any(tensor.any() for tensor in everything(module, query, memory, memory, nothing))


@pytest.mark.parametrize(
    "check", [torch.autograd.gradcheck, partial(torch.autograd.gradgradcheck, fast_mode=True)]
)
def test_gradcheck(check):
    module = SingleHeadAttention(2, 3).double()
    names, parameters = zip(*module.named_parameters(), strict=True)

    def call(x, memory, *values):
        return torch.func.functional_call(
            module, dict(zip(names, values, strict=True)), (x, memory, memory, blind_mask())
        )

    x = torch.randn(QUERIES, 2, dtype=torch.float64, requires_grad=True)
    memory = torch.randn(KEYS, 2, dtype=torch.float64, requires_grad=True)
    assert check(call, (x, memory, *parameters))


def test_inputs_are_not_changed():
    module = SingleHeadAttention(EMBED_DIM, HEAD_DIM)
    query, memory = inputs()
    memory[:, -1] = NAN
    mask = blind_mask()
    before = [(tensor.clone(), tensor._version) for tensor in (query, memory, mask)]
    module(query, memory, memory, mask)
    for tensor, (copy, version) in zip((query, memory, mask), before, strict=True):
        assert tensor._version == version
        assert_close(tensor, copy, rtol=0, atol=0, equal_nan=True)


def test_on_meta_it_gives_shapes():
    with torch.device("meta"):
        module = SingleHeadAttention(EMBED_DIM, HEAD_DIM)
        output, _ = module(torch.ones(BATCH, QUERIES, EMBED_DIM), mask=causal_mask(QUERIES))
    assert output.is_meta
    assert output.shape == (BATCH, QUERIES, HEAD_DIM)
