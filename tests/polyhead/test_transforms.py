"""Attention under PyTorch's transformations: compiled as one graph, mapped, and in mixed precision."""

from __future__ import annotations

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import (
    AnnotatedMultiHeadAttention,
    LoopedMultiHeadAttention,
    MultiHeadAttention,
    SingleHeadAttention,
    SplitMultiHeadAttention,
    TransposedMultiHeadAttention,
    attention_scores,
    causal_mask,
    masked_softmax,
    padding_mask,
    scaled_dot_product_attention,
    to_torch_mha_masks,
    transpose_output,
    transpose_qkv,
)

BATCH, QUERIES, KEYS, HEADS, EMBED_DIM = 2, 3, 5, 7, 14
Q, K, V = torch.randn(BATCH, QUERIES, 11), torch.randn(BATCH, KEYS, 11), torch.randn(BATCH, KEYS, 13)
X = torch.randn(BATCH, KEYS, EMBED_DIM)
LENS = torch.tensor([2, 0])
MASK = padding_mask(LENS, KEYS)

FUNCTIONS = {
    "attention_scores": (attention_scores, (Q, K)),
    "masked_softmax": (masked_softmax, (Q @ K.mT, MASK)),
    "masked_softmax without mask": (masked_softmax, (Q @ K.mT,)),
    "attention": (scaled_dot_product_attention, (Q, K, V)),
    "attention with a mask": (scaled_dot_product_attention, (Q, K, V, MASK)),
    "transpose_qkv": (transpose_qkv, (X, HEADS)),
    "transpose_output": (transpose_output, (torch.randn(BATCH * HEADS, KEYS, 2), HEADS)),
    "causal_mask": (causal_mask, (QUERIES, KEYS)),
    "padding_mask": (padding_mask, (LENS, KEYS)),
    "to_torch_mha_masks": (to_torch_mha_masks, (MASK, HEADS)),
}
MODULES = {
    "single head": (lambda: SingleHeadAttention(EMBED_DIM, 11), (X, X, X, MASK)),
    "looped": (lambda: LoopedMultiHeadAttention(EMBED_DIM, HEADS), (X, X, X, MASK)),
    "transposed": (lambda: TransposedMultiHeadAttention(EMBED_DIM, HEADS, 0.0), (X, X, X, LENS)),
    "annotated": (lambda: AnnotatedMultiHeadAttention(HEADS, EMBED_DIM), (X, X, X, MASK)),
    "split": (lambda: SplitMultiHeadAttention(EMBED_DIM, HEADS), (X, MASK)),
    "fused": (lambda: MultiHeadAttention(EMBED_DIM, HEADS), (X, X, X, MASK)),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("function", "arguments"), FUNCTIONS.values(), ids=FUNCTIONS.keys())
def test_functions_compile_into_one_graph(function, arguments, in_one_graph):
    assert_close(in_one_graph(function)(*arguments), function(*arguments), rtol=0, atol=0)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("make", "arguments"), MODULES.values(), ids=MODULES.keys())
def test_modules_compile_into_one_graph(make, arguments, in_one_graph):
    module = make().eval()
    assert_close(in_one_graph(module)(*arguments), module(*arguments), rtol=0, atol=0)


@pytest.mark.parametrize(
    "name", [name for name in FUNCTIONS if "transpose" in name or "attention" in name or "soft" in name]
)
def test_functions_can_be_mapped_over_another_dimension(name):
    """`vmap` over a first dimension of 3 gives what three calls give."""
    function, arguments = FUNCTIONS[name]
    tensors = [each for each in arguments if isinstance(each, torch.Tensor) and each.is_floating_point()]
    stacked = [torch.stack((torch.randn_like(each), each / 2, each)) for each in tensors]
    in_dims = tuple(0 if any(each is t for t in tensors) else None for each in arguments)
    mapped = torch.func.vmap(function, in_dims)(*stacked, *arguments[len(tensors) :])
    rows = [function(*(each[i] for each in stacked), *arguments[len(tensors) :]) for i in range(3)]
    expected = (
        tuple(map(torch.stack, zip(*rows, strict=True))) if isinstance(rows[0], tuple) else torch.stack(rows)
    )
    assert_close(mapped, expected)


def test_masks_can_be_mapped():
    masks = torch.rand(3, QUERIES, KEYS) < 0.5
    mapped, _ = torch.func.vmap(scaled_dot_product_attention, (None, None, None, 0))(Q, K, V, masks)
    for mask, output in zip(masks, mapped, strict=True):
        assert_close(output, scaled_dot_product_attention(Q, K, V, mask)[0])


@pytest.mark.parametrize(("make", "arguments"), MODULES.values(), ids=MODULES.keys())
def test_in_mixed_precision(make, arguments):
    """A linear layer under autocast gives bfloat16, for an attention whose weights are float32."""
    module, before = make().eval(), nn.Linear(EMBED_DIM, EMBED_DIM)
    rest = [each for each in arguments if each is not X]

    def call():
        x = before(X)
        return module(*[x] * (len(arguments) - len(rest)), *rest)

    expected = call()
    with torch.autocast("cpu", torch.bfloat16):
        found = call()
    first, second = (each[0] if isinstance(each, tuple) else each for each in (found, expected))
    assert first.dtype == torch.bfloat16
    assert_close(first.float(), second, rtol=0.05, atol=0.05)
