"""Llama-3 scaling, ALiBi's and T5's biases, windows and documents: by hand, and against transformers."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.testing import assert_close

from polyhead import (
    Llama3Scaling,
    RotaryPositions,
    alibi_bias,
    alibi_slopes,
    attention_scores,
    causal_mask,
    document_mask,
    masked_softmax,
    t5_bias,
    t5_buckets,
    window_mask,
)
from polyhead.positions import _angles
from tests.polyhead.hugging_face import transformers

# ---- Llama-3 scaling


def test_scaling_by_hand():
    """A whole turn in 2π / f tokens; of 8192 tokens: more than 4 turns, 4 to 1, less than 1."""
    turns = torch.tensor([8.0, 4.0, 2.5, 1.0, 0.25]).double()
    frequencies = turns * 2 * math.pi / 8192
    expected = turns * torch.tensor([1.0, 1.0, 0.5 / 8 + 0.5, 1 / 8, 1 / 8])
    assert_close(Llama3Scaling().share(frequencies) * turns, expected.double())


@pytest.mark.parametrize("settings", [(8.0, 1.0, 4.0, 8192), (32.0, 1.0, 4.0, 8192), (3.0, 2.0, 5.0, 40)])
def test_scaling_is_transformers(settings):
    factor, low, high, original = settings
    rope = {"rope_type": "llama3", "rope_theta": 500_000.0, "factor": factor}
    rope |= {"low_freq_factor": low, "high_freq_factor": high, "original_max_position_embeddings": original}
    config = transformers.LlamaConfig(hidden_size=64, num_attention_heads=1, rope_parameters=rope)
    theirs, _ = transformers.modeling_rope_utils.ROPE_INIT_FUNCTIONS["llama3"](config, torch.device("cpu"))
    plain = _angles(torch.tensor([1]), 64, 500_000.0)[0]
    share = Llama3Scaling(*settings).share(plain)
    assert_close((share * plain).float(), theirs, rtol=1e-5, atol=0)
    assert 0 < (share == 1).sum() < len(share)


def test_scaling_reaches_the_turns_and_is_told():
    x, scaling = torch.randn(3, 7, 4).double(), Llama3Scaling(4, 1, 2, 5)
    rotary = RotaryPositions(4, 100.0, "halves", scaling)
    first, second = x.chunk(2, dim=-1)
    turns = torch.tensor([1.0, 0.1], dtype=torch.float64)
    angles = torch.arange(7).double()[:, None] * turns * scaling.share(turns)
    expected = torch.cat(
        (first * angles.cos() - second * angles.sin(), second * angles.cos() + first * angles.sin()), dim=-1
    )
    assert_close(rotary(x), expected)
    assert not torch.isclose(rotary(x), RotaryPositions(4, 100.0, "halves")(x))[:, 1:].all()
    assert repr(rotary).endswith(
        "pairs='halves', scaling=Llama3Scaling(factor=4, low=1, high=2, original_length=5))"
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"factor": 0}, ValueError, "factor.*above 0.*0"),
        ({"low": 4.0}, ValueError, "high.*above low = 4.0, got 4.0"),
        ({"original_length": math.inf}, ValueError, "original_length.*finite.*inf"),
        ({"factor": "8"}, TypeError, "factor.*number.*'8'"),
        ({"high": True}, TypeError, "high.*number.*True"),
    ],
)
def test_scaling_refused(settings, error, message):
    with pytest.raises(error, match=message):
        Llama3Scaling(**settings)


# ---- ALiBi


def test_slopes_of_powers_of_two_and_of_others():
    assert_close(alibi_slopes(8), torch.tensor([2.0**-i for i in range(1, 9)]))
    assert_close(alibi_slopes(1), torch.tensor([2.0**-8]))
    # The paper's code: those of 4 heads, then each second of 8 heads.
    expected = [2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8, 2.0**-1, 2.0**-3]
    assert_close(alibi_slopes(6), torch.tensor(expected))


@pytest.mark.parametrize("num_heads", [1, 2, 3, 6, 8, 12, 16, 71, 112])
def test_slopes_are_blooms(num_heads):
    bloom = transformers.models.bloom.modeling_bloom
    mask = torch.ones(1, 2)
    theirs = bloom.build_alibi_tensor(mask, num_heads, torch.float32)[:, 0, 1]  # slope · position 1
    assert_close(alibi_slopes(num_heads), theirs, rtol=1e-5, atol=0)


def test_alibi_falls_with_the_distance_and_queries_are_the_last():
    expected = torch.tensor([[-2.0, -1.0, 0.0, -1.0], [-3.0, -2.0, -1.0, 0.0]])
    assert_close(alibi_bias(2, 2, 4), torch.stack((expected / 16, expected / 256)))
    assert_close(alibi_bias(3, 5)[:, 2:], alibi_bias(3, 3, 5))


def test_alibi_is_blooms_after_the_softmax():
    """There the bias is slope · position: the same for each query but for a number that the softmax drops."""
    scores = torch.randn(6, 5, 5)
    bloom = transformers.models.bloom.modeling_bloom
    theirs = bloom.build_alibi_tensor(torch.ones(1, 5), 6, torch.float32)
    mask = causal_mask(5)
    assert_close(masked_softmax(scores + alibi_bias(6, 5), mask), masked_softmax(scores + theirs, mask))


# ---- T5


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize(("num_buckets", "max_distance"), [(32, 128), (12, 50), (4, 7)])
def test_buckets_are_t5s(bidirectional, num_buckets, max_distance):
    attention = transformers.models.t5.modeling_t5.T5Attention
    distances = torch.arange(300) - torch.arange(300)[:, None]
    theirs = attention._relative_position_bucket(distances, bidirectional, num_buckets, max_distance)
    ours = t5_buckets(300, None, bidirectional, num_buckets, max_distance)
    assert torch.equal(ours, theirs)
    assert ours.max() == num_buckets - 1
    assert torch.equal(t5_buckets(7, 300, bidirectional, num_buckets, max_distance), ours[-7:])


def test_a_decoders_buckets_by_hand():
    """4 exact ones of 8, then 4 wider ones up to distance 16: 4 · 2^(i / 2)."""
    last = t5_buckets(1, 21, num_buckets=8, max_distance=16)[0].flip(0)
    expected = [0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7]
    assert last.tolist() == expected
    assert t5_buckets(5, num_buckets=8)[0].tolist() == [0] * 5  # what comes later


def test_t5_takes_each_heads_number_of_the_bucket():
    table = torch.randn(32, 3, requires_grad=True)
    bias = t5_bias(table, 5, 7)
    assert_close(bias, table[t5_buckets(5, 7)].permute(2, 0, 1))
    query, key = torch.randn(3, 5, 4), torch.randn(3, 7, 4)
    masked_softmax(attention_scores(query, key) * 2 + bias, causal_mask(5, 7)).sin().sum().backward()
    assert table.grad[:7].abs().min() > 0
    assert (table.grad[7:] == 0).all()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: alibi_slopes(0), ValueError, "num_heads.*at least 1.*0"),
        (lambda: alibi_bias(2, 5, 3), ValueError, "num_keys.*at least num_queries = 5, got 3"),
        (lambda: t5_buckets(5, 3), ValueError, "num_keys.*at least num_queries = 5, got 3"),
        (lambda: t5_buckets(5, num_buckets=1), ValueError, "max_distance.*0 exact"),
        (lambda: t5_buckets(5, max_distance=16), ValueError, "max_distance.*16 exact"),
        (lambda: t5_bias(torch.ones(32), 5), ValueError, r"table.*num_buckets, num_heads.*\(32,\)"),
        (lambda: window_mask(5, 0), ValueError, "window.*at least 1.*0"),
        (lambda: window_mask(5, 2, 3), ValueError, "num_keys.*at least num_queries = 5, got 3"),
        (lambda: document_mask(torch.ones(3)), TypeError, r"document_ids.*Integer.*float32"),
    ],
)
def test_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()


# ---- windows and documents


def test_window_by_hand():
    expected = [[1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0], [0, 0, 1, 1]]
    assert window_mask(4, 2).int().tolist() == expected
    assert window_mask(2, 2, 4).int().tolist() == expected[2:]
    assert torch.equal(window_mask(3, 1), torch.eye(3).bool())


@given(st.integers(1, 9), st.integers(1, 12), st.integers(0, 5))
def test_window_is_its_definition(num_queries, window, earlier):
    mask = window_mask(num_queries, window, num_queries + earlier)
    for i in range(num_queries):
        for j in range(num_queries + earlier):
            assert bool(mask[i, j]) == (i + earlier - window < j <= i + earlier)


def test_documents_by_hand():
    expected = [[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
    assert document_mask(torch.tensor([5, 5, 2, 7])).int().tolist() == expected
    both = document_mask(torch.tensor([[5, 5, 2, 7], [0, 1, 0, 1]]))
    assert both.shape == (2, 4, 4)
    assert both[0].int().tolist() == expected
    assert both[1].int().tolist() == [[1, 0, 1, 0], [0, 1, 0, 1]] * 2
