"""Weights, gates, dropout of layers, and every place that they go."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import (
    Decoder,
    DecoderLayer,
    Encoder,
    EncoderLayer,
    FeedForward,
    MultiHeadAttention,
    Residual,
)
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
    asked,
    both_norms,
    make,
    tokens,
)
from tests.polyhead.torch_twins import twin_of

# ---- weights


@pytest.mark.parametrize("kind", [EncoderLayer, Encoder])
@both_norms
def test_encoder_gives_the_weights_of_torchs(kind, norm_first):
    module, x = make(kind, norm_first=norm_first), tokens()
    output, weights = module(x, mask=TOKENS[:, None], need_weights=True)
    assert_close(output, module(x, mask=TOKENS[:, None])[0], **EXACT)
    layers = module.layers if kind is Encoder else [module]
    weights = weights if kind is Encoder else (weights,)
    assert len(weights) == len(layers)
    for layer, found in zip(layers, weights, strict=True):
        entering = layer.attention_residual.norm(x) if norm_first else x
        options = {"need_weights": True, "average_attn_weights": False, "key_padding_mask": ~TOKENS}
        expected = twin_of(layer).self_attn(*[entering] * 3, **options)[1]
        assert found.shape == (BATCH, HEADS, LENGTH, LENGTH)
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
    arguments = asked(module, tokens())
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


def test_gates_of_one_layer():
    encoder, decoder, x, memory = make(EncoderLayer), make(DecoderLayer), tokens(), tokens(MEMORY)
    gates = torch.tensor([0.0, 1.0]).double()
    for name, module, arguments, attention in (
        ("head_gates", encoder, (x,), "attention"),
        ("head_gates", decoder, (x, memory), "self_attention"),
        ("cross_head_gates", decoder, (x, memory), "cross_attention"),
    ):
        pruned = copy.deepcopy(module)
        without_head(getattr(pruned, attention), 0)
        assert_close(module(*arguments, **{name: gates})[0], pruned(*arguments)[0])


def test_gates_get_gradients():
    encoder, gates = make(Encoder), torch.ones(LAYERS, HEADS).double().requires_grad_()
    encoder(tokens(), head_gates=gates)[0].sin().sum().backward()
    assert gates.grad.all()


# ---- dropout


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer, Encoder, Decoder])
def test_dropout_in_training_only(kind):
    module = make(kind, dropout=0.5)
    arguments = asked(module, tokens())
    one, other = module(*arguments)[0], module(*arguments)[0]
    assert not torch.isclose(one, other).all()
    plain = make(kind)
    plain.load_state_dict(module.state_dict())
    assert_close(module.eval()(*arguments), plain(*arguments), rtol=0, atol=0)


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


@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_last_norm_with_pre_norm_only(kind):
    assert make(kind).norm is None
    assert make(kind, norm_first=True, layer_norm_eps=0.3).norm.eps == 0.3
    module = make(kind, norm_first=True)
    output, _ = module(*asked(module, tokens()))
    unscaled = (output - module.norm.bias) / module.norm.weight
    assert_close(unscaled.mean(dim=-1), torch.zeros(BATCH, LENGTH).double(), rtol=0, atol=1e-6)
    assert_close(unscaled.var(dim=-1, correction=0), torch.ones(BATCH, LENGTH).double(), rtol=0, atol=1e-3)


@both_norms
@pytest.mark.parametrize("kind", [Encoder, Decoder])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_in_other_dtypes_and_under_autocast(dtype, kind, norm_first):
    module = make(kind, norm_first=norm_first)
    arguments = asked(module, tokens())
    expected, expected_weights = module(*arguments, need_weights=True)
    narrow = copy.deepcopy(module).to(dtype)
    output, weights = narrow(*(argument.to(dtype) for argument in arguments), need_weights=True)
    first = weights[0] if kind is Encoder else weights[0].self_attention
    wide = expected_weights[0] if kind is Encoder else expected_weights[0].self_attention
    assert (output.dtype, first.dtype) == (dtype, dtype)
    tolerance = 0.2 if dtype == torch.bfloat16 else 1e-4
    assert_close(output.double(), expected, rtol=tolerance, atol=tolerance)
    assert_close(first.double(), wide, rtol=tolerance, atol=tolerance)
    with torch.autocast("cpu", torch.bfloat16):
        mixed, _ = module.float()(*(argument.float() for argument in arguments))
    assert_close(mixed.double(), expected, rtol=0.2, atol=0.2)


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer, Encoder, Decoder])
def test_compiles_into_one_graph(kind, in_one_graph):
    module = make(kind, norm_first=True)
    arguments = asked(module, tokens())
    gates = torch.rand(LAYERS, HEADS).double()
    options = {"mask": TOKENS[:, None], "head_gates": gates if kind in (Encoder, Decoder) else gates[0]}
    compiled = in_one_graph(module)
    assert_close(compiled(*arguments, **options), module(*arguments, **options))
