# ruff: noqa: E501  in the tables, each case is one line
from __future__ import annotations

import re

import pytest
import torch

from tests.polyhead.bad_input import assert_named, bad
from tests.polyhead.hugging_face import FAMILIES, stored

FIRST = {
    "bert": "encoder.layer.0.output.dense.bias",
    "gpt2": "ln_f.bias",
    "bart": "encoder.layers.0.fc1.bias",
}


def load(kind, state=None, **settings):
    """Load with changed settings, and with a state dict that `state` makes of the right one."""

    def call():
        right, config = stored(kind)
        return FAMILIES[kind].load(right if state is None else state(dict(right)), config | settings)

    return call


def given(kind, state_dict, config=None):
    return lambda: FAMILIES[kind].load(state_dict, stored(kind)[1] if config is None else config)


def of_config(kind, config):
    return lambda: FAMILIES[kind].load(stored(kind)[0], config)


def number(kind, name):
    """What a size must be."""
    return [
        bad(f"{kind}, {name} missing", load(kind, **{name: None}), TypeError, f"config.{name} must be an int", "NoneType"),
        bad(f"{kind}, {name} string", load(kind, **{name: "5"}), TypeError, f"config.{name} must be an int", "str '5'"),
        bad(f"{kind}, {name} float", load(kind, **{name: 5.0}), TypeError, f"config.{name} must be an int", "float 5.0"),
        bad(f"{kind}, {name} 0", load(kind, **{name: 0}), ValueError, f"config.{name} must be at least 1", "0"),
    ]  # fmt: skip


SIZES = {
    "bert": ["vocab_size", "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "max_position_embeddings", "type_vocab_size"],
    "gpt2": ["vocab_size", "n_embd", "n_layer", "n_head", "n_positions"],
    "bart": ["vocab_size", "d_model", "encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads", "encoder_ffn_dim", "decoder_ffn_dim", "max_position_embeddings"],
}  # fmt: skip
NUMBERS = [
    ("bert", "layer_norm_eps"), ("bert", "hidden_dropout_prob"),
    ("gpt2", "layer_norm_epsilon"), ("gpt2", "resid_pdrop"), ("gpt2", "embd_pdrop"),
    ("bart", "dropout"),
]  # fmt: skip
BAD = [
    *(case for kind, names in SIZES.items() for name in names for case in number(kind, name)),
    *(bad(f"{kind}, {name} string", load(kind, **{name: "0.1"}), TypeError, f"config.{name} must be a number of at least 0", "str '0.1'") for kind, name in NUMBERS),
    *(bad(f"{kind}, {name} negative", load(kind, **{name: -0.1}), ValueError, f"config.{name} must be a finite number of at least 0", "-0.1") for kind, name in NUMBERS),
    *(bad(f"{kind}, {name} NaN", load(kind, **{name: float("nan")}), ValueError, f"config.{name} must be a finite number of at least 0", "nan") for kind, name in NUMBERS),
    bad("bert, eps 0", load("bert", layer_norm_eps=0), ValueError, "layer_norm_eps must be a finite number above 0", "0"),
    bad("gpt2, dropout above 1", load("gpt2", resid_pdrop=2), ValueError, "dropout must lie between 0 and 1", "2"),
    bad("bert, heads that do not divide", load("bert", num_attention_heads=4), ValueError, "num_heads must divide embed_dim = 35", "4"),
    # what the loaders cannot do
    bad("bert, relative positions", load("bert", position_embedding_type="relative_key"), ValueError, "config.position_embedding_type must be 'absolute'", "'relative_key'"),
    bad("bert, decoder", load("bert", is_decoder=True), ValueError, "config.is_decoder must be False", "True"),
    bad("bert, cross-attention", load("bert", add_cross_attention=True), ValueError, "config.add_cross_attention must be False", "True"),
    bad("gpt2, cross-attention", load("gpt2", add_cross_attention=True), ValueError, "config.add_cross_attention must be False", "True"),
    bad("gpt2, scores not scaled", load("gpt2", scale_attn_weights=False), ValueError, "config.scale_attn_weights must be True", "False"),
    bad("gpt2, scores scaled by layer", load("gpt2", scale_attn_by_inverse_layer_idx=True), ValueError, "config.scale_attn_by_inverse_layer_idx must be False", "True"),
    bad("gpt2, output of its own", load("gpt2", tie_word_embeddings=False), ValueError, "config.tie_word_embeddings must be True", "False"),
    *(bad(f"{kind}, of another kind", load(kind, model_type="t5"), ValueError, f"config.model_type must be '{kind}'", "'t5'") for kind in FAMILIES),
    bad("bert with a config of gpt2", lambda: FAMILIES["bert"].load(stored("bert")[0], stored("gpt2")[1]), ValueError, "config.model_type must be 'bert'", "'gpt2'"),
    *(bad(f"{kind}, activation {found!r}", load(kind, **{family.activation: found}), ValueError, f"config.{family.activation} must be one of gelu, gelu_new, gelu_pytorch_tanh, relu, silu, swish", repr(found)) for kind, family in FAMILIES.items() for found in ("tanh", "GELU", "quick_gelu", None, ["gelu"], 1)),
    # no configuration, no state dict
    *(bad(f"{kind}, config a class", of_config(kind, family.config), TypeError, "config must be a mapping or a transformers config", "type") for kind, family in FAMILIES.items()),
    bad("config a path", of_config("bert", "config.json"), TypeError, "config must be a mapping or a transformers config", "str"),
    bad("config None", of_config("gpt2", None), TypeError, "config must be a mapping or a transformers config", "NoneType"),
    bad("config empty", of_config("bart", {}), TypeError, "config.d_model must be an int", "NoneType"),
    bad("state_dict a list", given("bert", [1]), TypeError, "state_dict must be a mapping", "list"),
    bad("state_dict a module", given("gpt2", torch.nn.Linear(1, 1)), TypeError, "state_dict must be a mapping", "Linear"),
    bad("state_dict None", given("bart", None), TypeError, "state_dict must be a mapping", "NoneType"),
    bad("state_dict a path", given("bert", "model.safetensors"), TypeError, "state_dict must be a mapping", "str"),
    bad("state_dict with a number as key", given("bert", {7: torch.ones(2)}), TypeError, "state_dict must have names as keys", "int 7"),
    bad("state_dict with a list", given("gpt2", {"wte.weight": [1.0]}), TypeError, "state_dict['wte.weight'] must be a torch.Tensor", "list"),
    # tensors that do not fit
    *(bad(f"{kind}, whole numbers", load(kind, lambda state, key=key: state | {key: state[key].to(torch.int8)}), ValueError, f"{key} must have a floating dtype", "torch.int8") for kind, key in FIRST.items()),
    *(bad(f"{kind}, 8-bit floats", load(kind, lambda state, key=key: state | {key: state[key].to(torch.float8_e4m3fn)}), ValueError, f"{key} must have a floating dtype", "torch.float8_e4m3fn") for kind, key in FIRST.items()),
    *(bad(f"{kind}, no numbers", load(kind, lambda state, key=key: state | {key: state[key].to("meta")}), ValueError, f"{key} must be dense and hold numbers", "meta") for kind, key in FIRST.items()),
    *(bad(f"{kind}, sparse", load(kind, lambda state, key=key: state | {key: state[key].to_sparse()}), ValueError, f"{key} must be dense and hold numbers", "torch.sparse_coo") for kind, key in FIRST.items()),
    bad("gpt2, another output", load("gpt2", lambda state: state | {"lm_head.weight": state["wte.weight"] + 1}), ValueError, "state_dict does not fit config: ", "lm_head.weight must equal the embedding, whose table it shares"),
    bad("gpt2, a smaller output", load("gpt2", lambda state: state | {"lm_head.weight": state["wte.weight"][1:]}), ValueError, "lm_head.weight must have shape (97, 35)", "(96, 35)"),
    *(bad(f"bart, another table for the {side}", load("bart", lambda state, side=side: state | {f"{side}.embed_tokens.weight": state["shared.weight"] * 2}), ValueError, "state_dict does not fit config: ", f"{side}.embed_tokens.weight must equal the embedding") for side in ("encoder", "decoder")),
    bad("bert's weights for gpt2", given("gpt2", {"embeddings.word_embeddings.weight": torch.ones(97, 35)}), ValueError, "embeddings.word_embeddings.weight is unknown", "wte.weight is missing, expected shape (97, 35)"),
    bad("bert, cross-attention's weights", load("bert", lambda state: state | {"encoder.layer.0.crossattention.self.query.weight": torch.ones(35, 35)}), ValueError, "state_dict does not fit config", "encoder.layer.0.crossattention.self.query.weight is unknown"),
    bad("gpt2, a head", load("gpt2", lambda state: state | {"score.weight": torch.ones(2, 35)}), ValueError, "state_dict does not fit config", "score.weight is unknown"),
    # sizes that are not those of the weights
    bad("bert, a layer too many stored", load("bert", num_hidden_layers=1), ValueError, "state_dict does not fit config", "encoder.layer.1.output.dense.weight is unknown"),
    bad("bert, a layer too few stored", load("bert", num_hidden_layers=3), ValueError, "encoder.layer.2.output.dense.weight is missing", "expected shape (35, 41)"),
    bad("bert, another vocabulary", load("bert", vocab_size=89), ValueError, "embeddings.word_embeddings.weight must have shape (89, 35)", "(97, 35)"),
    bad("bert, fewer segments", load("bert", type_vocab_size=2), ValueError, "embeddings.token_type_embeddings.weight must have shape (2, 35)", "(3, 35)"),
    bad("gpt2, fewer positions", load("gpt2", n_positions=19), ValueError, "wpe.weight must have shape (19, 35)", "(23, 35)"),
    bad("gpt2, no n_inner", load("gpt2", n_inner=None), ValueError, "h.0.mlp.c_fc.weight must have shape (35, 140)", "(35, 41)"),
    bad("bart, fewer positions: two rows stand for none", load("bart", max_position_embeddings=19), ValueError, "decoder.embed_positions.weight must have shape (21, 35)", "(25, 35)"),
    bad("bart, a decoder layer too many stored", load("bart", decoder_layers=2), ValueError, "state_dict does not fit config", "decoder.layers.2.encoder_attn.k_proj.bias is unknown"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)


def needed(kind):
    """Every key that the loader reads, and its shape; not the copies of the shared table."""
    tensors = {key: tuple(value.shape) for key, value in stored(kind)[0].items()}
    return {
        key: size
        for key, size in tensors.items()
        if not key.startswith("pooler") and "embed_tokens" not in key
    }


each_kind = pytest.mark.parametrize("kind", FAMILIES)
with_and_without = pytest.mark.parametrize("prefixed", [False, True], ids=["no prefix", "prefix"])


def refusal(kind, state, prefixed):
    """The prefix, and what is said of a state dict."""
    prefix = FAMILIES[kind].prefix if prefixed else ""
    with pytest.raises(ValueError, match=r"^state_dict does not fit config: ") as caught:
        FAMILIES[kind].load({prefix + key: value for key, value in state.items()}, stored(kind)[1])
    return prefix, str(caught.value).removeprefix("state_dict does not fit config: ").split("; ")


@each_kind
def test_a_missing_key_is_named_whichever_it_is(kind):
    state = stored(kind)[0]
    for key, size in needed(kind).items():
        short = {name: value for name, value in state.items() if name != key}
        if key == "shared.weight":
            short = {name: value for name, value in short.items() if "embed_tokens" not in name}
        prefix, problems = refusal(kind, short, True)
        assert problems == [f"{prefix}{key} is missing, expected shape {size}"]


@each_kind
def test_all_missing_keys_are_named_together(kind):
    _, problems = refusal(kind, {}, False)
    assert problems == sorted(
        f"{key} is missing, expected shape {size}" for key, size in needed(kind).items()
    )


@with_and_without
@each_kind
def test_all_wrong_shapes_are_named_with_the_right_ones(kind, prefixed):
    wrong = {key: torch.ones(3, *size) for key, size in needed(kind).items()}
    prefix, problems = refusal(kind, wrong, prefixed)
    expected = (f"{key} must have shape {size}, got {(3, *size)}" for key, size in needed(kind).items())
    assert problems == sorted(prefix + each for each in expected)


@each_kind
def test_a_matrix_the_other_way_round_is_refused_where_that_shows(kind):
    state = stored(kind)[0]
    for key, size in needed(kind).items():
        if len(size) == 2 and size[0] != size[1]:
            _, problems = refusal(kind, state | {key: state[key].T}, False)
            assert f"{key} must have shape {size}, got {size[::-1]}" in problems


@with_and_without
@each_kind
def test_unknown_keys_are_all_named_as_they_are_given(kind, prefixed):
    state = stored(kind)[0]
    prefix, problems = refusal(kind, state | {"b.weight": torch.ones(2), "a": torch.ones(3)}, prefixed)
    assert problems == [f"{prefix}a is unknown", f"{prefix}b.weight is unknown"]


@each_kind
def test_a_key_without_the_others_prefix_keeps_its_own_name(kind):
    state, config = stored(kind)
    prefixed = {FAMILIES[kind].prefix + key: value for key, value in state.items()}
    with pytest.raises(ValueError, match=re.escape("fit config: a.weight is unknown") + "$"):
        FAMILIES[kind].load(prefixed | {"a.weight": torch.ones(2)}, config)


def test_an_output_that_does_not_fit_keeps_its_own_name():
    state, config = stored("gpt2")
    prefixed = {"transformer." + key: value for key, value in state.items()} | {
        "lm_head.weight": torch.ones(2)
    }
    with pytest.raises(
        ValueError, match=re.escape("; lm_head.weight must have shape (97, 35), got (2,)") + "$"
    ):
        FAMILIES["gpt2"].load(prefixed, config)
