# ruff: noqa: E501  in the table of bad input, each case is one line
from __future__ import annotations

import re

import pytest
import torch
from torch import nn
from torch.testing import assert_close

from polyhead import (
    AnnotatedMultiHeadAttention,
    LoopedMultiHeadAttention,
    MultiHeadAttention,
    SingleHeadAttention,
    SplitMultiHeadAttention,
    copy_weights,
)
from polyhead_course import peers
from tests.polyhead.forms import FUSED, SEVEN, Sight, source

BATCH, TOKENS, HEADS, HEAD_DIM = 2, 3, 5, 7
EMBED_DIM = HEADS * HEAD_DIM

WITHOUT_BIAS = [form for form in SEVEN if form.name not in ("annotated", "split")]


def state(module: nn.Module) -> dict[str, torch.Tensor]:
    return {name: tensor.clone() for name, tensor in module.state_dict().items()}


def output(form, module: nn.Module) -> torch.Tensor:
    x = torch.linspace(-1, 1, BATCH * TOKENS * EMBED_DIM, dtype=torch.float64).sin()
    x = x.view(BATCH, TOKENS, EMBED_DIM).to(next(module.parameters()).dtype)
    return form.attend(module, x, x, x, Sight())


PAIRS = [(of, to, True) for of in SEVEN for to in SEVEN]
PAIRS += [(of, to, False) for of in WITHOUT_BIAS for to in WITHOUT_BIAS]


@pytest.mark.parametrize(("of", "to", "bias"), PAIRS, ids=str)
def test_there_and_back(of, to, bias):
    """Weights and biases, through any other form and back, are the same to the last bit."""
    first = of.like(source(EMBED_DIM, HEADS, bias), HEADS)
    before = state(first)
    second, third = (form.make(EMBED_DIM, HEADS, bias).double() for form in (to, of))
    copy_weights(first, second)
    assert_close(output(to, second), output(of, first))
    copy_weights(second, third)
    assert_close(state(third), before, rtol=0, atol=0)
    assert_close(state(first), before, rtol=0, atol=0)
    assert all(before[name].any() for name in before)


@pytest.mark.parametrize("to", SEVEN, ids=str)
@pytest.mark.parametrize("of", WITHOUT_BIAS, ids=str)
def test_a_bias_that_the_source_lacks_becomes_zero(of, to):
    first = of.like(source(EMBED_DIM, HEADS, bias=False), HEADS)
    second = to.like(source(EMBED_DIM, HEADS), HEADS)
    copy_weights(first, second)
    assert_close(output(to, second), output(of, first))
    biases = [parameter for name, parameter in second.named_parameters() if name.endswith("bias")]
    assert biases
    assert not any(bias.any() for bias in biases)


def test_where_each_row_goes():
    """Every weight and bias is the number of its row: queries of all heads, then keys, then values."""
    fused = MultiHeadAttention(6, 3)
    rows = torch.arange(18.0)
    with torch.no_grad():
        fused.input_projection.weight.copy_(rows[:, None].expand(-1, 6))
        fused.input_projection.bias.copy_(100 + rows)
    looped, annotated = LoopedMultiHeadAttention(6, 3), AnnotatedMultiHeadAttention(3, 6)
    for target in (looped, annotated):
        copy_weights(fused, target)
    for i, head in enumerate(looped.heads):
        for offset, layer in enumerate((head.query_projection, head.key_projection, head.value_projection)):
            expected = rows[6 * offset + 2 * i :][:2]
            assert torch.equal(layer.weight, expected[:, None].expand(-1, 6))
            assert torch.equal(layer.bias, 100 + expected)
    *inputs, output = annotated.linears
    assert torch.equal(torch.cat([layer.bias for layer in inputs]), 100 + rows)
    assert torch.equal(output.weight, fused.output_projection.weight)
    assert torch.equal(output.bias, fused.output_projection.bias)


@pytest.mark.parametrize("num_kv_heads", [1, 2, 3])
@pytest.mark.parametrize("to", SEVEN, ids=str)
def test_grouped_to_full(to, num_kv_heads):
    grouped = MultiHeadAttention(42, 6, num_kv_heads=num_kv_heads).double()
    nn.init.normal_(grouped.input_projection.bias)
    full = to.make(42, 6, True).double()
    copy_weights(grouped, full)
    x = torch.randn(BATCH, TOKENS, 42, dtype=torch.float64)
    assert_close(to.attend(full, x, x, x, Sight()), grouped(x)[0])


def test_grouped_to_grouped():
    first, second = (MultiHeadAttention(42, 6, num_kv_heads=2) for _ in range(2))
    copy_weights(first, second)
    assert_close(state(second), state(first), rtol=0, atol=0)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=str)
@pytest.mark.parametrize("to", SEVEN, ids=str)
def test_the_target_keeps_its_dtype_and_its_dropout(to, dtype):
    first = source(EMBED_DIM, HEADS)
    second = to.make(EMBED_DIM, HEADS, True).to(dtype).eval()
    copy_weights(first, second)
    assert all(parameter.dtype == dtype for parameter in second.parameters())
    assert all(parameter.requires_grad and parameter.is_leaf for parameter in second.parameters())
    assert not second.training
    third = MultiHeadAttention(EMBED_DIM, HEADS, dropout=0.25).to(dtype)
    copy_weights(second, third)
    assert third.dropout == 0.25
    assert_close(state(third), state(first.to(dtype)), rtol=0, atol=0)


def test_a_copy_is_a_copy():
    """Training the target leaves the source alone, and its optimiser still holds its parameters."""
    first, second = source(EMBED_DIM, HEADS), FUSED.make(EMBED_DIM, HEADS, True).double()
    parameters = list(second.parameters())
    copy_weights(first, second)
    before = state(first)
    assert all(a is b for a, b in zip(parameters, second.parameters(), strict=True))
    with torch.no_grad():
        for parameter in parameters:
            parameter.add_(1)
    assert_close(state(first), before, rtol=0, atol=0)


def test_onto_itself():
    module = source(EMBED_DIM, HEADS)
    before = state(module)
    copy_weights(module, module)
    assert_close(state(module), before, rtol=0, atol=0)


@pytest.mark.parametrize("form", SEVEN, ids=str)
def test_gradients_stay_and_none_flows_through_the_copy(form):
    first, second = source(EMBED_DIM, HEADS), form.like(source(EMBED_DIM, HEADS), HEADS)
    output(form, second).sum().backward()
    gradients = [parameter.grad.clone() for parameter in second.parameters()]
    copy_weights(first, second)
    assert_close([parameter.grad for parameter in second.parameters()], gradients, rtol=0, atol=0)
    output(form, second).sum().backward()
    assert all(parameter.grad is None for parameter in first.parameters())


# ---- what is refused


def d2l(*arguments, **options):
    return peers.d2l().MultiHeadAttention(*arguments, **options)


def d2l_of_other_inputs():
    module = d2l(6, 3, 0.0)
    module(torch.ones(1, 2, 4), torch.ones(1, 2, 5), torch.ones(1, 2, 6), None)
    return module


def fused(embed_dim=6, num_heads=3, **options):
    return MultiHeadAttention(embed_dim, num_heads, **options)


def theirs(**options):
    return nn.MultiheadAttention(6, 3, **options)


class OtherAttention(nn.Module):
    pass


def named(name, module):
    return type(name, (nn.Module,), {"__module__": module})()


NONE_OF_THE_SEVEN = "copy_weights needs one of"
REFUSED = [
    ("embed_dim", fused, lambda: fused(12), ValueError, "source's embed_dim 6", "12"),
    ("num_heads", fused, lambda: fused(num_heads=2), ValueError, "source's num_heads 3", "2"),
    ("num_heads of d2l", fused, lambda: d2l(6, 2, 0.0, bias=True), ValueError, "source's num_heads 3", "2"),
    ("no bias in fused", fused, lambda: fused(bias=False), ValueError, "biases, as the source's query projection has", "none"),
    ("no bias in d2l", fused, lambda: d2l(6, 3, 0.0), ValueError, "must have biases", "none"),
    ("full to grouped", fused, lambda: fused(num_kv_heads=1), ValueError, "source's num_kv_heads 3", "1"),
    ("grouped to grouped otherwise", lambda: fused(8, 4, num_kv_heads=2), lambda: fused(8, 4, num_kv_heads=1), ValueError, "num_kv_heads 2, or one of them for each of the 4 heads", "1"),
    ("kdim of the source", lambda: theirs(kdim=4), fused, ValueError, "without kdim or vdim", "which the other forms lack"),
    ("vdim of the target", fused, lambda: theirs(vdim=4), ValueError, "without kdim or vdim", "which the other forms lack"),
    ("add_bias_kv", lambda: theirs(add_bias_kv=True), fused, ValueError, "without add_bias_kv", "which the other forms lack"),
    ("add_zero_attn", lambda: theirs(add_zero_attn=True), fused, ValueError, "without add_zero_attn", "which the other forms lack"),
    ("d2l before its first call", lambda: d2l(6, 3, 0.0), fused, ValueError, "source must have weights", "before its first call"),
    ("d2l of other inputs", d2l_of_other_inputs, fused, ValueError, "inputs of its num_hiddens = 6", "(4, 5, 6, 6)"),
    ("single head", lambda: SingleHeadAttention(6), fused, TypeError, NONE_OF_THE_SEVEN, "SingleHeadAttention"),
    ("another library's class of that name", lambda: named("MultiHeadAttention", "keras"), fused, TypeError, NONE_OF_THE_SEVEN, "MultiHeadAttention"),
    ("another class of d2l", lambda: named("MaskedAttention", "d2l.torch"), fused, TypeError, NONE_OF_THE_SEVEN, "MaskedAttention"),
    ("linear as target", fused, lambda: nn.Linear(6, 6), TypeError, NONE_OF_THE_SEVEN, "Linear"),
]  # fmt: skip


@pytest.mark.parametrize(("make_source", "make_target", "error", "expected", "got"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])  # fmt: skip
def test_what_cannot_be_converted_is_refused_and_nothing_changes(
    make_source, make_target, error, expected, got
):
    first, second = make_source(), make_target()
    lazy = [nn.parameter.is_lazy(parameter) for parameter in second.parameters()]
    before = None if any(lazy) else state(second)
    with pytest.raises(error, match=f"(?s){re.escape(expected)}.*{re.escape(got)}"):
        copy_weights(first, second)
    assert [nn.parameter.is_lazy(parameter) for parameter in second.parameters()] == lazy
    if before is not None:
        assert_close(state(second), before, rtol=0, atol=0)


@pytest.mark.parametrize("devices", [("cpu", "meta"), ("meta", "cpu")], ids=str)
def test_weights_without_numbers_are_refused(devices):
    source, target = (fused().to(device) for device in devices)
    with pytest.raises(ValueError, match=r"\bmust hold numbers, got a query projection on the meta device"):
        copy_weights(source, target)


@pytest.mark.parametrize(
    "compute",
    [torch.nn.utils.parametrizations.weight_norm, torch.nn.utils.parametrizations.spectral_norm],
    ids=["weight_norm", "spectral_norm"],
)
def test_weights_that_are_computed_cannot_be_copied_into_but_can_be_read(compute):
    source, target = fused(), SplitMultiHeadAttention(6, 3)
    compute(target.value)
    with pytest.raises(ValueError, match=r"\bvalue projection"):
        copy_weights(source, target)
    x = torch.randn(2, 5, 6)
    plain = SplitMultiHeadAttention(6, 3)
    copy_weights(target.eval(), plain)
    assert_close(plain(x)[0], target(x)[0])
