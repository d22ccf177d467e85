"""The outputs of heads, recorded and replaced; other heads as a control."""

from __future__ import annotations

from collections import Counter

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import heads
from polyhead.heads import Head
from polyhead.heads.removal import attentions
from tests.polyhead.head_models import HEAD_DIM, HEADS, IDS, KINDS, MASK, SIZES, called, model


def outputs_of(made: nn.Module) -> dict[Head, torch.Tensor]:
    with heads.head_outputs(made) as outputs:
        called(made)
    return outputs


def assert_exact(got: torch.Tensor, expected: torch.Tensor) -> None:
    assert_close(got, expected, rtol=0, atol=0)


@pytest.mark.parametrize("kind", KINDS)
def test_the_heads_outputs_give_the_output_of_the_attention(kind):
    made, found = model(kind), {}
    for layer, attention in attentions(made).items():
        attention.register_forward_hook(lambda module, args, out, layer=layer: found.update({layer: out[0]}))
    outputs = outputs_of(made)
    assert list(outputs) == heads.all_heads(made) and len(outputs) == SIZES[kind]
    for layer, attention in attentions(made).items():
        joined = torch.cat([outputs[Head(*layer, head)] for head in range(HEADS)], dim=-1)
        assert_close(attention.output_projection(joined), found[layer])


def test_an_output_is_weights_times_values():
    made = model("encoder only")
    made.encoder.layers[0].attention.register_forward_pre_hook(
        lambda module, args, kwargs: states.append(args[0]), with_kwargs=True
    )
    states: list[torch.Tensor] = []
    output = outputs_of(made)[Head("encoder", 0, 3)]
    values = made.encoder.layers[0].attention.input_projection(states[0])[..., 2 * HEADS * HEAD_DIM :]
    weights = made.attention_weights(IDS, MASK)[0][:, 3]
    assert_close(output[MASK], (weights @ values[..., 9:12])[MASK])


@pytest.mark.parametrize("kind", KINDS)
def test_own_outputs_change_nothing_and_zeros_ablate(kind):
    made = model(kind)
    own, before = outputs_of(made), called(made)
    with heads.replace_outputs(made, own):
        assert_exact(called(made), before)
    off = list(own)[1::3]
    with heads.ablate(made, off):
        ablated = called(made)
    with heads.replace_outputs(made, {head: torch.zeros(()) for head in off}):
        assert_exact(called(made), ablated)
    assert not torch.allclose(ablated, before, atol=1e-2)
    assert_exact(called(made), before)


def test_a_constant_output_is_a_pruned_head_and_a_bias():
    made, head = model("decoder only"), Head("decoder", 1, 3)
    mean = outputs_of(made)[head][MASK].mean(dim=0)
    with heads.replace_outputs(made, {head: mean}):
        replaced = called(made)
    pruned = heads.prune(made, [head])
    columns = made.decoder.layers[1].self_attention.output_projection.weight[:, 9:12]
    with torch.no_grad():
        pruned.decoder.layers[1].self_attention.output_projection.bias += columns @ mean
    assert_close(called(pruned), replaced)


def test_patched_outputs_are_those_that_the_later_layers_get():
    made, other = model("decoder only"), (IDS + 1) % 11
    with heads.head_outputs(made) as outputs:
        made(other, MASK)
    patch = {head: output for head, output in outputs.items() if head.head in (0, 4)}
    own = outputs_of(made)
    with heads.replace_outputs(made, patch):
        inside = outputs_of(made)
    for head, output in inside.items():
        if head in patch:
            assert_exact(output, patch[head])
        elif head.layer == 0:
            assert_exact(output, own[head])  # no layer before it
        else:
            assert not torch.allclose(output[MASK], own[head][MASK], atol=1e-3)


def test_the_inner_of_two_blocks_counts_and_ablation_does_not():
    made, first, second = model("encoder only"), Head("encoder", 0, 1), Head("encoder", 1, 3)
    one, two = torch.tensor(1.0), torch.tensor([2.0, 3.0, 5.0])
    with heads.replace_outputs(made, {first: two, second: one}):
        expected = called(made)
    outer, inner = {first: one, second: one}, {first: two}
    with heads.replace_outputs(made, outer), heads.replace_outputs(made, inner):
        assert_exact(called(made), expected)
    with heads.replace_outputs(made, inner | {second: one}), heads.ablate(made, [first, second]):
        assert_exact(called(made), expected)


def test_heads_that_are_pruned_have_no_outputs():
    made = model("encoder only")
    whole = [Head("encoder", 0, head) for head in range(HEADS)]
    outputs = outputs_of(heads.prune(made, [*whole, Head("encoder", 1, 2)]))
    assert list(outputs) == [Head("encoder", 1, head) for head in range(HEADS - 1)]
    with heads.ablate(made, whole):
        expected = outputs_of(made)[Head("encoder", 1, 3)]
    assert_close(outputs[Head("encoder", 1, 2)][MASK], expected[MASK])  # renumbered


def test_a_compiled_model_is_recorded_and_replaced_like_another(in_one_graph):
    made = model("encoder only")
    replaced = {Head("encoder", 0, 3): torch.ones(3), Head("encoder", 1, 0): torch.zeros(3)}
    with heads.replace_outputs(made, replaced):
        expected, inside = called(made), outputs_of(made)
    compiled = in_one_graph(made)
    before = called(compiled)
    with heads.replace_outputs(compiled, replaced):
        assert_close(called(compiled), expected)
        assert_close(outputs_of(compiled), inside)
    assert_exact(called(compiled), before)


def test_control_heads_are_as_many_others_of_the_same_layers():
    made = model("encoder and decoder")
    chosen = [Head("encoder", 0, 1), Head("decoder", 1, 0), Head("decoder", 1, 4), Head("cross", 1, 2)]
    excluded = [Head("encoder", 0, head) for head in (0, 2, 4)]
    draws = [
        heads.control_heads(made, chosen, torch.Generator().manual_seed(seed), excluded) for seed in range(20)
    ]
    for draw in draws:
        assert Counter(head[:2] for head in draw) == Counter(head[:2] for head in chosen)
        assert not {*draw} & {*chosen} and Head("encoder", 0, 3) in draw
    assert {head for draw in draws for head in draw if head.kind == "decoder"} == {
        Head("decoder", 1, head) for head in (1, 2, 3)
    }
    again = heads.control_heads(made, chosen[::-1], torch.Generator().manual_seed(7), excluded)
    assert again == draws[7]


@pytest.mark.parametrize(
    ("outputs", "error", "message"),
    [
        ({Head("encoder", 0, 5): torch.zeros(3)}, ValueError, "heads .*'encoder', 0, 5"),
        ([Head("encoder", 0, 4)], TypeError, "outputs .*Mapping"),
        ({Head("encoder", 1, 4): torch.zeros(5)}, ValueError, r"encoder 1, head 4 .*\(2, 7, 3\), got \(5,\)"),
        (
            {Head("encoder", 1, 4): torch.zeros(3, 1, 3)},
            ValueError,
            r"encoder 1, head 4 .*\(2, 7, 3\), got \(3, 1, 3\)",
        ),
        ({Head("encoder", 1, 4): torch.zeros(1, 2, 7, 3)}, ValueError, r"got \(1, 2, 7, 3\)"),
    ],
)
def test_outputs_that_do_not_fit_are_refused(outputs, error, message):
    made = model("encoder only")
    before = called(made)
    with pytest.raises(error, match=rf"\b({message})"), heads.replace_outputs(made, outputs):
        called(made)
    assert_exact(called(made), before)


def test_a_layer_without_enough_others_has_no_control():
    made, generator = model("encoder only"), torch.Generator()
    chosen = [Head("encoder", 1, head) for head in range(3)]
    with pytest.raises(ValueError, match=r"\bencoder 1 must have at least 3 other heads, got 2"):
        heads.control_heads(made, chosen, generator)
    with pytest.raises(ValueError, match=r"\bheads .*'cross', 0, 0"):
        heads.control_heads(made, chosen[:1], generator, [Head("cross", 0, 0)])
