"""`checks.masked_attention` and the figure of masks."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import polyhead
from polyhead import checks, plots, set_language
from polyhead.language import LANGUAGES, text
from tests.polyhead.bad_input import assert_named, bad


def scores(query, key):
    return query @ key.mT / math.sqrt(query.shape[-1])


def filled(number):
    """Attention whose hidden scores are replaced by a number."""
    return lambda q, k, v, mask: scores(q, k).masked_fill(~mask, number).softmax(-1) @ v


def nan_to_num(query, key, value, mask):
    additive = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    return (scores(query, key) + additive).softmax(-1).nan_to_num(0.0) @ value


def stopped_nan(query, key, value, mask):
    """masked_fill writes zeros into the gradient, too."""
    weights = scores(query, key).masked_fill(~mask, -math.inf).softmax(-1)
    return weights.nan_to_num(0.0) @ value


def spoil_inputs(query, key, value, mask):
    output = F.scaled_dot_product_attention(query, key, value, mask).detach()
    for tensor in (query, key, value):
        tensor.detach().zero_()
    mask.logical_not_()
    return output


def spoil_weights(query, key, value, mask):
    weights = torch.softmax(scores(query, key).masked_fill(~mask, -1e9), dim=-1)
    weights[~mask] = 0
    return weights @ value


def only_if_seen(query, key, value, mask):
    if not mask.any(dim=-1).all():
        raise ValueError("a row is hidden")
    return filled(-math.inf)(query, key, value, mask)


RIGHT = {
    "polyhead's own, a tuple": polyhead.scaled_dot_product_attention,
    "torch's": F.scaled_dot_product_attention,
    "a large number, then the mask": lambda q, k, v, mask: (
        (scores(q, k).masked_fill(~mask, -1e9).softmax(-1) * mask) @ v
    ),
    "float64": lambda q, k, v, mask: F.scaled_dot_product_attention(q.double(), k.double(), v.double(), mask),
    "NaN replaced, and stopped by masked_fill": stopped_nan,
    "changes its arguments": spoil_inputs,
}
WRONG = {
    "ignored": ("check.mask_ignored", lambda q, k, v, mask: scores(q, k).softmax(-1) @ v),
    "inverted": ("check.mask_inverted", lambda q, k, v, mask: filled(-math.inf)(q, k, v, ~mask)),
    "after": ("check.mask_after", lambda q, k, v, mask: (scores(q, k).softmax(-1) * mask) @ v),
    "added": ("check.mask_added", lambda q, k, v, mask: (scores(q, k) + mask).softmax(-1) @ v),
    "added as floats": (
        "check.mask_added",
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m.float()),
    ),
    "zero": ("check.mask_zero", filled(0.0)),
    "unscaled": ("check.unscaled", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=1.0)),
    "no root": ("check.no_root", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, scale=1 / 7)),
    "NaN": ("check.mask_nan", filled(-math.inf)),
    "NaN in a tuple": ("check.mask_nan", lambda *all_four: (filled(-math.inf)(*all_four), None)),
    "uniform": ("check.mask_uniform", filled(-1e9)),
    "NaN gradient": ("check.mask_nan_gradient", nan_to_num),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_function(name, capsys):
    checks.masked_attention(RIGHT[name])
    assert capsys.readouterr().out == text("check.agrees") + "\n"


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", WRONG)
def test_known_mistake_is_named_in_the_language_of_the_reader(name, code, capsys):
    set_language(code)
    key, candidate = WRONG[name]
    checks.masked_attention(candidate)
    assert capsys.readouterr().out == text(key) + "\n"


def test_every_known_mistake_is_tested():
    assert {f"check.{name}" for name in checks._MASK_MISTAKES} <= {key for key, _ in WRONG.values()}


ODD = {
    "raises": (lambda q, k, v, mask: 1 / 0, "stopped with ZeroDivisionError"),
    "takes no mask": (lambda q, k, v: v, "stopped with TypeError"),
    "returns None": (lambda q, k, v, mask: None, "must return a tensor; it returned NoneType."),
    "returns the values": (lambda q, k, v, mask: v, "must have shape (2, 3, 11); yours has (2, 5, 11)."),
    "is off by one": (lambda *all_four: F.scaled_dot_product_attention(*all_four) + 1, "differ by up to 1."),
    "raises for a hidden row": (only_if_seen, "stopped with ValueError: a row is hidden."),
    "overwrites its weights": (spoil_weights, "stopped with RuntimeError"),
    "gives ones for a hidden row": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m) + ~m.any(-1, keepdim=True),
        "differ by up to 1.",
    ),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ODD)
def test_anything_else_is_survived_and_told(name, capsys):
    candidate, expected = ODD[name]
    checks.masked_attention(candidate)
    output = capsys.readouterr().out
    assert output.startswith("✗")
    assert expected in output


# ---- the figure


def test_a_coloured_cell_for_each_true():
    mask = torch.tensor([[True, False, True], [False, False, False], [True, True, False]])
    for panels in ({"both": mask}, {"padding": mask, "causal": ~mask}):
        svg = plots.masks(panels, list("abc")).svg
        coloured = sum(int(panel.sum()) for panel in panels.values())
        assert svg.count("fill: #3182bd") == coloured


def test_each_panel_has_its_title():
    svg = plots.masks({"causal": polyhead.causal_mask(2)}, ["a", "b"]).svg
    assert text("mask.causal") in svg
    assert text("mask.both") not in svg


SQUARE = polyhead.causal_mask(2)
BAD = [
    bad(
        "no dict",
        lambda: plots.masks(SQUARE, list("ab")),
        TypeError,
        "panels must be a dict of masks",
        "Tensor",
    ),
    bad(
        "none", lambda: plots.masks({}, list("ab")), ValueError, "panels must name masks out of padding", "[]"
    ),
    bad("other name", lambda: plots.masks({"x": SQUARE}, list("ab")), ValueError, "out of padding", "['x']"),
    bad(
        "a float",
        lambda: plots.masks({"both": SQUARE.float()}, list("ab")),
        TypeError,
        "torch.bool",
        "float32",
    ),
    bad("a list", lambda: plots.masks({"both": [[True]]}, ["a"]), TypeError, "boolean torch.Tensor", "list"),
    bad(
        "tokens",
        lambda: plots.masks({"both": SQUARE}, list("abc")),
        ValueError,
        "must have shape (3, 3)",
        "(2, 2)",
    ),
    bad(
        "a string",
        lambda: plots.masks({"both": SQUARE}, "ab"),
        TypeError,
        "tokens must be a sequence",
        "str 'ab'",
    ),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
