from __future__ import annotations

import json

import pytest
import torch
from torch.testing import assert_close

from polyhead import DecoderOnly, EncoderDecoder, EncoderOnly
from tests.polyhead.hugging_face import (
    FAMILIES,
    IDS,
    MASK,
    POSITIONS,
    SEGMENTS,
    TARGET,
    TARGET_MASK,
    VOCAB,
    stored,
    transformers,
)

EXACT = {"rtol": 1e-10, "atol": 1e-10}
TOLERANCE = {torch.float32: {"rtol": 1e-5, "atol": 1e-5}, torch.float64: EXACT}

each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


def loaded(family, model):
    return family.load(model.state_dict(), model.config)


def assert_same_model(family, theirs, ours=None, **tolerance):
    """The same outputs on a padded batch, where no padding is."""
    expected = family.output(family.theirs(theirs))
    assert_close(family.ours(ours or loaded(family, theirs)), expected, **tolerance or EXACT)


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


def test_gpt2_without_n_inner_has_four_times_its_size():
    assert_same_model(FAMILIES["gpt2"], FAMILIES["gpt2"].make(n_inner=None))


@each_family
def test_every_row_of_the_table_of_positions_serves_and_there_is_no_other(family):
    model = family.make()
    ours, ids = loaded(family, model), torch.randint(3, VOCAB, (1, POSITIONS + 1))
    whole = [ids[:, :-1]] * (2 if family.load.__name__ == "load_bart" else 1)
    assert_close(
        ours(*whole), model(*whole)[0] if len(whole) == 1 else model(*whole[:1], None, *whole[1:])[0]
    )
    with pytest.raises(
        ValueError, match=f"positions must be below max_length = {POSITIONS}, got {POSITIONS}"
    ):
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


def assert_same_weights(ours, theirs, queries):
    assert len(ours) == len(theirs)
    for mine, their in zip(ours, theirs, strict=True):
        assert_close(mine.transpose(1, 2)[queries], their.transpose(1, 2)[queries], **EXACT)


def test_bert_attends_as_in_transformers():
    family = FAMILIES["bert"]
    model = family.make()
    weights = loaded(family, model).attention_weights(IDS, MASK, SEGMENTS)
    assert_same_weights(weights, family.theirs(model).attentions, MASK)


def test_gpt2_attends_as_in_transformers():
    family = FAMILIES["gpt2"]
    model = family.make()
    assert_same_weights(
        loaded(family, model).attention_weights(IDS, MASK), family.theirs(model).attentions, MASK
    )


def test_bart_attends_as_in_transformers_in_all_three_places():
    family = FAMILIES["bart"]
    model = family.make()
    ours, theirs = (
        loaded(family, model).attention_weights(IDS, TARGET, MASK, TARGET_MASK),
        family.theirs(model),
    )
    assert_same_weights(ours.encoder, theirs.encoder_attentions, MASK)
    assert_same_weights(ours.decoder, theirs.decoder_attentions, TARGET_MASK)
    assert_same_weights(ours.cross, theirs.cross_attentions, TARGET_MASK)


@pytest.mark.parametrize(
    ("kind", "path", "of_theirs"),
    [
        ("bert", "encoder.layers.1.attention", "encoder.layer.1.attention.self.{}.bias"),
        ("bart", "encoder.layers.1.attention", "encoder.layers.1.self_attn.{}_proj.bias"),
        ("bart", "decoder.layers.2.self_attention", "decoder.layers.2.self_attn.{}_proj.bias"),
        ("bart", "decoder.layers.2.cross_attention", "decoder.layers.2.encoder_attn.{}_proj.bias"),
    ],
)
def test_the_keys_bias_is_kept_though_no_softmax_shows_it(kind, path, of_theirs):
    state, config = stored(kind)
    names = ("query", "key", "value") if kind == "bert" else "qkv"
    expected = torch.cat([state[of_theirs.format(name)] for name in names])
    ours = FAMILIES[kind].load(state, config)
    assert_close(ours.get_submodule(path).input_projection.bias.data, expected, rtol=0, atol=0)


def test_gpt2_keeps_its_keys_bias_too():
    state, config = stored("gpt2")
    ours = FAMILIES["gpt2"].load(state, config)
    for number, layer in enumerate(ours.decoder.layers):
        expected = state[f"h.{number}.attn.c_attn.bias"]
        assert_close(layer.self_attention.input_projection.bias.data, expected, rtol=0, atol=0)


# ---- what may be given


@pytest.mark.parametrize(
    ("family", "task"),
    [(family, task) for family in FAMILIES.values() for task in family.tasks],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_a_model_for_a_task_gives_its_inner_model(family, task):
    model = family.make(model=task)
    assert any(not key.startswith(family.prefix) for key in model.state_dict())
    assert_same_model(family, model.base_model, loaded(family, model))


def test_gpt2_without_the_output_is_the_same_model():
    family = FAMILIES["gpt2"]
    model = family.make()
    assert not any(key.startswith("transformer.") for key in model.transformer.state_dict())
    assert_same_model(family, model, family.load(model.transformer.state_dict(), model.config))


@each_family
def test_with_and_without_prefix_as_a_config_or_read_from_its_file(family):
    model = family.make()
    inner = dict(model.base_model.state_dict())
    prefixed = {family.prefix + key: value for key, value in inner.items()}
    expected = family.ours(loaded(family, model))
    for state in (inner, prefixed):
        for config in (model.config, model.config.to_dict(), json.loads(model.config.to_json_string())):
            assert_close(family.ours(family.load(state, config)), expected, rtol=0, atol=0)


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (
            "bert",
            ["model_type", "layer_norm_eps", "hidden_dropout_prob", "is_decoder", "add_cross_attention"],
        ),
        ("gpt2", ["n_inner", "layer_norm_epsilon", "resid_pdrop", "embd_pdrop", "tie_word_embeddings"]),
        ("bart", ["dropout", "scale_embedding"]),
    ],
)
def test_what_a_config_leaves_out_is_what_transformers_takes(kind, names):
    family = FAMILIES[kind]
    model = family.make(**{"n_inner": None} if kind == "gpt2" else {})
    with torch.no_grad():
        for parameter in model.parameters():
            parameter *= 1e-2
    short = {name: value for name, value in model.config.to_dict().items() if name not in names}
    ours = family.load(model.state_dict(), short)
    assert_same_model(family, model, ours)
    assert {module.p for module in ours.modules() if isinstance(module, torch.nn.Dropout)} == {0.1}


def test_what_old_files_store_beside_the_weights_is_left_out():
    for kind, buffers in {
        "bert": ["embeddings.position_ids"],
        "gpt2": ["h.0.attn.bias", "h.1.attn.bias", "h.0.attn.masked_bias"],
        "bart": ["final_logits_bias"],
    }.items():
        family, (state, config) = FAMILIES[kind], stored(kind)
        more = family.load(state | {name: torch.ones(2, dtype=torch.int64) for name in buffers}, config)
        assert_close(family.ours(more), family.ours(family.load(state, config)), rtol=0, atol=0)


def test_the_dropout_is_the_configs():
    def rates(kind, **settings):
        state, config = stored(kind)
        model = FAMILIES[kind].load(state, config | settings)
        modules = model.named_modules()
        return {
            ("embedding" in name, module.p)
            for name, module in modules
            if isinstance(module, torch.nn.Dropout)
        }

    assert rates("bert", hidden_dropout_prob=0.37) == {(True, 0.37), (False, 0.37)}
    assert rates("gpt2", embd_pdrop=0.37, resid_pdrop=0.19) == {(True, 0.37), (False, 0.19)}
    assert rates("bart", dropout=0.0) == {(True, 0.0), (False, 0.0)}


# ---- what comes out


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64], ids=str)
@each_family
def test_the_dtype_is_kept_and_the_model_is_ready_to_be_used(family, dtype):
    model = loaded(family, family.make(dtype))
    assert {parameter.dtype for parameter in model.parameters()} == {dtype}
    assert not any(module.training for module in model.modules())
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert family.ours(model).dtype == dtype


@each_family
def test_of_several_dtypes_the_widest_is_taken_and_nothing_is_rounded(family):
    model = family.make(torch.float32)
    halves = {
        key: value.bfloat16() if value.ndim == 1 else value.double()
        for key, value in model.state_dict().items()
    }
    model.double().load_state_dict(halves)
    ours = family.load(halves, model.config)
    assert {parameter.dtype for parameter in ours.parameters()} == {torch.float64}
    assert_same_model(family, model, ours)


@each_family
def test_the_loaded_model_is_a_copy(family):
    model = family.make()
    ours, before = loaded(family, model), family.output(family.theirs(model)).detach()
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.zero_()
    assert_close(family.output(family.theirs(model)), before, rtol=0, atol=0)


def test_tables_that_transformers_shares_are_shared():
    models = [family.load(*stored(kind)) for kind, family in FAMILIES.items()]
    assert [type(model) for model in models] == [EncoderOnly, DecoderOnly, EncoderDecoder]
    _, gpt2, bart = models
    assert gpt2.output.weight is gpt2.embedding.tokens.weight
    assert bart.target_embedding.tokens is bart.source_embedding.tokens
    assert bart.target_embedding.positions is not bart.source_embedding.positions


@each_family
def test_no_parameter_too_many(family):
    model = family.make(model=transformers.BertModel if family.prefix == "bert." else None)
    without = sum(p.numel() for name, p in model.named_parameters() if not name.startswith("pooler."))
    tables = 2 * 2 * 35 if family.prefix == "model." else 0  # two tables' rows for no position
    assert sum(p.numel() for p in loaded(family, model).parameters()) == without - tables
