from __future__ import annotations

import copy
import math

import pytest
import torch
import torch.nn.functional as F
from torch.testing import assert_close

from polyhead import MultiHeadAttention, causal_mask, padding_mask, scaled_dot_product_attention
from tests.polyhead.memory import largest_float

BATCH, QUERIES, KEYS, HEADS, HEAD_DIM = 2, 3, 5, 6, 7
EMBED_DIM = HEADS * HEAD_DIM
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
TOLERANCE = {torch.float16: 5e-3, torch.bfloat16: 5e-2, torch.float32: 1e-5, torch.float64: 1e-10}
NAN = math.nan


def inputs(dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """What asks, and what is looked at."""
    query, key, value = (torch.randn(BATCH, n, EMBED_DIM).to(dtype) for n in (QUERIES, KEYS, KEYS))
    return query, key, value


def module_of(dtype: torch.dtype = torch.float64, **options) -> MultiHeadAttention:
    module = MultiHeadAttention(EMBED_DIM, HEADS, **options).to(dtype)
    if module.input_projection.bias is not None:
        torch.nn.init.normal_(module.input_projection.bias)
        torch.nn.init.normal_(module.output_projection.bias)
    return module


def by_hand(module, query, key, value, mask=None, gates=None):
    """The same attention in plain steps, with the functions of chapter 1."""
    sizes = [EMBED_DIM, *[module.num_kv_heads * HEAD_DIM] * 2]
    weights = module.input_projection.weight.split(sizes)
    biases = module.input_projection.bias.split(sizes)
    q, k, v = (
        F.linear(x, w, b).view(BATCH, x.shape[1], -1, HEAD_DIM).transpose(1, 2)
        for x, w, b in zip((query, key, value), weights, biases, strict=True)
    )
    shared = torch.arange(HEADS) // (HEADS // module.num_kv_heads)  # which keys each head uses
    output, attention = scaled_dot_product_attention(q, k[:, shared], v[:, shared], mask)
    if gates is not None:
        output = output * gates[..., None, None]
    joined = torch.cat(list(output.unbind(dim=1)), dim=-1)
    return F.linear(joined, module.output_projection.weight, module.output_projection.bias), attention


def everything(module, *arguments, **options):
    """Outputs, weights if any, and the gradients of all inputs and parameters."""
    module.zero_grad()
    leaves = [tensor.clone().requires_grad_() for tensor in arguments]
    output, weights = module(*leaves, **options)
    output.sin().sum().backward()
    found = [output.detach(), *(leaf.grad for leaf in leaves)]
    return found + [parameter.grad.clone() for parameter in module.parameters()], weights


# ---- keys and values in groups


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("num_kv_heads", [None, 1, 2, 3, 6])
def test_heads_of_a_group_share_keys_and_values(num_kv_heads, need_weights):
    module, arguments = module_of(num_kv_heads=num_kv_heads), inputs()
    output, weights = module(*arguments, need_weights=need_weights)
    expected, expected_weights = by_hand(module, *arguments)
    assert_close(output, expected)
    if need_weights:
        assert_close(weights, expected_weights)


# ---- missing arguments, and the paths they choose


def test_missing_arguments():
    module, (query, memory, _) = module_of(), inputs()
    assert_close(module(query)[0], module(query, query.clone(), query.clone())[0])
    assert_close(module(query, memory)[0], module(query, memory, memory.clone())[0])
    assert_close(module(query, value=query + 1)[0], module(query, query.clone(), query + 1)[0])
    assert module(query)[1] is None


MASKS = {
    "none": None,
    "one row": torch.arange(KEYS) < 4,
    "causal": causal_mask(QUERIES, KEYS),
    "padding": padding_mask(torch.tensor([2, 5]), KEYS),
    "per sequence": padding_mask(torch.tensor([[1, 2, 5], [0, 3, 4]]), KEYS),
    "per head": torch.arange(HEADS * QUERIES * KEYS).view(1, HEADS, QUERIES, KEYS) % 3 > 0,
    "padding of four dimensions": padding_mask(torch.tensor([2, 0]), KEYS)[:, None],
}


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_with_and_without_weights_it_is_the_same(dtype, mask, is_causal):
    module, arguments = module_of(dtype), inputs(dtype)
    whole = mask
    if is_causal:
        whole = causal_mask(QUERIES, KEYS) if mask is None else mask & causal_mask(QUERIES, KEYS)
    wide = copy.deepcopy(module).double()
    aligned = whole[:, None] if whole is not None and whole.ndim == 3 else whole
    expected, expected_weights = by_hand(wide, *(tensor.double() for tensor in arguments), aligned)
    fused, none = everything(module, *arguments, mask=mask, is_causal=is_causal)
    explicit, weights = everything(module, *arguments, mask=mask, is_causal=is_causal, need_weights=True)
    tolerance = {"rtol": TOLERANCE[dtype], "atol": TOLERANCE[dtype]}
    assert none is None
    assert (fused[0].dtype, weights.dtype) == (dtype, dtype)
    assert_close(fused[0].double(), expected, **tolerance)
    assert_close(weights.double(), expected_weights, **tolerance)
    for one, other in zip(fused, explicit, strict=True):
        scale = max(1.0, other.abs().max().item())
        assert_close(one / scale, other / scale, **tolerance)
        assert torch.isfinite(one).all()


@pytest.mark.parametrize("need_weights", [False, True])
def test_what_mask_and_causality_hide_together_may_be_rubbish(need_weights):
    """The mask alone would let the first query see the last token."""
    module, x = module_of(), torch.randn(BATCH, KEYS, EMBED_DIM).double()
    mask = torch.ones(KEYS, KEYS, dtype=torch.bool)
    mask[-1], mask[1:, -1] = False, False
    options = {"mask": mask, "is_causal": True, "need_weights": need_weights}
    expected, _ = everything(module, x, **options)
    x[:, -1] = NAN
    actual, _ = everything(module, x, **options)
    assert_close(actual, expected, rtol=0, atol=0)
    cross = x.clone().nan_to_num(), x
    assert torch.isfinite(module(*cross, **options)[0]).all()


@pytest.mark.parametrize("options", [{}, {"need_weights": True}, {"is_causal": True}], ids=str)
def test_no_query_gets_nothing(options):
    module, (query, key, value) = module_of(), inputs()
    output, _ = module(query[:, :0], key, value, **options)
    assert output.shape == (BATCH, 0, EMBED_DIM)


# ---- gates


def test_gates_one_change_nothing_and_others_scale():
    module, arguments = module_of(), inputs()
    gates = torch.randn(BATCH, HEADS).double()
    assert_close(module(*arguments, head_gates=torch.ones(HEADS).double())[0], module(*arguments)[0])
    assert_close(module(*arguments, head_gates=gates)[0], by_hand(module, *arguments, gates=gates)[0])
    assert_close(module(*arguments, head_gates=gates[1])[0], by_hand(module, *arguments, gates=gates[1])[0])


def test_gates_leave_the_weights_as_they_are_and_have_gradients():
    module, arguments = module_of(), inputs()
    gates = torch.ones(HEADS, dtype=torch.float64, requires_grad=True)
    _, weights = module(*arguments, need_weights=True)
    output, gated = module(*arguments, need_weights=True, head_gates=0 * gates)
    assert_close(gated, weights)
    assert_close(output, module.output_projection.bias.expand_as(output))
    module(*arguments, head_gates=gates)[0].sin().sum().backward()
    assert gates.grad.all()


# ---- dropout


def copies(number: int) -> torch.Tensor:
    return torch.randn(1, KEYS, EMBED_DIM).double().expand(number, -1, -1)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("is_causal", [False, True])
def test_dropout_keeps_the_expectation(is_causal, need_weights):
    module, x = module_of(dropout=0.25), copies(3000)
    output, weights = module(x, is_causal=is_causal, need_weights=need_weights)
    plain, plain_weights = module.eval()(x[:1], is_causal=is_causal, need_weights=True)
    assert output.std(dim=0).min() > 0.01
    assert_close(output.mean(dim=0), plain[0], rtol=0, atol=0.05)
    if need_weights:
        visible = (plain_weights > 0).expand_as(weights)
        assert_close((weights[visible] > 0).double().mean().item(), 0.75, rtol=0, atol=0.01)
        kept = weights > 0
        assert_close(weights[kept], (plain_weights / 0.75).expand_as(weights)[kept])


def test_weights_with_dropout_are_those_that_made_the_output():
    module, arguments = module_of(dropout=0.5), inputs()
    output, weights = module(*arguments, need_weights=True)
    v = F.linear(
        arguments[2], module.input_projection.weight[-EMBED_DIM:], module.input_projection.bias[-EMBED_DIM:]
    )
    heads = weights @ v.view(BATCH, KEYS, HEADS, HEAD_DIM).transpose(1, 2)
    assert_close(output, module.output_projection(heads.transpose(1, 2).flatten(2)))
    assert (weights == 0).any()


@pytest.mark.parametrize("need_weights", [False, True])
def test_no_dropout_in_eval(need_weights):
    module, arguments = module_of(dropout=0.9).eval(), inputs()
    without = MultiHeadAttention(EMBED_DIM, HEADS).double()
    without.load_state_dict(module.state_dict())
    actual = module(*arguments, need_weights=need_weights)
    assert_close(actual, without(*arguments, need_weights=need_weights), rtol=0, atol=0)


def test_dropout_zero_draws_no_random_numbers():
    module, arguments = module_of(), inputs()
    assert_close(module(*arguments), module(*arguments), rtol=0, atol=0)
    before = torch.get_rng_state()
    module(*arguments, need_weights=True)
    assert torch.equal(torch.get_rng_state(), before)


def test_dropout_one_leaves_the_bias():
    module, arguments = module_of(dropout=1.0), inputs()
    for need_weights in (False, True):
        output, _ = module(*arguments, need_weights=need_weights)
        assert_close(output, module.output_projection.bias.expand_as(output), rtol=0, atol=0)


# ---- queries that see nothing


@pytest.mark.parametrize("need_weights", [False, True])
def test_blind_in_one_head_only(need_weights):
    module, arguments = module_of(), inputs()
    mask = torch.ones(1, HEADS, 1, 1, dtype=torch.bool)
    mask[:, 2] = False
    gates = torch.ones(HEADS).double()
    gates[2] = 0
    output, _ = module(*arguments, mask=mask, need_weights=need_weights)
    assert_close(output, module(*arguments, head_gates=gates)[0])


# ---- memory


LENGTH = 256
LONG = {
    "plain": {},
    "causal": {"is_causal": True},
    "padding": {"mask": padding_mask(torch.tensor([LENGTH - 3]), LENGTH)},
    "one row": {"mask": torch.arange(LENGTH) < 100},
}


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("options", LONG.values(), ids=LONG.keys())
def test_no_matrix_of_queries_and_keys_unless_asked_for(options, dtype):
    module = MultiHeadAttention(8, 2, num_kv_heads=1).to(dtype)
    x = torch.randn(1, LENGTH, 8, dtype=dtype, requires_grad=True)
    assert largest_float(module, x, **options) <= 16 * LENGTH  # at most the three projections together
    assert largest_float(module, x, need_weights=True, **options) >= 2 * LENGTH**2


# ---- every place a module goes


COMPILED = {
    "plain": {},
    "causal": {"is_causal": True},
    "mask": {"mask": causal_mask(KEYS)},
    "padding": {"mask": padding_mask(torch.tensor([2, 0]), KEYS)},
    "mask and causal": {"mask": padding_mask(torch.tensor([2, 5]), KEYS), "is_causal": True},
    "weights": {"mask": padding_mask(torch.tensor([2, 0]), KEYS), "need_weights": True},
    "gates": {"head_gates": torch.linspace(0, 1, HEADS)},
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("options", COMPILED.values(), ids=COMPILED.keys())
def test_compiles_into_one_graph(in_one_graph, options):
    module = module_of(torch.float32, num_kv_heads=2)
    x = torch.randn(BATCH, KEYS, EMBED_DIM)
    compiled = in_one_graph(module, "eager")
    assert_close(compiled(x, **options), module(x, **options))
    memory = torch.randn(BATCH, KEYS, EMBED_DIM)
    assert_close(compiled(x, memory, **options), module(x, memory, **options))


@pytest.mark.usefixtures("unchecked")
def test_compiles_backward_too(in_one_graph):
    module = module_of(torch.float32, num_kv_heads=2)
    x, mask = torch.randn(BATCH, KEYS, EMBED_DIM), padding_mask(torch.tensor([2, 0]), KEYS)
    expected, _ = everything(module, x, mask=mask, is_causal=True)
    compiled = in_one_graph(module, "aot_eager")
    leaf = x.clone().requires_grad_()
    module.zero_grad()
    output, _ = compiled(leaf, mask=mask, is_causal=True)
    output.sin().sum().backward()
    found = [output.detach(), leaf.grad, *(parameter.grad for parameter in module.parameters())]
    assert_close(found, expected)


@pytest.mark.parametrize("need_weights", [False, True])
def test_gradcheck(need_weights):
    module = MultiHeadAttention(4, 2, num_kv_heads=1).double()
    names, parameters = zip(*module.named_parameters(), strict=True)
    mask = padding_mask(torch.tensor([[2, 0, 3]]), 3)

    def call(x, gates, *values):
        output, weights = torch.func.functional_call(
            module,
            dict(zip(names, values, strict=True)),
            (x,),
            {"mask": mask, "head_gates": gates, "need_weights": need_weights},
        )
        return output if weights is None else (output, weights)

    x = torch.randn(1, 3, 4, dtype=torch.float64, requires_grad=True)
    gates = torch.randn(2, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(call, (x, gates, *parameters))
