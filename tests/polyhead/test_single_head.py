from __future__ import annotations

import math

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import SingleHeadAttention, scaled_dot_product_attention

BATCH, QUERIES, KEYS, EMBED_DIM, HEAD_DIM = 2, 3, 5, 7, 11


def inputs(dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    """What asks, and what is looked at."""
    return torch.randn(BATCH, QUERIES, EMBED_DIM).to(dtype), torch.randn(BATCH, KEYS, EMBED_DIM).to(dtype)


def blind_mask() -> torch.Tensor:
    """The middle query sees nothing, and nobody sees the last key."""
    mask = torch.ones(QUERIES, KEYS, dtype=torch.bool)
    mask[1] = False
    mask[:, -1] = False
    return mask


def test_by_hand():
    """One token in, two vectors wide: each projection is a matrix product plus its own bias."""
    module = SingleHeadAttention(2, 1).double()
    numbers = {"query": ([[1.0, 0.0]], [0.5]), "key": ([[0.0, 1.0]], [-1.0]), "value": ([[2.0, 3.0]], [10.0])}
    for name, (weight, bias) in numbers.items():
        state = {"weight": torch.tensor(weight).double(), "bias": torch.tensor(bias).double()}
        module.get_submodule(f"{name}_projection").load_state_dict(state)
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


def test_head_dim_is_embed_dim_if_not_given():
    assert SingleHeadAttention(EMBED_DIM).head_dim == EMBED_DIM
    assert "embed_dim=7, head_dim=11" in repr(SingleHeadAttention(EMBED_DIM, HEAD_DIM))


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
