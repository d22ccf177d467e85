# ruff: noqa: E501  in the table, each case is one line
"""What figures say of arguments that they cannot draw: the argument, what was expected, and what came."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from polyhead import causal_mask
from polyhead_course.figures import plots
from tests.polyhead_course.bad_input import assert_named, bad
from tests.polyhead_course.figures import HEAD_DIMS, QUANTILES, STEPS, USES

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


def quantiles(head_dims=HEAD_DIMS, **changed):
    return lambda: plots.gradient_quantiles(head_dims, {**QUANTILES, **changed})


def temperatures(**changed):
    bars = {"scores": [1.0, 2.0], "tokens": R, "values": [1.0]}
    return lambda: plots.temperatures(**{**bars, **changed})


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
    bad("shuffled, order", lambda: plots.shuffled_outputs(M, M, R, [0, 0]), ValueError, "order", "[0, 0]"),
    bad("shuffled, tokens", lambda: plots.shuffled_outputs(M, M, ["r"], [0, 1]), ValueError, "tokens", "1: ['r']"),
    bad("shuffled, shape", lambda: plots.shuffled_outputs(M, [[1.0]], R, [0, 1]), ValueError, "second", "(1, 1)"),
    bad("products, name", lambda: plots.distance_products([0, 1], {"x": {}}), ValueError, "panels", "['x']"),
    bad("products, none", lambda: plots.distance_products([0, 1], {}), ValueError, "panels", "[]"),
    bad("products, one distance", lambda: plots.distance_products([0], {"plain": {}}), ValueError, "distances", "[0]"),
    bad("products, one curve", lambda: plots.distance_products([0, 1], {"plain": {3: [1, 2]}}), ValueError, "panels['plain']", "1"),
    bad("products, long", lambda: plots.distance_products([0, 1], {"plain": {3: [1, 2, 3], 4: [1, 2]}}), ValueError, "panels['plain'][3]", "(3,)"),
    bad("position losses, name", lambda: plots.position_losses({"x": [1.0]}, 1.0), ValueError, "curves", "['x']"),
    bad("position losses, none", lambda: plots.position_losses({}, 1.0), ValueError, "curves", "[]"),
    bad("position losses, negative", lambda: plots.position_losses({"no_positions": [-1.0]}, 1.0), ValueError, "curves['no_positions']", "-1.0"),
    bad("position losses, guess", lambda: plots.position_losses({"no_positions": [1.0]}, 0.0), ValueError, "guess", "0"),
    bad("arrows, three numbers", lambda: plots.rotary_arrows([[1, 2, 3]], [[1, 2]], [(1, 0)]), ValueError, "queries", "(1, 3)"),
    bad("arrows, fewer keys", lambda: plots.rotary_arrows(M, [[1, 2]], [(1, 0)]), ValueError, "keys", "(1, 2)"),
    bad("arrows, places", lambda: plots.rotary_arrows([[1, 2]], [[1, 2]], []), ValueError, "places", "[]"),
    bad("arrows, zero", lambda: plots.rotary_arrows([[0, 0]], [[1, 2]], [(1, 0)]), ValueError, "queries and keys", "no direction"),
    bad("layouts, odd", lambda: plots.rotary_layouts(7), ValueError, "head_dim", "7"),
    bad("layouts, large", lambda: plots.rotary_layouts(14), ValueError, "head_dim", "14"),
    bad("terms, name", lambda: plots.score_terms({"x": M}), ValueError, "panels", "['x']"),
    bad("terms, none", lambda: plots.score_terms({}), ValueError, "panels", "[]"),
    bad("terms, not square", lambda: plots.score_terms({"sum": [[1, 2]]}), ValueError, "panels['sum']", "(1, 2)"),
    bad("terms, sizes", lambda: plots.score_terms({"sum": M, "rotary": [[1]]}), ValueError, "panels['rotary']", "(1, 1)"),
    bad("biases, one head", lambda: plots.relative_biases([M], [M, M]), ValueError, "t5", "(1, 2, 2)"),
    bad("biases, not square", lambda: plots.relative_biases([M, M], [[[1, 2]], [[1, 2]]]), ValueError, "alibi", "(2, 1, 2)"),
    bad("path, rank", lambda: plots.transpose_path(X[0], 2), ValueError, "X", "(3, 4)"),
    bad("path, heads", lambda: plots.transpose_path(X, 3), ValueError, "num_heads", "3"),
    bad("path, many heads", lambda: plots.transpose_path(torch.zeros(1, 1, 9), 9), ValueError, "num_heads", "9"),
    bad("path, ints", lambda: plots.transpose_path(X.long(), 2), TypeError, "X", "int64"),
    bad("path, a list", lambda: plots.transpose_path([1], 2), TypeError, "X", "[1]"),
    bad("path, NaN", lambda: plots.transpose_path(X * NAN, 2), ValueError, "X", "nan"),
    bad("quantiles, no head_dims", quantiles([]), ValueError, "head_dims", "[]"),
    bad("quantiles, head_dims a string", quantiles("ab"), TypeError, "head_dims", "'ab'"),
    bad("quantiles, head_dims floats", quantiles([2.0]), TypeError, "head_dims", "2.0"),
    bad("quantiles, head_dims 0", quantiles([2, 0]), ValueError, "head_dims", "[2, 0]"),
    bad("quantiles, a list", lambda: plots.gradient_quantiles([2], [1.0]), TypeError, "sizes", "[1.0]"),
    bad("quantiles, one missing", quantiles(unscaled=None), ValueError, "sizes['unscaled']", "None"),
    bad("quantiles, too short", quantiles(unscaled=[[1.0, 2, 3]]), ValueError, "sizes['unscaled']", "(1, 3)"),
    bad("quantiles, 0", quantiles([2], scaled=[[0.0, 1, 2]]), ValueError, "sizes['scaled']", "[[0.0, 1.0, 2.0]]"),
    bad("quantiles, falling", quantiles([2], scaled=[[3.0, 1, 2]]), ValueError, "sizes['scaled']", "[[3.0, 1.0, 2.0]]"),
    bad("temperatures, none", temperatures(values=[]), ValueError, "values", "[]"),
    bad("temperatures, 0", temperatures(values=[0.0]), ValueError, "values", "[0.0]"),
    bad("temperatures, inf", temperatures(values=[INF]), ValueError, "values", "[inf]"),
    bad("temperatures, tokens", temperatures(tokens=["r"]), ValueError, "tokens", "1: ['r']"),
    bad("temperatures, rank 2", temperatures(scores=M), ValueError, "scores", "(2, 2)"),
    bad("paths, one token", lambda: plots.path_lengths(["a"]), ValueError, "tokens", "['a']"),
    bad("paths, a string", lambda: plots.path_lengths("ab"), TypeError, "tokens", "'ab'"),
    bad("sums, wished of three", sums(wished=[1.0, 2, 3]), ValueError, "wished", "(3,)"),
    bad("gradients, a list", lambda: plots.gradient_by_layer([1.0]), TypeError, "curves", "[1.0]"),
    bad("gradients, other name", gradients(x=[1.0, 2.0]), ValueError, "curves", "'x'"),
    bad("gradients, none", lambda: plots.gradient_by_layer({}), ValueError, "curves", "[]"),
    bad("gradients, zero", gradients(pre_norm=[1.0, 0.0]), ValueError, "curves['pre_norm']", "0.0"),
    bad("gradients, lengths", gradients(pre_norm=[1.0]), ValueError, "curves['pre_norm']", "(1,)"),
    bad("spread, a list", lambda: plots.token_spread([0.5]), TypeError, "curves", "[0.5]"),
    bad("spread, other name", lambda: plots.token_spread({"x": [0.5]}), ValueError, "curves", "'x'"),
    bad("spread, above 1", lambda: plots.token_spread({"pre_norm": [1.5]}), ValueError, "curves['pre_norm']", "1.5"),
    bad("spread, lengths", lambda: plots.token_spread({"neither": [0.5, 0.2], "norm_only": [0.5]}), ValueError, "curves['norm_only']", "(1,)"),
    bad("stream, none", lambda: plots.residual_stream(0), ValueError, "num_layers", "0"),
    bad("stream, many", lambda: plots.residual_stream(4), ValueError, "num_layers", "4"),
    bad("stream, float", lambda: plots.residual_stream(1.0), TypeError, "num_layers", "1.0"),
    bad("bars, none", lambda: plots.parameter_bars({}), ValueError, "counts", "[]"),
    bad("bars, other name", lambda: plots.parameter_bars({"x": 2}), ValueError, "counts", "'x'"),
    bad("bars, a list", lambda: plots.parameter_bars([2]), TypeError, "counts", "[2]"),
    bad("bars, 0", lambda: plots.parameter_bars({"norms": 0}), ValueError, "counts['norms']", "0"),
    bad("sums, a string", sums(tokens="abc"), TypeError, "tokens", "'abc'"),
    bad("sums, few tokens", sums(tokens=["a"]), ValueError, "tokens", "1: ['a']"),
    bad("sums, two values", sums(values=M, outputs=M, tokens=R), ValueError, "values", "[[1.0, 2.0], [3.0, 5.0]]"),
    bad("sums, three columns", sums(values=torch.ones(3, 3)), ValueError, "values", "(3, 3)"),
    bad("sums, fewer outputs", sums(outputs=M), ValueError, "outputs", "(2, 2)"),
    bad("sums, on a line", sums(values=[[0, 0], [1, 1], [2, 2]]), ValueError, "values", "[1.0, 1.0]"),
    bad("shifted, two tokens", lambda: plots.shifted_tokens(["a", "b"]), ValueError, "tokens", "2: ['a', 'b']"),
    bad("shifted, seven tokens", lambda: plots.shifted_tokens(list("abcdefg")), ValueError, "tokens", "7"),
    bad("shifted, a string", lambda: plots.shifted_tokens("abc"), TypeError, "tokens", "'abc'"),
    bad("future, none", lambda: plots.future_rows({}, 1), ValueError, "moved", "[]"),
    bad("future, other model", lambda: plots.future_rows({"x": {}}, 1), ValueError, "moved", "['x']"),
    bad("future, no eval", lambda: plots.future_rows({"d2l": {"train": [1.0, 2.0]}}, 1), ValueError, "moved['d2l']['eval']", "None"),
    bad("future, lengths", lambda: plots.future_rows({"d2l": {"train": [1.0, 2.0], "eval": [1.0]}}, 1), ValueError, "moved['d2l']['eval']", "(1,)"),
    bad("future, below 0", lambda: plots.future_rows({"d2l": {"train": [-1.0], "eval": [1.0]}}, 1), ValueError, "moved['d2l']['train']", "-1.0"),
    bad("future, beyond", lambda: plots.future_rows({"d2l": {"train": [1.0], "eval": [1.0]}}, 1), ValueError, "changed", "got 1"),
    bad("leak, none", lambda: plots.leak_losses({}, {}, 1.0, 2.0), ValueError, "at_once", "[]"),
    bad("leak, other model", lambda: plots.leak_losses({"x": [1.0]}, {"x": {0: 1.0}}, 1.0, 2.0), ValueError, "at_once", "['x']"),
    bad("leak, one missing", lambda: plots.leak_losses({"causal": [1.0]}, {}, 1.0, 2.0), ValueError, "one_by_one", "['causal']"),
    bad("leak, no numbers", lambda: plots.leak_losses({"causal": [1.0]}, {"causal": {}}, 1.0, 2.0), ValueError, "one_by_one['causal']", "(0,)"),
    bad("leak, floor 0", lambda: plots.leak_losses({"causal": [1.0]}, {"causal": {0: 1.0}}, 0.0, 2.0), ValueError, "floor", "0.0"),
    bad("timeline, prompt alone", lambda: plots.decode_timeline(["a", "b"], 2), ValueError, "tokens", "2 of 2"),
    bad("timeline, five steps", lambda: plots.decode_timeline(list("abcdef"), 1), ValueError, "tokens", "1 of 6"),
    bad("timeline, no prompt", lambda: plots.decode_timeline(["a"], 0), ValueError, "num_prompt", "0"),
    bad("tree, no level", lambda: plots.beam_tree("s", []), ValueError, "levels", "[]"),
    bad("tree, empty level", lambda: plots.beam_tree("s", [[]]), ValueError, "levels", "[0]"),
    bad("tree, parent", lambda: plots.beam_tree("s", [[(1, "a", 0.5, True)]]), ValueError, "levels", "1"),
    bad("tree, probability", lambda: plots.beam_tree("s", [[(0, "a", 1.5, True)]]), ValueError, "levels[0]", "1.5"),
    bad("cost, lengths", lambda: plots.decode_cost([1, 2], [1]), ValueError, "with_cache", "(2,)"),
    bad("cost, below 1", lambda: plots.decode_cost([0], [2]), ValueError, "with_cache", "0"),
    bad("memory, no lengths", lambda: plots.cache_memory([], {8: []}, 1.0), ValueError, "lengths", "[]"),
    bad("memory, no heads", lambda: plots.cache_memory([1], {}, 1.0), ValueError, "gibibytes", "{}"),
    bad("memory, sizes", lambda: plots.cache_memory([1, 2], {8: [1.0]}, 1.0), ValueError, "gibibytes[8]", "(1,)"),
    bad("memory, weights", lambda: plots.cache_memory([1], {8: [1.0]}, -1.0), ValueError, "weights", "-1.0"),
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
