"""Rows of weights with a mask and without, and the corner of the causal triangle: read back from the SVG."""

from __future__ import annotations

import math

import pytest
import torch
from matplotlib.colors import to_rgb

from polyhead import causal_mask
from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, ORANGE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.bad_input import assert_named, bad
from tests.polyhead_course.figures import axes_of, grids, parts, shapes, texts, words

NAN = math.nan


def bars(axes):
    """The heights of the filled bars, as parts of the strip's own height, and those of the outlines."""
    ground, *rest = [shape for group in parts(axes, "patch") for shape in shapes(group)]
    rest = [shape for shape in rest if len(shape.corners) > 2 and width(shape) < 0.9 * width(ground)]
    filled = [height(shape) / height(ground) for shape in rest if shape.fill == BLUE]
    dashed = [height(shape) / height(ground) for shape in rest if shape.fill == "none"]
    return filled, dashed


def width(shape):
    return max(corner.x for corner in shape.corners) - min(corner.x for corner in shape.corners)


def height(shape):
    return max(corner.y for corner in shape.corners) - min(corner.y for corner in shape.corners)


# ---- one row before and after


BEFORE, MASKED, LATE = [0.125, 0.25, 0.625], [0.375, 0.625, 0.0], [0.125, 0.25, 0.0]


def test_bars_have_the_weights_heights_and_outlines_those_without_a_mask():
    shown = axes_of(plots.masked_row(BEFORE, MASKED, LATE, list("xyz")))
    for axes, row, outlines in zip(shown, (BEFORE, MASKED, LATE), ([], BEFORE, BEFORE), strict=True):
        filled, dashed = bars(axes)
        assert filled == pytest.approx(row, abs=1e-3)
        assert dashed == pytest.approx(outlines, abs=1e-3)


def test_every_strip_has_its_name_its_numbers_and_its_sum():
    shown = axes_of(plots.masked_row(torch.tensor(BEFORE), MASKED, LATE, list("xyz")))
    for axes, name, row in zip(shown, ("before", "masked", "late"), (BEFORE, MASKED, LATE), strict=True):
        inside = [word for word, _ in texts(axes) if word not in "xyz"]
        total = text("row.sum", number=f"{sum(row):.2f}")
        assert sorted(inside) == sorted([*(f"{weight:.2f}" for weight in row), total, text(f"row.{name}")])
    last = [(word, round(place.x)) for word, place in texts(shown[-1])]
    middles = [round(place) for word, place in last if word in "xyz"]
    assert [word for word, _ in last if word in "xyz"] == list("xyz")
    assert middles == sorted(middles)


# ---- who answers what


def test_blind_rows_say_nan_where_there_is_no_number():
    answers = {
        "first": torch.tensor([NAN, NAN, NAN]),
        "second": torch.tensor(BEFORE).double().requires_grad_(),
        "third": torch.zeros(3).half(),
    }
    drawing = plots.blind_rows(answers, list("xyz"))
    shown = axes_of(drawing)
    expected = [["NaN"] * 3, [f"{weight:.2f}" for weight in BEFORE], ["0.00"] * 3]
    for axes, name, numbers in zip(shown, answers, expected, strict=True):
        inside = [word for word, _ in texts(axes) if word not in list("xyz")]
        assert sorted(inside) == sorted([*numbers, name])
    assert [bars(axes)[0] for axes in shown] == [
        pytest.approx(row, abs=1e-3) for row in ([0, 0, 0], BEFORE, [0, 0, 0])
    ]
    assert figures.inks(drawing, "NaN") == [ORANGE] * 3


# ---- which corner


def test_new_rows_continue_the_triangle_on_the_left_and_begin_it_anew_on_the_right():
    drawing = plots.cache_alignment(2, list("abcde"))
    left, right = grids(drawing)
    pale, new, lost = "#9ecae1", BLUE, ORANGE
    for grid, seen in ((left, causal_mask(3, 5)), (right, torch.ones(3, 5).tril().bool())):
        for row, line in enumerate(grid.faces):
            past = [column <= row for column in range(5)]
            if row < 2:
                assert line == [pale if old else "none" for old in past]
            else:
                visible = seen[row - 2].tolist()
                assert line == [
                    new if see else lost if old else "none" for see, old in zip(visible, past, strict=True)
                ]
    assert ORANGE not in [face for line in left.faces for face in line]
    assert sum(to_rgb(pale)) > sum(to_rgb(new))
    assert (left.title, right.title) == (text("align.lower_right"), text("align.upper_left"))
    assert left.rows == left.columns == right.columns == list("abcde")
    assert figures.legend(axes_of(drawing)[0]) == {
        pale: text("align.earlier"), new: text("align.new"), lost: text("align.lost"),
    }  # fmt: skip
    assert [words(drawing).count(word) for word in "abcde"] == [3] * 5


# ---- rows that see nothing, in the masks themselves


def test_a_row_of_a_mask_that_sees_nothing_is_framed():
    mask = torch.tensor([[False, False, False], [True, False, False], [False, False, False]])
    blind, open_rows = axes_of(plots.masks({"both": mask, "causal": causal_mask(3)}, list("abc")))
    assert framed(blind) == [0, 2]
    assert framed(open_rows) == []


def framed(axes):
    """The numbers of the rows that an orange line goes round."""
    cells = [shape for group in parts(axes, "patch") for shape in shapes(group)][1:]
    tops = sorted({round(min(corner.y for corner in cell.corners), 1) for cell in cells})
    lines = [
        shape for group in parts(axes, "line2d") for shape in shapes(group)
        if f"stroke: {ORANGE}" in figures.style(group)
    ]  # fmt: skip
    return [tops.index(round(min(corner.y for corner in line.corners), 1)) for line in lines]


# ---- what cannot be drawn


def row(**changed):
    rows = {"before": BEFORE, "masked": MASKED, "late": LATE, "tokens": list("xyz")}
    return lambda: plots.masked_row(**{**rows, **changed})


def answers(answers=None, tokens=("x", "y")):
    return lambda: plots.blind_rows({"a": torch.zeros(2)} if answers is None else answers, tokens)


BAD = [
    bad("row, above 1", row(before=[1.5, 0, 0]), ValueError, "before", "1.5"),
    bad("row, below 0", row(late=[-0.5, 0, 0]), ValueError, "late", "-0.5"),
    bad("row, NaN", row(masked=[NAN, 0, 0]), ValueError, "masked", "nan"),
    bad("row, too short", row(masked=[1.0, 0]), ValueError, "masked", "(2,)"),
    bad("row, no tokens", row(tokens=[]), ValueError, "tokens", "[]"),
    bad("answers, none", answers({}), ValueError, "answers", "{}"),
    bad("answers, a list", answers({"a": [0.5, 0.5]}), TypeError, "answers['a']", "list"),
    bad("answers, above 1", answers({"a": torch.tensor([2.0, 0])}), ValueError, "answers['a']", "2.0"),
    bad("answers, too long", answers({"a": torch.zeros(3)}), ValueError, "answers['a']", "(3,)"),
    bad(
        "answers, meta", answers({"a": torch.zeros(2, device="meta")}), ValueError, "answers['a']", "tensor("
    ),
    bad("alignment, no cache", lambda: plots.cache_alignment(0, ["a"]), ValueError, "num_cached", "1"),
    bad("alignment, all cached", lambda: plots.cache_alignment(2, ["a", "b"]), ValueError, "tokens", "2"),
    bad(
        "alignment, too many", lambda: plots.cache_alignment(1, list("abcdefghi")), ValueError, "tokens", "9"
    ),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
