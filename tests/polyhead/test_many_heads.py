"""What chapter 3 brings: the figure of several heads, and the check of a reader's multi-head attention."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
import torch

from polyhead import LoopedMultiHeadAttention, checks, plots, sentence, set_language
from polyhead.language import LANGUAGES, text
from tests.polyhead.bad_input import assert_named, bad

# ---- the figure


def words(drawing):
    root = ET.fromstring(drawing.svg)
    return ["".join(e.itertext()).strip() for e in root.iter("{http://www.w3.org/2000/svg}text")]


@pytest.mark.parametrize("num_heads", [1, 2, 3, 4])
@pytest.mark.parametrize("code", LANGUAGES)
def test_head_weights_names_each_head_and_fits(code, num_heads):
    set_language(code)
    drawing = plots.head_weights(torch.full((num_heads, 4, 4), 0.25), sentence())
    shown = words(drawing)
    titles = [text("title.head", number=number + 1) for number in range(num_heads)]
    assert [word for word in shown if word in titles] == titles
    assert shown.count("0.25") == 16 * num_heads
    lines, across = -(-num_heads // 2), min(num_heads, 2)
    for token in sentence():
        assert shown.count(token) == lines + across
    assert float(re.search(r'width="([\d.]+)pt"', drawing.svg)[1]) / 72 <= 4.8


def test_head_weights_shows_numbers_in_order_and_other_columns():
    drawing = plots.head_weights([[[0.25, 0.75, 0.0]], [[1.0, 0.0, 0.0]]], ["r"], ["x", "y", "z"])
    numbers = [word for word in words(drawing) if re.fullmatch(r"\d\.\d\d", word)]
    assert numbers == ["0.25", "0.75", "0.00", "1.00", "0.00", "0.00"]
    assert words(drawing).count("z") == 2
    assert words(drawing).count("r") == 1


HALF = [[[0.5, 0.5], [0.5, 0.5]]]


def figure(weights=HALF, rows=("r", "s"), columns=None):
    return lambda: plots.head_weights(weights, rows, columns)


BAD = [
    bad("rank 2", figure(HALF[0]), ValueError, "weights must have 3 dimensions", "(2, 2)"),
    bad("None", figure(None), ValueError, "weights must hold real numbers", "None"),
    bad("NaN", figure([[[math.nan]]]), ValueError, "weights must hold finite numbers", "nan"),
    bad("too large", figure([[[1.5]]]), ValueError, "weights must lie between 0 and 1", "1.5"),
    bad("negative", figure([[[-0.5]]]), ValueError, "weights must lie between 0 and 1", "-0.5"),
    bad("rows a string", figure(rows="rs"), TypeError, "rows must be a sequence of strings", "str 'rs'"),
    bad("few rows", figure(rows=["r"]), ValueError, "rows must be 2 labels", "1: ['r']"),
    bad("few columns", figure(columns=["x"]), ValueError, "columns must be 2 labels", "1: ['x']"),
    bad("no columns", figure(columns=[]), ValueError, "columns must be 2 labels", "0: []"),
    bad(
        "columns ints", figure(columns=[2, 3]), TypeError, "columns must be a sequence of strings", "2 in it"
    ),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)


# ---- the check


def outputs(x, heads, divisor=None):
    scale = divisor or math.sqrt(heads[0][0].shape[1])
    return [((x @ q) @ (x @ k).mT / scale).softmax(-1) @ (x @ v) for q, k, v in heads]


def right(x, heads, W_O):
    return torch.cat(outputs(x, heads), dim=-1) @ W_O


def as_sum(x, heads, W_O):
    blocks = W_O.split(heads[0][2].shape[1])
    return sum(output @ block for output, block in zip(outputs(x, heads), blocks, strict=False))


def library(x, heads, W_O):
    module = LoopedMultiHeadAttention(x.shape[-1], len(heads), bias=False)
    with torch.no_grad():
        for head, (q, k, v) in zip(module.heads, heads, strict=True):
            head.query_projection.weight.copy_(q.T)
            head.key_projection.weight.copy_(k.T)
            head.value_projection.weight.copy_(v.T)
        module.output_projection.weight.copy_(W_O.T)
    return module(x)


def spoil(x, heads, W_O):
    result = right(x, heads, W_O)
    for tensor in (x, W_O, *heads[0]):
        tensor.zero_()
    heads.clear()
    return result


def scrambled(join):
    return lambda x, heads, W_O: join(outputs(x, heads)).reshape(x.shape) @ W_O


@pytest.mark.parametrize("candidate", [right, library, spoil, lambda *a: (right(*a), None)])
def test_right_function(candidate, capsys):
    assert checks.multi_head(candidate) is None
    assert capsys.readouterr().out == text("check.agrees") + "\n"


WRONG = {
    "unscaled": ("unscaled", lambda x, h, W: torch.cat(outputs(x, h, 1.0), -1) @ W),
    "model's root": ("model_root", lambda x, h, W: torch.cat(outputs(x, h, x.shape[-1] ** 0.5), -1) @ W),
    "no W_O": ("no_output_projection", lambda x, h, W: torch.cat(outputs(x, h), -1)),
    "summed": ("heads_summed", lambda x, h, W: sum(outputs(x, h)) @ W),
    "averaged": ("heads_averaged", lambda x, h, W: sum(outputs(x, h)) / len(h) @ W),
    "averaged, stacked": ("heads_averaged", lambda x, h, W: torch.stack(outputs(x, h)).mean(0) @ W),
    **{
        f"cat {dim}": ("concat_axis", lambda x, h, W, d=dim: torch.cat(outputs(x, h), d) @ W)
        for dim in (0, 1)
    },
    **{
        f"stack {dim}": ("concat_axis", lambda x, h, W, d=dim: torch.stack(outputs(x, h), d) @ W)
        for dim in (0, 1, 2)
    },
    "cat 0, reshaped": ("concat_axis", scrambled(lambda o: torch.cat(o, 0))),
    "cat 1, reshaped": ("concat_axis", scrambled(lambda o: torch.cat(o, 1))),
    "stack 1, reshaped": ("concat_axis", scrambled(lambda o: torch.stack(o, 1))),
    "stack -1, reshaped": ("concat_axis", scrambled(lambda o: torch.stack(o, -1))),
}


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", WRONG)
def test_known_mistake_is_named(name, code, capsys):
    set_language(code)
    key, candidate = WRONG[name]
    checks.multi_head(candidate)
    assert capsys.readouterr().out == text(f"check.{key}") + "\n"


ODD = {
    "raises": (lambda x, h, W: 1 / 0, "✗ Your function stopped with ZeroDivisionError"),
    "no function": (3, "✗ Your function stopped with TypeError"),
    "returns None": (lambda x, h, W: None, "must return a tensor; it returned NoneType"),
    "first head alone": (lambda x, h, W: outputs(x, h)[0], "must have shape (2, 5, 12); yours has (2, 5, 4)"),
    "one more": (lambda *a: right(*a) + 1, "differ by up to 1."),
    "integers": (lambda *a: right(*a).long(), "must return a tensor"),
    "on no device": (lambda *a: right(*a).to("meta"), "must return a tensor"),
    "sparse": (lambda *a: right(*a).to_sparse(), "must return a tensor"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ODD)
def test_anything_else_is_survived_and_told(name, capsys):
    candidate, expected = ODD[name]
    checks.multi_head(candidate)
    output = capsys.readouterr().out
    assert output.startswith("✗")
    assert expected in output


def test_sum_over_blocks_of_the_output_projection_is_right(capsys):
    checks.multi_head(as_sum)
    print_out = capsys.readouterr().out
    assert print_out == text("check.agrees") + "\n"
