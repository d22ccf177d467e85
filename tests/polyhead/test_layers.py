from __future__ import annotations

import copy
import io
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
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
from tests.polyhead.torch_twins import ACTIVATIONS, gradients, stirred, twin_of

BATCH, LENGTH, MEMORY, HEADS, EMBED_DIM, FFN_DIM, LAYERS = 4, 5, 7, 2, 22, 13, 3
NAN = math.nan
EXACT = {"rtol": 1e-10, "atol": 1e-10}
OPTIONS = {
    "post-norm": {},
    "pre-norm": {"norm_first": True},
    "post-norm, gelu": {"activation": "gelu"},
    "pre-norm, gelu": {"activation": "gelu", "norm_first": True},
    "gelu_tanh": {"activation": "gelu_tanh"},
    "silu, large eps": {"activation": "silu", "layer_norm_eps": 0.3},
    "pre-norm, large eps": {"norm_first": True, "layer_norm_eps": 0.3},
}
every_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
both_norms = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])

TOKENS = torch.arange(LENGTH) < torch.tensor([[5], [3], [1], [4]])  # padding right
MEMORY_TOKENS = torch.arange(MEMORY) >= torch.tensor([[0], [3], [6], [1]])  # padding left


def tokens(length: int = LENGTH) -> torch.Tensor:
    return torch.randn(BATCH, length, EMBED_DIM).double()


def make(kind: type, dropout: float = 0.0, **options) -> nn.Module:
    """A layer or a stack of them, in double precision, with no weight at its start."""
    sizes = (LAYERS, EMBED_DIM, HEADS) if kind in (Encoder, Decoder) else (EMBED_DIM, HEADS)
    return stirred(kind(*sizes, ffn_dim=FFN_DIM, dropout=dropout, **options))


def asked(module: nn.Module, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What the module takes: with an encoder's output where it asks one."""
    crosses = isinstance(module, Decoder | DecoderLayer)
    return (x, torch.randn(BATCH, MEMORY, EMBED_DIM, dtype=x.dtype)) if crosses else (x,)


# ---- the feed-forward network


def test_feed_forward_by_hand():
    module = FeedForward(2, 3).double()
    with torch.no_grad():
        module.expand.weight[:] = torch.tensor([[1.0, 0.0], [0.0, 2.0], [-1.0, 1.0]])
        module.expand.bias[:] = torch.tensor([0.0, 1.0, 0.5])
        module.contract.weight[:] = torch.tensor([[1.0, 2.0, 3.0], [0.0, -1.0, 10.0]])
        module.contract.bias[:] = torch.tensor([0.25, 0.0])
    # hidden: 3, 2 · (-1) + 1, -3 - 1 + 0.5, of which ReLU leaves the 3 alone; then 1, 3, 1.5
    output = module(torch.tensor([[3.0, -1.0], [1.0, 1.0]]).double())
    assert_close(output, torch.tensor([[3.25, 0.0], [1.0 + 6.0 + 1.5 + 0.25, -3.0 + 5.0]]).double())


FORMULAS = {
    "relu": lambda x: max(0.0, x),
    "gelu": lambda x: x * (1 + math.erf(x / math.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    "silu": lambda x: x / (1 + math.exp(-x)),
}


@pytest.mark.parametrize("activation", FORMULAS)
def test_each_activation_is_its_formula(activation):
    module = FeedForward(1, 1, activation).double()
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            parameter.fill_(float(name.endswith("weight")))
    x = torch.linspace(-4, 4, 23).double()
    expected = torch.tensor([FORMULAS[activation](each) for each in x.tolist()], dtype=torch.float64)
    assert_close(module(x[:, None])[:, 0], expected, **EXACT)


def test_feed_forward_takes_each_vector_alone():
    module, x = stirred(FeedForward(EMBED_DIM, FFN_DIM)), tokens()
    assert_close(module(x)[2, 3], module(x[2, 3]))


def test_four_times_as_wide_unless_said():
    assert FeedForward(6).expand.out_features == 24
    assert EncoderLayer(6, 3).feed_forward.expand.out_features == 24
    assert Decoder(1, 6, 3, ffn_dim=7).layers[0].feed_forward.expand.out_features == 7
    assert repr(FeedForward(2, 3, "silu")).startswith("FeedForward(\n  activation='silu'\n")


# ---- the way around


@both_norms
def test_residual_by_hand(norm_first):
    residual = Residual(2, norm_first).double()
    with torch.no_grad():
        residual.norm.weight[:], residual.norm.bias[:] = torch.tensor([10.0, 1.0]), torch.tensor([0.5, 0.0])
    x, update = torch.tensor([1.0, 5.0]).double(), torch.tensor([4.0, -2.0]).double()

    def normed(first, second, variance):  # both as far from their mean as the other
        scale = math.sqrt(variance + 1e-5)
        return torch.tensor([10 * first / scale + 0.5, second / scale], dtype=torch.float64)

    assert_close(residual.enter(x), normed(-2.0, 2.0, 4.0) if norm_first else x)
    expected = torch.tensor([5.0, 3.0]).double() if norm_first else normed(1.0, -1.0, 1.0)
    assert_close(residual.leave(x, update), expected)
    assert f"norm_first={norm_first}" in repr(residual)


# ---- PyTorch's own layers


def assert_like_torch(ours, twin, arguments, our_options, their_options):
    """Outputs, and the gradients of inputs and parameters."""
    mine = [each.clone().requires_grad_() for each in arguments]
    theirs = [each.clone().requires_grad_() for each in arguments]
    output, none = ours(*mine, **our_options)
    expected = twin(*theirs, **their_options)
    assert none is None
    assert_close(output, expected, **EXACT)
    output.sin().sum().backward()
    expected.sin().sum().backward()
    for one, other in zip(mine, theirs, strict=True):
        assert_close(one.grad, other.grad, **EXACT)
    assert_close(gradients(ours), gradients(twin, ours), **EXACT)


@every_option
@pytest.mark.parametrize("kind", [EncoderLayer, Encoder])
@pytest.mark.parametrize("padded", [False, True])
def test_encoder_is_torchs(kind, options, padded):
    module = make(kind, **options)
    ours = {"mask": MEMORY_TOKENS[:, None]} if padded else {}
    theirs = {"src_key_padding_mask": ~MEMORY_TOKENS} if padded else {}
    assert_like_torch(module, twin_of(module), [tokens(MEMORY)], ours, theirs)


@every_option
@pytest.mark.parametrize("kind", [DecoderLayer, Decoder])
@pytest.mark.parametrize("padded", [False, True])
def test_decoder_is_torchs(kind, options, padded):
    module = make(kind, **options)
    ours = {}
    theirs = {"tgt_mask": torch.ones(LENGTH, LENGTH).triu(1).bool()}
    if padded:
        ours = {"mask": TOKENS[:, None], "memory_mask": MEMORY_TOKENS[:, None]}
        theirs |= {"tgt_key_padding_mask": ~TOKENS, "memory_key_padding_mask": ~MEMORY_TOKENS}
    assert_like_torch(module, twin_of(module), [tokens(), tokens(MEMORY)], ours, theirs)


@both_norms
@pytest.mark.parametrize("padded", [False, True])
def test_decoder_without_an_encoder_is_torchs_causal_encoder(norm_first, padded):
    module = make(Decoder, cross_attention=False, norm_first=norm_first)
    alike = make(Encoder, norm_first=norm_first)
    names = {"self_attention.": "attention.", "self_residual.": "attention_residual."}
    state = module.state_dict()
    for ours, theirs in names.items():
        state = {name.replace(f".{ours}", f".{theirs}"): value for name, value in state.items()}
    alike.load_state_dict(state)
    x = tokens()
    output, _ = module(x, mask=TOKENS[:, None] if padded else None)
    hidden = {"src_key_padding_mask": ~TOKENS} if padded else {}
    expected = twin_of(alike)(x, mask=torch.ones(LENGTH, LENGTH).triu(1).bool(), **hidden)
    assert_close(output, expected, **EXACT)


@both_norms
def test_dropout_draws_where_torchs_does(norm_first):
    """With the same random numbers, the same numbers are set to 0."""
    for kind in (EncoderLayer, DecoderLayer):
        module = make(kind, dropout=0.4, norm_first=norm_first)
        # Of one sequence: torch.nn turns a batch around, and draws in another order.
        arguments = [argument[:1] for argument in asked(module, tokens())]
        twin, options = twin_of(module), {}
        if kind is DecoderLayer:
            options = {"tgt_mask": torch.ones(LENGTH, LENGTH).triu(1).bool()}
        torch.manual_seed(3)
        output, _ = module(*arguments)
        torch.manual_seed(3)
        assert_close(output, twin(*arguments, **options), **EXACT)
        assert not torch.isclose(output, module.eval()(*arguments)[0]).all()


# ---- who sees whom


@both_norms
@given(st.permutations(range(LENGTH)))
@settings(max_examples=10)
def test_encoder_without_positions_takes_a_set(norm_first, order):
    encoder, x = make(Encoder, norm_first=norm_first), tokens()
    output, weights = encoder(x, mask=TOKENS[:, None], need_weights=True)
    moved, moved_weights = encoder(x[:, order], mask=TOKENS[:, None, order], need_weights=True)
    assert_close(moved, output[:, order])
    assert_close(moved_weights, tuple(each[:, :, order][..., order] for each in weights))


@both_norms
@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("crosses", [True, False], ids=["cross", "alone"])
@pytest.mark.parametrize("kind", [DecoderLayer, Decoder])
def test_nothing_comes_from_the_future(kind, crosses, training, norm_first):
    module = make(kind, dropout=0.3, cross_attention=crosses, norm_first=norm_first).train(training)
    x, memory = tokens(), tokens(MEMORY) if crosses else None
    for options in ({}, {"mask": TOKENS[:, None]}, {"need_weights": True}):
        torch.manual_seed(1)
        output, _ = module(x, memory, **options)
        for i in range(1, LENGTH):
            changed = x.clone()
            changed[:, i:] += torch.randn(BATCH, LENGTH - i, EMBED_DIM)
            torch.manual_seed(1)
            again, _ = module(changed, memory, **options)
            assert_close(again[:, :i], output[:, :i], rtol=1e-13, atol=1e-13)
            assert not torch.isclose(again[:, i:], output[:, i:]).all()


def test_encoder_sees_both_ways():
    encoder, x = make(Encoder), tokens()
    changed = x.clone()
    changed[:, -1] += torch.randn(BATCH, EMBED_DIM)
    assert not torch.isclose(encoder(changed)[0], encoder(x)[0]).all(dim=-1).any()


@both_norms
def test_padding_may_be_rubbish(norm_first):
    encoder, decoder = make(Encoder, norm_first=norm_first), make(Decoder, norm_first=norm_first)
    x, memory = tokens(), tokens(MEMORY)
    masks = {"mask": TOKENS[:, None], "memory_mask": MEMORY_TOKENS[:, None]}
    decoded, _ = decoder(x, memory, **masks)
    encoded, _ = encoder(memory, mask=MEMORY_TOKENS[:, None])
    x[~TOKENS] += 100
    memory[~MEMORY_TOKENS] -= 100
    assert_close(decoder(x, memory, **masks)[0][TOKENS], decoded[TOKENS])
    assert_close(encoder(memory, mask=MEMORY_TOKENS[:, None])[0][MEMORY_TOKENS], encoded[MEMORY_TOKENS])
    memory[~MEMORY_TOKENS] = NAN
    assert_close(decoder(x, memory, **masks)[0][TOKENS], decoded[TOKENS])


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
        assert count(EncoderLayer(512, 8, 2048)) == 3_152_384
        assert count(DecoderLayer(512, 8, 2048)) == 4_204_032
        assert count(DecoderLayer(512, 8, 2048, cross_attention=False)) == 3_152_384
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


@pytest.mark.parametrize("kind", [EncoderLayer, DecoderLayer, Encoder, Decoder])
def test_state_dict_round_trip(kind):
    module, other = make(kind, norm_first=True), make(kind, norm_first=True)
    arguments = asked(module, tokens())
    file = io.BytesIO()
    torch.save(module.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True), strict=True)
    assert_close(other(*arguments), module(*arguments), rtol=0, atol=0)


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


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", [Encoder, Decoder])
def test_compiles_into_one_graph(kind):
    torch.compiler.reset()
    module = make(kind, norm_first=True)
    arguments = asked(module, tokens())
    options = {"mask": TOKENS[:, None], "head_gates": torch.rand(LAYERS, HEADS).double()}
    compiled = torch.compile(module, backend="eager", fullgraph=True)
    assert_close(compiled(*arguments, **options), module(*arguments, **options))
    torch.compiler.reset()


def test_activations_are_all_tested():
    from polyhead.feed_forward import ACTIVATIONS as OURS

    assert set(OURS) == set(FORMULAS) == set(ACTIVATIONS)
