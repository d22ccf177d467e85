# ruff: noqa: E501  in the table, each case is one line
"""Hull and wish, losses, blocks of W_O, and what each head writes: all read back from the SVG."""

from __future__ import annotations

import math

import pytest
import torch

from polyhead_course.figures import plots
from polyhead_course.figures.plots.concat import _FACES, _PLAIN
from polyhead_course.figures.plots.drawing import BLUE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.bad_input import assert_named, bad
from tests.polyhead_course.figures import axes_of, boxes, grids, marks, scale, shapes

VALUES = [[1.0, 4.0], [0.0, 0.0], [3.0, 2.0], [0.0, 0.0]]
NAMES = ["a", "b", "c", "d"]

# ---- the wish outside the hull


@pytest.mark.parametrize(
    ("wish", "nearest"),
    [
        ([3.0, 4.0], [2.0, 3.0]),
        ([5.0, 2.0], [3.0, 2.0]),
        ([1.0, 5.0], [1.0, 4.0]),
        ([2.0, 0.0], [18 / 13, 12 / 13]),
    ],
)
def test_the_wish_the_values_and_the_nearest_average_are_in_their_places(wish, nearest):
    (axes,) = axes_of(plots.wish_and_hull(VALUES, wish, NAMES))
    x, y = scale(axes, "x"), scale(axes, "y")
    shown = marks(axes, x, y)
    expected = {"value": [[0, 0], [1, 4], [3, 2]], "nearest": [nearest], "wish": [wish]}
    for name, points in expected.items():
        got = sorted(shown[text(f"point.{name}")])
        assert got == [pytest.approx(point, abs=0.01) for point in points], name
    area = next(shape for shape in shapes(axes) if shape.fill == BLUE)
    corners = {(round(x(corner.x), 1) + 0.0, round(y(corner.y), 1) + 0.0) for corner in area.corners}
    assert corners == {(0.0, 0.0), (1.0, 4.0), (3.0, 2.0)}


def test_each_point_has_the_names_of_its_tokens_beside_it():
    (axes,) = axes_of(plots.wish_and_hull([[1, 4], [0, 0], [3, 0], [0, 0]], [3.0, 4.0], NAMES))
    x, y = scale(axes, "x"), scale(axes, "y")
    beside = {word: (x(place.x), y(place.y)) for word, place in figures.texts(axes)}
    points = {"a": (1, 4), "b, d": (0, 0), "c": (3, 0)}
    for names, point in points.items():
        assert min(points, key=lambda other: math.dist(beside[names], points[other])) == names, point


# ---- losses


def test_each_curve_is_labelled_with_its_heads():
    curves = {1: [1.0, 0.5, 0.5], 2: [0.75, 0.25, 0.0], 5: [2.0, 1.5, 1.25]}
    (axes,) = axes_of(plots.loss_by_heads(curves))
    shown = marks(axes, scale(axes, "x"), scale(axes, "y"))
    for num_heads, curve in curves.items():
        assert [tuple(place) for place in shown[text("curve.heads", number=num_heads)]] == [
            pytest.approx((step, loss), abs=0.01) for step, loss in enumerate(curve, start=1)
        ]


# ---- the blocks


def blocks(drawing):
    """The coloured rectangles: their colour, left, top, width and height in units of one cell."""
    (axes,) = axes_of(drawing)
    found = []
    for shape in shapes(axes):
        if shape.fill in (*_FACES, _PLAIN) and len(shape.corners) < 13:
            xs, ys = zip(*shape.corners, strict=True)
            found.append((shape.fill, min(xs), min(ys), max(xs) - min(xs), max(ys) - min(ys)))
    side = found[0][3] / 15  # the first is X, 2 × 15
    return [(fill, *(round(number / side, 2) for number in numbers)) for fill, *numbers in found]


def test_each_head_fills_its_columns_and_meets_its_block_of_rows():
    drawing = plots.concat_blocks(num_tokens=2, num_heads=3, head_dim=5)
    every = blocks(drawing)
    plain = [(width, height) for fill, _, _, width, height in every if fill == _PLAIN]
    assert plain == [(15, 2), (15, 2)]  # X, and the output
    joined = [each for each in every if each[0] != _PLAIN and each[4] == 2]
    rows = [each for each in every if each[0] != _PLAIN and each[4] == 5]
    assert [(fill, width) for fill, _, _, width, _ in joined] == [(face, 5) for face in _FACES[:3]]
    assert [(fill, width) for fill, _, _, width, _ in rows] == [(face, 15) for face in _FACES[:3]]
    assert [each[1] - joined[0][1] for each in joined] == pytest.approx([0, 5, 10], abs=0.05)
    assert [each[2] - rows[0][2] for each in rows] == pytest.approx([0, 5, 10], abs=0.05)
    assert {each[2] for each in joined} == {joined[0][2]}
    assert {each[1] for each in rows} == {rows[0][1]}
    heads = boxes(drawing)
    assert [heads[text("title.head", number=number)].fill for number in (1, 2, 3)] == list(_FACES[:3])


def test_every_head_reads_all_of_x_and_writes_into_its_own_block():
    (axes,) = axes_of(plots.concat_blocks(num_tokens=2, num_heads=3, head_dim=5))
    lines = [shape.corners for group in figures.parts(axes, "line2d") for shape in shapes(group)]
    (grey, *_) = (shape for shape in shapes(axes) if shape.fill == _PLAIN)
    from_x = [line for line in lines if grey.holds(line[0], 1)]
    assert len(from_x) == 3
    drawing = plots.concat_blocks(num_tokens=2, num_heads=3, head_dim=5)
    for number, line in enumerate(from_x, start=1):
        assert boxes(drawing)[text("title.head", number=number)].holds(line[-1], 2)
    ends = [line[-1] for line in lines if not grey.holds(line[0], 1)]
    joined = [shape for shape in shapes(axes) if shape.fill in _FACES and len(shape.corners) < 13][:3]
    for shape, end in zip(joined, ends, strict=True):
        assert shape.holds(end, 1)


# ---- what heads write

OUTPUTS = [[1.0, -2.0], [3.0, 5.0], [0.5, 4.0]]


def test_without_w_o_a_head_fills_its_own_columns_and_with_it_all():
    upper, lower = grids(plots.head_writes(OUTPUTS, torch.ones(6, 7)))
    heads = [text("title.head", number=number) for number in (1, 2, 3)]
    assert upper.rows == lower.rows == [*heads, text("row.all_heads")]
    filled = [[face != "none" for face in line] for line in upper.faces]
    assert filled == [[column // 2 == row for column in range(6)] for row in range(3)] + [[True] * 6]
    assert all(face != "none" for line in lower.faces for face in line)
    assert (len(lower.faces[0]), upper.columns) == (7, ["0", "", "2", "", "4", ""])
    assert upper.title == text("title.without_output_projection")
    assert lower.title == text("title.with_output_projection")


def test_with_w_o_a_row_is_the_head_times_its_block_and_the_last_their_sum():
    weight = torch.zeros(6, 4)
    weight[0, 1] = 1.0  # head 1 writes 1.0 to column 1, head 2 writes 5 to column 3, head 3 nothing
    weight[3, 3] = 1.0
    _, lower = grids(plots.head_writes(OUTPUTS, weight))
    filled = [[face != "none" for face in line] for line in lower.faces]
    rows = [[0, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
    assert filled == [[bool(each) for each in row] for row in rows]
    assert lower.faces[0][1] == lower.faces[3][1]
    assert lower.faces[1][3] == lower.faces[3][3] != lower.faces[0][1]


# ---- bad input


def hull(values=VALUES, wish=(3.0, 4.0), tokens=NAMES):
    return lambda: plots.wish_and_hull(values, wish, tokens)


def blocked(**sizes):
    return lambda: plots.concat_blocks(**{"num_tokens": 2, "num_heads": 2, "head_dim": 3, **sizes})


BAD = [
    bad("wish inside", hull(wish=[1.0, 2.0]), ValueError, "wish", "[1.0, 2.0]"),
    bad("wish on the edge", hull(wish=[2.0, 3.0]), ValueError, "wish", "[2.0, 3.0]"),
    bad("wish of three", hull(wish=[1.0, 2.0, 3.0]), ValueError, "wish", "(3,)"),
    bad("values on a line", hull(values=[[0, 0], [1, 1], [2, 2], [3, 3]]), ValueError, "values", "[3.0, 3.0]"),
    bad("few tokens", hull(tokens=["a"]), ValueError, "tokens", "1: ['a']"),
    bad("tokens a string", hull(tokens="abcd"), TypeError, "tokens", "'abcd'"),
    bad("no curves", lambda: plots.loss_by_heads({}), ValueError, "curves", "[]"),
    bad("four curves", lambda: plots.loss_by_heads({n: [1.0] for n in range(4)}), ValueError, "curves", "3]"),
    bad("curves, a list", lambda: plots.loss_by_heads([1.0]), TypeError, "curves", "[1.0]"),
    bad("unequal curves", lambda: plots.loss_by_heads({1: [1.0, 2.0], 2: [1.0]}), ValueError, "curves[2]", "(1,)"),
    bad("below zero", lambda: plots.loss_by_heads({1: [-1.0]}), ValueError, "curves[1]", "-1.0"),
    bad("no heads", blocked(num_heads=0), ValueError, "num_heads", "0"),
    bad("many heads", blocked(num_heads=5), ValueError, "num_heads", "5"),
    bad("float tokens", blocked(num_tokens=2.0), TypeError, "num_tokens", "2.0"),
    bad("no outputs", lambda: plots.head_writes([], [[1.0]]), ValueError, "outputs", "none"),
    bad("unequal outputs", lambda: plots.head_writes([[1.0], [1.0, 2.0]], [[1.0]]), ValueError, "outputs[1]", "(2,)"),
    bad("small W_O", lambda: plots.head_writes(OUTPUTS, torch.ones(5, 7)), ValueError, "output_weight", "(5, 7)"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
