"""The pictures of chapter 1, read back from their SVG: paths, temperatures, gradients, hull and steps."""

from __future__ import annotations

import math

import pytest

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, ORANGE
from polyhead_course.figures.plots.matrices import _FRAME
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import STEPS, axes_of, boxes, grids, marks, scale, words

TOKENS = ["p", "q", "r", "s"]


# ---- paths


def lines(drawing):
    """The corners of each orange line, from its beginning to its arrow's head."""
    (axes,) = axes_of(drawing)
    return [
        figures.shapes(group)[0].corners
        for group in figures.parts(axes, "line2d")
        if f"stroke: {ORANGE}" in figures.style(group)
    ]


def test_recurrence_goes_from_token_to_token_and_attention_at_once():
    drawing = plots.path_lengths(TOKENS)
    (axes,) = axes_of(drawing)
    rows = {}  # height of a row of boxes: where each of its tokens is
    for word, place in figures.texts(axes):
        if word in TOKENS:
            rows.setdefault(round(place.y, 1), {})[word] = place.x
    above, below = (rows[y] for y in sorted(rows))
    assert above == pytest.approx(below)
    assert sorted(above, key=above.get) == TOKENS
    *steps, direct = lines(drawing)
    assert len(steps) == 3
    for (start, end), one, other in zip(steps, TOKENS, TOKENS[1:], strict=False):
        assert above[one] < start.x < end.x < above[other]
        assert start.y == end.y == pytest.approx(min(rows), abs=5)
    assert (direct[0].x, direct[-1].x) == pytest.approx((below["p"], below["s"]), abs=0.1)
    assert len({point.y for point in direct}) == 2
    assert min(rows) < min(point.y for point in direct) < max(point.y for point in direct) < max(rows)
    assert text("path.recurrence", steps=3) in words(drawing)
    assert len(boxes(drawing)) == 4  # each word twice, in two rows of boxes


def test_the_number_of_steps_is_counted():
    assert text("path.recurrence", steps=1) in words(plots.path_lengths(["p", "q"]))


# ---- temperatures


def test_each_temperature_has_the_weights_of_its_softmax():
    scores = [0.0, math.log(2), math.log(5)]
    drawing = plots.temperatures(scores, ["p", "q", "r"], [1, 0.5])
    expected = {"T = 1": [1 / 8, 2 / 8, 5 / 8], "T = 0.5": [1 / 30, 4 / 30, 25 / 30]}
    for axes, (title, weights) in zip(axes_of(drawing), expected.items(), strict=True):
        inside = [word for group in figures.parts(axes, "text") for word, _ in figures.texts(group)]
        assert [f"{weight:.2f}" for weight in weights] == inside[:3]
        assert title in inside
        assert [figures.texts(tick)[0][0] for tick in figures.ticks(axes, "x")] == ["p", "q", "r"]
        _, *bars = [shape for group in figures.parts(axes, "patch") for shape in figures.shapes(group)]
        heights = [
            max(point.y for point in bar.corners) - min(point.y for point in bar.corners) for bar in bars[:3]
        ]
        assert [height / sum(heights) for height in heights] == pytest.approx(weights, abs=1e-3)


# ---- gradients


def power(label: str) -> float:
    return float(label.removeprefix("10").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))


def test_the_line_is_the_median_and_the_band_goes_from_the_first_to_the_last_quantile():
    sizes = {
        "unscaled": [[0.1, 1.0, 10.0], [1e-3, 1e-2, 1e2], [1e-6, 1e-1, 1e3]],
        "scaled": [[0.01, 0.1, 1.0]] * 3,
    }
    (axes,) = axes_of(plots.gradient_quantiles([2, 8, 32], sizes))
    across = scale(axes, "x", lambda label: math.log2(float(label)))
    up = scale(axes, "y", power)
    shown = marks(axes, across, up)
    medians = {name: [math.log10(row[1]) for row in rows] for name, rows in sizes.items()}
    for name, curve in medians.items():
        expected = list(zip((1, 3, 5), curve, strict=True))
        assert [tuple(place) for place in shown[text(f"curve.{name}")]] == [
            pytest.approx(point, abs=1e-2) for point in expected
        ]
    colours = {"scaled": BLUE, "unscaled": ORANGE}
    bands = figures.parts(axes, "FillBetweenPolyCollection")
    assert len(bands) == 2
    for name, rows in sizes.items():
        (band,) = [each for each in bands if f"fill: {colours[name]}" in figures.style(each)]
        (use,), (shape,) = list(band.iter(f"{figures.SVG}use")), figures.shapes(band)
        aside, down = (float(use.get(side, "nan")) for side in "xy")
        corners = {
            (round(across(corner.x + aside), 1), round(up(corner.y + down), 1) + 0.0)
            for corner in shape.corners
        }
        assert corners >= {
            (x, round(math.log10(size), 1) + 0.0)
            for x, row in zip((1.0, 3.0, 5.0), rows, strict=True)
            for size in (row[0], row[2])
        }
        assert not corners & {(3.0, round(math.log10(rows[1][1]), 1) + 0.0)}


# ---- the hull


def test_the_wished_output_is_where_it_was_wished():
    values, outputs = [[0, 0], [4, 0], [1, 3]], [[1, 1], [2, 0.5], [1.5, 2]]
    for wished in ([2.5, 0.25], [6.0, 4.0]):
        (axes,) = axes_of(plots.weighted_sums(values, outputs, ["a", "b", "c"], wished=wished))
        shown = marks_by_stroke(axes)
        assert shown == pytest.approx(wished, abs=1e-2)


def marks_by_stroke(axes):
    """Where the cross is: it has no face, and so no colour in the legend's sense."""
    x, y = scale(axes, "x"), scale(axes, "y")
    (cross,) = figures.parts(axes, "PathCollection")[2:]
    (mark,) = cross.iter(f"{figures.SVG}use")
    return [x(float(mark.get("x", "nan"))), y(float(mark.get("y", "nan")))]


def test_without_a_wish_there_is_no_cross():
    drawing = plots.weighted_sums([[0, 0], [4, 0], [1, 3]], [[1, 1]] * 3, ["a", "b", "c"])
    assert text("point.wish") not in words(drawing)


# ---- five steps


def test_five_steps_has_each_matrix_below_its_name_and_in_its_order():
    drawing = plots.five_steps(**STEPS, tokens=TOKENS)
    symbols = ["X", "Q", "K", "V", "Q", "Kᵀ", "QKᵀ", "S = QKᵀ / √d_k", "A", "A", "V", "O"]
    shown = grids(drawing)
    assert [grid.title.split(" ", 1)[-1] if " " in grid.title else grid.title for grid in shown] == symbols
    names = {"X": "embeddings", "Q": "queries", "K": "keys", "V": "values", "A": "weights", "O": "output"}
    for grid in shown:
        symbol = grid.title.split(" ")[-1]
        if symbol in names:
            assert grid.title == f"{text(f'title.{names[symbol]}')} {symbol}"
    steps = STEPS
    matrices = {
        "X": steps["embeddings"], "Q": steps["queries"], "K": steps["keys"], "V": steps["values"],
        "Kᵀ": steps["keys"].T, "QKᵀ": steps["dot_products"], "S": steps["scores"], "A": steps["weights"],
        "O": steps["output"],
    }  # fmt: skip
    decimals = {"S": 1, "A": 2, "O": 2}
    for symbol, grid in zip(symbols, shown, strict=True):
        symbol = symbol.split(" ")[0]
        digits = decimals.get(symbol, 0)
        lines = matrices[symbol].tolist()
        assert grid.words == [[f"{number:.{digits}f}" for number in line] for line in lines]
    rows = [grid.rows for grid in shown]
    assert [rows[number] for number in (0, 4, 7, 9)] == [TOKENS] * 4
    assert [row for number, row in enumerate(rows) if number not in (0, 4, 7, 9)] == [[""] * 4] * 8


def test_frames_are_around_the_last_row_the_first_column_and_what_they_make():
    drawing = plots.five_steps(**STEPS, tokens=TOKENS)
    framed = [frame_of(axes) for axes in axes_of(drawing)]
    four, wide, cell = (range(4), [0]), ([3], range(4)), ([3], [0])
    assert framed == [None] * 4 + [wide, four, cell] + [wide, wide] + [wide, four, cell]


def frame_of(axes):
    """The rows and the columns that are framed."""
    frames = [
        figures.shapes(group)[0]
        for group in figures.parts(axes, "line2d")
        if f"stroke: {_FRAME}" in figures.style(group)
    ]
    if not frames:
        return None
    (frame,) = frames
    _, *cells = [shape for group in figures.parts(axes, "patch") for shape in figures.shapes(group)]
    width = len({round(cell.corners[0].x, 1) for cell in cells})
    inside = [
        divmod(number, width)
        for number, cell in enumerate(cells)
        if all(frame.holds(corner, 0.5) for corner in cell.corners)
    ]
    rows, columns = sorted({row for row, _ in inside}), sorted({column for _, column in inside})
    return tuple(part if len(part) == 1 else range(len(part)) for part in (rows, columns))


def test_operators_are_between_the_matrices():
    drawing = plots.five_steps(**STEPS, tokens=TOKENS)
    assert [word for word in words(drawing) if word in "→×="] == ["→", "×", "=", "→", "×", "="]
