"""Where points, curves, boxes and arrows stand in a figure: each is read back from its SVG."""

from __future__ import annotations

import math

import pytest

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import FIGURES, arrows, axes_of, boxes, marks, scale, words

# ---- curves


def test_values_outputs_and_their_names_stand_in_their_places():
    values, outputs = [[0, 0], [4, 0], [1, 3]], [[1, 1], [2, 0.5], [1.5, 2]]
    drawing = plots.weighted_sums(values, outputs, ["a", "b", "c"])
    (axes,) = axes_of(drawing)
    x, y = scale(axes, "x"), scale(axes, "y")
    shown = marks(axes, x, y)
    for name, points in (("value", values), ("output", outputs)):
        for place, point in zip(shown[text(f"point.{name}")], points, strict=True):
            assert place == pytest.approx(point, abs=1e-3)
    labels = [(word, (x(place.x), y(place.y))) for word, place in figures.texts(axes) if word in "abc"]
    nearest = [min(range(3), key=lambda number: math.dist(values[number], place)) for _, place in labels]
    assert ([word for word, _ in labels], nearest) == (["a", "b", "c"], [0, 1, 2])
    area = next(shape for shape in figures.shapes(axes) if shape.fill == BLUE)
    corners = {(round(x(corner.x), 2) + 0.0, round(y(corner.y), 2) + 0.0) for corner in area.corners}
    assert corners == {tuple(value) for value in values}


# ---- boxes and arrows


def test_each_sublayer_stands_where_the_layer_computes_it():
    (axes,) = axes_of(plots.layer_sublayers())
    names = {text(f"block.{name}"): name for name in ("self_attention", "feed_forward", "norm")}
    placed = [(place, names.get(word, word)) for word, place in figures.texts(axes)]
    titles = {
        word: place for place, word in placed if word in (text("title.post_norm"), text("title.pre_norm"))
    }
    middle = titles[text("title.pre_norm")].x
    columns = [
        [word for place, word in sorted(placed, key=lambda each: each[0].y) if (place.x > middle) is right]
        for right in (False, True)
    ]
    post = ["self_attention", "+", "norm", "feed_forward", "+", "norm"]
    pre = ["norm", "self_attention", "+", "norm", "feed_forward", "+"]
    assert [word for word in columns[0] if word not in titles] == post
    assert [word for word in columns[1] if word not in titles] == pre
    assert titles[text("title.post_norm")].x < middle


def test_map_leads_from_each_chapter_to_those_that_build_on_it():
    drawing = FIGURES["course_map"]()
    title = {name: text(key) for name, (key, _) in figures.COURSE.items()}
    assert set(boxes(drawing)) == set(title.values())
    # "first" leads to "last" through the others.
    assert sorted(arrows(drawing)) == sorted(
        (title[start], title[end])
        for start, end in [
            ("first", "left"),
            ("first", "right"),
            ("right", "right again"),
            ("left", "last"),
            ("right again", "last"),
        ]
    )


def test_a_chapter_stands_below_all_that_it_builds_on_and_boxes_do_not_overlap():
    chapters = {
        "z": ("Zeta", ["a", "c"]),
        "a": ("Alpha", []),
        **{name: (name.upper(), ["a"]) for name in "bcdef"},
    }
    shown = boxes(plots.course_map(chapters))
    for title, needs in chapters.values():
        for needed in needs:
            assert bottom(shown[chapters[needed][0]]) < top(shown[title])
    every = list(shown.values())
    for number, one in enumerate(every):
        for other in every[:number]:
            assert not any(one.holds(corner) for corner in other.corners)
    assert len({round(top(box)) for box in every}) == 1 + 3 + 1  # five chapters on one level take three lines


def top(box: figures.Shape) -> float:
    return min(corner.y for corner in box.corners)


def bottom(box: figures.Shape) -> float:
    return max(corner.y for corner in box.corners)


@pytest.mark.parametrize(
    ("title", "lines"),
    [
        ("7. Cross-attention and the whole Transformer", ["7. Cross-attention and", "the whole Transformer"]),
        ("7. 交叉注意力與完整的 Transformer", ["7. 交叉注意力與完整的", "Transformer"]),
        ("注意力注意力注意力注意力。注意", ["注意力注意力注意力注意", "力。注意"]),
        ("크로스 어텐션과 헤드 하나의 전체", ["크로스 어텐션과 헤드", "하나의 전체"]),
        ("Antidisestablishmentarianism", ["Antidisestablishmentarianism"]),
        ("$x_1$ and $y$", ["$x_1$ and $y$"]),
    ],
)
def test_a_long_title_is_broken_where_its_language_allows(title, lines):
    assert words(plots.course_map({"only": (title, [])})) == lines
