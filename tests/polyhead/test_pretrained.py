from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from polyhead import EncoderDecoder
from tests.polyhead.hugging_face import (
    EXACT,
    FAMILIES,
    IDS,
    MASK,
    POSITIONS,
    SEGMENTS,
    TARGET,
    TARGET_MASK,
    VOCAB,
    assert_same_model,
    loaded,
    stored,
)

TOLERANCE = {torch.float32: {"rtol": 1e-5, "atol": 1e-5}, torch.float64: EXACT}
each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


# ---- the same numbers as transformers


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@each_family
def test_a_padded_batch_gives_what_transformers_gives(family, dtype):
    assert_same_model(family, family.make(dtype), **TOLERANCE[dtype])


def test_without_masks_too():
    bert, gpt2, bart = ((family, family.make()) for family in FAMILIES.values())
    assert_close(loaded(*bert)(IDS), bert[1](IDS).last_hidden_state, **EXACT)
    assert_close(loaded(*gpt2)(IDS), gpt2[1](IDS).logits, **EXACT)
    expected = bart[1](input_ids=IDS, decoder_input_ids=TARGET).last_hidden_state
    assert_close(loaded(*bart)(IDS, TARGET), expected, **EXACT)


@pytest.mark.parametrize("name", ["gelu", "gelu_new", "gelu_pytorch_tanh", "relu", "silu", "swish"])
@each_family
def test_every_activation(family, name):
    assert_same_model(family, family.make(**{family.activation: name}))


@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("bert", {}),
        ("bert", {"layer_norm_eps": 1e-5}),
        ("bert", {"layer_norm_eps": 0.3}),
        ("gpt2", {}),
        ("gpt2", {"layer_norm_epsilon": 1e-12}),
        ("gpt2", {"layer_norm_epsilon": 0.3}),
        ("bart", {}),
    ],
    ids=str,
)
def test_what_is_added_to_the_variance_shows_where_the_variance_is_tiny(kind, changes):
    family = FAMILIES[kind]
    model = family.make(**changes)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1e-4  # every norm's input has a variance of about 1e-8
    expected = family.output(family.theirs(model))
    scale = expected.abs().max()
    assert_close(family.ours(loaded(family, model)) / scale, expected / scale, **EXACT)


def test_bert_without_segments_means_segment_0():
    family = FAMILIES["bert"]
    model = family.make()
    ours = loaded(family, model)
    assert_close(ours(IDS, MASK)[MASK], model(IDS, attention_mask=MASK.long())[0][MASK], **EXACT)
    assert not torch.isclose(ours(IDS, MASK, SEGMENTS), ours(IDS, MASK))[0].all()


@pytest.mark.parametrize("kind", ["bert", "gpt2"])
def test_padding_on_the_left_counts_no_position(kind):
    """transformers counts positions from the row's beginning, padding included, unless told otherwise."""
    family = FAMILIES[kind]
    model, left = family.make(), MASK.flip(1)
    told = model(IDS, attention_mask=left.long(), position_ids=(left.cumsum(1) - 1).clamp(min=0))
    assert_close(loaded(family, model)(IDS, left)[left], told[0][left], **EXACT)
    untold = model(IDS, attention_mask=left.long())
    assert not torch.isclose(untold[0][left], told[0][left])[IDS.shape[1] :].any(dim=1).all()


def test_bart_times_the_root_of_its_size():
    family = FAMILIES["bart"]
    model = family.make(scale_embedding=True)
    assert_same_model(family, model)
    unscaled = family.load(model.state_dict(), model.config.to_dict() | {"scale_embedding": False})
    assert not torch.isclose(family.ours(unscaled), family.ours(loaded(family, model))).all()


@each_family
def test_every_row_of_the_table_of_positions_serves_and_there_is_no_other(family):
    model = family.make()
    ours, ids = loaded(family, model), torch.randint(3, VOCAB, (1, POSITIONS + 1))
    whole = [ids[:, :-1]] * (2 if family.load.__name__ == "load_bart" else 1)
    assert_close(
        ours(*whole), model(*whole)[0] if len(whole) == 1 else model(*whole[:1], None, *whole[1:])[0]
    )
    with pytest.raises(ValueError, match=rf"\bpositions.*max_length = {POSITIONS}, got {POSITIONS}"):
        ours(*[ids] * len(whole))


@each_family
def test_the_gradients_are_the_same(family):
    theirs = family.make()
    ours = loaded(family, theirs)
    family.output(family.theirs(theirs)).sin().sum().backward()
    family.ours(ours).sin().sum().backward()
    embedding = ours.source_embedding if isinstance(ours, EncoderDecoder) else ours.embedding
    assert_close(embedding.tokens.weight.grad, theirs.get_input_embeddings().weight.grad, **EXACT)
    assert embedding.tokens.weight.grad.abs().max() > 0.1


# ---- the same attention


ATTENTIONS = {
    "bert": ((IDS, MASK, SEGMENTS), {"attentions": MASK}),
    "gpt2": ((IDS, MASK), {"attentions": MASK}),
    "bart": (
        (IDS, TARGET, MASK, TARGET_MASK),
        {"encoder_attentions": MASK, "decoder_attentions": TARGET_MASK, "cross_attentions": TARGET_MASK},
    ),
}


@pytest.mark.parametrize("kind", ATTENTIONS)
def test_it_attends_as_in_transformers_in_all_places(kind):
    (arguments, places), family = ATTENTIONS[kind], FAMILIES[kind]
    model = family.make()
    weights, theirs = loaded(family, model).attention_weights(*arguments), family.theirs(model)
    for ours, (name, queries) in zip(weights if kind == "bart" else [weights], places.items(), strict=True):
        for mine, their in zip(ours, theirs[name], strict=True):
            assert_close(mine.transpose(1, 2)[queries], their.transpose(1, 2)[queries], **EXACT)


@pytest.mark.parametrize(
    ("kind", "path", "of_theirs"),
    [
        ("bert", "encoder.layers.1.attention", "encoder.layer.1.attention.self.{}.bias"),
        ("gpt2", "decoder.layers.1.self_attention", "h.1.attn.{}.bias"),
        ("bart", "encoder.layers.1.attention", "encoder.layers.1.self_attn.{}_proj.bias"),
        ("bart", "decoder.layers.2.self_attention", "decoder.layers.2.self_attn.{}_proj.bias"),
        ("bart", "decoder.layers.2.cross_attention", "decoder.layers.2.encoder_attn.{}_proj.bias"),
    ],
)
def test_the_keys_bias_is_kept_though_no_softmax_shows_it(kind, path, of_theirs):
    state, config = stored(kind)
    names = {"bert": ("query", "key", "value"), "gpt2": ["c_attn"], "bart": "qkv"}[kind]
    expected = torch.cat([state[of_theirs.format(name)] for name in names])
    ours = FAMILIES[kind].load(state, config)
    assert_close(ours.get_submodule(path).input_projection.bias.data, expected, rtol=0, atol=0)
