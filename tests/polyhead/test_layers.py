from __future__ import annotations

import math

import pytest
import torch
from torch.testing import assert_close

from polyhead import Decoder, DecoderLayer, Encoder, EncoderLayer, FeedForward, Residual
from polyhead.feed_forward import ACTIVATIONS as OUR_ACTIVATIONS
from tests.polyhead.small_layers import (
    BATCH,
    EMBED_DIM,
    EXACT,
    LENGTH,
    MEMORY,
    MEMORY_TOKENS,
    NAN,
    TOKENS,
    arguments_of,
    both_norms,
    every_option,
    make,
    tokens,
)
from tests.polyhead.torch_twins import ACTIVATIONS, gradients, twin_of

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


def test_activations_are_all_tested():
    assert set(OUR_ACTIVATIONS) == set(FORMULAS) == set(ACTIVATIONS)


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
        arguments = [argument[:1] for argument in arguments_of(module, tokens())]
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
