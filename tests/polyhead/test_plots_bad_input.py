# ruff: noqa: E501  in the table, each case is one line
"""What figures say of arguments that they cannot draw: the argument, what was expected, and what came."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from polyhead import causal_mask, plots
from tests.polyhead.bad_input import assert_named, bad
from tests.polyhead.figures import FALLING, HEAD_DIMS, STEPS, USES

NAN, INF = math.nan, math.inf
M, R = [[1.0, 2.0], [3.0, 5.0]], ["r", "s"]
SQUARE = causal_mask(2)
HALF = [[[0.5, 0.5], [0.5, 0.5]]]
X = torch.zeros(1, 3, 4)
COURSE = {"a": ("A", []), "b": ("B", ["a"])}


def heatmap(matrix=M, rows=R, columns=None, **options):
    return lambda: plots.heatmap(matrix, rows, columns, **options)


def heads(weights=HALF, rows=R, columns=None):
    return lambda: plots.head_weights(weights, rows, columns)


def curves(head_dims=HEAD_DIMS, entropy=FALLING, gradient_norm=FALLING, num_keys=32):
    return lambda: plots.scaling_curves(head_dims, entropy, gradient_norm, num_keys)


def gradients(**changed):
    return lambda: plots.gradient_by_layer({"post_norm": [1.0, 2.0], **changed})


def sums(**changed):
    points = {"values": [[0, 0], [2, 0], [0, 2]], "outputs": [[1, 1]] * 3, "tokens": ["a", "b", "c"]}
    return lambda: plots.weighted_sums(**{**points, **changed})


def steps(**changed):
    return lambda: plots.five_steps(**{**STEPS, "tokens": list("abcd"), **changed})


def masks(panels=None, tokens=("a", "b")):
    return lambda: plots.masks({"both": SQUARE} if panels is None else panels, tokens)


def uses(**changed):
    return lambda: plots.three_uses(**{**USES, "source": list("abcde"), "target": list("wxyz"), **changed})


def course(**changed):
    return lambda: plots.course_map({**COURSE, **changed})


# Numbers of every kind go through one function: here by way of the heat map, elsewhere once a figure.
BAD = [
    bad("numbers, None", heatmap(None), ValueError, "matrix", "None"),
    bad("numbers, string", heatmap("ab"), ValueError, "matrix", "'ab'"),
    bad("numbers, strings", heatmap([["1", "2"]]), ValueError, "matrix", "'1'"),
    bad("numbers, complex", heatmap(torch.eye(2) + 0j), ValueError, "matrix", "j"),
    bad("numbers, complex array", heatmap(np.eye(2) * 1j), ValueError, "matrix", "j"),
    bad("numbers, ragged", heatmap([[1.0], [2.0, 3.0]]), ValueError, "matrix", "[2.0, 3.0]"),
    bad("numbers, meta", heatmap(torch.eye(2, device="meta")), ValueError, "matrix", "tensor("),
    bad("numbers, sparse", heatmap(torch.eye(2).to_sparse()), ValueError, "matrix", "tensor("),
    bad("numbers, rank 1", heatmap([1.0, 2.0]), ValueError, "matrix", "(2,)"),
    bad("numbers, rank 3", heatmap(torch.ones(2, 3, 5)), ValueError, "matrix", "(2, 3, 5)"),
    bad("numbers, no column", heatmap(torch.ones(2, 0)), ValueError, "matrix", "(2, 0)"),
    bad("numbers, no row", heatmap(torch.ones(0, 2)), ValueError, "matrix", "(0, 2)"),
    bad("numbers, NaN", heatmap([[1.0, NAN]]), ValueError, "matrix", "nan"),
    bad("numbers, inf", heatmap(torch.tensor([[1.0, -INF]])), ValueError, "matrix", "-inf"),
    bad("heatmap, rows None", heatmap(rows=None), TypeError, "rows", "None"),
    bad("heatmap, rows a string", heatmap(rows="rs"), TypeError, "rows", "'rs'"),
    bad("heatmap, rows ints", heatmap(rows=[2, 3]), TypeError, "rows", "2"),
    bad("heatmap, few rows", heatmap(rows=["r"]), ValueError, "rows", "1: ['r']"),
    bad("heatmap, columns a string", heatmap(columns="xy"), TypeError, "columns", "'xy'"),
    bad("heatmap, many columns", heatmap(columns=list("xyz")), ValueError, "columns", "3: ['x', 'y', 'z']"),
    bad("heatmap, no columns", heatmap(columns=[]), ValueError, "columns", "0: []"),
    bad("heatmap, not square", heatmap([[1.0, 2.0, 3.0]] * 2), ValueError, "columns", "2: ['r', 's']"),
    bad("heatmap, title None", heatmap(title=None), TypeError, "title", "None"),
    bad("heatmap, decimals negative", heatmap(decimals=-1), ValueError, "decimals", "-1"),
    bad("heatmap, decimals float", heatmap(decimals=2.0), TypeError, "decimals", "2.0"),
    bad("heatmap, highest 0", heatmap(highest=0), ValueError, "highest", "0"),
    bad("heatmap, highest NaN", heatmap(highest=NAN), ValueError, "highest", "nan"),
    bad("heatmap, highest bool", heatmap(highest=True), TypeError, "highest", "True"),
    bad("five steps, tokens a string", steps(tokens="abcd"), TypeError, "tokens", "'abcd'"),
    bad("five steps, no tokens", steps(tokens=[]), ValueError, "tokens", "[]"),
    *(bad(f"five steps, short {name}", steps(**{name: M}), ValueError, name, "(2, 2)") for name in STEPS),
    bad("heads, rank 2", heads(HALF[0]), ValueError, "weights", "(2, 2)"),
    bad("heads, above 1", heads([[[1.5]]], ["r"]), ValueError, "weights", "1.5"),
    bad("heads, below 0", heads([[[-0.5]]], ["r"]), ValueError, "weights", "-0.5"),
    bad("heads, few rows", heads(rows=["r"]), ValueError, "rows", "1: ['r']"),
    bad("heads, no columns", heads(columns=[]), ValueError, "columns", "0: []"),
    bad("masks, a tensor", masks(SQUARE), TypeError, "panels", "bool (2, 2)"),
    bad("masks, none", masks({}), ValueError, "panels", "[]"),
    bad("masks, other name", masks({"x": SQUARE}), ValueError, "panels", "['x']"),
    bad("masks, floats", masks({"both": SQUARE.float()}), TypeError, "panels['both']", "float32"),
    bad("masks, a list", masks({"both": [[True]]}, ["a"]), TypeError, "panels['both']", "list"),
    bad("masks, tokens", masks(tokens=list("abc")), ValueError, "panels['both']", "(2, 2)"),
    bad("masks, no tokens", masks({"both": SQUARE[:0, :0]}, []), ValueError, "tokens", "[]"),
    bad("masks, a string", masks(tokens="ab"), TypeError, "tokens", "'ab'"),
    bad("uses, not square", uses(encoder=SQUARE[:1]), ValueError, "encoder", "(1, 2)"),
    bad("uses, shape", uses(cross=USES["encoder"]), ValueError, "cross", "(5, 5)"),
    bad("uses, floats", uses(encoder=torch.ones(5, 5)), TypeError, "encoder", "float32"),
    bad("uses, rows differ", uses(encoder=causal_mask(5)), ValueError, "encoder", "differ"),
    bad("uses, future", uses(decoder=torch.ones(4, 4).bool()), ValueError, "decoder", "may be seen"),
    bad("uses, source", uses(source=["a"]), ValueError, "source", "1: ['a']"),
    bad("uses, target", uses(target=list("ab")), ValueError, "target", "2: ['a', 'b']"),
    bad("uses, a string", uses(target="wxyz"), TypeError, "target", "'wxyz'"),
    bad("uses, none", uses(target=[], decoder=SQUARE[:0, :0], cross=USES["cross"][:0]), ValueError, "target", "[]"),
    bad("triangle, prompt too long", lambda: plots.cache_triangle(R, 3), ValueError, "tokens", "2"),
    bad("triangle, many", lambda: plots.cache_triangle(["a"] * 13), ValueError, "tokens", "13"),
    bad("triangle, no prompt", lambda: plots.cache_triangle(R, 0), ValueError, "num_prompt", "0"),
    bad("triangle, float", lambda: plots.cache_triangle(R, 1.0), TypeError, "num_prompt", "1.0"),
    bad("triangle, a string", lambda: plots.cache_triangle("abc"), TypeError, "tokens", "'abc'"),
    bad("waves, rank", lambda: plots.position_waves(torch.zeros(3)), ValueError, "table", "(3,)"),
    bad("waves, rows", lambda: plots.position_waves(torch.zeros(41, 2)), ValueError, "table", "(41, 2)"),
    bad("waves, columns", lambda: plots.position_waves(torch.zeros(3, 21)), ValueError, "table", "(3, 21)"),
    bad("waves, range", lambda: plots.position_waves([[-2.0]]), ValueError, "table", "-2.0"),
    bad("path, rank", lambda: plots.transpose_path(X[0], 2), ValueError, "X", "(3, 4)"),
    bad("path, heads", lambda: plots.transpose_path(X, 3), ValueError, "num_heads", "3"),
    bad("path, many heads", lambda: plots.transpose_path(torch.zeros(1, 1, 9), 9), ValueError, "num_heads", "9"),
    bad("path, ints", lambda: plots.transpose_path(X.long(), 2), TypeError, "X", "int64"),
    bad("path, a list", lambda: plots.transpose_path([1], 2), TypeError, "X", "[1]"),
    bad("path, NaN", lambda: plots.transpose_path(X * NAN, 2), ValueError, "X", "nan"),
    bad("curves, no head_dims", curves([]), ValueError, "head_dims", "[]"),
    bad("curves, head_dims a string", curves("ab"), TypeError, "head_dims", "'ab'"),
    bad("curves, head_dims floats", curves([2.0]), TypeError, "head_dims", "2.0"),
    bad("curves, head_dims 0", curves([2, 0]), ValueError, "head_dims", "[2, 0]"),
    bad("curves, a list", curves(entropy=[1.0]), TypeError, "entropy", "[1.0]"),
    bad("curves, one missing", curves(entropy={"scaled": [1.0] * 5}), ValueError, "entropy['unscaled']", "None"),
    bad("curves, too short", curves(gradient_norm={**FALLING, "unscaled": [1.0]}), ValueError, "gradient_norm['unscaled']", "(1,)"),
    bad("curves, one key", curves(num_keys=1), ValueError, "num_keys", "1"),
    bad("curves, num_keys float", curves(num_keys=32.0), TypeError, "num_keys", "32.0"),
    bad("gradients, a list", lambda: plots.gradient_by_layer([1.0]), TypeError, "curves", "[1.0]"),
    bad("gradients, other name", gradients(x=[1.0, 2.0]), ValueError, "curves", "'x'"),
    bad("gradients, none", lambda: plots.gradient_by_layer({}), ValueError, "curves", "[]"),
    bad("gradients, zero", gradients(pre_norm=[1.0, 0.0]), ValueError, "curves['pre_norm']", "0.0"),
    bad("gradients, lengths", gradients(pre_norm=[1.0]), ValueError, "curves['pre_norm']", "(1,)"),
    bad("sums, a string", sums(tokens="abc"), TypeError, "tokens", "'abc'"),
    bad("sums, few tokens", sums(tokens=["a"]), ValueError, "tokens", "1: ['a']"),
    bad("sums, two values", sums(values=M, outputs=M, tokens=R), ValueError, "values", "[[1.0, 2.0], [3.0, 5.0]]"),
    bad("sums, three columns", sums(values=torch.ones(3, 3)), ValueError, "values", "(3, 3)"),
    bad("sums, fewer outputs", sums(outputs=M), ValueError, "outputs", "(2, 2)"),
    bad("sums, on a line", sums(values=[[0, 0], [1, 1], [2, 2]]), ValueError, "values", "[1.0, 1.0]"),
    bad("map, none", lambda: plots.course_map({}), ValueError, "chapters", "none"),
    bad("map, a list", lambda: plots.course_map(["a"]), TypeError, "chapters", "['a']"),
    bad("map, unknown", course(c=("C", ["b", "x", "w"])), ValueError, "a, b, c", "['w', 'x']"),
    bad("map, a circle", course(a=("A", ["b"])), ValueError, "circle", "['a', 'b', 'a']"),
    bad("map, titles alone", course(a="A title"), TypeError, "chapters['a']", "'A title'"),
    bad("map, title None", course(a=(None, [])), TypeError, "chapters['a']", "None"),
    bad("map, needs a string", course(b=("B", "a")), TypeError, "chapters['b']", "'a'"),
    bad("Drawing, string", lambda: plots.Drawing("x"), TypeError, "figure", "'x'"),
    bad("Drawing, save to int", lambda: plots.Drawing(Figure()).save(3), TypeError, "str", "int"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
