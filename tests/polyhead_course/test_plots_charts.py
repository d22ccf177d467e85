"""Curves, bars and points: what is read back from the SVG is what the figure was given."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import axes_of, bars, clouds, curves, parts, scale, shapes, texts, words

GREEN, PURPLE = "#31a354", "#8c6bb1"


def power(label: str) -> float:
    return float(label.removeprefix("10").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))


def log10(label: str) -> float:
    return math.log10(float(label))


def log2(label: str) -> float:
    return math.log2(float(label))


def count(label: str) -> float:
    return float(label.replace(",", ""))


def steps(*heights: float, start: float = 0, every: float = 1) -> list[tuple[float, float]]:
    return [(start + every * number, height) for number, height in enumerate(heights)]


# A figure, how the labels of its axes are read, and for each panel the points by colour.
CURVES = {
    "gradient_quantiles": (
        lambda: plots.gradient_quantiles(
            [2, 8], {"unscaled": [[0.1, 1, 10], [1e-3, 1e-2, 100]], "scaled": [[0.01, 0.1, 1]] * 2}
        ), log2, power,
        [{BLUE: [(1, -1), (3, -1)], ORANGE: [(1, 0), (3, -2)]}],
    ),
    "view_losses": (
        lambda: plots.view_losses([2.5, 0.5, 0], [2.25, 1.5, 0.125], every=10), float, float,
        [{BLUE: steps(2.5, 0.5, 0, start=10, every=10), ORANGE: steps(2.25, 1.5, 0.12, start=10, every=10)}],
    ),
    "loss_curves": (
        lambda: plots.loss_curves([5.0, 1.0, 0.1, 0.02, 1.0], [5.5, 2.5], guessing=3.5, warm_up=3),
        float, log10,
        [{BLUE: steps(0.699, 0, -1, -1.699, 0), ORANGE: steps(0.74, 0.398)}],
    ),
    "roofline": (
        lambda: plots.roofline(100e12, 1e12, batches=[1, 10], prompt=1000),
        lambda label: math.log10(count(label)), log10,
        [{GREY: [(-0.301, -0.301), (2, 2), (4, 2)]}],
    ),
    "cache_memory": (
        lambda: plots.cache_memory([100, 800, 1600], {32: [1.0, 8.0, 16.0], 8: [0.25, 2.0, 4.0]}, weights=5),
        count, float,
        [{ORANGE: [(100, 1), (800, 8), (1600, 16)], BLUE: [(100, 0.25), (800, 2), (1600, 4)]}],
    ),
    "attention_cost": (
        lambda: plots.attention_cost(500), count, float,
        [{BLUE: [(0, 1), (1000, 1), (2000, 1)], ORANGE: [(0, 0), (1000, 1), (2000, 2)]}],
    ),
    "loss_of_runs": (
        lambda: plots.loss_of_runs({"two layers": [[3, 1], [3, 0.5]], "one layer": [[3, 2]]}, 10, 1.9),
        float, float,
        [{ORANGE: [(0, 3), (10, 0.5)], BLUE: [(0, 3), (10, 2)]}],
    ),
    "leak_losses": (
        lambda: plots.leak_losses(
            {"causal": [2.0, 1.0, 0.5], "unmasked": [2.0, 0.75, 0.25]},
            {"causal": {0: 2.0, 2: 0.5}, "unmasked": {0: 2.0, 2: 3.5}}, guessing=1.5,
        ), float, float,
        [{BLUE: steps(2, 1, 0.5), ORANGE: [(0, 2), (2, 0.5)]},
         {BLUE: steps(2, 0.75, 0.25), ORANGE: [(0, 2), (2, 3.5)]}],
    ),
    "echoes": (
        lambda: plots.echoes({"learned": [[1, 0.5]], "rotary": [[1, 0.75, 0], [1, 1, 0.25]]}, 5, trained=10),
        float, float,
        [{GREY: [(2.5, 1), (7.5, 0.5)], BLUE: [(2.5, 1), (7.5, 1), (12.5, 0.25)]}],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CURVES)
def test_every_point_of_a_curve_is_where_the_axes_say(name):
    draw, across, up, expected = CURVES[name]
    panels = axes_of(draw())
    x = scale(panels[-1], "x", across)  # panels above each other share it
    for number, (axes, points) in enumerate(zip(panels, expected, strict=True)):
        y = scale(axes, "y", up[number] if isinstance(up, dict) else up)
        shown = curves(axes, x, y)
        for colour, curve in points.items():
            close = [pytest.approx(point, rel=0.01, abs=0.02) for point in curve]
            assert close in [corners for other, corners in shown if other == colour], (name, number, colour)


@pytest.mark.parametrize(
    ("draw", "number", "labels"),
    [
        (lambda: plots.loss_curves([5.0, 0.1], [5.5], guessing=3.5, warm_up=1), log10, {"guessing": 0.544}),
        (lambda: plots.cache_memory([1, 9], {8: [0.0, 9.0]}, weights=5), float, {"model_weights": 5}),
        (lambda: plots.loss_of_runs({"one layer": [[3.0, 2.0]]}, 5, guessing=1.9), float, {"guessing": 1.9}),
        (lambda: plots.leak_losses({"causal": [2.0, 1.0]}, {"causal": {0: 2.0}}, 1.5), float,
         {"guessing": 1.5}),
    ],
)  # fmt: skip
def test_dotted_lines_are_at_their_heights(draw, number, labels):
    (axes,) = axes_of(draw())
    y = scale(axes, "y", number)
    levels = [corners[0][1] for colour, corners in curves(axes, float, y) if colour == GREY]
    assert sorted(levels) == pytest.approx(sorted(labels.values()), abs=0.01)
    assert {text(f"line.{label}") for label in labels} <= {word for word, _ in texts(axes)}


@pytest.mark.parametrize(
    ("curve", "labels"),
    [
        ([1.0, 1.0], ["10⁰"]),
        ([2.0, 30.0], ["10⁰", "10¹", "10²"]),
        ([1e-10, 0.9], ["10⁻¹⁰", "10⁻⁸", "10⁻⁶", "10⁻⁴", "10⁻²", "10⁰"]),
        ([1e-11, 1e8], ["10⁻¹²", "10⁻⁸", "10⁻⁴", "10⁰", "10⁴", "10⁸"]),
    ],
)
def test_the_axis_has_whole_powers_of_ten_around_the_curve(curve, labels):
    axes, _ = axes_of(plots.layer_curves({"pre_norm": curve}, {"pre_norm": curve}))
    assert [texts(tick)[0][0] for tick in figures.ticks(axes, "y")] == labels


def test_the_grey_band_is_the_warm_up():
    axes = axes_of(plots.loss_curves([5.0, 1.0, 0.1, 0.02], [5.5], guessing=3.5, warm_up=2))[-1]
    (group,) = (each for each in parts(axes, "patch") if "opacity: 0.18" in figures.style(each))
    xs = [scale(axes, "x")(corner.x) for corner in shapes(group)[0].corners]
    assert (min(xs), max(xs)) == pytest.approx((0, 2), abs=0.01)


def test_gradients_and_spreads_are_at_their_heights_in_the_same_colours():
    spreads = {"neither": [0.9, 0.0], "pre_norm": [0.75, 0.5]}
    upper, lower = axes_of(plots.layer_curves({"neither": [1e-6, 1e-4], "pre_norm": [1e-3, 0.1]}, spreads))
    x = scale(lower, "x")
    for axes, y, expected in (
        (upper, scale(upper, "y", power), {GREY: [-6, -4], ORANGE: [-3, -1]}),
        (lower, scale(lower, "y"), {GREY: [0.9, 0], ORANGE: [0.75, 0.5]}),
    ):
        found = {colour: [height for _, height in corners] for colour, corners in curves(axes, x, y)}
        assert found == {colour: pytest.approx(heights, abs=0.01) for colour, heights in expected.items()}


# ---- bars


def test_each_temperature_has_the_weights_of_its_softmax():
    drawing = plots.temperatures([0.0, math.log(2), math.log(5)], ["p", "q", "r"], [1, 0.5])
    expected = {"T = 1": [1 / 8, 2 / 8, 5 / 8], "T = 0.5": [1 / 30, 4 / 30, 25 / 30]}
    for axes, (title, weights) in zip(axes_of(drawing), expected.items(), strict=True):
        assert_bars(axes, weights, title, ["p", "q", "r"])


def test_each_choice_has_its_bars_numbers_and_title():
    choices = {"T = 1": [0.5, 0.3, 0.2], "top-k 2": [0.625, 0.375, 0.0], "a": [1, 0, 0], "b": [0.2, 0.2, 0.6]}
    drawing = plots.next_token_bars(choices, ["p", "q", "r"])
    for axes, (title, probs) in zip(axes_of(drawing), choices.items(), strict=False):
        assert_bars(axes, probs, title, ["p", "q", "r"])
    assert words(drawing).count(text("probability")) == 2  # one a line of panels


def assert_bars(axes, probs, title, tokens):
    inside = [word for group in parts(axes, "text") for word, _ in texts(group)]
    assert inside[:3] == [f"{p:.2f}" if p else "0" for p in probs]
    assert title in inside
    assert [texts(tick)[0][0] for tick in figures.ticks(axes, "x")] == tokens
    heights = [bar.size.y for bar in bars(axes)]
    assert [height / sum(heights) for height in heights] == pytest.approx(probs, abs=1e-3)


def test_bars_are_as_long_as_their_numbers_from_the_top():
    names, shown = ["GPT 8B", "Small", "Least"], ["512", "112", "0.5"]
    sizes = [count(number) for number in shown]
    (axes,) = axes_of(plots.cache_bars(dict(zip(names, sizes, strict=True))))
    rows = bars(axes)
    assert [bar.size.x / max(bar.size.x for bar in rows) for bar in rows] == pytest.approx(
        [size / max(sizes) for size in sizes], abs=1e-3
    )
    assert [bar.middle.y for bar in rows] == sorted(bar.middle.y for bar in rows)
    places = dict(texts(axes))
    for bar, name, number in zip(rows, names, shown, strict=True):
        for label in (name, number):
            assert places[label].y == pytest.approx(bar.middle.y, abs=6)


def test_bars_have_the_weights_heights_and_outlines_those_without_a_mask():
    before, masked, late = [0.125, 0.25, 0.625], [0.375, 0.625, 0.0], [0.125, 0.25, 0.0]
    panels = axes_of(plots.masked_row(before, torch.tensor(masked), late, list("xyz")))
    for axes, name, row in zip(panels, ("before", "masked", "late"), (before, masked, late), strict=True):
        ground, *rest = [shape for group in parts(axes, "patch") for shape in shapes(group)]
        rest = [shape for shape in rest if shape.size.x < 0.9 * ground.size.x and len(shape.corners) > 2]
        heights = {
            fill: [s.size.y / ground.size.y for s in rest if s.fill == fill] for fill in (BLUE, "none")
        }
        assert heights[BLUE] == pytest.approx(list(row), abs=1e-3)
        assert heights["none"] == pytest.approx([] if name == "before" else before, abs=1e-3)
        total = text("row.sum", number=f"{sum(row):.2f}")
        inside = {word for word, _ in texts(axes)} - set("xyz")
        assert inside == {*(f"{weight:.2f}" for weight in row), total, text(f"row.{name}")}


def test_blind_rows_have_nan_where_there_is_no_number():
    rows = {"first": torch.full((3,), torch.nan), "second": torch.tensor([0.125, 0.25, 0.625]).double()}
    drawing = plots.blind_rows(rows, list("xyz"))
    first, second = axes_of(drawing)
    assert [word for word, _ in texts(first)] == ["NaN", "NaN", "NaN", "first"]
    assert [word for word, _ in texts(second)][-4:] == ["0.12", "0.25", "0.62", "second"]
    assert [bar.size.y for bar in bars(first)] == [0, 0, 0]
    assert bars(second)[2].size.y == pytest.approx(5 * bars(second)[0].size.y, rel=0.01)
    assert figures.inks(drawing, "NaN") == [ORANGE] * 3


# ---- points


@pytest.mark.parametrize("wished", [None, [2.5, 0.25], [6.0, 4.0]])
def test_values_outputs_the_wish_and_the_hull_are_in_their_places(wished):
    values, outputs = [[0, 0], [4, 0], [1, 3]], [[1, 1], [2, 0.5], [1.5, 2]]
    drawing = plots.weighted_sums(values, outputs, ["a", "b", "c"], wished, ["axis.where", "axis.road"])
    assert {text("axis.where"), text("axis.road")} <= set(words(drawing))
    (axes,) = axes_of(drawing)
    x, y = scale(axes, "x"), scale(axes, "y")
    expected = {"value": values, "output": outputs} | ({"wish": [wished]} if wished else {})
    assert clouds(axes, x, y) == {
        text(f"point.{name}"): [pytest.approx(point, abs=1e-2) for point in points]
        for name, points in expected.items()
    }
    assert_hull(axes, values)
    for word, place in texts(axes):
        if word in "abc":
            assert min(range(3), key=lambda n: math.dist(values[n], (x(place.x), y(place.y)))) == "abc".index(
                word
            )


def assert_hull(axes, corners):
    """The area has these corners."""
    x, y = scale(axes, "x"), scale(axes, "y")
    area = next(shape for shape in shapes(axes) if shape.fill == BLUE and len(shape.corners) > 2)
    shown = {(round(x(corner.x), 1) + 0.0, round(y(corner.y), 1) + 0.0) for corner in area.corners}
    assert shown == {tuple(corner) for corner in corners}


@pytest.mark.parametrize(
    ("wish", "nearest"),
    [
        ([3.0, 4.0], [2.0, 3.0]),
        ([5.0, 2.0], [3.0, 2.0]),
        ([1.0, 5.0], [1.0, 4.0]),
        ([2.0, 0.0], [18 / 13, 12 / 13]),
    ],
)
def test_the_nearest_average_to_a_wish_is_on_the_hull(wish, nearest):
    (axes,) = axes_of(plots.wish_and_hull([[1, 4], [0, 0], [3, 2], [0, 0]], wish, ["a", "b", "c", "d"]))
    expected = {"value": [[0, 0], [1, 4], [3, 2]], "nearest": [nearest], "wish": [wish]}
    assert clouds(axes, scale(axes, "x"), scale(axes, "y")) == {
        text(f"point.{name}"): [pytest.approx(point, abs=0.01) for point in points]
        for name, points in expected.items()
    }
    assert_hull(axes, [[0, 0], [1, 4], [3, 2]])
    assert {"a", "b, d", "c"} <= {word for word, _ in texts(axes)}


def test_removal_draws_show_every_draw_and_the_mean_of_each_seed():
    shares = {0.0: [[0.1, 0.6, 0.2], [0.0, 0.3, 0.3]], 0.25: [[0.9, 1.0, 0.8], [0.75, 0.7, 0.5]]}
    drawing = plots.removal_draws(shares, number=5, num_heads=24)
    (axes,) = axes_of(drawing)
    y = scale(axes, "y")
    points = [
        (figures.style(group), y(mark.y))
        for group in parts(axes, "PathCollection") for mark in figures.marks(group)
    ]  # fmt: skip
    for colour, rows in zip((ORANGE, BLUE), shares.values(), strict=True):
        heights = sorted(height for style, height in points if colour in style)
        assert heights == pytest.approx(sorted(np.ravel(rows)), abs=5e-3)
    means = [corners[0][1] for _, corners in curves(axes, float, y)]
    assert means == pytest.approx([sum(row) / 3 for rows in shares.values() for row in rows], abs=5e-3)
    labels = {text("draws.dropout", probability=p) for p in ("0", "0.25")}
    assert {text("panel.heads_off", number=5, total=24)} | labels <= set(words(drawing))
