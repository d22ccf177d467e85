from __future__ import annotations

import copy
import io
import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from polyhead import (
    Decoder,
    DecoderOnly,
    Encoder,
    EncoderDecoder,
    EncoderOnly,
    LearnedPositions,
    SinusoidalPositions,
    TokenEmbedding,
    Transformer,
)
from tests.polyhead.torch_twins import stirred, twin_of

BATCH, SOURCE, TARGET, HEADS, EMBED_DIM, FFN_DIM, LAYERS = 4, 7, 5, 2, 22, 13, 3
VOCAB, TARGET_VOCAB, SEGMENTS, MAX_LENGTH = 29, 31, 3, 8
EXACT = {"rtol": 1e-10, "atol": 1e-10}
SIZES = (LAYERS, EMBED_DIM, HEADS)
both_norms = pytest.mark.parametrize("norm_first", [False, True], ids=["post-norm", "pre-norm"])


def ids(length: int = SOURCE, vocab_size: int = VOCAB, batch: int = BATCH) -> torch.Tensor:
    return torch.randint(0, vocab_size, (batch, length))


def embedding(learned: bool = True, **options) -> TokenEmbedding:
    positions = LearnedPositions(MAX_LENGTH, EMBED_DIM) if learned else SinusoidalPositions(EMBED_DIM)
    return TokenEmbedding(VOCAB, EMBED_DIM, positions, **options)


def encoder_only(dropout: float = 0.0, learned: bool = True, **options) -> EncoderOnly:
    embedded = embedding(learned, num_segments=SEGMENTS, layer_norm_eps=1e-3, dropout=dropout)
    return stirred(EncoderOnly(embedded, Encoder(*SIZES, ffn_dim=FFN_DIM, dropout=dropout, **options)))


def decoder_only(dropout: float = 0.0, learned: bool = True, **options) -> DecoderOnly:
    decoder = Decoder(*SIZES, cross_attention=False, ffn_dim=FFN_DIM, dropout=dropout, **options)
    return stirred(DecoderOnly(embedding(learned, dropout=dropout), decoder))


def transformer(dropout: float = 0.0, target_vocab_size: int | None = None, **options) -> Transformer:
    layers = {"num_encoder_layers": 2, "num_decoder_layers": LAYERS}
    sizes = (VOCAB, target_vocab_size, EMBED_DIM, HEADS)
    return stirred(Transformer(*sizes, **layers, ffn_dim=FFN_DIM, dropout=dropout, **options))


def joined() -> EncoderDecoder:
    """From parts: learned positions, and hidden states instead of logits."""
    encoder, decoder = (kind(*SIZES, ffn_dim=FFN_DIM, dropout=0.0) for kind in (Encoder, Decoder))
    return stirred(EncoderDecoder(embedding(), encoder, embedding(scale=True), decoder))


MODELS = {
    "encoder, learned": encoder_only,
    "encoder, sinusoidal": lambda **options: encoder_only(learned=False, norm_first=True, **options),
    "decoder, learned": lambda **options: decoder_only(norm_first=True, **options),
    "decoder, sinusoidal": lambda **options: decoder_only(learned=False, **options),
    "transformer": transformer,
    "transformer, pre-norm": lambda **options: transformer(norm_first=True, **options),
    "two vocabularies": lambda **options: transformer(target_vocab_size=TARGET_VOCAB, **options),
}
every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def arguments_of(model: nn.Module) -> tuple[torch.Tensor, ...]:
    return (ids(), ids(TARGET)) if isinstance(model, EncoderDecoder) else (ids(),)


# ---- token numbers to vectors


def test_embedding_by_hand():
    module = TokenEmbedding(3, 4, SinusoidalPositions(4), scale=True).double()
    with torch.no_grad():
        module.tokens.weight[:] = torch.arange(12.0).view(3, 4)
    expected = [[2 * 8.0, 2 * 9.0 + 1, 2 * 10.0, 2 * 11.0 + 1]]  # √4, and sin 0 and cos 0
    expected += [[0.8414709848, 2.0 + 0.5403023059, 4.0 + 0.0099998333, 6.0 + 0.9999500004]]
    actual = module(torch.tensor([[2, 0]]))
    assert_close(actual, torch.tensor([expected], dtype=torch.float64), rtol=0, atol=1e-9)


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("learned", [False, True])
def test_embedding_is_the_sum_of_its_parts(learned, scale):
    module = stirred(embedding(learned, scale=scale, num_segments=SEGMENTS, layer_norm_eps=0.3))
    tokens, segments = ids(), ids(vocab_size=SEGMENTS)
    positions = torch.randint(0, MAX_LENGTH, (BATCH, SOURCE))
    total = F.one_hot(tokens, VOCAB).double() @ module.tokens.weight * (math.sqrt(EMBED_DIM) if scale else 1)
    total = (
        module.positions(total, positions) + F.one_hot(segments, SEGMENTS).double() @ module.segments.weight
    )
    normed = (total - total.mean(-1, keepdim=True)) / (total.var(-1, correction=0, keepdim=True) + 0.3).sqrt()
    expected = normed * module.norm.weight + module.norm.bias
    assert_close(module(tokens, positions, segments), expected)
    first = module(tokens, positions)
    assert_close(first, module(tokens, positions, torch.zeros_like(segments)), rtol=0, atol=0)
    assert_close(module(tokens), module(tokens, torch.arange(SOURCE)), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int16, torch.int8], ids=str)
def test_numbers_of_any_integer_dtype(dtype):
    model, tokens, segments = encoder_only(), ids(), ids(vocab_size=SEGMENTS)
    expected = model(tokens, segment_ids=segments)
    assert torch.equal(model(tokens.to(dtype), segment_ids=segments.to(dtype)), expected)


def test_embedding_drops_in_training_only():
    module, tokens = embedding(dropout=1.0), ids()
    assert not module(tokens).any()
    expected = module.positions(module.tokens(tokens))
    assert_close(module.eval()(tokens), expected, rtol=0, atol=0)


# ---- the same in PyTorch's layers


@both_norms
def test_encoder_only_is_its_parts(norm_first):
    model, tokens = encoder_only(norm_first=norm_first), ids()
    mask = torch.arange(SOURCE) < torch.tensor([[7], [3], [1], [6]])
    segments = ids(vocab_size=SEGMENTS)
    embedded = model.embedding(tokens, segment_ids=segments)
    expected = twin_of(model.encoder)(embedded, src_key_padding_mask=~mask)
    assert_close(model(tokens, mask, segments)[mask], expected[mask], **EXACT)
    gates = torch.rand(LAYERS, HEADS).double()
    expected, _ = model.encoder(model.embedding(tokens), head_gates=gates)
    assert_close(model(tokens, head_gates=gates), expected, **EXACT)


@both_norms
def test_decoder_only_is_a_causal_encoder_and_its_own_table(norm_first):
    model, tokens = decoder_only(norm_first=norm_first), ids()
    states, _ = model.decoder(model.embedding(tokens))
    assert_close(model(tokens), states @ model.embedding.tokens.weight.T, **EXACT)


@both_norms
@pytest.mark.parametrize("target_vocab_size", [None, TARGET_VOCAB])
def test_transformer_is_the_papers(target_vocab_size, norm_first):
    """Written anew with torch.nn's encoder and decoder; also the gradient of the shared table."""
    model = transformer(target_vocab_size=target_vocab_size, norm_first=norm_first)
    vocab = target_vocab_size or VOCAB
    source, target = ids(), ids(TARGET, vocab)
    mask = torch.arange(SOURCE) < torch.tensor([[7], [3], [1], [6]])
    table = model.target_embedding.tokens.weight.detach().clone().requires_grad_()
    other = model.source_embedding.tokens.weight.detach().clone().requires_grad_()

    def embedded(tokens, rows):
        exponents = torch.arange(EMBED_DIM).double() // 2 * 2 / EMBED_DIM
        angles = torch.arange(tokens.shape[1]).double()[:, None] / 10_000**exponents
        waves = torch.where(torch.arange(EMBED_DIM) % 2 == 0, angles.sin(), angles.cos())
        return rows[tokens] * math.sqrt(EMBED_DIM) + waves

    memory = twin_of(model.encoder)(
        embedded(source, other if target_vocab_size else table), src_key_padding_mask=~mask
    )
    states = twin_of(model.decoder)(
        embedded(target, table),
        memory,
        tgt_mask=torch.ones(TARGET, TARGET).triu(1).bool(),
        memory_key_padding_mask=~mask,
    )
    expected = states @ table.T
    actual = model(source, target, source_mask=mask)
    assert actual.shape == (BATCH, TARGET, vocab)
    assert_close(actual, expected, **EXACT)
    actual.sin().sum().backward()
    expected.sin().sum().backward()
    assert_close(model.target_embedding.tokens.weight.grad, table.grad, **EXACT)
    if target_vocab_size:
        assert_close(model.source_embedding.tokens.weight.grad, other.grad, **EXACT)


def test_encode_then_decode_is_all_at_once():
    model, source, target = transformer(), ids(), ids(TARGET)
    masks = {"source_mask": torch.arange(SOURCE) < 4, "target_mask": torch.arange(TARGET) < 3}
    masks = {name: mask.expand(BATCH, -1) for name, mask in masks.items()}
    memory = model.encode(source, masks["source_mask"])
    assert memory.shape == (BATCH, SOURCE, EMBED_DIM)
    assert_close(model.decode(target, memory, **masks), model(source, target, **masks), rtol=0, atol=0)
    assert_close(model.decode(target, model.encode(source)), model(source, target), rtol=0, atol=0)


def test_without_an_output_the_hidden_states_come():
    model, source, target = joined(), ids(), ids(TARGET)
    memory, _ = model.encoder(model.source_embedding(source))
    expected, _ = model.decoder(model.target_embedding(target), memory)
    assert_close(model(source, target), expected, rtol=0, atol=0)


# ---- who sees whom


@pytest.mark.parametrize("training", [True, False], ids=["training", "evaluation"])
@pytest.mark.parametrize("make", [MODELS[name] for name in MODELS if "encoder, " not in name])
def test_nothing_comes_from_the_future(make, training):
    model = make(dropout=0.3).train(training)
    *source, target = arguments_of(model)
    length = target.shape[1]
    torch.manual_seed(1)
    logits = model(*source, target)
    for i in range(1, length):
        changed = target.clone()
        changed[:, i:] = (changed[:, i:] + 1) % VOCAB
        torch.manual_seed(1)
        again = model(*source, changed)
        assert_close(again[:, :i], logits[:, :i], rtol=1e-13, atol=1e-13)
        assert not torch.isclose(again[:, i:], logits[:, i:]).all(dim=-1).any()


@every_model
def test_order_matters(make):
    """Without positions, a layer that sees all earlier tokens would not know."""
    model = make()
    first, *others = arguments_of(model)
    swapped = torch.cat((first[:, 1:2], first[:, :1], first[:, 2:]), dim=1)
    first[:, 0], swapped[:, 0], first[:, 1], swapped[:, 1] = 3, 5, 5, 3
    last = -1 if isinstance(model, EncoderDecoder) else slice(2, None)
    assert not torch.isclose(model(swapped, *others)[:, last], model(first, *others)[:, last]).all()


@st.composite
def layouts(draw):
    """For each sequence: padding left, tokens, padding right, together as many."""
    lengths = draw(st.lists(st.integers(1, TARGET), min_size=2, max_size=3))
    total = max(lengths) + draw(st.integers(0, 2 * MAX_LENGTH))
    return [(left := draw(st.integers(0, total - n)), n, total - n - left) for n in lengths]


def padded(tokens: list[torch.Tensor], layout) -> tuple[torch.Tensor, torch.Tensor]:
    """The sequences with any tokens around them, and the mask that says so."""
    rows, masks = [], []
    for sequence, (left, length, right) in zip(tokens, layout, strict=True):
        rows.append(torch.cat((ids(left, batch=1)[0], sequence, ids(right, batch=1)[0])))
        masks.append(torch.cat((torch.zeros(left), torch.ones(length), torch.zeros(right))).bool())
    return torch.stack(rows), torch.stack(masks)


@every_model
@given(layouts())
@settings(max_examples=8)
def test_padding_left_or_right_changes_nothing(make, layout):
    """More of it than there are learned positions, and whatever tokens stand there."""
    model = make()
    alone = [ids(length, batch=1)[0] for _, length, _ in layout]
    tokens, mask = padded(alone, layout)
    if isinstance(model, EncoderDecoder):
        sources = [ids(3 + i, batch=1)[0] for i in range(len(layout))]
        around = [(i, 3 + i, 8 - 2 * i) for i in range(len(layout))]
        source_tokens, source_mask = padded(sources, around)
        together = model(source_tokens, tokens, source_mask, mask)
        expected = [model(s[None], t[None])[0] for s, t in zip(sources, alone, strict=True)]
    else:
        together, expected = model(tokens, mask), [model(each[None])[0] for each in alone]
    for row, seen, single in zip(together, mask, expected, strict=True):
        assert_close(row[seen], single)


def test_a_mask_of_tokens_alone_changes_nothing():
    for make in MODELS.values():
        model = make()
        arguments = arguments_of(model)
        masks = [torch.ones_like(each, dtype=torch.bool) for each in arguments]
        assert_close(model(*arguments, *masks), model(*arguments))


# ---- weights


@both_norms
def test_attention_weights_of_an_encoder(norm_first):
    model, tokens, segments = encoder_only(norm_first=norm_first), ids(), ids(vocab_size=SEGMENTS)
    mask = torch.arange(SOURCE) >= torch.tensor([[0], [3], [6], [1]])
    weights = model.attention_weights(tokens, mask, segments)
    assert [tuple(each.shape) for each in weights] == [(BATCH, HEADS, SOURCE, SOURCE)] * LAYERS
    embedded = model.embedding(tokens, (mask.cumsum(1) - 1).clamp(min=0), segments)
    _, expected = model.encoder(embedded, mask[:, None], need_weights=True)
    assert_close(weights, expected, rtol=0, atol=0)
    for each in weights:
        assert_close(each > 0, mask[:, None, None].expand_as(each))


def test_attention_weights_of_a_decoder():
    model, tokens = decoder_only(), ids()
    mask = torch.arange(SOURCE) < torch.tensor([[7], [3], [1], [6]])
    weights = model.attention_weights(tokens, mask)
    assert [tuple(each.shape) for each in weights] == [(BATCH, HEADS, SOURCE, SOURCE)] * LAYERS
    for each in weights:
        assert_close(
            each > 0, (torch.ones(SOURCE, SOURCE).tril().bool() & mask[:, None, None]).expand_as(each)
        )
        assert_close(each.sum(dim=-1), torch.ones(BATCH, HEADS, SOURCE).double())


def test_attention_weights_of_a_transformer():
    model, source, target = transformer(), ids(), ids(TARGET)
    source_mask = torch.arange(SOURCE) < torch.tensor([[7], [3], [1], [6]])
    target_mask = torch.arange(TARGET) < torch.tensor([[2], [5], [4], [1]])
    weights = model.attention_weights(source, target, source_mask, target_mask)
    assert (len(weights.encoder), len(weights.decoder), len(weights.cross)) == (2, LAYERS, LAYERS)
    causal = torch.ones(TARGET, TARGET).tril().bool()
    seen = {
        "encoder": source_mask[:, None, None].expand(-1, HEADS, SOURCE, -1),
        "decoder": (causal & target_mask[:, None, None]).expand(-1, HEADS, -1, -1),
        "cross": source_mask[:, None, None].expand(-1, HEADS, TARGET, -1),
    }
    for name, expected in seen.items():
        for each in getattr(weights, name):
            assert_close(each > 0, expected)
            assert_close(each.sum(dim=-1), torch.ones(each.shape[:-1]).double())
    memory = model.encode(source, source_mask)
    first = model.decoder.layers[0]
    x = model.target_embedding(target)
    _, alone = first(x, memory, target_mask[:, None], source_mask[:, None], need_weights=True)
    for found, expected in zip((weights.decoder[0], weights.cross[0]), alone, strict=True):
        assert_close(found.transpose(1, 2)[target_mask], expected.transpose(1, 2)[target_mask])


# ---- one table


def test_number_of_parameters_of_the_base_model():
    with torch.device("meta"):
        model = Transformer(37_000)
        assert sum(parameter.numel() for parameter in model.parameters()) == 63_082_496
        two = Transformer(37_000, 37_000)
        assert sum(parameter.numel() for parameter in two.parameters()) == 63_082_496 + 37_000 * 512
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (6, 6)
    assert (model.encoder.norm, model.decoder.norm, model.output.bias) == (None, None, None)
    assert {part.p for part in model.modules() if isinstance(part, nn.Dropout)} == {0.1}
    assert {layer.attention.dropout for layer in model.encoder.layers} == {0.1}


@pytest.mark.parametrize("copied", [False, True])
def test_tied_tables_are_one_parameter(copied):
    for make in (transformer, decoder_only):
        model = copy.deepcopy(make().float()) if copied else make()
        own = model.target_embedding if isinstance(model, EncoderDecoder) else model.embedding
        assert model.output.weight is own.tokens.weight
        names = [name for name, _ in model.named_parameters() if tuple(_.shape) == (VOCAB, EMBED_DIM)]
        assert len(names) == 1
    assert transformer().source_embedding is not transformer().target_embedding
    shared = transformer()
    assert shared.source_embedding is shared.target_embedding
    two = transformer(target_vocab_size=TARGET_VOCAB)
    assert two.source_embedding.tokens.weight.shape == (VOCAB, EMBED_DIM)
    assert two.output.weight is two.target_embedding.tokens.weight


def test_untrained_numbers_have_variance_1_and_logits_too():
    model = Transformer(1009, embed_dim=64, num_heads=2, num_encoder_layers=1, num_decoder_layers=1).eval()
    table = model.source_embedding.tokens.weight
    assert (table * 8).std().item() == pytest.approx(1, abs=0.02)
    assert model(ids(), ids(TARGET)).std().item() == pytest.approx(1, abs=0.1)


# ---- training, and every place a module goes


@every_model
def test_dropout_in_training_only(make):
    model, plain = make(dropout=0.5), make()
    plain.load_state_dict(model.state_dict())
    arguments = arguments_of(model)
    assert not torch.isclose(model(*arguments), model(*arguments)).all()
    assert_close(model.eval()(*arguments), plain(*arguments), rtol=0, atol=0)


@every_model
def test_every_parameter_learns(make):
    model = make()
    if isinstance(model, EncoderOnly):
        model(ids(MAX_LENGTH), segment_ids=ids(MAX_LENGTH, SEGMENTS)).sin().sum().backward()
    else:
        model(*(ids(MAX_LENGTH) for _ in arguments_of(model))).sin().sum().backward()
    assert all(parameter.grad is not None and parameter.grad.any() for parameter in model.parameters())


@every_model
def test_state_dict_round_trip(make):
    model, other = make(), make()
    arguments = arguments_of(model)
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True), strict=True)
    assert_close(other(*arguments), model(*arguments), rtol=0, atol=0)


@every_model
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_in_other_dtypes(make, dtype):
    model = make()
    arguments = arguments_of(model)
    expected = model(*arguments)
    actual = model.to(dtype)(*arguments)
    assert actual.dtype == dtype
    error = (actual.double() - expected).norm() / expected.norm()
    assert error < (0.05 if dtype == torch.bfloat16 else 1e-5)


def test_options_reach_every_layer():
    options = {
        "ffn_dim": 13,
        "dropout": 0.25,
        "activation": "silu",
        "norm_first": True,
        "layer_norm_eps": 0.3,
    }
    model = Transformer(VOCAB, None, 6, 3, 2, 3, **options)
    layers = [*model.encoder.layers, *model.decoder.layers]
    assert [type(layer).__name__ for layer in layers] == ["EncoderLayer"] * 2 + ["DecoderLayer"] * 3
    for layer in layers:
        assert layer.feed_forward.activation == "silu"
        assert layer.feed_forward.expand.weight.shape == (13, 6)
        assert layer.feed_forward_residual.norm_first
    assert {part.eps for part in model.modules() if isinstance(part, nn.LayerNorm)} == {0.3}
    assert {part.p for part in model.modules() if isinstance(part, nn.Dropout)} == {0.25}
    assert (model.encoder.norm is None, model.decoder.norm is None) == (False, False)
