from __future__ import annotations

import math
from copy import deepcopy

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.testing import assert_close

from polyhead import MultiHeadAttention, padding_mask
from tests.polyhead.forms import FORMS, OURS, Sight, everything, source, weight_gradients

NAN, INF = math.nan, math.inf
TOLERANCE = {torch.float64: 1e-10, torch.float32: 1e-5}
KINDS = [
    "none", "lengths", "lengths per query", "mask of one row", "mask", "mask per sequence", "mask per head",
]  # fmt: skip
BATCH, QUERIES, KEYS, HEADS, HEAD_DIM = 2, 5, 7, 3, 4
EMBED_DIM = HEADS * HEAD_DIM

seeds = st.integers(0, 2**31)
sizes = st.lists(st.integers(1, 6), min_size=5, max_size=5, unique=True)


def draw_sight(kind: str, batch: int, heads: int, queries: int, keys: int, blind: bool) -> Sight:
    """Where `blind`, some query may see nothing, and some key may be seen by nobody."""
    low = 0 if blind else 1
    if kind == "none":
        return Sight()
    if kind.startswith("lengths"):
        shape = (batch, queries) if kind.endswith("query") else (batch,)
        return Sight(valid_lens=torch.randint(low, keys + 1, shape))
    shape = {
        "mask of one row": (keys,),
        "mask": (queries, keys),
        "mask per sequence": (batch, queries, keys),
        "mask per head": (batch, heads, queries, keys),
    }[kind]
    mask = torch.rand(shape) < 0.5
    if not blind:
        mask |= nn.functional.one_hot(torch.randint(0, keys, shape[:-1]), keys).bool()
    return Sight(mask=mask)


def fits(form, sight: Sight, is_self: bool) -> bool:
    return (form.takes_masks or sight.mask is None) and (form.takes_memory or is_self)


def random_inputs(batch, queries, keys, embed_dim, is_self, dtype=torch.float64):
    query = torch.randn(batch, queries, embed_dim, dtype=dtype)
    if is_self:
        return query, query, query
    return query, *torch.randn(2, batch, keys, embed_dim, dtype=dtype).unbind()


def agree(forms, drawn, kind, dtype, is_self, bias, blind, seed):
    """Compare outputs, gradients of inputs and gradients of weights of all forms that can be asked."""
    batch, queries, keys, heads, head_dim = drawn
    keys = queries if is_self else keys
    embed_dim = heads * head_dim
    torch.manual_seed(seed)
    weights = source(embed_dim, heads, bias, dtype)
    inputs = random_inputs(batch, queries, keys, embed_dim, is_self, dtype)
    sight = draw_sight(kind, batch, heads, queries, keys, blind)
    results = {}
    for form in forms:
        module = form.like(weights, heads)
        assert module.training
        found = everything(form, module, *inputs, sight)
        names = ["output", "x"] if is_self else ["output", "query", "key", "value"]
        results[form.name] = {name: found[name] for name in names}
        for name, gradient in weight_gradients(form, module, heads, embed_dim).items():
            if bias or not name.endswith("bias"):  # two forms cannot go without, and have zeros there
                results[form.name]["gradient of " + name] = gradient
    first, *others = results
    for name in others:
        for what, expected in results[first].items():
            assert_close(
                {f"{what} of {name}": results[name][what]},
                {f"{what} of {name}": expected},
                rtol=TOLERANCE[dtype],
                atol=TOLERANCE[dtype],
            )


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32], ids=str)
@pytest.mark.parametrize("is_self", [True, False], ids=["self", "cross"])
@pytest.mark.parametrize("kind", KINDS)
@given(sizes, st.booleans(), seeds)
@settings(max_examples=8)
def test_forms_agree_for_every_kind_of_mask(kind, is_self, dtype, drawn, bias, seed):
    sight = draw_sight(kind, 1, 1, 1, 1, False)
    forms = [form for form in FORMS if fits(form, sight, is_self)]
    assert len(forms) >= 6
    agree(forms, drawn, kind, dtype, is_self, bias, False, seed)


@pytest.mark.parametrize("is_self", [True, False], ids=["self", "cross"])
@pytest.mark.parametrize("kind", KINDS[1:])
@given(sizes, seeds)
@settings(max_examples=8)
def test_ours_agree_where_a_query_sees_nothing(kind, is_self, drawn, seed):
    sight = draw_sight(kind, 1, 1, 1, 1, False)
    forms = [form for form in OURS if fits(form, sight, is_self)]
    agree(forms, drawn, kind, torch.float64, is_self, True, True, seed)


@pytest.mark.parametrize("form", OURS, ids=str)
def test_by_hand(form):
    """Two heads of one number each, a query of zeros in the second head: its weights are one half each."""
    module = MultiHeadAttention(2, 2).double()
    with torch.no_grad():
        module.input_projection.weight.copy_(torch.tensor([[1.0, 0], [0, 0], [1, 0], [0, 1], [2, 0], [0, 4]]))
        module.input_projection.bias.copy_(torch.tensor([0.0, 0, 0, 0, 1, 0]))
        module.output_projection.weight.copy_(torch.tensor([[0.0, 1], [10, 0]]))
        module.output_projection.bias.copy_(torch.tensor([0.5, 0]))
    x = torch.tensor([[[0.0, 1], [1, 3]]], dtype=torch.float64)
    # head 1: queries 0, 1; keys 0, 1; values 1, 3.  head 2: queries 0, 0; values 4, 12.
    e = math.e
    first = torch.tensor([2.0, (1 + 3 * e) / (1 + e)], dtype=torch.float64)
    expected = torch.stack([torch.full((2,), 8.5, dtype=torch.float64), 10 * first], dim=-1)[None]
    assert_close(form.attend(form.like(module, 2), x, x, x, Sight()), expected)


# ---- properties of every form of ours


@pytest.mark.parametrize("form", OURS, ids=str)
@pytest.mark.parametrize("what", [NAN, INF, -INF, 1e30])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_what_nobody_sees_reaches_neither_outputs_nor_gradients(form, what, dtype):
    """Self-attention: the last tokens see nothing and are seen by nobody."""
    module = form.like(source(EMBED_DIM, HEADS, dtype=dtype), HEADS)
    x, _, _ = random_inputs(BATCH, QUERIES, QUERIES, EMBED_DIM, True, dtype)
    lens = torch.tensor([[3, 2, 1, 0, 0], [4, 4, 4, 4, 0]])
    sight = Sight(valid_lens=lens)
    expected = everything(form, module, x, x, x, sight)
    x[0, 3:], x[1, 4:] = what, what
    actual = everything(form, module, x, x, x, sight)
    assert_close(actual, expected, rtol=0, atol=0)
    assert all(torch.isfinite(tensor).all() for tensor in actual.values())
    if form.takes_masks:
        # A query that sees nothing in one head only is still seen to in the others.
        mask = padding_mask(lens, QUERIES)[:, None].repeat(1, HEADS, 1, 1)
        mask[:, 1, 0] = False
        found = everything(form, module, x, x, x, Sight(mask=mask))
        assert all(torch.isfinite(tensor).all() for tensor in found.values())


@pytest.mark.parametrize(
    ("form", "kind"),
    [
        (form, kind)
        for form in OURS
        for kind in KINDS[1:]
        if fits(form, draw_sight(kind, 1, 1, 1, 1, False), False)
    ],
    ids=str,
)
@given(seeds, st.sampled_from([NAN, INF, -INF, 1e30]))
@settings(max_examples=8)
def test_rubbish_in_memory_that_nobody_sees(form, kind, seed, what):
    torch.manual_seed(seed)
    sight = draw_sight(kind, BATCH, HEADS, QUERIES, KEYS, True)
    module = form.like(source(EMBED_DIM, HEADS), HEADS)
    query, key, value = random_inputs(BATCH, QUERIES, KEYS, EMBED_DIM, False)
    mask = sight.as_mask(KEYS)
    mask = mask.any(dim=1) if mask.ndim == 4 else mask
    mask = mask.expand(BATCH, QUERIES, KEYS)
    expected = everything(form, module, query, key, value, sight)
    unseen, blind = ~mask.any(dim=1).unsqueeze(-1), ~mask.any(dim=2).unsqueeze(-1)
    changed = query.masked_fill(blind, what), key.masked_fill(unseen, what), value.masked_fill(unseen, what)
    actual = everything(form, module, *changed, sight)
    assert_close(actual, expected, rtol=0, atol=0)
    assert all(torch.isfinite(tensor).all() for tensor in actual.values())


@pytest.mark.parametrize("form", OURS, ids=str)
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
def test_a_query_that_sees_nothing_gets_the_bias_alone(form, dtype):
    weights = source(EMBED_DIM, HEADS, dtype=dtype)
    module = form.like(weights, HEADS)
    x, _, _ = random_inputs(BATCH, QUERIES, QUERIES, EMBED_DIM, True, dtype)
    lens = torch.tensor([[3, 2, 1, 0, 0], [4, 4, 4, 4, 0]])
    found = everything(form, module, x, x, x, Sight(valid_lens=lens))
    assert found["output"].dtype == dtype
    blind = lens == 0
    expected = weights.output_projection.bias.detach().expand(int(blind.sum()), -1)
    assert_close(found["output"][blind], expected, rtol=0, atol=0)
    assert (found["x"][blind] == 0).all()
    assert all(torch.isfinite(tensor).all() for tensor in found.values())
    nothing = everything(form, module, x, x, x, Sight(valid_lens=torch.zeros_like(lens)))
    assert (nothing["x"] == 0).all()
    assert all(torch.isfinite(tensor).all() for tensor in nothing.values())


@pytest.mark.parametrize("form", OURS, ids=str)
@pytest.mark.parametrize("size", [(0, QUERIES), (BATCH, 0)], ids=["no sequence", "no token"])
def test_nothing_to_compute(form, size):
    x = torch.ones(*size, EMBED_DIM)
    output = form.attend(form.like(source(EMBED_DIM, HEADS, dtype=x.dtype), HEADS), x, x, x, Sight())
    assert output.shape == (*size, EMBED_DIM)


@pytest.mark.parametrize("form", [form for form in OURS if form.takes_memory], ids=str)
def test_no_keys_give_the_bias_alone(form):
    weights = source(EMBED_DIM, HEADS)
    query = torch.randn(BATCH, QUERIES, EMBED_DIM).double()
    memory = torch.empty(BATCH, 0, EMBED_DIM).double()
    output = form.attend(form.like(weights, HEADS), query, memory, memory, Sight())
    assert_close(output, weights.output_projection.bias.expand_as(output), rtol=0, atol=0)


@pytest.mark.parametrize("form", OURS, ids=str)
def test_on_meta_it_gives_shapes(form):
    with torch.device("meta"):
        x = torch.ones(BATCH, QUERIES, EMBED_DIM)
        output = form.attend(form.make(EMBED_DIM, HEADS, True), x, x, x, Sight())
    assert output.is_meta
    assert output.shape == x.shape


@pytest.mark.parametrize("form", OURS, ids=str)
def test_inputs_are_not_changed(form):
    module = form.like(source(EMBED_DIM, HEADS), HEADS)
    x, _, _ = random_inputs(BATCH, QUERIES, QUERIES, EMBED_DIM, True)
    x[:, -1] = NAN
    lens = torch.tensor([[4, 3, 2, 1, 0]] * 2)
    before = [(tensor.clone(), tensor._version) for tensor in (x, lens)]
    form.attend(module, x, x, x, Sight(valid_lens=lens))
    for tensor, (copy, version) in zip((x, lens), before, strict=True):
        assert tensor._version == version
        assert_close(tensor, copy, rtol=0, atol=0, equal_nan=True)


@pytest.mark.parametrize("form", OURS, ids=str)
def test_state_dict_and_deep_copy_after_a_call(form):
    module = form.like(source(EMBED_DIM, HEADS), HEADS)
    x, _, _ = random_inputs(BATCH, QUERIES, QUERIES, EMBED_DIM, True)
    expected = form.attend(module, x, x, x, Sight())
    other = form.make(EMBED_DIM, HEADS, True).double()
    other.load_state_dict(module.state_dict(), strict=True)
    assert_close(form.attend(other, x, x, x, Sight()), expected, rtol=0, atol=0)
    assert_close(form.attend(deepcopy(module), x, x, x, Sight()), expected, rtol=0, atol=0)
