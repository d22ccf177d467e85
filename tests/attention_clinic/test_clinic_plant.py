"""The clinic's bugs in a model of Llama's architecture, beside the same bugs made by other means."""

from __future__ import annotations

import copy
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from attention_clinic import laws
from attention_clinic.plant import PLANTABLE, plant
from polyhead import DecoderOnly, RotaryPositions, beam_search, greedy_decode, sample
from polyhead.pretrained import make_llama

VOCAB, LAYERS, END = 23, 3, 11
CONFIG = {
    "model_type": "llama",
    "vocab_size": VOCAB,
    "hidden_size": 20,
    "intermediate_size": 14,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 8,
    "hidden_act": "silu",
    "rope_theta": 500.0,
}
IDS = torch.tensor([[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3]])


@pytest.fixture(scope="module")
def model() -> DecoderOnly:
    torch.manual_seed(0)
    made = make_llama(CONFIG).double().eval().requires_grad_(False)
    for parameter in made.parameters():
        parameter *= 2 if parameter.ndim == 2 else 1  # so that attention is far from equal weights
    return made


def changed(model: DecoderOnly, bug: str, layers: list[int]) -> Tensor:
    """The logits of a copy whose weights or positions are changed so that it has the bug."""
    ill = copy.deepcopy(model)
    for number in layers:
        attention = ill.decoder.layers[number].self_attention
        weight = attention.input_projection.weight[: attention.sizes[0]]  # of the queries
        if bug == "unscaled":
            weight *= 8**0.5
        elif bug == "model_root":
            weight *= (8 / 20) ** 0.5
        elif bug == "rotary_layout":
            attention.rotary = RotaryPositions(8, 500.0, "neighbours")
        else:  # head i attends to keys i % 2 and not i // 3
            order = [0, 2, 4, 1, 3, 5]
            weight.copy_(weight.unflatten(0, (6, 8))[order].flatten(0, 1))
            output = attention.output_projection.weight
            output.copy_(output.unflatten(1, (6, 8))[:, order].flatten(1))
    return ill(IDS)


@pytest.mark.parametrize("bug", ["unscaled", "model_root", "rotary_layout", "kv_tiled"])
@pytest.mark.parametrize("layers", [None, [1], [0, 2]])
def test_a_planted_bug_is_the_bug(model: DecoderOnly, bug: str, layers: list[int] | None) -> None:
    expected = changed(model, bug, [0, 1, 2] if layers is None else layers)
    assert_close(plant(model, bug, layers)(IDS), expected)
    assert not torch.allclose(expected, model(IDS), atol=1e-2)


def test_without_a_bug_it_is_the_model(model: DecoderOnly) -> None:
    planted = plant(model)
    mask = torch.ones_like(IDS, dtype=torch.bool)
    mask[1, :3] = False
    assert_close(planted(IDS, mask)[mask], model(IDS, mask)[mask])
    cache = planted.new_cache()
    parts = [planted(part, cache=cache) for part in IDS.split([3, 1, 4], dim=1)]
    assert_close(torch.cat(parts, dim=1), model(IDS))


@pytest.mark.parametrize("use_cache", [True, False])
def test_it_writes_what_the_model_writes(model: DecoderOnly, use_cache: bool) -> None:
    mask = torch.ones_like(IDS, dtype=torch.bool)
    mask[1, :3] = False
    options: dict[str, Any] = {"end_id": END, "max_new_tokens": 7, "prompt_mask": mask}
    for write in (greedy_decode, beam_search, seeded_sample):
        expected, found, ill = (
            tuple(write(each, IDS, use_cache=use_cache, **options))
            for each in (model, plant(model), plant(model, "unscaled"))
        )
        assert_close(found, expected)
        assert any(not torch.equal(*pair) for pair in zip(ill, expected, strict=True))


def seeded_sample(model: DecoderOnly, prompt_ids: Tensor, **options: Any) -> Tensor:
    return sample(model, prompt_ids, generator=torch.Generator().manual_seed(3), **options)


def test_a_bug_of_the_cache_is_in_the_text_with_a_cache_alone(model: DecoderOnly) -> None:
    def write(bug: str, use_cache: bool) -> Tensor:
        return greedy_decode(plant(model, bug), IDS, end_id=END, max_new_tokens=7, use_cache=use_cache)

    right = write("none", True)
    assert torch.equal(write("cache_positions", False), right)
    assert not torch.equal(write("cache_positions", True), right)
    assert torch.equal(write("cache_open", True), right)  # one token has no future to hide


def test_the_weights_are_those_of_the_model(model: DecoderOnly) -> None:
    before = copy.deepcopy(model.state_dict())
    storages = {each.untyped_storage().data_ptr() for each in model.parameters()}
    planted = plant(model, "sees_ahead")
    assert {each.untyped_storage().data_ptr() for each in planted.parameters()} <= storages
    layer = planted.layers[0]
    assert layer.key.keywords["weight"].untyped_storage().data_ptr() in storages
    planted(IDS)
    assert all(torch.equal(value, model.state_dict()[key]) for key, value in before.items())


@pytest.mark.parametrize(
    ("bug", "law"),
    [
        ("causal_inverted", "causality"),
        ("sees_ahead", "causality"),
        ("cache_open", "chunk"),
        ("cache_positions", "step"),
        ("padding_ignored", "left_pad"),
        ("dropout_in_eval", "twice"),
        ("batch_mixed", "batch"),
    ],
)
def test_the_laws_see_it(model: DecoderOnly, bug: str, law: str) -> None:
    deviation = laws.LAWS[law](plant(model, bug), vocab_size=VOCAB)
    assert deviation is not None
    assert deviation > 1e-3
    assert laws.LAWS[law](plant(model), vocab_size=VOCAB) == 0.0


def test_every_law_holds_without_a_bug(model: DecoderOnly) -> None:
    found = {name: law(plant(model), vocab_size=VOCAB) for name, law in laws.LAWS.items()}
    assert found == dict.fromkeys(laws.LAWS, 0.0) | {"reach": None}  # there is no window


def test_what_cannot_be_planted_is_refused(model: DecoderOnly) -> None:
    assert len(PLANTABLE) == 21
    with pytest.raises(ValueError, match=r"bug must be 'none' or one of causal_inverted, .*'sinks_missing'"):
        plant(model, "sinks_missing")
    with pytest.raises(ValueError, match=r"layers must be numbers from 0 to 2, got \[1, 3\]"):
        plant(model, "unscaled", [3, 1])
    other = copy.deepcopy(model)
    other.decoder.layers[2].self_attention.rotary = None
    with pytest.raises(ValueError, match="model must have Llama's layers, got other ones"):
        plant(other)
