"""One table, training, and every place that a whole model goes."""

from __future__ import annotations

import copy
import io

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import DecoderOnly, EncoderOnly, Transformer
from tests.polyhead.whole_models import (
    EMBED_DIM,
    EXACT,
    MAX_LENGTH,
    SEGMENTS,
    TARGET,
    VOCAB,
    arguments_of,
    decoder_only,
    every_model,
    ids,
    transformer,
)

# ---- one table


def test_number_of_parameters_of_the_base_model():
    with torch.device("meta"):
        model = Transformer(37_000)
        assert sum(parameter.numel() for parameter in model.parameters()) == 63_082_496
        two = Transformer(37_000, 37_000)
        assert sum(parameter.numel() for parameter in two.parameters()) == 63_082_496 + 37_000 * 512
    assert (len(model.encoder.layers), len(model.decoder.layers)) == (6, 6)
    assert (model.encoder.norm, model.decoder.norm) == (None, None)
    assert {part.p for part in model.modules() if isinstance(part, nn.Dropout)} == {0.1}
    assert {layer.attention.dropout for layer in model.encoder.layers} == {0.1}


def tables(model: nn.Module) -> list[torch.Tensor]:
    """Where one table should stand: what reads it, for tokens and for the output."""
    if isinstance(model, DecoderOnly):
        return [model.embedding.tokens.weight, model.output.weight]
    return [model.source_embedding.tokens.weight, model.target_embedding.tokens.weight, model.output.weight]


@pytest.mark.parametrize("make", [decoder_only, transformer])
@pytest.mark.parametrize("way", ["assign", "to_empty", "meta", "copy", "pickle"])
def test_tied_tables_stay_one(make, way):
    """Whatever replaces the embedding's parameter, the output reads the new one."""
    model, other = make(), make()
    arguments = arguments_of(model)
    if way == "assign":
        other.load_state_dict(model.state_dict(), assign=True)
    elif way == "to_empty":
        other.to_empty(device="cpu").load_state_dict(model.state_dict())
    elif way == "meta":
        other.to("meta").load_state_dict(model.state_dict(), assign=True)
    elif way == "copy":
        other = copy.deepcopy(model)
    else:
        file = io.BytesIO()
        torch.save(model, file)
        file.seek(0)
        other = torch.load(file, weights_only=False)
    assert all(table is tables(other)[0] for table in tables(other))
    assert tables(other)[0] is not tables(model)[0] or way == "assign"
    assert_close(other(*arguments), model(*arguments), rtol=0, atol=0)
    other.zero_grad()
    other(*arguments).sin().sum().backward()
    with torch.no_grad():
        tables(other)[0] -= 0.1 * tables(other)[0].grad
    states = other.output(torch.eye(EMBED_DIM).double())
    assert_close(states, tables(other)[0].T, rtol=0, atol=0)


@pytest.mark.parametrize("make", [decoder_only, transformer])
@pytest.mark.parametrize("assign", [False, True])
def test_a_state_dict_that_holds_the_table_twice_is_read(make, assign):
    model, other = make(), make()
    arguments = arguments_of(model)
    state = model.state_dict()
    assert "output.weight" not in state
    twice = state | {"output.weight": tables(model)[0].detach()}
    other.load_state_dict(twice, strict=True, assign=assign)
    assert "output.weight" in twice
    assert_close(other(*arguments), model(*arguments), rtol=0, atol=0)
    for wrong in (tables(model)[0] + 1e-3, tables(model)[0][1:]):
        with pytest.raises(RuntimeError, match=r"\boutput\.weight must be the embedding's table"):
            other.load_state_dict(state | {"output.weight": wrong.detach()}, assign=assign)


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
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_in_other_dtypes_and_under_autocast(make, dtype):
    model = make()
    arguments = arguments_of(model)
    expected = model(*arguments)
    actual = model.to(dtype)(*arguments)
    assert actual.dtype == dtype
    error = (actual.double() - expected).norm() / expected.norm()
    assert error < (0.05 if dtype == torch.bfloat16 else 1e-5)
    with torch.autocast("cpu", torch.bfloat16):
        mixed = model.float()(*arguments)
    assert 1e-5 < (mixed.double() - expected).norm() / expected.norm() < 0.05


@every_model
def test_compiles_into_one_graph(make, in_one_graph):
    model = make().eval()
    arguments = arguments_of(model)
    masks = [torch.arange(each.shape[1]) >= torch.tensor([[0], [2], [1], [3]]) for each in arguments]
    compiled = in_one_graph(model)
    for each in (arguments, (*arguments, *masks)):
        assert_close(compiled(*each), model(*each), **EXACT)


@pytest.mark.usefixtures("unchecked")
@every_model
def test_shapes_are_known_without_numbers(make):
    model = make()
    arguments = arguments_of(model)
    masks = [torch.ones_like(each, dtype=torch.bool) for each in arguments]
    expected = model(*arguments, *masks).shape
    output = model.to("meta")(*(each.to("meta") for each in (*arguments, *masks)))
    assert output.is_meta
    assert output.shape == expected


def test_options_reach_every_layer():
    options = {"ffn_dim": 13, "dropout": 0.25, "activation": "silu"}
    options |= {"norm_first": True, "layer_norm_eps": 0.3}
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
