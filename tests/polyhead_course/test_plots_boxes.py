"""Boxes, lines and arrows: what is read back from the SVG joins what belongs together."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
import torch

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE
from polyhead_course.figures.plots.layers import _FACES, _PLAIN
from polyhead_course.words import set_language
from polyhead_course.words.language import LANGUAGES, text
from tests.polyhead_course.figures import (
    FIGURES,
    Point,
    Shape,
    all_boxes,
    arrows,
    axes_of,
    boxes,
    curves,
    marks,
    parts,
    shapes,
    style,
    texts,
    words,
)  # fmt: skip


def lines(drawing: plots.Drawing) -> list[tuple[str, list[Point]]]:
    """The colour of every line, and its corners on the page."""
    (axes,) = axes_of(drawing)
    return [(colour, [Point(*corner) for corner in line]) for colour, line in curves(axes, float, float)]


def links(drawing: plots.Drawing, colour: str, slack: float = 2) -> list[tuple[str, str]]:
    """The words of the boxes at both ends of every line of a colour that begins and ends at one."""
    (axes,) = axes_of(drawing)
    found = []
    for other, line in lines(drawing):
        ends = [
            [word for word, box in all_boxes(axes) if box.holds(end, slack)] for end in (line[0], line[-1])
        ]
        if other == colour and all(ends):
            found.append((ends[0][0], ends[1][0]))
    return found


# ---- layers and models


def test_each_sublayer_of_the_whole_model_comes_in_its_order():
    drawing = FIGURES["whole_transformer"]()
    (axes,) = axes_of(drawing)
    left, right = sorted({box.middle.x for _, box in all_boxes(axes)})
    encoder = ["embedding", "self_attention", "add_norm", "feed_forward", "add_norm"]
    decoder = [
        "embedding", "masked_self_attention", "add_norm", "cross_attention", "add_norm", "feed_forward",
        "add_norm", "tied_output", "softmax",
    ]  # fmt: skip
    for x, names in ((left, encoder), (right, decoder)):
        column = [word for word, box in all_boxes(axes) if box.middle.x == x]
        assert column == [text(f"block.{name}") for name in names]
    cross, norm = text("block.cross_attention"), text("block.add_norm")
    assert links(drawing, ORANGE) == [(norm, cross)]  # the memory
    sides = [line for colour, line in lines(drawing) if colour == GREY]
    assert len(sides) == 5  # each residual begins above its sublayer, and ends in a norm
    for side in sides:
        assert any(word == norm and box.holds(side[-1], 1) for word, box in all_boxes(axes))
        assert side[0].y < side[-1].y - 30


def test_tokens_are_at_both_ends_of_their_columns():
    (axes,) = axes_of(plots.whole_transformer(list("xyz"), list("pq"), list("rs")))
    places = dict(texts(axes))
    assert places["x  y  z"].x < places["p  q"].x == places["r  s"].x
    assert places["p  q"].y < places["r  s"].y


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", ["whole_transformer"])
def test_every_label_fits_into_its_box(code, name):
    """No line of a box is wider than the box; a letter is at most 0.62 em wide, an ideograph 1 em."""
    set_language(code)
    (axes,) = axes_of(FIGURES[name]())
    for _, box in all_boxes(axes):
        for word, place in texts(axes):
            if box.holds(place):
                assert sum(1.0 if ord(letter) > 0x2E80 else 0.62 for letter in word) * 9 <= box.size.x, word


def test_each_sublayer_is_where_the_layer_computes_it():
    (axes,) = axes_of(plots.layer_sublayers())
    names = {text(f"block.{name}"): name for name in ("self_attention", "feed_forward", "norm")} | {"+": "+"}
    middle = dict(texts(axes))[text("title.pre_norm")].x
    inside = sorted((place.x > middle, place.y, names[word]) for word, place in texts(axes) if word in names)
    assert [name for right, _, name in inside if not right] == [
        "self_attention", "+", "norm", "feed_forward", "+", "norm",
    ]  # fmt: skip
    assert [name for right, _, name in inside if right] == [
        "norm", "self_attention", "+", "norm", "feed_forward", "+",
    ]  # fmt: skip


def test_each_sublayer_reads_every_line_above_it_and_adds_one_that_does_not_end():
    drawing = plots.residual_stream()
    (axes,) = axes_of(drawing)
    # From the left; the brackets of the layers are at the right, and have four corners.
    strands = sorted(
        (line[0].x, line[0].y, colour) for colour, line in lines(drawing) if len(line) == 2 and colour != GREY
    )
    assert len(strands) == 4 + 1
    reads = {}
    for mark in (mark for group in parts(axes, "line2d") for mark in marks(group)):
        reads.setdefault(round(mark.y, 2), []).append(mark.x)
    for number, y in enumerate(sorted(reads), start=1):
        assert reads[y] == pytest.approx([x for x, _, _ in strands[:number]], abs=0.01)
    sublayers = [text("block.self_attention"), text("block.feed_forward")]
    assert [word for word, _ in all_boxes(axes)] == sublayers * 2
    # Each box is between the height where it reads and the one where its line begins, in its colour.
    writes = sorted(
        (line[-1].y, colour) for colour, line in lines(drawing) if len(line) == 3 and colour != GREY
    )
    for (_, box), read, write, (_, *begin) in zip(
        all_boxes(axes), sorted(reads), writes, strands[1:], strict=True
    ):
        assert read < box.middle.y < begin[0]
        assert write == (pytest.approx(begin[0], abs=0.01), begin[1])
    assert strands[0][2] == INK
    layers = {text("layer.number", number=number) for number in (1, 2)}
    assert {"x + u₁ + u₂ + u₃ + u₄", *layers} <= set(words(drawing))


# ---- heads


def test_each_head_reads_all_of_x_fills_its_columns_and_meets_its_block_of_rows():
    drawing = plots.concat_blocks(num_tokens=2, num_heads=3, head_dim=5)
    (axes,) = axes_of(drawing)
    drawn = [
        [shape for shape in shapes(group) if shape.fill in (*_FACES, _PLAIN) and len(shape.corners) < 13]
        for group in parts(axes, "patch")
    ]
    # Each group is a block of cells.
    blocks = [
        Shape([corner for each in cells for corner in each.corners], cells[0].fill)
        for cells in drawn
        if cells
    ]
    side = drawn[0][0].size.x
    sizes = [(block.fill, round(block.size.x / side), round(block.size.y / side)) for block in blocks]
    faces = _FACES[:3]
    columns, rows = [(face, 5, 2) for face in faces], [(face, 15, 5) for face in faces]
    assert sizes == [(_PLAIN, 15, 2), *columns, *rows, (_PLAIN, 15, 2)]
    columns, rows = blocks[1:4], blocks[4:7]
    assert [round((block.middle.x - columns[0].middle.x) / side) for block in columns] == [0, 5, 10]
    assert [round((block.middle.y - rows[0].middle.y) / side) for block in rows] == [0, 5, 10]
    heads = [boxes(drawing)[text("title.head", number=number)] for number in (1, 2, 3)]
    assert [head.fill for head in heads] == list(faces)
    both = [line for _, line in lines(drawing)]
    for head, block, reading, writing in zip(heads, columns, both[::2], both[1::2], strict=True):
        assert blocks[0].holds(reading[0], 1) and head.holds(reading[-1], 2)
        assert head.holds(writing[0], 2) and block.holds(writing[-1], 1)


def test_attention_lines_lead_from_the_query_to_the_key_and_are_as_dark_as_the_weight():
    weights = torch.zeros(2, 4, 4)
    weights[0, 1, 3], weights[0, 2, 0], weights[1, 2, 1] = 0.75, 0.5, 0.25
    weights[0, 1, 0], weights[0, 0, 2], weights[0, 3, 2] = 0.04, 1.0, 1.0  # too small, and no words
    tokens = ["[CLS]", "a", "b", "[SEP]"]
    drawing = plots.attention_lines(weights, tokens, ["0.2", "5.11"])
    shown = []
    for axes in axes_of(drawing):
        heights = dict(texts(axes))
        near = {word: heights[word].y for word in tokens}
        shown.append([])
        for group in parts(axes, "line2d"):
            ends = [min(tokens, key=lambda word: abs(near[word] - end.y)) for end in shapes(group)[0].corners]
            shown[-1].append((*ends, float(re.findall(r"stroke-opacity: ([\d.]+)", style(group))[0])))
    assert shown == [[("a", "[SEP]", 0.75), ("b", "[CLS]", 0.5)], [("b", "a", 0.25)]]
    assert words(drawing).count("[CLS]") == 4
    assert {"0.2", "5.11"} <= set(words(drawing))


# ---- sequences


def test_the_query_has_a_line_to_each_token_with_a_weight():
    drawing = plots.one_query([0.5, 0.0, 0.25, 0.25], list("pqrs"))
    assert sorted(links(drawing, BLUE)) == [("p", "s"), ("r", "s"), ("s", "s")]
    assert words(drawing).count("s") == 2
    assert {"0.50", "0.00", "0.25", text("query")} <= set(words(drawing))
    drawing = plots.one_query([0.5, 0.0, 0.25, 0.25], list("pqrs"), query=2)
    assert sorted(links(drawing, BLUE)) == [("p", "r"), ("r", "r")]
    assert links(drawing, ORANGE) == [("s", "r")]  # a line to a later token


def test_lines_lead_from_each_token_to_those_with_a_weight():
    drawing = plots.crossing([[0.25, 0.75, 0], [1, 0, 0]], list("pqr"), list("xy"), numbers=True)
    assert sorted(links(drawing, BLUE)) == [("x", "p"), ("x", "q")]
    assert links(drawing, ORANGE) == [("y", "p")]
    (axes,) = axes_of(drawing)
    wide = {word: box.middle for word, box in all_boxes(axes)}
    assert (
        wide["p"].x < wide["x"].x < wide["q"].x < wide["y"].x < wide["r"].x
    )  # the shorter row is in the middle
    assert wide["x"].y < wide["p"].y
    below = [word for word, place in texts(axes) if place.y > wide["p"].y + 10]
    weights = ["x  0.000", "x  0.250", "x  0.750", "y  0.000", "y  0.000", "y  1.000"]
    assert sorted(below) == sorted([*weights, text("use.source_answers")])


def test_each_target_is_above_its_input_and_the_rows_are_shifted_by_one():
    drawing = plots.shifted_tokens(list("abcd"))
    (axes,) = axes_of(drawing)
    assert [word for word, _ in all_boxes(axes)] == list("bcd") + list("abc")
    assert links(drawing, INK) == [("a", "b"), ("b", "c"), ("c", "d")]
    assert links(drawing, GREY) == [("b", "b"), ("c", "c")]  # the same token, as target and as input
    xs = [box.middle.x for _, box in all_boxes(axes)]
    assert xs[:3] == xs[3:]
    heights = {word: point.y for word, point in texts(axes)}
    assert heights[text("title.targets")] < heights["d"] < heights["a"] < heights[text("title.inputs")]


def test_the_prompt_goes_in_at_once_then_one_token_at_a_time_and_the_cache_grows():
    drawing = plots.decode_timeline(list("pqrst"), num_prompt=2)
    (axes,) = axes_of(drawing)
    columns = sorted({box.middle.x for _, box in all_boxes(axes)})
    model = text("block.model")
    shown = [[word for word, box in all_boxes(axes) if box.middle.x == x] for x in columns]
    assert shown == [["r", model, "p", "q"], ["s", model, "r"], ["t", model, "s"]]
    assert links(drawing, GREY) == [("r", "r"), ("s", "s")]  # what comes out goes in
    steps = [word for word in words(drawing) if word in (text("step.prefill"), text("step.decode"))]
    assert steps == [text("step.prefill"), text("step.decode"), text("step.decode")]
    *keys, new, old = [shape for shape in shapes(axes) if shape.fill in (ORANGE, BLUE)]
    caches = [
        [key.fill for key in keys if min(columns, key=lambda x: abs(key.middle.x - x)) == column]
        for column in columns
    ]
    assert caches == [[ORANGE] * 2, [BLUE, BLUE, ORANGE], [BLUE, BLUE, BLUE, ORANGE]]
    heights = {word: point.y for word, point in texts(axes)}
    assert heights[text("key.computed")] == pytest.approx(new.middle.y, abs=8)
    assert heights[text("key.cached")] == pytest.approx(old.middle.y, abs=8)


LEVELS = [
    [(0, "a", 0.6, True), (0, "b", 0.3, True), (0, "c", 0.1, False)],
    [(0, "d", 0.2, True), (0, "e", 0.9, False), (1, "f", 0.25, True)],
]


def test_every_candidate_hangs_on_its_parent_and_the_best_path_is_orange():
    drawing = plots.beam_tree("start", LEVELS)
    assert sorted(arrows(drawing)) == sorted([
        ("start", "a  0.60"), ("start", "b  0.30"), ("start", "c  0.10"),
        ("a  0.60", "d  0.20"), ("a  0.60", "e  0.90"), ("b  0.30", "f  0.25"),
    ])  # fmt: skip
    fills = {word: box.fill for word, box in boxes(drawing).items()}
    assert fills["b  0.30"] == fills["f  0.25"] != fills["a  0.60"] == fills["d  0.20"]
    assert fills["c  0.10"] == fills["e  0.90"] not in (fills["a  0.60"], fills["b  0.30"])  # dropped
    strokes = [colour for colour, _ in lines(drawing)]
    assert [strokes.count(colour) for colour in (ORANGE, GREY, INK)] == [2, 2, 2]


# ---- rotary


def test_arrows_point_where_query_and_key_do():
    queries, keys, places = [[1.0, 0.0], [0.0, 2.0]], [[0.0, 1.0], [-2.0, 0.0]], [(7, 3), (11, 5)]
    drawing = plots.rotary_arrows(queries, keys, places, [60, 10])
    for axes, query, key, turn in zip(axes_of(drawing), queries, keys, (60, 10), strict=True):
        for vector, colour in ((query, BLUE), (key, ORANGE)):
            start, end = tips(axes, colour)
            direction = math.atan2(start.y - end.y, end.x - start.x)  # an SVG counts downwards
            assert math.cos(direction - math.atan2(vector[1], vector[0])) == pytest.approx(1, abs=1e-3)
        shown = {word for word, _ in texts(axes)}
        assert {text("clock.turn", degrees=turn), "90°", "q · k = 0.00"} <= shown
    assert {"q₇", "k₃", "q₁₁", "k₅"} <= set(words(drawing))


def tips(axes: ET.Element, colour: str) -> list[Point]:
    """The other end of the arrow of a colour, and its point."""
    return [
        end for group in parts(axes, "patch")
        if f"stroke: {colour}" in style(group) and len(pair := shapes(group)) == 2
        for end in (pair[0].corners[0], pair[1].corners[1])
    ]  # fmt: skip


@pytest.mark.parametrize(("degrees", "shown"), [(30, "30°"), (-45, "45°"), (200, "160°"), (350, "10°")])
def test_the_angle_is_the_short_way_round(degrees, shown):
    key = [math.cos(math.radians(degrees)), math.sin(math.radians(degrees))]
    assert shown in words(plots.rotary_arrows([[1.0, 0.0]], [key], [(2, 1)], [60]))
