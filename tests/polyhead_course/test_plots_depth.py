"""An encoder's figures: curves over its layers, the residual stream, activations, and parameters as bars."""

from __future__ import annotations

import math

import pytest
import torch

from polyhead.feed_forward import ACTIVATIONS
from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import STACKS, axes_of, boxes, marks, scale, words

# ---- over the layers


def power(label: str) -> float:
    return float(label.removeprefix("10").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))


def places(axes, y):
    return {
        name: [tuple(place) for place in marks(axes, scale(axes, "x"), y)[text(f"curve.{name}")]]
        for name in STACKS
    }


@pytest.mark.parametrize("wrap", [list, torch.tensor, lambda curve: torch.tensor(curve, requires_grad=True)])
def test_gradients_stand_layer_by_layer(wrap):
    powers = {
        "neither": [-6, -4, -5],
        "norm_only": [-2, -1, 0],
        "residual_only": [7, 5, 6],
        "post_norm": [1, 3, 2],
        "pre_norm": [-3, 4, -1],
    }
    curves = {name: wrap([10.0**exponent for exponent in each]) for name, each in powers.items()}
    (axes,) = axes_of(plots.gradient_by_layer(curves))
    shown = places(axes, scale(axes, "y", power))
    for name, exponents in powers.items():
        assert shown[name] == [pytest.approx(point, abs=1e-3) for point in enumerate(exponents, start=1)]


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
    (axes,) = axes_of(plots.gradient_by_layer({"pre_norm": curve}))
    assert [figures.texts(tick)[0][0] for tick in figures.ticks(axes, "y")] == labels


def test_spread_stands_layer_by_layer_and_both_figures_give_a_stack_one_colour():
    curves = {name: [0.9, 0.1 * number, 0.0] for number, name in enumerate(STACKS)}
    (axes,) = axes_of(plots.token_spread(curves))
    shown = places(axes, scale(axes, "y"))
    for name, curve in curves.items():
        assert shown[name] == [pytest.approx(point, abs=2e-3) for point in enumerate(curve, start=1)]
    (other,) = axes_of(plots.gradient_by_layer({name: [1.0, 2.0] for name in reversed(STACKS)}))
    assert figures.legend(other) == figures.legend(axes)


# ---- the residual stream


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_each_sublayer_reads_every_line_there_is_and_adds_one_that_does_not_end(num_layers):
    drawing = plots.residual_stream(num_layers)
    (axes,) = axes_of(drawing)
    lines = [
        (shape.corners, figures.style(group))
        for group in figures.parts(axes, "line2d")
        for shape in figures.shapes(group)
    ]
    # From the left; the brackets of the layers are at the right, and have four corners.
    strands = sorted((corners for corners, _ in lines if len(corners) == 2), key=lambda corners: corners[0].x)
    count = 2 * num_layers
    assert len(strands) == count + 1
    assert len({round(bottom.y, 2) for _, bottom in strands}) == 1
    begins = [top.y for top, _ in strands]
    assert begins == sorted(begins)
    assert len(set(begins)) == len(begins)

    dots = {}
    for group in figures.parts(axes, "line2d"):
        for use in group.iter(f"{figures.SVG}use"):
            dots.setdefault(round(float(use.get("y", "nan")), 2), []).append(float(use.get("x", "nan")))
    reads = [dots[y] for y in sorted(dots)]
    for number, read in enumerate(reads):
        assert read == pytest.approx([top.x for top, _ in strands[: number + 1]], abs=0.01)
    assert len(reads) == count

    sublayers = sorted((place.y, word) for word, place in figures.texts(axes) if word in map(text, SUBLAYERS))
    assert [word for _, word in sublayers] == [text(key) for key in SUBLAYERS] * num_layers
    # Each box stands between the place where it reads and the one where its line begins.
    for (height, _), read, begin in zip(sublayers, sorted(dots), begins[1:], strict=True):
        assert read < height < begin
    total = " + ".join(["x", *(f"u{'₁₂₃₄₅₆'[number]}" for number in range(count))])
    assert total in words(drawing)
    labels = [text("layer.number", number=layer + 1) for layer in range(num_layers)]
    assert [word for word in words(drawing) if word in labels] == labels


SUBLAYERS = ("block.self_attention", "block.feed_forward")


def test_a_line_has_the_colour_that_leaves_its_box():
    (axes,) = axes_of(plots.residual_stream(1))
    strokes = [
        (shape.corners, figures.style(group).split("stroke: ")[1][:7])
        for group in figures.parts(axes, "line2d")
        for shape in figures.shapes(group)
        if "stroke: " in figures.style(group)
    ]
    strands = sorted(
        ((corners[0], colour) for corners, colour in strokes if len(corners) == 2), key=lambda each: each[0].x
    )
    leaving = [(corners[-1], colour) for corners, colour in strokes if len(corners) == 3 and colour != GREY]
    assert [colour for _, colour in strands] == [INK, BLUE, ORANGE]
    for (end, colour), (begin, own) in zip(leaving, strands[1:], strict=True):
        assert colour == own
        assert tuple(end) == pytest.approx(tuple(begin), abs=0.01)


# ---- activation functions


def test_activations_are_what_their_labels_say_and_the_lower_panel_is_their_difference():
    upper, lower = axes_of(plots.activation_curves())
    x, y = scale(lower, "x"), scale(upper, "y")  # both panels have one axis
    names = {"ReLU": "relu", "GELU": "gelu", "GELU (tanh)": "gelu_tanh"}
    strokes = legend_strokes(upper)
    assert set(strokes) == set(names)
    for label, corners in strokes.items():
        for corner in corners:
            expected = ACTIVATIONS[names[label]](torch.tensor(x(corner.x), dtype=torch.float64))
            assert y(corner.y) == pytest.approx(expected.item(), abs=2e-3)
    y = scale(lower, "y")
    curve = max((shape.corners for shape in line_shapes(lower)), key=len)
    for corner in curve:
        z = torch.tensor(x(corner.x), dtype=torch.float64)
        expected = 1000 * (ACTIVATIONS["gelu_tanh"](z) - ACTIVATIONS["gelu"](z)).item()
        assert y(corner.y) == pytest.approx(expected, abs=5e-3)


def line_shapes(axes):
    return [shape for group in figures.parts(axes, "line2d") for shape in figures.shapes(group)]


def legend_strokes(axes):
    """The corners of each curve by its label; the legend and the curves are in the same order."""
    (key,) = figures.parts(axes, "legend")
    labels = [word for word, _ in figures.texts(key)]
    curves = [shape.corners for shape in line_shapes(axes) if len(shape.corners) > 2]
    return dict(zip(labels, curves, strict=True))


# ---- parameters


def test_bars_are_as_long_as_their_numbers_from_the_top_and_the_sum_is_above():
    counts = {"layers": 3_000, "pooler": 1_000, "attention": 1_234_567, "norms": 500_000}
    drawing = plots.parameter_bars(counts)
    (axes,) = axes_of(drawing)
    bars = [shape for group in figures.parts(axes, "patch") for shape in figures.shapes(group)]
    bars = [shape for shape in bars if shape.fill == BLUE]
    lengths = [max(c.x for c in bar.corners) - min(c.x for c in bar.corners) for bar in bars]
    for length, number in zip(lengths, counts.values(), strict=True):
        assert length / max(lengths) == pytest.approx(number / 1_234_567, abs=1e-3)
    heights = [math.fsum(corner.y for corner in bar.corners) / len(bar.corners) for bar in bars]
    assert heights == sorted(heights)
    inside = dict(figures.texts(axes))
    for bar, (name, number) in zip(bars, counts.items(), strict=True):
        top, bottom = min(c.y for c in bar.corners), max(c.y for c in bar.corners)
        for label in (text(f"part.{name}"), f"{number:,}"):
            assert top < inside[label].y < bottom
    assert text("title.parameters", total="1,738,567") in words(drawing)
    assert not boxes(drawing)
