from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import Encoder, Transformer, heads
from polyhead.heads import Head
from tests.polyhead.head_models import HEADS, IDS, KINDS, MASK, SIZES, VOCAB, called, model

# ---- names


def test_all_heads_are_named_layer_by_layer():
    made = Transformer(VOCAB, None, 8, 2, 1, 1)
    assert heads.all_heads(made) == [
        (kind, 0, head) for kind in ("encoder", "decoder", "cross") for head in (0, 1)
    ]
    for kind in KINDS[:2]:
        assert len(heads.all_heads(model(kind))) == SIZES[kind]
    assert {head.kind for head in heads.all_heads(model("decoder only"))} == {"decoder"}


def test_a_model_is_found_inside_another():
    inner = model("encoder only")
    assert heads.all_heads(nn.Sequential(inner)) == heads.all_heads(inner)


# ---- ablation


def test_ablation_is_a_gate_of_0_and_ends_with_the_block():
    made, gates = model("encoder only"), torch.ones(2, HEADS, dtype=torch.float64)
    off = [Head("encoder", 0, 3), Head("encoder", 1, 0), Head("encoder", 1, 4)]
    for _, layer, head in off:
        gates[layer, head] = 0.0
    before = called(made)
    with heads.ablate(made, off):
        inside = called(made)
    assert_close(inside, made(IDS, MASK, head_gates=gates)[MASK], rtol=0, atol=0)
    assert not torch.allclose(inside, before, atol=1e-2)
    assert_close(called(made), before, rtol=0, atol=0)


def test_the_cross_attention_has_heads_of_its_own():
    made, x, memory = (
        model("encoder and decoder"),
        torch.randn(2, 3, 20).double(),
        torch.randn(2, 7, 20).double(),
    )
    gates = torch.ones(2, HEADS, dtype=torch.float64)
    gates[1, 2] = 0.0
    with heads.ablate(made, [Head("cross", 1, 2)]):
        inside, _ = made.decoder(x, memory)
    assert_close(inside, made.decoder(x, memory, cross_head_gates=gates)[0], rtol=0, atol=0)
    assert not torch.allclose(inside, made.decoder(x, memory, head_gates=gates)[0], atol=1e-3)


def test_blocks_add_up_and_gates_that_are_given_stay():
    made, gates = model("encoder only"), torch.ones(2, HEADS, dtype=torch.float64)
    first, second = Head("encoder", 0, 1), Head("encoder", 1, 3)
    with heads.ablate(made, [first, second]):
        both = called(made)
    with heads.ablate(made, [first]), heads.ablate(made, [second]):
        assert_close(called(made), both, rtol=0, atol=0)
    gates[0, 1] = 0.0
    with heads.ablate(made, [second]):
        assert_close(made(IDS, MASK, head_gates=gates)[MASK], both, rtol=0, atol=0)


def test_after_an_error_the_model_is_whole():
    made = model("encoder only")
    before = called(made)
    with pytest.raises(RuntimeError), heads.ablate(made, heads.all_heads(made)):
        raise RuntimeError
    with pytest.raises(ZeroDivisionError):
        heads.importance(made, lambda example: 1 / 0, [0])
    assert_close(called(made), before, rtol=0, atol=0)


# ---- importance


def test_importance_is_the_mean_of_absolute_derivatives():
    made, step = model("encoder and decoder"), 1e-6
    losses = [lambda one: one(IDS, IDS)[0, 0, 0], lambda one: one(IDS, IDS)[1, 2, 3] * -2.0]
    got = heads.importance(made, lambda loss: loss(made), losses)
    for head in heads.all_heads(made)[::4]:
        derivatives = []
        for loss in losses:
            values = []
            for gate in (1.0 + step, 1.0 - step):
                changed = copy.deepcopy(made)
                attention = heads.removal.attentions(changed)[head.kind, head.layer]
                with torch.no_grad():
                    attention.output_projection.weight[:, head.head * 4 : head.head * 4 + 4] *= gate
                values.append(loss(changed).item())
            derivatives.append(abs(values[0] - values[1]) / (2 * step))
        assert got[head] == pytest.approx(sum(derivatives) / 2, rel=1e-5)
        assert got[head] > 0


def test_examples_do_not_cancel_each_other():
    made = model("encoder only")

    def loss(sign):
        return sign * made(IDS)[0, 1, 2]

    alone, both = (heads.importance(made, loss, signs) for signs in ([1.0], [1.0, -1.0]))
    assert both == pytest.approx(alone)
    batch = heads.importance(made, lambda signs: sum(loss(sign) for sign in signs), [[1.0, -1.0]])
    assert max(batch.values()) < 1e-12 < min(alone.values())


def test_a_head_that_reaches_no_loss_does_not_matter():
    made = model("encoder and decoder")
    got = heads.importance(made, lambda ids: made.encode(ids)[0, 0, 0], [IDS])
    assert {head.kind for head, score in got.items() if score > 0} == {"encoder"}


def test_by_layer_the_squares_of_each_layer_sum_to_1():
    made = model("decoder only")
    plain = heads.importance(made, lambda ids: made(ids)[0, 6, 0], [IDS, IDS.flip(1)])
    by_layer = heads.by_layer(plain)
    for layer in range(3):
        own = [head for head in plain if head.layer == layer]
        norm = sum(plain[head] ** 2 for head in own) ** 0.5
        assert [by_layer[head] for head in own] == pytest.approx([plain[head] / norm for head in own])


def test_importance_leaves_no_gradients_behind():
    made = model("encoder only")
    heads.importance(made, lambda ids: made(ids)[0, 0, 0], [IDS])
    assert all(each.grad is None for each in made.parameters())
    assert not any(each._forward_pre_hooks for each in made.modules())


@pytest.mark.parametrize("in_place", [False, True])
def test_a_compiled_model_is_ablated_and_measured_like_another(in_place, in_one_graph):
    made, off = model("encoder only"), [Head("encoder", 0, 3), Head("encoder", 1, 0)]
    with heads.ablate(made, off):
        expected = called(made)
    scores = heads.importance(made, lambda ids: made(ids)[0, 0, 0], [IDS])
    compiled = made if in_place else in_one_graph(made)
    if in_place:
        made.compile(backend="eager", fullgraph=True)
    before = called(compiled)
    with heads.ablate(compiled, off):
        assert_close(called(compiled), expected)
    assert heads.importance(compiled, lambda ids: compiled(ids)[0, 0, 0], [IDS]) == pytest.approx(scores)
    assert_close(called(compiled), before, rtol=0, atol=0)


def test_by_layer_scores_of_0_stay_0():
    scores = {Head("encoder", 0, 0): 0.0, Head("encoder", 0, 1): 0.0, Head("encoder", 1, 0): 5.0}
    assert list(heads.by_layer(scores).values()) == [0.0, 0.0, 1.0]


# ---- bad input


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: heads.prune(m, [Head("encoder", 0, 5)]), ValueError, r"heads .*'encoder 0': 5.*, 0, 5"),
        (lambda m: heads.prune(m, [Head("cross", 0, 0)]), ValueError, "heads .*'cross', 0, 0"),
        (lambda m: heads.prune(m, [("encoder", 0, 0)]), TypeError, "heads .*Head"),
        (lambda m: heads.prune(m, Head("encoder", 0, 0)), TypeError, "heads .*Head"),
        (lambda m: heads.ablate(m, [Head("encoder", -1, 0)]).__enter__(), ValueError, "heads .*-1"),
        (lambda m: heads.all_heads(nn.Linear(2, 3)), ValueError, "model .*neither"),
        (lambda m: heads.all_heads(nn.ModuleList([m, Encoder(1, 3, 1)])), ValueError, "Encoder.*Encoder"),
        (lambda m: heads.importance(m, lambda x: x, []), ValueError, "examples .*none"),
    ],
)  # fmt: skip
def test_bad_input_is_refused(call, error, message):
    with pytest.raises(error, match=rf"\b({message})"):
        call(model("encoder only"))
