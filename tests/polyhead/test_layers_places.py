"""Weights, gates, dropout of layers, and every place that they go."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import Decoder, DecoderLayer, Encoder, EncoderLayer, FeedForward, MultiHeadAttention, Residual
from tests.polyhead.small_layers import (
    BATCH,
    EMBED_DIM,
    EXACT,
    FFN_DIM,
    HEADS,
    LAYERS,
    LENGTH,
    MEMORY,
    MEMORY_TOKENS,
    TOKENS,
    arguments_of,
    both_norms,
    make,
    tokens,
)
from tests.polyhead.torch_twins import twin_of

# ---- weights


@both_norms
def test_encoder_gives_the_weights_of_torchs(norm_first):
    module, x = make(Encoder, norm_first=norm_first), tokens()
    output, weights = module(x, mask=TOKENS[:, None], need_weights=True)
    assert_close(output, module(x, mask=TOKENS[:, None])[0], **EXACT)
    for layer, found in zip(module.layers, weights, strict=True):
        entering = layer.attention_residual.norm(x) if norm_first else x
        options = {"need_weights": True, "average_attn_weights": False, "key_padding_mask": ~TOKENS}
        expected = twin_of(layer).self_attn(*[entering] * 3, **options)[1]
        assert_close(found, expected, **EXACT)
        x = layer(x, mask=TOKENS[:, None])[0]


@pytest.mark.parametrize("kind", [DecoderLayer, Decoder])
def test_decoder_gives_weights_of_both_attentions(kind):
    module, x, memory = make(kind), tokens(), tokens(MEMORY)
    masks = {"mask": TOKENS[:, None], "memory_mask": MEMORY_TOKENS[:, None]}
    output, weights = module(x, memory, need_weights=True, **masks)
    assert_close(output, module(x, memory, **masks)[0], **EXACT)
    weights = weights if kind is Decoder else (weights,)
    assert len(weights) == (LAYERS if kind is Decoder else 1)
    causal = torch.ones(LENGTH, LENGTH).tril().bool() & TOKENS[:, None, None]
    for of_self, cross in weights:
        assert_close(of_self > 0, causal.expand(-1, HEADS, -1, -1))
        assert_close(cross > 0, MEMORY_TOKENS[:, None, None].expand(-1, HEADS, LENGTH, -1))
        for found in (of_self, cross):
            assert_close(found.sum(dim=-1), torch.ones(BATCH, HEADS, LENGTH).double())
    alone = make(kind, cross_attention=False)
    _, weights = alone(x, need_weights=True)
    assert (weights if kind is DecoderLayer else weights[0]).cross_attention is None


# ---- gates


def without_head(attention: MultiHeadAttention, head: int) -> None:
    size = attention.head_dim
    with torch.no_grad():
        attention.output_projection.weight[:, head * size : (head + 1) * size] = 0


GATED = {
    "encoder": (Encoder, "head_gates", "attention"),
    "decoder's self": (Decoder, "head_gates", "self_attention"),
    "decoder's cross": (Decoder, "cross_head_gates", "cross_attention"),
}


@pytest.mark.parametrize(("kind", "gates", "attention"), GATED.values(), ids=GATED.keys())
def test_a_gate_of_zero_removes_that_head_of_that_layer(kind, gates, attention):
    module = make(kind)
    arguments = arguments_of(module, tokens())
    output, _ = module(*arguments)
    ones = torch.ones(LAYERS, HEADS).double()
    assert_close(module(*arguments, **{gates: ones})[0], output)
    for layer in range(LAYERS):
        for head in range(HEADS):
            factors = ones.clone()
            factors[layer, head] = 0
            pruned = copy.deepcopy(module)
            without_head(getattr(pruned.layers[layer], attention), head)
            expected, _ = pruned(*arguments)
            assert_close(module(*arguments, **{gates: factors})[0], expected)
            assert_close(module(*arguments, **{gates: list(factors)})[0], expected)
            assert not torch.isclose(expected, output).all()
    each = torch.randn(LAYERS, BATCH, HEADS).double()
    alone = tuple(argument[2:3] for argument in arguments)
    expected, _ = module(*alone, **{gates: each[:, 2]})
    assert_close(module(*arguments, **{gates: each})[0][2:3], expected)


# ---- dropout


def test_dropout_of_everything_leaves_the_residual_alone():
    x, memory = tokens(), tokens(MEMORY)
    for kind, arguments in ((EncoderLayer, (x,)), (DecoderLayer, (x, memory))):
        assert_close(make(kind, dropout=1.0, norm_first=True)(*arguments)[0], x, rtol=0, atol=0)
        module = make(kind, dropout=1.0)
        expected = x
        residuals = [part for part in module.children() if isinstance(part, Residual)]
        for residual in residuals:
            expected = residual.norm(expected)
        assert len(residuals) == len(arguments) + 1
        assert_close(module(*arguments)[0], expected, rtol=0, atol=0)
    network = FeedForward(EMBED_DIM, FFN_DIM, dropout=1.0).double()
    assert_close(network(x), network.contract.bias.expand_as(x), rtol=0, atol=0)


# ---- sizes, names, and every place a module goes


def count(module: nn.Module) -> int:
    return sum(parameter.numel() for parameter in module.parameters())


def test_numbers_of_parameters_are_the_papers():
    with torch.device("meta"):
        assert count(MultiHeadAttention(512, 8)) == 1_050_624
        assert count(FeedForward(512, 2048)) == 2_099_712
        assert count(EncoderLayer(512, 8, ffn_dim=2048)) == 3_152_384
        assert count(DecoderLayer(512, 8, ffn_dim=2048)) == 4_204_032
        assert count(DecoderLayer(512, 8, False, ffn_dim=2048)) == 3_152_384
        assert count(Encoder(6, 512, 8)) == 6 * 3_152_384
        assert count(Decoder(6, 512, 8)) == 6 * 4_204_032
        assert count(Encoder(6, 512, 8, norm_first=True)) == 6 * 3_152_384 + 2 * 512
        assert count(Decoder(6, 512, 8, norm_first=True)) == 6 * 4_204_032 + 2 * 512


def test_layers_start_with_different_weights():
    encoder = Encoder(2, EMBED_DIM, HEADS)
    one, other = (layer.feed_forward.expand.weight for layer in encoder.layers)
    assert not torch.isclose(one, other).any()


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer, Encoder, Decoder])
def test_compiles_into_one_graph(kind, in_one_graph):
    module = make(kind, norm_first=True)
    arguments = arguments_of(module, tokens())
    gates = torch.rand(LAYERS, HEADS).double()
    options = {"mask": TOKENS[:, None], "head_gates": gates if kind in (Encoder, Decoder) else gates[0]}
    compiled = in_one_graph(module)
    assert_close(compiled(*arguments, **options), module(*arguments, **options))
