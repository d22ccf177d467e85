"""Attention under PyTorch's transformations: compiled as one graph, mapped, and in mixed precision."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch._subclasses import FakeTensorMode
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
from tests.polyhead.whole_models import EXACT, VOCAB, decoder_only, encoder_only, ids

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


# Without a mask PyTorch's kernel is mapped row by row, and warns of it.
mapped_slowly = pytest.mark.filterwarnings("ignore:There is a performance drop")


@mapped_slowly
@pytest.mark.parametrize("layout", ["right", "left"])
@pytest.mark.parametrize("make", [encoder_only, decoder_only], ids=["encoder", "decoder"])
def test_models_can_be_mapped_over_token_ids(make, layout):
    model, tokens = make().eval(), ids()
    mask = torch.arange(tokens.shape[1]) < torch.tensor([[7], [5], [3], [1]])
    mask = mask if layout == "right" else mask.flip(1)
    mapped = torch.vmap(model)(tokens[:, None], mask[:, None]).squeeze(1)
    assert_close(mapped[mask], model(tokens, mask)[mask], **EXACT)


@mapped_slowly
def test_gradients_of_each_sequence_by_itself():
    model, tokens = decoder_only().eval(), ids()
    parameters = {name: parameter.detach() for name, parameter in model.named_parameters()}

    def loss(parameters, row):
        logits = torch.func.functional_call(model, parameters, (row[None],))[0]
        return F.cross_entropy(logits[:-1], row[1:].long())

    each = torch.vmap(torch.func.grad(loss), (None, 0))(parameters, tokens)
    for number, row in enumerate(tokens):
        model.zero_grad()
        loss(dict(model.named_parameters()), row).backward()
        for name, parameter in model.named_parameters():
            assert_close(each[name][number], parameter.grad, **EXACT)


def test_padding_masks_can_be_mapped():
    lens = torch.tensor([[2, 0], [5, 3]])
    mapped = torch.vmap(padding_mask, (0, None))(lens, KEYS)
    assert torch.equal(mapped, torch.stack([padding_mask(row, KEYS) for row in lens]))


def test_fake_tensors_pass_outside_a_compiler():
    model = decoder_only()
    with FakeTensorMode(allow_non_fake_inputs=True):
        logits = model(torch.zeros(3, 5).long(), padding_mask(torch.tensor([5, 2, 1]), 5)[:, 0])
    assert logits.shape == (3, 5, VOCAB)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("make", [encoder_only, decoder_only], ids=["encoder", "decoder"])
@pytest.mark.parametrize("padded", [False, True], ids=["no mask", "mask"])
def test_exports_with_any_batch_and_length(make, padded):
    model = make(learned=False).eval()
    sizes = {0: torch.export.Dim("batch", min=2, max=64), 1: torch.export.Dim("length", min=2, max=64)}

    def arguments(batch, length):
        tokens = ids(length, batch=batch)
        lens = torch.arange(batch)[:, None] % length + 1
        return (tokens, torch.arange(length) < lens) if padded else (tokens,)

    names = ("token_ids", "mask") if padded else ("token_ids",)
    exported = torch.export.export(
        model, arguments(3, 5), dynamic_shapes={name: sizes if name in names else None for name in names}
    ).module()
    others = arguments(5, 11)
    assert_close(exported(*others), model(*others), **EXACT)
