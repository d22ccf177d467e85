from __future__ import annotations

import copy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from polyhead import (
    Encoder,
    EncoderOnly,
    LearnedPositions,
    MultiHeadAttention,
    TokenEmbedding,
    greedy_decode,
    heads,
)
from polyhead.heads import Head
from tests.polyhead.head_models import (
    IDS,
    KINDS,
    MASK,
    SIZES,
    VOCAB,
    called,
    model,
)
from tests.polyhead.models import spread


@pytest.mark.parametrize(("dtype", "atol"), [(torch.float32, 1e-6), (torch.float64, 1e-12)])
@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 10_000), part=st.sampled_from([0.0, 0.1, 0.5, 0.9, 1.0]))
@settings(max_examples=7)
def test_a_pruned_model_computes_what_the_ablated_one_does(kind, dtype, atol, seed, part):
    made = model(kind, dtype)
    drawn = torch.rand(SIZES[kind], generator=torch.Generator().manual_seed(seed)) < part
    off = [head for head, gone in zip(heads.all_heads(made), drawn, strict=True) if gone]
    with heads.ablate(made, off):
        expected = called(made)
    pruned = heads.prune(made, off)
    scale = expected.detach().abs().max().clamp(min=1.0)
    assert_close(called(pruned) / scale, expected / scale, rtol=0, atol=atol)
    assert len(heads.all_heads(pruned)) == SIZES[kind] - len(off)


def test_rows_and_columns_are_gone():
    made = model("encoder only")
    pruned = heads.prune(made, [Head("encoder", 0, 0), Head("encoder", 0, 3)])
    whole, small = (each.encoder.layers[0].attention for each in (made, pruned))
    assert small.input_projection.weight.shape == (27, 15)  # 3 heads are left: 3 times 3 · 3
    assert small.output_projection.weight.shape == (15, 9)
    assert (small.num_heads, small.head_dim, pruned.encoder.layers[0].num_heads) == (3, 3, 3)
    kept = [*range(3, 9), *range(12, 15)]
    rows = [start + place for start in (0, 15, 30) for place in kept]  # of queries, keys and values
    assert_close(small.input_projection.weight, whole.input_projection.weight[rows], rtol=0, atol=0)
    assert_close(small.input_projection.bias, whole.input_projection.bias[rows], rtol=0, atol=0)
    assert_close(small.output_projection.weight, whole.output_projection.weight[:, kept], rtol=0, atol=0)
    assert_close(small.output_projection.bias, whole.output_projection.bias, rtol=0, atol=0)
    assert repr(small.input_projection) == "Linear(in_features=15, out_features=27, bias=True)"


def test_what_is_pruned_is_a_copy_and_is_otherwise_the_same():
    made = model("encoder and decoder")
    made.encoder.requires_grad_(False)
    kept = copy.deepcopy(made.state_dict())
    made.train()
    pruned = heads.prune(made, heads.all_heads(made)[::3])
    assert_close(dict(made.state_dict()), dict(kept), rtol=0, atol=0)
    assert all(module.training for module in pruned.modules())
    assert pruned.source_embedding.tokens is pruned.target_embedding.tokens
    assert not any(each.requires_grad for each in pruned.encoder.parameters())
    assert all(each.requires_grad for each in pruned.decoder.parameters())


def test_a_pruned_model_can_be_pruned_and_loaded_and_trained():
    made = model("decoder only")
    off = [Head("decoder", 0, 1), Head("decoder", 1, 2), Head("decoder", 1, 3)]
    at_once = heads.prune(made, off)
    again = heads.prune(heads.prune(made, off[:2]), [Head("decoder", 1, 2)])  # 3, now that 2 is gone
    assert_close(called(again), called(at_once), rtol=0, atol=1e-12)
    fresh = heads.prune(model("decoder only"), off)
    fresh.load_state_dict(at_once.state_dict())
    called(at_once).square().mean().backward()
    assert all(each.grad is not None and each.grad.isfinite().all() for each in at_once.decoder.parameters())


@pytest.mark.parametrize("layer", [0, 1])
def test_text_comes_from_a_pruned_model_as_from_the_ablated(layer):
    made = model("encoder and decoder")
    off = [head for head in heads.all_heads(made) if head.layer == layer or head.head == 2]
    arguments = {"end_id": 0, "max_new_tokens": 6, "source_ids": IDS, "source_mask": MASK}
    pruned = greedy_decode(heads.prune(made, off), IDS[:, :1], **arguments)
    assert torch.equal(
        pruned, greedy_decode(heads.prune(made, off), IDS[:, :1], **arguments, use_cache=False)
    )
    with heads.ablate(made, off):
        assert torch.equal(pruned, greedy_decode(made, IDS[:, :1], **arguments))
    assert not torch.equal(pruned, greedy_decode(made, IDS[:, :1], **arguments))


@pytest.mark.parametrize("projection", ["input_projection", "output_projection"])
def test_a_projection_that_is_computed_is_refused(projection):
    made = model("encoder only", torch.float32)
    nn.utils.parametrizations.weight_norm(getattr(made.encoder.layers[0].attention, projection))
    with pytest.raises(ValueError, match=r"\bparameters to prune.*remove the parametrization"):
        heads.prune(made, [Head("encoder", 0, 1)])


def grouped() -> nn.Module:
    """Two heads ask the same keys."""
    torch.manual_seed(0)
    made = EncoderOnly(TokenEmbedding(VOCAB, 12, LearnedPositions(13, 12)), Encoder(1, 12, 6))
    made.encoder.layers[0].attention = MultiHeadAttention(12, 6, num_kv_heads=3)
    return spread(made)


@pytest.mark.parametrize(("off", "left"), [((2, 3), 2), ((0, 3, 5), 3), ((1, 2, 3, 5), 2), (range(6), 0)])
def test_keys_and_values_go_with_the_last_head_that_asks_them(off, left):
    made, off = grouped(), [Head("encoder", 0, head) for head in off]
    pruned = heads.prune(made, off)
    assert pruned.encoder.layers[0].attention.sizes == [12 - 2 * len(off), 2 * left, 2 * left]
    with heads.ablate(made, off):
        assert_close(called(pruned), called(made), rtol=0, atol=1e-12)


def test_groups_must_stay_alike():
    with pytest.raises(ValueError, match=r"\bheads must .* of 2, got \[1, 2, 3, 4, 5\] left"):
        heads.prune(grouped(), [Head("encoder", 0, 0)])
