"""The pictures of the chapter on heads: what they show is what they were given."""

from __future__ import annotations

import re

import pytest
import torch

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import SVG, axes_of, grids, parts, scale, shapes, texts, words

GREEN = "#31a354"
OPACITY = re.compile(r"stroke-opacity: ([\d.]+)")


def lines(axes, x, y):
    """The corners of every line with a colour of its own, in the numbers of the axes."""
    found = []
    for group in parts(axes, "line2d"):
        colour = re.search(r"stroke: (#\w+)", figures.style(group))
        corners = [(x(point.x), y(point.y)) for point in shapes(group)[0].corners]
        found.append((colour[1] if colour else INK, corners))
    return found


def test_removal_curves_show_the_mean_the_range_and_the_orders():
    draws = [[0.25, 0.375, 0.625], [0.125, 0.5, 0.25]]
    orders = {"most_important": [0.3, 0.2], "least_important": [0.7, 0.6]}
    (axes,) = axes_of(plots.removal_curves([3, 7], draws, orders, whole=0.75))
    x, y = scale(axes, "x"), scale(axes, "y")
    drawn = dict(lines(axes, x, y))
    for colour, heights in (
        (BLUE, [1.25 / 3, 0.875 / 3]), (GREEN, [0.7, 0.6]), (ORANGE, [0.3, 0.2]),
    ):  # fmt: skip
        expected = [pytest.approx(point, abs=5e-3) for point in zip((3, 7), heights, strict=True)]
        assert drawn[colour] == expected
    assert [height for _, height in drawn[GREY]] == pytest.approx([0.75, 0.75], abs=5e-3)
    (band,) = parts(axes, "FillBetweenPolyCollection")
    corners = [
        (x(float(use.get("x", 0)) + corner.x), y(float(use.get("y", 0)) + corner.y))
        for use in band.iter(f"{SVG}use")
        for corner in shapes(band)[0].corners
    ]
    for place, edges in ((3, (0.25, 0.625)), (7, (0.125, 0.5))):
        heights = [height for across, height in corners if across == pytest.approx(place, abs=0.05)]
        assert (min(heights), max(heights)) == pytest.approx(edges, abs=5e-3)
    names = {word for word, _ in texts(axes)}
    assert {text(f"curve.{name}") for name in (*orders, "random_heads")} <= names


def test_removal_draws_show_every_draw_and_the_mean_of_each_seed():
    shares = {0.0: [[0.1, 0.6, 0.2], [0.0, 0.3, 0.3]], 0.25: [[0.9, 1.0, 0.8], [0.75, 0.7, 0.5]]}
    drawing = plots.removal_draws({5: shares, 12: {p: [[0.5]] for p in shares}}, num_heads=24)
    axes, other = axes_of(drawing)
    x, y = (lambda place: place), scale(axes, "y")
    seen = [
        (mark.get("style", "") + figures.style(group), y(float(mark.get("y", "nan"))))
        for group in parts(axes, "PathCollection")
        for mark in group.iter(f"{SVG}use")
    ]
    for colour, rows in zip((ORANGE, BLUE), shares.values(), strict=True):
        heights = sorted(height for style, height in seen if colour in style)
        assert heights == pytest.approx(sorted(share for row in rows for share in row), abs=5e-3)
    means = [corners[0][1] for _, corners in lines(axes, x, y)]
    assert means == pytest.approx([sum(row) / 3 for rows in shares.values() for row in rows], abs=5e-3)
    assert len(parts(other, "PathCollection")) == 2
    titles = {word for panel in (axes, other) for word, _ in texts(panel)}
    assert {text("panel.heads_off", number=number, total=24) for number in (5, 12)} <= titles
    assert {text("draws.dropout", probability=p) for p in ("0", "0.25")} <= titles


def test_head_maps_have_a_row_for_each_layer_and_hundredths_in_the_cells():
    maps = {"previous": torch.tensor([[0.0, 0.116, 1.0], [0.5, 0.254, 0.03]]), "piece": torch.eye(3)}
    first, second = grids(plots.head_maps(maps))
    assert first.words == [["0", "12", "100"], ["50", "25", "3"]]
    assert first.columns == ["0", "1", "2"]
    assert first.rows == [text("row.layer", number=layer) for layer in (0, 1)]
    assert (first.title, second.title) == (text("map.previous"), text("map.piece"))
    assert first.faces[0][2] == second.faces[0][0] != first.faces[0][1]  # one scale for all


def near(labels, corner):
    """The label that lies as high as the corner."""
    return min(labels, key=lambda word: abs(labels[word].y - corner.y))


def test_attention_lines_lead_from_the_query_to_the_key_and_are_as_dark_as_the_weight():
    weights = torch.zeros(2, 4, 4)
    weights[0, 1, 3], weights[0, 2, 0] = 0.75, 0.5
    weights[0, 1, 0], weights[0, 0, 2], weights[0, 3, 2] = 0.04, 1.0, 1.0  # too small, and no words
    weights[1, 2, 1] = 0.25
    drawing = plots.attention_lines(weights, ["[CLS]", "a", "b", "[SEP]"], ["0.2", "5.11"])
    found = []
    for axes in axes_of(drawing):
        left = {word: point for word, point in texts(axes)[:-1:2]}
        right = {word: point for word, point in texts(axes)[1:-1:2]}
        ends = [shapes(group)[0].corners for group in parts(axes, "line2d")]
        shade = [float(OPACITY.findall(figures.style(group))[0]) for group in parts(axes, "line2d")]

        found.append([
            (near(left, start), near(right, end), alpha)
            for (start, end), alpha in zip(ends, shade, strict=True)
        ])  # fmt: skip
    assert found == [[("a", "[SEP]", 0.75), ("b", "[CLS]", 0.5)], [("b", "a", 0.25)]]
    assert words(drawing).count("[CLS]") == 4
    assert {"0.2", "5.11"} <= set(words(drawing))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("draw", "message"),
    [
        (lambda: plots.removal_curves([1], [[0.5]], {"best": [1.0]}, 0.7), "orders must be some of least"),
        (lambda: plots.removal_curves([1, 2], [[0.5]], {}, 0.7), "draws must have shape"),
        (lambda: plots.removal_draws({5: {0.0: [[1.0]]}}, 24), "panels must hold two dropouts"),
        (lambda: plots.removal_draws({}, 24), "panels must hold two dropouts"),
        (lambda: plots.head_maps({}), "maps must hold one map or more"),
        (lambda: plots.head_maps({"piece": [[1.5]]}), "must lie between 0"),
        (lambda: plots.attention_lines(torch.eye(3)[None], list("abc"), []), "names must be 1 labels"),
        (lambda: plots.attention_lines(torch.eye(3)[None], list("ab"), ["x"]), "weights must have shape"),
    ],
)
def test_what_cannot_be_drawn_is_said(draw, message):
    with pytest.raises(ValueError, match=message):
        draw()
