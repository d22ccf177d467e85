"""The curves of the translator's training: what they show is where their axes say."""

from __future__ import annotations

import math
import re

import pytest

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import axes_of, parts, scale, shapes, texts


def curves(axes, x, y):
    """The corners of every line, in the numbers of the axes, by its colour."""
    return {
        colour: [(x(point.x), y(point.y)) for point in shapes(group)[0].corners]
        for group in parts(axes, "line2d")
        for colour in (BLUE, ORANGE, GREY) if f"stroke: {colour}" in figures.style(group)
    }  # fmt: skip


def band(axes, x):
    """Where the grey band begins and ends."""
    (group,) = [each for each in parts(axes, "patch") if "opacity: 0.18" in figures.style(each)]
    places = [x(point.x) for point in shapes(group)[0].corners]
    return min(places), max(places)


def test_learning_rates_are_drawn_in_thousandths_and_the_band_is_the_warm_up():
    rates = [0.001, 0.002, 0.003, 0.002, 0.0015, 0.001, 0.0005]
    (axes,) = axes_of(plots.learning_rates(rates, warm_up=2))
    x, y = scale(axes, "x"), scale(axes, "y")
    expected = [pytest.approx((step, 1000 * rate), abs=1e-2) for step, rate in enumerate(rates)]
    assert curves(axes, x, y)[BLUE] == expected
    assert band(axes, x) == pytest.approx((0, 2), abs=1e-2)
    assert {text("axis.learning_rate"), text("axis.step"), text("band.warm_up")} <= {
        word for word, _ in texts(axes)
    }


def test_losses_are_on_a_logarithmic_axis_and_each_curve_has_its_name():
    stored = [5.0, 3.0, 1.0, 0.5, 0.1, 0.02, 0.05]
    own = [5.5, 2.5, 1.25]
    (axes,) = axes_of(plots.loss_curves(stored, own, guessing=3.5, warm_up=3))
    x = scale(axes, "x")
    y = scale(axes, "y", lambda label: math.log10(float(label)))
    lines = curves(axes, x, y)
    for colour, losses in ((BLUE, stored), (ORANGE, own)):
        expected = [pytest.approx((step, math.log10(loss)), abs=1e-2) for step, loss in enumerate(losses)]
        assert lines[colour] == expected
    assert [height for _, height in lines[GREY]] == pytest.approx([math.log10(3.5)] * 2, abs=1e-2)
    assert band(axes, x) == pytest.approx((0, 3), abs=1e-2)
    (key,) = parts(axes, "legend")
    strokes = re.findall(f"{BLUE}|{ORANGE}", figures.style(key))
    assert dict(zip(strokes, [word for word, _ in texts(key)], strict=True)) == {
        BLUE: text("curve.stored"),
        ORANGE: text("curve.own"),
    }


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.learning_rates([0.001, math.nan], 1), "rates must hold finite numbers"),
        (lambda: plots.learning_rates([], 0), "rates must have shape"),
        (lambda: plots.learning_rates([0.001, -0.001], 0), "rates must lie between 0"),
        (lambda: plots.loss_curves([1.0, 0.0], [1.0], 3.5, 1), "stored must hold losses above 0, got 0"),
        (lambda: plots.loss_curves([1.0, 0.5], [math.inf], 3.5, 1), "own must hold finite numbers"),
    ],
)
def test_what_cannot_be_drawn_is_said(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
