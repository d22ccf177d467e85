"""The figures of the chapter on modern decoders: what they show is what they were given."""

from __future__ import annotations

import math

import pytest
import torch

from polyhead import window_mask
from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, ORANGE
from polyhead_course.words.language import text
from tests.polyhead_course.figures import axes_of, grids, scale, shapes, texts, words
from tests.polyhead_course.test_plots_heads import lines, parts


def log10(number: object) -> float:
    return math.log10(float(str(number)))


def test_the_largest_score_of_every_step_is_where_the_axes_say():
    curves = {"no_qk_norm": [1.0, 20.0, 80.0], "qk_norm": [2.0, 5.0, 4.0]}
    drawing = plots.largest_scores(curves, bound=3.0)
    (axes,) = axes_of(drawing)
    drawn = lines(axes, scale(axes, "x"), scale(axes, "y", log10))
    for colour, curve in ((ORANGE, curves["no_qk_norm"]), (BLUE, curves["qk_norm"])):
        expected = [pytest.approx((step, math.log10(score)), abs=0.02) for step, score in enumerate(curve)]
        assert (colour, expected) in drawn
    bounds = [[height for _, height in corners] for colour, corners in drawn if colour == BLUE]
    assert pytest.approx([math.log10(3)] * 2, abs=0.02) in bounds
    assert {text("curve.qk_norm"), text("curve.no_qk_norm")} <= set(words(drawing))


def test_each_panel_of_a_windows_reach_adds_what_its_layer_adds():
    one = window_mask(5, window=2)
    two = window_mask(5, window=3)
    shown = grids(plots.window_reach([one, two]))
    assert [panel.title for panel in shown] == [text("panel.layers", number=number) for number in (1, 2)]
    for panel, old, new in zip(shown, (torch.zeros_like(one), one), (one, two), strict=True):
        for row, column in torch.cartesian_prod(torch.arange(5), torch.arange(5)).tolist():
            face = BLUE if old[row, column] else ORANGE if new[row, column] else "none"
            assert panel.faces[row][column] == face


def test_the_bars_of_caches_are_as_long_as_the_caches_are_large():
    sizes = {"GPT 8B": 512.0, "Small": 112.0, "Least": 0.5}
    (axes,) = axes_of(plots.cache_bars(sizes))
    bars = [shape for group in parts(axes, "patch") for shape in shapes(group) if shape.fill == BLUE]
    widths = [max(point.x for point in bar.corners) - min(point.x for point in bar.corners) for bar in bars]
    assert [width / widths[0] for width in widths] == pytest.approx([1, 112 / 512, 0.5 / 512], abs=0.01)
    heights = {word: point.y for word, point in texts(axes)}
    for (name, size), bar in zip(sizes.items(), bars, strict=True):
        low, high = min(point.y for point in bar.corners), max(point.y for point in bar.corners)
        assert low < heights[f"{size:g}"] < high + 2 and low < heights[name] < high + 6


@pytest.mark.parametrize(
    ("draw", "said"),
    [
        (lambda: plots.largest_scores({}, 1.0), "curves must name some of no_qk_norm, qk_norm"),
        (lambda: plots.largest_scores({"other": [1.0]}, 1.0), r"got \['other'\]"),
        (lambda: plots.largest_scores({"qk_norm": [0.0]}, 1.0), "curves"),
        (lambda: plots.window_reach([]), "1 to 34 columns in all, got 0"),
        (lambda: plots.window_reach([window_mask(12, 2)] * 3), "got 36"),
        (lambda: plots.window_reach([window_mask(5, 3), window_mask(5, 2)]), r"reaches\[1\] must hold all"),
        (lambda: plots.window_reach([window_mask(5, 3), window_mask(6, 4)]), r"reaches\[1\] must hold all"),
        (lambda: plots.cache_bars({"x": -1.0}), "kibibytes"),
    ],
)
def test_bad_input_is_refused(draw, said):
    with pytest.raises(ValueError, match=said):
        draw()
