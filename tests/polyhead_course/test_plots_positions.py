"""The figures about positions, read back from their SVG: what is joined, turned, coloured and left out."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
import torch

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import Point, axes_of, grids, marks, scale, words

FIRST = [[1.0, -2.0, 3.0], [0.5, 0.25, -1.0]]
TOKENS = ["ab", "cd", "ef", "gh"]


def lines(element: ET.Element, colour: str) -> list[list[Point]]:
    """The corners of each line of a colour, wherever it is in the picture."""
    return [
        shape.corners
        for group in figures.parts(element, "line2d")
        for shape in figures.shapes(group)
        if f"stroke: {colour}" in figures.style(group)
    ]


# ---- order


def test_lines_join_the_two_rows_of_each_token():
    first = torch.arange(12.0).reshape(4, 3)
    order = [2, 1, 0, 3]
    drawing = plots.shuffled_outputs(first, first[order], TOKENS, order)
    left, right = grids(drawing)
    assert left.rows == TOKENS
    assert right.rows == [TOKENS[i] for i in order]
    assert left.words[3] == right.words[3] == ["9.00", "10.00", "11.00"]
    assert right.words[0] == left.words[2]
    assert right.faces[0] == left.faces[2]
    whole = ET.fromstring(drawing.svg)[1]
    heights = [min(c.y for c in s.corners) for g in figures.parts(axes_of(drawing)[0], "patch")[1:]
               for s in figures.shapes(g)][::3]  # fmt: skip
    cell = heights[1] - heights[0]
    joined = {
        (colour, round((a.y - heights[0]) / cell - 0.5), round((b.y - heights[0]) / cell - 0.5))
        for colour in (ORANGE, GREY)
        for a, b in lines(whole, colour)
    }
    assert joined == {(ORANGE, 2, 0), (GREY, 1, 1), (ORANGE, 0, 2), (GREY, 3, 3)}


def test_both_sides_have_one_scale_of_colours():
    left, right = grids(plots.shuffled_outputs([[8.0]], [[4.0]], ["a"], [0]))
    assert left.faces != right.faces
    assert right.faces == grids(plots.heatmap([[4.0]], ["a"], highest=8.0))[0].faces


# ---- distances


def test_the_first_curve_is_a_line_and_the_second_points():
    panels = {
        "plain": {3: [1.0, 2.0, 4.0], 7: [1.5, 2.5, 3.0]},
        "projected": {3: [0.0, 1.0, 0.0], 7: [5.0, 4.0, 6.0]},
    }
    drawing = plots.distance_products([-1, 0, 2], panels)
    across = scale(axes_of(drawing)[1], "x", lambda label: float(label.replace("−", "-")))
    for axes, (name, (line, points)) in zip(
        axes_of(drawing), {k: tuple(v.values()) for k, v in panels.items()}.items(), strict=True
    ):
        up = scale(axes, "y")
        (drawn,) = [each for each in lines(axes, BLUE) if len(each) == 3]
        assert [(across(c.x), up(c.y)) for c in drawn] == [
            pytest.approx(place, abs=1e-2) for place in zip([-1, 0, 2], line, strict=True)
        ]
        seen = [
            (across(float(use.get("x", "nan"))), up(float(use.get("y", "nan"))))
            for group in figures.parts(axes, "line2d") for use in group.iter(f"{figures.SVG}use")
            if f"fill: {ORANGE}" in use.get("style", "")
        ]  # fmt: skip
        assert seen == [pytest.approx(place, abs=1e-2) for place in zip([-1, 0, 2], points, strict=True)]
        assert text(f"panel.{name}") in [word for word, _ in figures.texts(axes)]
    shown = words(drawing)
    assert shown.index(text("curve.from_position", position=3)) < shown.index(
        text("curve.from_position", position=7)
    )


def test_losses_stand_at_their_steps_and_guessing_is_a_line():
    curves = {"no_positions": [1.5, 1.75, 1.5], "with_positions": [1.5, 0.5, 0.25]}
    (axes,) = axes_of(plots.position_losses(curves, guess=1.6, every=10))
    up = scale(axes, "y")
    shown = marks(axes, scale(axes, "x"), up)
    for name, curve in curves.items():
        expected = zip((0, 10, 20), curve, strict=True)
        assert [tuple(place) for place in shown[text(f"curve.{name}")]] == [
            pytest.approx(point, abs=1e-2) for point in expected
        ]
    guess = next(line for line in lines(axes, GREY) if len(line) == 2)
    assert [up(place.y) for place in guess] == pytest.approx([1.6, 1.6], abs=1e-2)


# ---- rotary


def tips(axes: ET.Element, colour: str) -> list[Point]:
    """The point of every arrow of a colour, and its other end."""
    return [
        end
        for group in figures.parts(axes, "patch")
        if f"stroke: {colour}" in figures.style(group) and len(pair := figures.shapes(group)) == 2
        for end in (pair[0].corners[0], pair[1].corners[1])
    ]


def test_arrows_point_where_query_and_key_do():
    queries, keys = [[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [-2.0, 0.0]]
    drawing = plots.rotary_arrows(queries, keys, [(7, 3), (11, 5)])
    for axes, query, key, (at, to) in zip(axes_of(drawing), queries, keys, [(7, 3), (11, 5)], strict=True):
        for vector, colour in ((query, BLUE), (key, ORANGE)):
            start, end = tips(axes, colour)
            direction = math.atan2(start.y - end.y, end.x - start.x)  # an SVG counts downwards
            assert math.cos(direction - math.atan2(vector[1], vector[0])) == pytest.approx(1, abs=1e-3)
        said = [word for word, _ in figures.texts(axes)]
        assert f"{text('axis.distance')}: {at - to}" in said
        assert {"90°", "q · k = 0.00"} <= set(said)
    assert {"q₇", "k₃", "q₁₁", "k₅"} <= set(words(drawing))


@pytest.mark.parametrize(("degrees", "shown"), [(30, "30°"), (-45, "45°"), (200, "160°"), (350, "10°")])
def test_the_angle_is_the_short_way_round(degrees, shown):
    key = [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]
    assert shown in words(plots.rotary_arrows([[1.0, 0.0]], [key], [(2, 1)]))


def test_pairs_share_a_colour_and_an_arc_in_both_layouts():
    drawing = plots.rotary_layouts(6)
    expected = ["001122", "012012"]
    for axes, owners in zip(axes_of(drawing), expected, strict=True):
        squares = [s for g in figures.parts(axes, "patch")[1:] for s in figures.shapes(g) if s.fill != "none"]
        arcs = [s.corners for g in figures.parts(axes, "patch") for s in figures.shapes(g)
                if f"stroke: {GREY}" in figures.style(g)]  # fmt: skip
        faces = [square.fill for square in squares]
        cells = [word for s in squares for word, place in figures.texts(axes) if s.holds(place)]
        assert cells == list("012345")
        assert [faces.index(face) for face in faces] == [owners.index(owner) for owner in owners]
        left, width = squares[0].corners[0].x, squares[1].corners[0].x - squares[0].corners[0].x
        joined = sorted(tuple(int((end.x - left) / width) for end in (arc[0], arc[-1])) for arc in arcs)
        assert joined == sorted((owners.index(owner), owners.rindex(owner)) for owner in "012")
    assert {text("layout.neighbours"), text("layout.halves")} <= set(words(drawing))


# ---- scores


def test_each_panel_has_its_title_and_its_own_scale():
    small, large = [[0.1, -0.2], [0.2, 0.0]], [[10.0, -20.0], [20.0, 0.0]]
    one, other = grids(plots.score_terms({"content_content": small, "rotary": large}))
    assert one.faces == other.faces
    assert (one.title, other.title) == (text("panel.content_content"), text("panel.rotary"))
    (upper, lower), (left, right) = one.faces
    assert upper != lower
    assert lower != right  # -0.2 is not 0
    assert left != lower


def test_a_panel_of_negative_numbers_alone_is_purple():
    (below, mixed) = grids(
        plots.score_terms({"sum": [[-1.0, -1.0], [-1.0, -1.0]], "rotary": [[-1.0, 1.0], [1.0, -1.0]]})
    )
    assert below.faces[0][0] == mixed.faces[0][0]


def test_biases_leave_the_future_out_and_share_a_scale_in_each_family():
    t5 = torch.tensor([[[1.0, 9, 9], [2, 1, 9], [3, 2, 1]], [[-1.0, 9, 9], [-2, -1, 9], [-3, -2, -1]]])
    alibi = torch.tensor([[[0.0, 7, 7], [-1, 0, 7], [-4, -1, 0]], [[0.0, 7, 7], [-0.5, 0, 7], [-2, -0.5, 0]]])
    drawing = plots.relative_biases(t5, alibi)
    shown = grids(drawing)
    for panel in shown:
        assert [[face == "none" for face in row] for row in panel.faces] == [
            [False, True, True], [False, False, True], [False, False, False],
        ]  # fmt: skip
        assert panel.faces[1][0] == panel.faces[2][1] != panel.faces[0][0]
    steep, gentle = shown[2:]
    assert gentle.faces[2][0] not in {steep.faces[2][0], steep.faces[1][0]}
    assert [panel.title for panel in shown] == [
        f"{family}, {text('title.head', number=number)}" for family in ("T5", "ALiBi") for number in (1, 2)
    ]
    ranges = [word for word in words(drawing) if re.search(r"…", word)]
    assert ranges == ["1.00 … 3.00", "-3.00 … -1.00", "-4.00 … 0.00", "-2.00 … 0.00"]
