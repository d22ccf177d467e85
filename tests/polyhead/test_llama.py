# ruff: noqa: E501  in the tables, each case is one line
"""Llama and Qwen3: the same numbers as transformers, and what is not built is refused."""

from __future__ import annotations

import itertools
import re

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import RMSNorm, document_mask, greedy_decode
from polyhead.pretrained import make_llama, make_qwen3
from tests.polyhead.modern_models import IDS, LEFT, LENGTH, LLAMA3, MODERN, PLACES, SETTINGS, VOCAB, exactly

TOLERANCE = {
    torch.float32: {"rtol": 1e-5, "atol": 1e-5},
    torch.float64: {"rtol": 1e-10, "atol": 1e-10},
}
each_dtype = pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
CASES = {
    "llama": ("llama", {}),
    "llama, tied, all biases": ("llama", {"tie_word_embeddings": True, "attention_bias": True, "mlp_bias": True}),
    "llama, scaled": ("llama", {"rope_parameters": LLAMA3}),
    "llama, one head of keys each": ("llama", {"num_key_value_heads": 6, "head_dim": 6, "hidden_act": "gelu"}),
    "qwen3": ("qwen3", {"attention_bias": True}),
    "qwen3, tied, scaled": ("qwen3", {"tie_word_embeddings": True, "rope_parameters": LLAMA3}),
    "qwen3, a window": ("qwen3", {"use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1}),
}  # fmt: skip
each_case = pytest.mark.parametrize(("kind", "changes"), CASES.values(), ids=CASES.keys())
each_kind = pytest.mark.parametrize("kind", MODERN)


# ---- the same numbers as transformers


@each_dtype
@each_case
@torch.no_grad()
def test_it_gives_what_transformers_gives(kind, changes, dtype):
    """Whole; left-padded with positions given or counted; in chunks with a cache, padded too."""
    family = MODERN[kind]
    with exactly(dtype):
        theirs = family.make(dtype, **changes)
        whole = theirs(IDS).logits
        padded = theirs(IDS, attention_mask=LEFT.long(), position_ids=PLACES).logits[LEFT]
    ours = family.load(theirs.state_dict(), theirs.config)
    assert_close(ours(IDS), whole, **TOLERANCE[dtype])
    assert_close(ours(IDS, LEFT)[LEFT], padded, **TOLERANCE[dtype])
    assert_close(ours(IDS, LEFT, positions=PLACES)[LEFT], padded, **TOLERANCE[dtype])
    for mask, expected, tokens in ((None, whole, torch.ones_like(LEFT)), (LEFT, padded, LEFT)):
        cache, ends = ours.new_cache(), (0, 2, 3, 14, LENGTH)
        chunks = [
            ours(IDS[:, start:end], None if mask is None else mask[:, start:end], cache)
            for start, end in itertools.pairwise(ends)
        ]
        assert_close(torch.cat(chunks, dim=1)[tokens], expected.flatten(0, -2), **TOLERANCE[dtype])
    kv_heads, head_dim = ours.decoder.layers[0].self_attention.sizes[1], 2
    assert cache.num_bytes == 2 * head_dim * kv_heads * LENGTH * len(IDS) * dtype.itemsize


def test_loading_draws_no_random_numbers():
    theirs = MODERN["llama"].make()
    before = torch.get_rng_state()
    ours = MODERN["llama"].load(theirs.state_dict(), theirs.config)
    assert torch.equal(torch.get_rng_state(), before)
    assert {parameter.device.type for parameter in ours.parameters()} == {"cpu"}


@torch.no_grad()
def test_several_documents_in_one_row():
    """transformers, without a cache, sees from positions that begin anew that another document does."""
    places, documents = torch.arange(LENGTH) % 9, torch.arange(LENGTH) // 9
    with exactly(torch.float64):
        theirs = MODERN["llama"].make()
        expected = theirs(IDS, position_ids=places.expand_as(IDS), use_cache=False).logits
        alone = theirs(IDS[:, 9:18]).logits
    ours = MODERN["llama"].load(theirs.state_dict(), theirs.config)
    states, _ = ours.decoder(ours.embedding(IDS), mask=document_mask(documents), positions=places)
    assert_close(ours.output(states), expected, **TOLERANCE[torch.float64])
    assert_close(expected[:, 9:18], alone, **TOLERANCE[torch.float64])
    assert not torch.isclose(ours(IDS, positions=places), expected)[:, 9:].any(dim=-1).all()


@each_kind
def test_gradients_are_the_same(kind):
    with exactly(torch.float64):
        theirs = MODERN[kind].make()
        theirs(IDS).logits.sin().sum().backward()
    ours = MODERN[kind].load(theirs.state_dict(), theirs.config)
    ours(IDS).sin().sum().backward()
    expected = theirs.model.embed_tokens.weight.grad
    assert_close(ours.embedding.tokens.weight.grad, expected, rtol=1e-9, atol=1e-9)
    norm = theirs.model.layers[1].input_layernorm.weight.grad
    assert_close(ours.decoder.layers[1].self_residual.norm.weight.grad, norm, rtol=1e-9, atol=1e-9)


@each_kind
@torch.no_grad()
def test_it_writes_what_transformers_writes(kind):
    theirs = MODERN[kind].make(torch.float32)
    ours = MODERN[kind].load(theirs.state_dict(), theirs.config)
    prompt, end = IDS[:, :5], 1
    options = {"do_sample": False, "max_new_tokens": 7, "eos_token_id": end, "pad_token_id": end}
    written = theirs.generate(prompt, attention_mask=torch.ones_like(prompt), **options)
    assert torch.equal(greedy_decode(ours, prompt, end_id=end, max_new_tokens=7), written[:, 5:])


# ---- configurations


def test_either_spelling_of_the_rotary_settings():
    state, config = MODERN["llama"].stored(rope_parameters=LLAMA3)
    expected = MODERN["llama"].load(state, config)(IDS)
    rest = {key: value for key, value in config.items() if key != "rope_parameters"}
    scaling = {key: value for key, value in LLAMA3.items() if key != "rope_theta"}
    for old in (scaling, {("type" if key == "rope_type" else key): value for key, value in scaling.items()}):
        found = MODERN["llama"].load(state, rest | {"rope_theta": 500.0, "rope_scaling": old})(IDS)
        assert_close(found, expected, rtol=0, atol=0)
    both = config | {"rope_theta": 500.0, "rope_scaling": scaling}
    assert_close(MODERN["llama"].load(state, both)(IDS), expected, rtol=0, atol=0)


def test_old_files_say_nothing_of_what_had_one_value():
    """The first Llama's config.json: no rope_theta, head_dim, groups or biases."""
    config = {"model_type": "llama", "hidden_act": "silu", "rms_norm_eps": 1e-5}
    sizes = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    model = make_llama(config | {name: SETTINGS[name] for name in sizes})
    attention = model.decoder.layers[0].self_attention
    rotary = attention.rotary
    assert (rotary.base, rotary.scaling, rotary.pairs) == (10_000.0, None, "halves")
    assert (attention.head_dim, attention.num_kv_heads) == (6, 6)
    assert attention.input_projection.bias is None
    assert isinstance(model.output, nn.Linear)
    norms = [module for module in model.modules() if isinstance(module, RMSNorm)]
    assert {norm.eps for norm in norms} == {1e-5}


def test_windows_said_by_their_first_layer_or_layer_by_layer():
    window = {"num_hidden_layers": 3, "use_sliding_window": True, "sliding_window": 4}
    config = MODERN["qwen3"].config(**SETTINGS | window, max_window_layers=1).to_dict()
    kinds = ["sliding_attention", "full_attention", "sliding_attention"]
    for changes, expected in (
        ({}, [None, 4, 4]),
        ({"layer_types": None}, [None, 4, 4]),
        ({"layer_types": kinds}, [4, None, 4]),
        ({"layer_types": None, "use_sliding_window": False}, [None] * 3),
    ):
        layers = make_qwen3(config | changes).decoder.layers
        assert [layer.self_attention.window for layer in layers] == expected


NOT_BUILT = {
    "linear scaling": ("llama", {"rope_parameters": {"rope_type": "linear", "factor": 2.0}}, "config.rope_type.*'linear'"),
    "yarn, old": ("qwen3", {"rope_parameters": None, "rope_scaling": {"type": "yarn", "factor": 4.0}}, "config.rope_type.*'yarn'"),
    "a factor without a type": ("llama", {"rope_parameters": {"factor": 8.0}}, "factor is unknown.*'default'"),
    "scaling without its length": ("llama", {"rope_parameters": {k: v for k, v in LLAMA3.items() if "original" not in k}}, "original_max_position_embeddings is missing.*'llama3'"),
    "settings for each kind of layer": ("llama", {"rope_parameters": {"full_attention": {"rope_type": "default"}}}, "full_attention is unknown"),
    "no dict": ("llama", {"rope_parameters": "llama3"}, "config.rope_parameters.*dict.*'llama3'"),
    "two bases": ("llama", {"rope_theta": 7.0}, "config.rope_theta.*500.0 and 7.0"),
    "a part of each head": ("llama", {"partial_rotary_factor": 0.5}, "config.partial_rotary_factor.*1.0.*0.5"),
    "a negative base": ("llama", {"rope_parameters": {"rope_theta": -1.0}}, "base.*above 0.*-1.0"),
    "a factor that is none": ("llama", {"rope_parameters": LLAMA3 | {"factor": "8"}}, "factor.*'8'"),
    "an odd head_dim": ("llama", {"head_dim": 9}, "head_dim.*even.*9"),
    "an activation": ("llama", {"hidden_act": "quick_gelu"}, "config.hidden_act.*'quick_gelu'"),
    "a window": ("llama", {"sliding_window": 4}, "config.sliding_window.*None.*4"),
    "kinds of layers": ("llama", {"layer_types": ["full_attention"]}, "config.layer_types.*None.*full"),
    "kinds of layers unknown": ("qwen3", {"layer_types": ["full_attention", "linear_attention"]}, "config.layer_types.*'linear_attention'"),
    "a window said twice differently": ("qwen3", {"layer_types": ["full_attention", "sliding_attention"]}, "config.layer_types.*'full_attention' for each.*'sliding_attention'"),
    "too few kinds": ("qwen3", {"layer_types": ["full_attention"]}, "config.layer_types.*each of 2 layers.*'full_attention'"),
    "a window of no size": ("qwen3", {"use_sliding_window": True, "sliding_window": 0, "layer_types": ["sliding_attention"] * 2}, "config.sliding_window.*at least 1.*0"),
    "dropout of weights": ("llama", {"attention_dropout": 0.1}, "config.attention_dropout.*0.0.*0.1"),
    "8 bits": ("llama", {"quantization_config": {"bits": 8}}, "config.quantization_config.*None.*bits"),
    "biases that are none": ("llama", {"mlp_bias": "yes"}, "config.mlp_bias.*True or False.*'yes'"),
    "qwen3 with biases in the network": ("qwen3", {"mlp_bias": True}, "config.mlp_bias.*False.*True"),
    "qwen3 without head_dim": ("qwen3", {"head_dim": None}, "config.head_dim.*None"),
    "heads that do not divide": ("llama", {"head_dim": None, "num_attention_heads": 5}, "num_attention_heads.*36.*5"),
    "groups that do not divide": ("llama", {"num_key_value_heads": 4}, "num_kv_heads.*num_heads = 6.*4"),
    "no groups": ("llama", {"num_key_value_heads": 0}, "config.num_key_value_heads.*at least 1.*0"),
    "another model": ("llama", {"model_type": "mistral"}, "config.model_type.*'llama'.*'mistral'"),
    "qwen2": ("qwen3", {"model_type": "qwen2"}, "config.model_type.*'qwen3'.*'qwen2'"),
    "no eps": ("llama", {"rms_norm_eps": 0}, "layer_norm_eps.*above 0.*0"),
    "an output missing": ("llama", {"tie_word_embeddings": "no"}, "config.tie_word_embeddings.*True or False.*'no'"),
}  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("kind", "changes", "message"), NOT_BUILT.values(), ids=NOT_BUILT.keys())
def test_what_is_not_built_is_refused_by_name(kind, changes, message):
    config = MODERN[kind].config(**SETTINGS).to_dict() | changes
    make = {"llama": make_llama, "qwen3": make_qwen3}[kind]
    with pytest.raises((ValueError, TypeError), match=rf"\b({message})"):
        make(config)


def refusal(kind, state, config):
    with pytest.raises(ValueError, match=r"^state_dict does not fit config: ") as caught:
        MODERN[kind].load(state, config)
    return str(caught.value).removeprefix("state_dict does not fit config: ").split("; ")


@each_kind
def test_every_key_is_read_and_a_missing_one_named(kind):
    state, config = MODERN[kind].stored(attention_bias=True)
    for key, value in state.items():
        short = {name: tensor for name, tensor in state.items() if name != key}
        assert refusal(kind, short, config) == [f"{key} is missing, expected shape {tuple(value.shape)}"]
        found = refusal(kind, state | {key: torch.ones(3, *value.shape)}, config)
        assert found == [f"{key} must have shape {tuple(value.shape)}, got {(3, *value.shape)}"]


@each_kind
def test_biases_that_the_configuration_does_not_know_are_refused(kind):
    """Left unread they would be lost without a word."""
    state, config = MODERN[kind].stored(attention_bias=True)
    names = [f"model.layers.{i}.self_attn.{name}_proj.bias" for i in range(2) for name in "kqvo"]
    expected = sorted(f"{name} is unknown" for name in names)
    assert refusal(kind, state, config | {"attention_bias": False}) == expected
    plain, wanting = MODERN[kind].stored()
    missing = refusal(kind, plain, wanting | {"attention_bias": True})
    assert [re.sub(" is missing.*", " is unknown", each) for each in missing] == expected


def test_outputs_tied_or_not():
    state, config = MODERN["llama"].stored(tie_word_embeddings=True)
    assert torch.equal(state["lm_head.weight"], state["model.embed_tokens.weight"])
    expected = MODERN["llama"].load(state, config)(IDS)
    alone = {key: value for key, value in state.items() if key != "lm_head.weight"}
    assert_close(MODERN["llama"].load(alone, config)(IDS), expected, rtol=0, atol=0)
    untied = config | {"tie_word_embeddings": False}
    assert refusal("llama", alone, untied) == [f"lm_head.weight is missing, expected shape ({VOCAB}, 36)"]
    other = state | {"lm_head.weight": state["lm_head.weight"] + 1}
    assert "must equal the embedding" in refusal("llama", other, config)[0]


def test_old_buffers_are_left_out_and_a_bare_model_has_no_prefix():
    state, config = MODERN["llama"].stored(tie_word_embeddings=True)
    expected = MODERN["llama"].load(state, config)(IDS)
    bare = {key.removeprefix("model."): value for key, value in state.items() if "lm_head" not in key}
    bare["layers.0.self_attn.rotary_emb.inv_freq"] = torch.ones(5)
    assert_close(MODERN["llama"].load(bare, config)(IDS), expected, rtol=0, atol=0)


# ---- the memory of the cache, of published shapes

LLAMA_3_8B = {
    "model_type": "llama", "vocab_size": 128_256, "hidden_size": 4096, "intermediate_size": 14_336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_act": "silu",
    "rope_theta": 500_000.0,
}  # fmt: skip
QWEN3 = {"model_type": "qwen3", "vocab_size": 151_936, "head_dim": 128, "hidden_act": "silu"}
QWEN3_06B = QWEN3 | {
    "hidden_size": 1024, "intermediate_size": 3072, "num_hidden_layers": 28, "num_attention_heads": 16,
    "num_key_value_heads": 8, "tie_word_embeddings": True,
}  # fmt: skip
QWEN3_8B = QWEN3 | {
    "hidden_size": 4096, "intermediate_size": 12_288, "num_hidden_layers": 36, "num_attention_heads": 32,
    "num_key_value_heads": 8,
}  # fmt: skip
SHAPES = {
    "Llama 3 8B": (make_llama, LLAMA_3_8B, 131_072, 8_030_261_248),
    "Qwen3 0.6B": (make_qwen3, QWEN3_06B, 114_688, 596_049_920),
    "Qwen3 8B": (make_qwen3, QWEN3_8B, 147_456, 8_190_735_360),
}


@pytest.mark.parametrize(("make", "config", "a_token", "parameters"), SHAPES.values(), ids=SHAPES.keys())
@torch.no_grad()
def test_the_cache_of_published_shapes(make, config, a_token, parameters):
    """Bytes in bfloat16: keys and values, layers, heads of keys, numbers of a head, 2 bytes each."""
    with torch.device("meta"):
        model, token = make(config).bfloat16(), torch.zeros(1, 1, dtype=torch.long)
        cache = model.new_cache()
        assert cache.num_bytes == 0
        model(token, cache=cache)
        assert cache.num_bytes == a_token
        model(torch.zeros(1, 4, dtype=torch.long), cache=cache)
    assert cache.num_bytes == 5 * a_token
    assert a_token == 2 * config["num_hidden_layers"] * config["num_key_value_heads"] * 128 * 2
    assert sum(parameter.numel() for parameter in model.parameters()) == parameters
