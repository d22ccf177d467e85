"""The figures of the decoder's chapters: shifted tokens, leaks, steps, beams, and what a cache costs."""

from __future__ import annotations

import math

import pytest
import torch

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import arrows, axes_of, boxes, grids, marks, scale, shapes, texts, words
from tests.polyhead_course.test_plots_depth import power

# ---- inputs and targets


def rounded(axes) -> list[tuple[str, figures.Shape]]:
    """Every rounded box with the words in it; the same words may be in several."""
    found = [shape for shape in shapes(axes) if len(shape.corners) == 13 and shape.fill != "none"]
    return [(" ".join(word for word, point in texts(axes) if box.holds(point)), box) for box in found]


def middle(box: figures.Shape) -> tuple[float, float]:
    xs, ys = zip(*box.corners, strict=True)
    return round((min(xs) + max(xs)) / 2, 1), round((min(ys) + max(ys)) / 2, 1)


def test_each_target_is_above_its_input_and_the_rows_are_shifted_by_one():
    (axes,) = axes_of(plots.shifted_tokens(list("abcd")))
    places = {middle(box): word for word, box in rounded(axes)}
    heights = sorted({y for _, y in places})
    upper, lower = ([places[x, y] for x, at in sorted(places) if at == y] for y in heights)
    assert (upper, lower) == (list("bcd"), list("abc"))
    columns = [sorted(x for x, at in places if at == y) for y in heights]
    assert columns[0] == columns[1]
    headings = {word: point.y for word, point in texts(axes) if len(word) > 1}
    assert headings[text("title.targets")] < heights[0] < heights[1] < headings[text("title.inputs")]


def test_dotted_lines_join_each_target_with_the_same_token_among_the_inputs():
    (axes,) = axes_of(plots.shifted_tokens(list("abcd")))
    dotted = [
        shape.corners for group in figures.parts(axes, "line2d") if "dasharray" in figures.style(group)
        for shape in shapes(group)
    ]  # fmt: skip
    found = rounded(axes)
    joined = []
    for line in dotted:
        ends = sorted(line, key=lambda point: point.y)
        joined.append([next(word for word, box in found if box.holds(end, 1)) for end in ends])
    assert sorted(joined) == [["b", "b"], ["c", "c"]]


# ---- leaks


def test_what_moves_before_the_changed_token_is_orange_and_after_it_blue():
    moved = {
        "unmasked": {"train": torch.tensor([0.5, 0, 0.25, 1, 1e-9]), "eval": [0, 0.125, 0, 0, 3]},
        "causal": {"train": [0, 0, 2, 2, 2], "eval": [0.0] * 5},
    }
    first, second = grids(plots.future_rows(moved, changed=2))
    no = "none"
    assert first.faces == [[ORANGE, no, BLUE, BLUE, no], [no, ORANGE, no, no, BLUE]]
    assert second.faces == [[no, no, BLUE, BLUE, BLUE], [no] * 5]
    assert first.rows == second.rows == [text("mode.train"), text("mode.eval")]
    assert [label.strip() for label in first.columns] == ["0", "1", "2▼", "3", "4"]
    assert (first.title, second.title) == (text("model.unmasked"), text("model.causal"))


def test_the_key_of_the_colours_is_right():
    drawing = plots.future_rows({"d2l": {"train": [0, 1], "eval": [1, 1]}}, changed=1)
    (axes,) = axes_of(drawing)
    shown = figures.legend(axes)
    assert {shown[ORANGE], shown[BLUE]} == {text("key.leak"), text("key.moved")}
    assert shown[ORANGE] == text("key.leak")
    assert text("key.changed") in words(drawing)


def test_losses_of_both_models_are_where_the_axes_say():
    at_once = {"causal": [2.0, 1.0, 0.5], "unmasked": [2.0, 0.75, 0.25]}
    alone = {"causal": {0: 2.0, 2: 0.5}, "unmasked": {0: 2.0, 2: 3.5}}
    upper, lower = axes_of(plots.leak_losses(at_once, alone, floor=0.5, guessing=1.5))
    for axes, name in ((upper, "causal"), (lower, "unmasked")):
        assert text(f"model.{name}") in [word for word, _ in texts(axes)]
        x, y = scale(lower, "x"), scale(axes, "y")
        lines = {
            colour: [(x(point.x), y(point.y)) for point in shapes(group)[0].corners]
            for group in figures.parts(axes, "line2d")
            for colour in (BLUE, ORANGE) if f"stroke: {colour}" in figures.style(group)
        }  # fmt: skip
        assert lines[BLUE] == [pytest.approx(point, abs=1e-2) for point in enumerate(at_once[name])]
        assert lines[ORANGE] == [pytest.approx(point, abs=1e-2) for point in alone[name].items()]
        levels = sorted(
            y(shape.corners[0].y) for group in figures.parts(axes, "line2d") for shape in shapes(group)
            if f"stroke: {GREY}" in figures.style(group)
        )  # fmt: skip
        assert levels == pytest.approx([0.5, 1.5], abs=1e-2)
        heights = {word: y(point.y) for word, point in texts(axes)}
        assert heights[text("line.lowest_loss")] < heights[text("line.guessing")]
    assert set(figures.legend(upper).values()) == {text("curve.at_once"), text("curve.one_by_one")}


# ---- the steps of writing


def test_the_prompt_goes_in_at_once_and_then_one_token_at_a_time():
    (axes,) = axes_of(plots.decode_timeline(list("pqrst"), num_prompt=2))
    found = sorted(((*middle(box), word) for word, box in rounded(axes)))
    columns = sorted({x for x, _, _ in found})
    model = text("block.model")
    shown = [[word for at, _, word in found if at == x] for x in columns]
    assert shown == [["r", model, "p", "q"], ["s", model, "r"], ["t", model, "s"]]
    names = [word for word, _ in texts(axes) if word in (text("step.prefill"), text("step.decode"))]
    assert names == [text("step.prefill"), text("step.decode"), text("step.decode")]


def test_the_cache_grows_by_the_keys_that_are_new():
    (axes,) = axes_of(plots.decode_timeline(list("pqrst"), num_prompt=2))
    *keys, new, old = [shape for shape in shapes(axes) if shape.fill in (ORANGE, BLUE)]
    assert (new.fill, old.fill) == (ORANGE, BLUE)
    lines = {}
    for square in keys:
        x, _ = middle(square)
        column = min(rounded(axes), key=lambda each: abs(middle(each[1])[0] - x))
        lines.setdefault(middle(column[1])[0], []).append((x, square.fill))
    faces = [[face for _, face in sorted(line)] for _, line in sorted(lines.items())]
    assert faces == [[ORANGE] * 2, [BLUE, BLUE, ORANGE], [BLUE, BLUE, BLUE, ORANGE]]
    labels = {word: point.y for word, point in texts(axes)}
    assert labels[text("key.computed")] == pytest.approx(middle(new)[1], abs=8)
    assert labels[text("key.cached")] == pytest.approx(middle(old)[1], abs=8)


def test_what_comes_out_goes_in_at_the_next_step():
    (axes,) = axes_of(plots.decode_timeline(list("pqr"), num_prompt=1))
    found = rounded(axes)
    ways = []
    for group in figures.parts(axes, "line2d"):
        for shape in shapes(group):
            if len(shape.corners) == 4:
                ends = shape.corners[0], shape.corners[-1]
                ways.append([next(word for word, box in found if box.holds(end, 2)) for end in ends])
    assert ways == [["q", "q"]]


# ---- beam search

LEVELS = [
    [(0, "a", 0.6, True), (0, "b", 0.3, True), (0, "c", 0.1, False)],
    [(0, "d", 0.2, True), (0, "e", 0.1, False), (1, "f", 0.25, True)],
]


def test_every_candidate_hangs_on_its_parent():
    drawing = plots.beam_tree("start", LEVELS)
    assert sorted(arrows(drawing)) == sorted([
        ("start", "a  0.60"), ("start", "b  0.30"), ("start", "c  0.10"),
        ("a  0.60", "d  0.20"), ("a  0.60", "e  0.10"), ("b  0.30", "f  0.25"),
    ])  # fmt: skip


def test_the_best_way_is_orange_and_what_is_dropped_grey():
    drawing = plots.beam_tree("start", LEVELS)
    fills = {word: box.fill for word, box in boxes(drawing).items()}
    assert fills["b  0.30"] == fills["f  0.25"] != fills["a  0.60"] == fills["d  0.20"]
    assert fills["c  0.10"] == fills["e  0.10"] not in (fills["a  0.60"], fills["b  0.30"])
    (axes,) = axes_of(drawing)
    strokes = [figures.style(group) for group in figures.parts(axes, "line2d")]
    assert [sum(f"stroke: {colour}" in stroke for stroke in strokes) for colour in (ORANGE, GREY)] == [2, 2]
    assert sum(f"stroke: {INK}" in stroke or "stroke" not in stroke for stroke in strokes) == 2


def test_something_dropped_is_never_the_best():
    levels = [[(0, "a", 0.9, False), (0, "b", 0.1, True)]]
    fills = {word: box.fill for word, box in boxes(plots.beam_tree("s", levels)).items()}
    best = {word: box.fill for word, box in boxes(plots.beam_tree("s", LEVELS)).items()}["b  0.30"]
    assert fills["b  0.10"] == best != fills["a  0.90"]


# ---- what a cache saves and costs


def test_the_cost_of_each_token_is_where_the_axis_says():
    (axes,) = axes_of(plots.decode_cost([10, 100, 100], [10, 1_000, 100_000]))
    x, y = scale(axes, "x"), scale(axes, "y", power)
    for colour, exponents in ((BLUE, [1, 2, 2]), (ORANGE, [1, 3, 5])):
        (line,) = (
            shape.corners for group in figures.parts(axes, "line2d") for shape in shapes(group)
            if f"stroke: {colour}" in figures.style(group) and len(shape.corners) > 1
        )  # fmt: skip
        shown = [(x(point.x), y(point.y)) for point in line]
        assert shown == [pytest.approx(point, abs=0.02) for point in enumerate(exponents, start=1)]
    heights = {word: y(point.y) for word, point in texts(axes)}
    assert heights[text("curve.without_cache")] == pytest.approx(5, abs=0.5)
    assert heights[text("curve.with_cache")] == pytest.approx(2, abs=0.5)


def count(label: str) -> float:
    return float("".join(char for char in label if char.isdigit()))


def test_the_memory_of_each_length_is_where_the_axes_say():
    sizes = {32: [1.0, 8.0, 16.0], 8: [0.25, 2.0, 4.0]}
    (axes,) = axes_of(plots.cache_memory([100, 800, 1600], sizes, weights=5.0))
    x, y = scale(axes, "x", count), scale(axes, "y")
    shown = marks(axes, x, y)
    for heads, line in sizes.items():
        expected = zip((100, 800, 1600), line, strict=True)
        assert [tuple(place) for place in shown[text("curve.kv_heads", number=heads)]] == [
            pytest.approx(point, rel=0.01, abs=0.02) for point in expected
        ]
    (level,) = (
        y(shape.corners[0].y) for group in figures.parts(axes, "line2d") for shape in shapes(group)
        if f"stroke: {GREY}" in figures.style(group)
    )  # fmt: skip
    assert level == pytest.approx(5, abs=0.02)
    assert [texts(tick)[0][0] for tick in figures.ticks(axes, "x")] == ["800", "1,600"]
    assert not math.isnan(dict(texts(axes))[text("line.model_weights")].y)
