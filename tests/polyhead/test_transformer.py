from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.overrides import TorchFunctionMode
from torch.testing import assert_close

from polyhead import EncoderDecoder, SinusoidalPositions, TokenEmbedding
from tests.polyhead.torch_twins import stirred, twin_of
from tests.polyhead.whole_models import (
    BATCH,
    EMBED_DIM,
    EXACT,
    HEADS,
    LAYERS,
    MAX_LENGTH,
    SEGMENTS,
    SOURCE,
    TARGET,
    TARGET_VOCAB,
    VOCAB,
    both_norms,
    decoder_only,
    embedding,
    encoder_only,
    every_model,
    ids,
    joined,
    transformer,
)

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
    total = module.positions(total, positions)
    total = total + F.one_hot(segments, SEGMENTS).double() @ module.segments.weight
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

    x = embedded(source, other if target_vocab_size else table)
    memory = twin_of(model.encoder)(x, src_key_padding_mask=~mask)
    masks = {"tgt_mask": torch.ones(TARGET, TARGET).triu(1).bool(), "memory_key_padding_mask": ~mask}
    states = twin_of(model.decoder)(embedded(target, table), memory, **masks)
    expected = states @ table.T
    actual = model(source, target, source_mask=mask)
    assert actual.shape == (BATCH, TARGET, vocab)
    assert_close(actual, expected, **EXACT)
    actual.sin().sum().backward()
    expected.sin().sum().backward()
    assert_close(model.target_embedding.tokens.weight.grad, table.grad, **EXACT)
    if target_vocab_size:
        assert_close(model.source_embedding.tokens.weight.grad, other.grad, **EXACT)


def test_without_an_output_the_hidden_states_come():
    model, source, target = joined(), ids(), ids(TARGET)
    memory, _ = model.encoder(model.source_embedding(source))
    expected, _ = model.decoder(model.target_embedding(target), memory)
    assert_close(model(source, target), expected, rtol=0, atol=0)


# ---- who sees whom


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
    causal = torch.ones(SOURCE, SOURCE).tril().bool() & mask[:, None, None]
    for each in weights:
        assert_close(each > 0, causal.expand_as(each))
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


def test_a_replica_reads_the_table_on_its_own_device():
    class OneDevice(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            if function is F.linear:
                assert len({each.device for each in args}) == 1
            return function(*args, **(kwargs or {}))

    output = decoder_only().output
    replica = output._replicate_for_data_parallel()  # as `nn.DataParallel` makes one for each device
    states = torch.zeros(2, 3, EMBED_DIM, device="meta", dtype=output.weight.dtype)
    with OneDevice():
        replica(states)
        with pytest.raises(AssertionError):  # what is no replica is where it was put
            output(states)
