"""What each form says of its weights, and of dropout on them."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from polyhead import (
    AnnotatedMultiHeadAttention,
    TransposedMultiHeadAttention,
    copy_weights,
    padding_mask,
    to_torch_mha_masks,
)
from tests.polyhead.forms import ANNOTATED, FUSED_WITH_WEIGHTS, LOOPED, SPLIT, TORCH, TRANSPOSED, source

BATCH, TOKENS, HEADS, HEAD_DIM = 2, 5, 3, 7
EMBED_DIM = HEADS * HEAD_DIM
LENS = torch.tensor([2, 5])


def test_all_return_or_keep_the_same_weights():
    origin = source(EMBED_DIM, HEADS)
    looped, transposed, annotated, split, fused, torchs = (
        form.like(origin, HEADS) for form in (LOOPED, TRANSPOSED, ANNOTATED, SPLIT, FUSED_WITH_WEIGHTS, TORCH)
    )
    x = torch.randn(BATCH, TOKENS, EMBED_DIM).double()
    mask = padding_mask(LENS, TOKENS)
    annotated(x, x, x, mask)
    transposed(x, x, x, LENS)
    _, expected = torchs(x, x, x, average_attn_weights=False, **to_torch_mha_masks(mask, HEADS))
    assert expected.shape == (BATCH, HEADS, TOKENS, TOKENS)
    for weights in (
        looped(x, mask=mask)[1],
        split(x, mask)[1],
        fused(x, mask=mask, need_weights=True)[1],
        annotated.attn,
        transposed.attention_weights.unflatten(0, (BATCH, HEADS)),
    ):
        assert_close(weights, expected)
    assert not annotated.attn.requires_grad
    assert not transposed.attention_weights.requires_grad


DROPPED = {
    "annotated": (lambda dropout: AnnotatedMultiHeadAttention(HEADS, EMBED_DIM, dropout), "attn"),
    "transposed": (
        lambda dropout: TransposedMultiHeadAttention(EMBED_DIM, HEADS, dropout),
        "attention_weights",
    ),
}


@pytest.mark.parametrize(("make", "kept"), DROPPED.values(), ids=DROPPED.keys())
def test_dropout_acts_in_training_only(make, kept):
    module, without = make(0.25), make(0.0)
    copy_weights(module, without)
    x = torch.randn(1, TOKENS, EMBED_DIM).expand(2000, -1, -1)
    expected = without(x, x, x)
    plain = getattr(without, kept)
    output, weights = module(x, x, x), getattr(module, kept)
    assert_close((weights > 0).float().mean().item(), 0.75, rtol=0, atol=0.01)
    assert_close(weights[weights > 0], plain[weights > 0] / 0.75)
    assert_close(output.mean(dim=0), expected[0], rtol=0, atol=0.05)
    module.eval()
    assert_close(module(x, x, x), expected, rtol=0, atol=0)
    assert_close(getattr(module, kept), plain, rtol=0, atol=0)


def test_annotated_starts_with_four_different_linears():
    """Those of the original start as copies of one another; as there, a tenth is dropped by default."""
    module = AnnotatedMultiHeadAttention(HEADS, EMBED_DIM)
    assert len({layer.weight.sum().item() for layer in module.linears}) == 4
    assert module.dropout == 0.1


@pytest.mark.parametrize("form", [LOOPED, TRANSPOSED, ANNOTATED, SPLIT, FUSED_WITH_WEIGHTS], ids=str)
def test_number_of_parameters_does_not_depend_on_the_heads(form):
    for heads in (1, HEADS, EMBED_DIM):
        module = form.make(EMBED_DIM, heads, True)
        assert sum(p.numel() for p in module.parameters()) == 4 * (EMBED_DIM**2 + EMBED_DIM)
