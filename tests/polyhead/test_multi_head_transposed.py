from __future__ import annotations

import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from polyhead import TransposedMultiHeadAttention, copy_weights, transpose_output, transpose_qkv
from polyhead_course import peers

BATCH, TOKENS, KEYS, HEADS, HEAD_DIM = 2, 3, 5, 7, 11
NUM_HIDDENS = HEADS * HEAD_DIM
sizes = st.tuples(*[st.integers(1, 5)] * 4)


@given(sizes)
def test_both_are_d2ls_methods(drawn):
    batch, tokens, heads, head_dim = drawn
    theirs = peers.d2l().MultiHeadAttention(heads * head_dim, heads, 0.0)
    whole, folded = torch.randn(batch, tokens, heads * head_dim), torch.randn(batch * heads, tokens, head_dim)
    assert_close(transpose_qkv(whole, heads), theirs.transpose_qkv(whole), rtol=0, atol=0)
    assert_close(transpose_output(folded, heads), theirs.transpose_output(folded), rtol=0, atol=0)


def test_what_is_not_contiguous_can_be_split():
    X = torch.randn(TOKENS, BATCH, NUM_HIDDENS).transpose(0, 1)
    assert_close(transpose_qkv(X, HEADS), transpose_qkv(X.contiguous(), HEADS), rtol=0, atol=0)


def both(bias: bool):
    ours = TransposedMultiHeadAttention(NUM_HIDDENS, HEADS, 0.5, bias=bias).double().eval()
    theirs = peers.d2l().MultiHeadAttention(NUM_HIDDENS, HEADS, 0.5, bias=bias).double().eval()
    copy_weights(ours, theirs)
    return ours, theirs


LENS = [None, torch.tensor([2, 5]), torch.tensor([[1, 5, 2], [3, 4, 1]])]


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("valid_lens", LENS, ids=["none", "1-D", "2-D"])
def test_gives_what_d2l_gives(valid_lens, bias):
    ours, theirs = both(bias)
    arguments = torch.randn(BATCH, TOKENS, NUM_HIDDENS), *torch.randn(2, BATCH, KEYS, NUM_HIDDENS)
    arguments = [tensor.double() for tensor in arguments]
    assert_close(ours(*arguments, valid_lens), theirs(*arguments, valid_lens), rtol=1e-12, atol=1e-12)
    assert ours.attention_weights.shape == (BATCH * HEADS, TOKENS, KEYS)
    assert_close(ours.attention_weights, theirs.attention.attention_weights, rtol=1e-12, atol=1e-12)


def test_length_zero_gives_zeros_where_d2l_gives_the_average():
    ours, theirs = both(bias=False)
    x = torch.randn(BATCH, TOKENS, NUM_HIDDENS).double()
    lens = torch.tensor([0, TOKENS])
    output, other = ours(x, x, x, lens), theirs(x, x, x, lens)
    assert (output[0] == 0).all()
    assert (ours.attention_weights[:HEADS] == 0).all()
    assert_close(other[0], theirs.W_o(theirs.W_v(x[0]).mean(dim=0)).expand(TOKENS, -1))
    assert_close(output[1], other[1])


def test_parameters_are_those_of_d2l():
    module = TransposedMultiHeadAttention(NUM_HIDDENS, HEADS, 0.0)
    assert [name for name, _ in module.named_parameters()] == [f"W_{x}.weight" for x in "qkvo"]
    ours, theirs = both(bias=True)
    theirs.load_state_dict(ours.state_dict(), strict=True)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: transpose_qkv(torch.ones(2, 3, 10), 4), "num_heads must divide X.shape[2] = 10, got 4"),
        (lambda: transpose_output(torch.ones(6, 3, 10), 4), "num_heads must divide X.shape[0] = 6, got 4"),
        (
            lambda: TransposedMultiHeadAttention(10, 4, 0.0),
            "num_heads must divide num_hiddens = 10, got 4",
        ),
    ],
    ids=["split", "join", "module"],
)
def test_heads_that_do_not_divide_are_named(call, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        call()
