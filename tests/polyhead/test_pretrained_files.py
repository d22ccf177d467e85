"""What the loaders take, prefixed or not, old or for a task, and what they give."""

from __future__ import annotations

import json

import pytest
import torch
from torch.testing import assert_close

from polyhead import DecoderOnly, EncoderDecoder, EncoderOnly
from tests.polyhead.hugging_face import FAMILIES, assert_same_model, loaded, stored, transformers

each_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES.keys())


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
        dropouts = [(name, each) for name, each in modules if isinstance(each, torch.nn.Dropout)]
        return {("embedding" in name, module.p) for name, module in dropouts}

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
