# ruff: noqa: E501  in the tables, each case is one line
"""What the loaders refuse: one case for each rule, then every key of every kind."""

from __future__ import annotations

import re

import pytest
import torch

from tests.polyhead.hugging_face import FAMILIES, stored

FIRST = {
    "bert": "encoder.layer.0.output.dense.bias",
    "gpt2": "ln_f.bias",
    "bart": "encoder.layers.0.fc1.bias",
}


def load(kind, state=None, **settings):
    """Load with changed settings, and with a state dict that `state` makes of the right one."""
    right, config = stored(kind)
    return lambda: FAMILIES[kind].load(right if state is None else state(dict(right)), config | settings)


def of_config(kind, config):
    return lambda: FAMILIES[kind].load(stored(kind)[0], config)


def changed(key, change):
    return lambda state: state | {key: change(state[key])}


VALUE = {
    "a size that is none": (load("bert", hidden_size="35"), "config.hidden_size.*'35'"),
    "a size that is not there": (load("gpt2", n_head=None), "config.n_head.*None"),
    "nothing": (load("bart", decoder_layers=0), "config.decoder_layers.*0"),
    "an empty config": (of_config("bart", {}), "config.vocab_size.*None"),
    "dropout": (load("gpt2", resid_pdrop=2), "dropout.*2"),
    "eps": (load("bert", layer_norm_eps=0), "layer_norm_eps.*0"),
    "heads that do not divide": (load("bert", num_attention_heads=4), "num_heads.*35.*4"),
    "relative positions": (load("bert", position_embedding_type="relative_key"), "config.position_embedding_type.*'relative_key'"),
    "a decoder": (load("bert", is_decoder=True), "config.is_decoder.*True"),
    "cross-attention": (load("bert", add_cross_attention=True), "config.add_cross_attention.*True"),
    "cross-attention of gpt2": (load("gpt2", add_cross_attention=True), "config.add_cross_attention.*True"),
    "scores not scaled": (load("gpt2", scale_attn_weights=False), "config.scale_attn_weights.*False"),
    "scores scaled by layer": (load("gpt2", scale_attn_by_inverse_layer_idx=True), "config.scale_attn_by_inverse_layer_idx.*True"),
    "an output of its own": (load("gpt2", tie_word_embeddings=False), "config.tie_word_embeddings.*False"),
    **{f"{kind} of another kind": (load(kind, model_type="t5"), f"config.model_type.*'{kind}'.*'t5'") for kind in FAMILIES},
    **{f"activation {found!r}": (load("gpt2", activation_function=found), f"config.activation_function.*{re.escape(repr(found))}") for found in ("tanh", None, ["gelu"])},
    **{f"{kind}, whole numbers": (load(kind, changed(key, torch.Tensor.char)), f"{key}.*int8") for kind, key in FIRST.items()},
    "8-bit floats": (load("bert", changed(FIRST["bert"], lambda x: x.to(torch.float8_e4m3fn))), f"{FIRST['bert']}.*float8"),
    "no numbers": (load("bert", changed(FIRST["bert"], lambda x: x.to("meta"))), f"{FIRST['bert']}.*meta"),
    "sparse": (load("bert", changed(FIRST["bert"], torch.Tensor.to_sparse)), f"{FIRST['bert']}.*sparse"),
    "another output": (load("gpt2", lambda state: state | {"lm_head.weight": state["wte.weight"] + 1}), "lm_head.weight.*embedding"),
    "a smaller output": (load("gpt2", lambda state: state | {"lm_head.weight": state["wte.weight"][1:]}), r"lm_head.weight.*\(97, 35\).*\(96, 35\)"),
    **{f"another table for the {side}": (load("bart", lambda state, side=side: state | {f"{side}.embed_tokens.weight": state["shared.weight"] * 2}), f"{side}.embed_tokens.weight.*embedding") for side in ("encoder", "decoder")},
    "cross-attention's weights": (load("bert", lambda state: state | {"encoder.layer.0.crossattention.self.query.weight": torch.ones(35, 35)}), "crossattention.self.query.weight is unknown"),
    "a head": (load("gpt2", lambda state: state | {"score.weight": torch.ones(2, 35)}), "score.weight is unknown"),
    "a layer too many": (load("bert", num_hidden_layers=1), "encoder.layer.1.output.dense.weight is unknown"),
    "a decoder layer too many": (load("bart", decoder_layers=2), "decoder.layers.2.encoder_attn.k_proj.bias is unknown"),
    "a layer too few": (load("bert", num_hidden_layers=3), r"encoder.layer.2.output.dense.weight is missing.*\(35, 41\)"),
    "another vocabulary": (load("bert", vocab_size=89), r"word_embeddings.weight.*\(89, 35\).*\(97, 35\)"),
    "fewer segments": (load("bert", type_vocab_size=2), r"token_type_embeddings.weight.*\(2, 35\).*\(3, 35\)"),
    "fewer positions": (load("gpt2", n_positions=19), r"wpe.weight.*\(19, 35\).*\(23, 35\)"),
    "no n_inner": (load("gpt2", n_inner=None), r"h.0.mlp.c_fc.weight.*\(35, 140\).*\(35, 41\)"),
    "two rows stand for none": (load("bart", max_position_embeddings=19), r"decoder.embed_positions.weight.*\(21, 35\).*\(25, 35\)"),
}  # fmt: skip
TYPE = {
    "a class": (of_config("bert", FAMILIES["bert"].config), "config.*class BertConfig"),
    "a path": (of_config("bert", "config.json"), "config.*'config.json'"),
    "a module": (lambda: FAMILIES["gpt2"].load(torch.nn.Linear(1, 1), stored("gpt2")[1]), "state_dict.*Linear"),
    "a number as key": (load("bert", lambda state: {7: torch.ones(2)}), "state_dict.*int 7"),
    "a list for a tensor": (load("gpt2", lambda state: {"wte.weight": [1.0]}), "state_dict.*'wte.weight': list"),
}  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "message"), VALUE.values(), ids=VALUE.keys())
def test_refused_values(call, message):
    with pytest.raises(ValueError, match=rf"\b({message})"):
        call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "message"), TYPE.values(), ids=TYPE.keys())
def test_refused_types(call, message):
    with pytest.raises(TypeError, match=rf"\b({message})"):
        call()


def needed(kind):
    """Every key that the loader reads, and its shape; not the copies of the shared table."""
    return {
        key: tuple(value.shape)
        for key, value in stored(kind)[0].items()
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
def test_all_missing_keys_are_named_together(kind):
    _, problems = refusal(kind, {}, False)
    expected = (f"{key} is missing, expected shape {size}" for key, size in needed(kind).items())
    assert problems == sorted(expected)


@with_and_without
@each_kind
def test_all_wrong_shapes_are_named_with_the_right_ones(kind, prefixed):
    wrong = {key: torch.ones(3, *size) for key, size in needed(kind).items()}
    prefix, problems = refusal(kind, wrong, prefixed)
    expected = (f"{key} must have shape {size}, got {(3, *size)}" for key, size in needed(kind).items())
    assert problems == sorted(prefix + each for each in expected)


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
    prefixed = {"transformer." + key: value for key, value in state.items()}
    with pytest.raises(ValueError, match=r"; lm_head.weight must have shape \(97, 35\), got \(2,\)$"):
        FAMILIES["gpt2"].load(prefixed | {"lm_head.weight": torch.ones(2)}, config)
