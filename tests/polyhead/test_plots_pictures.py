"""Where points, curves, boxes and arrows stand in a figure: each is read back from its SVG."""

from __future__ import annotations

import math

import pytest
import torch

from polyhead import plots
from polyhead.language import text
from polyhead.plots.drawing import BLUE, GREY
from tests.polyhead import figures
from tests.polyhead.figures import FIGURES, arrows, axes_of, boxes, marks, scale, words

# ---- curves


def test_scaled_and_unscaled_curves_are_what_their_labels_say():
    entropy = {"scaled": [3.0, 2.75, 2.5], "unscaled": [2.0, 1.0, 0.5]}
    gradient = {"unscaled": [0.75, 0.25, 0.125], "scaled": [0.5, 0.625, 0.5]}
    upper, lower = axes_of(plots.scaling_curves([2, 8, 32], entropy, gradient, num_keys=32))
    across = scale(lower, "x", lambda label: math.log2(float(label)))
    for axes, curves in ((upper, entropy), (lower, gradient)):
        shown = marks(axes, across, scale(axes, "y"))
        for name, curve in curves.items():
            expected = zip((1, 3, 5), curve, strict=True)
            assert [tuple(place) for place in shown[text(f"curve.{name}")]] == [
                pytest.approx(point, abs=1e-3) for point in expected
            ]


def test_equal_weights_are_a_line_at_the_largest_entropy():
    upper, _ = axes_of(FIGURES["scaling_curves"]())
    (line,) = (
        shape.corners for group in figures.parts(upper, "line2d") for shape in figures.shapes(group)
        if f"stroke: {GREY}" in figures.style(group)
    )  # fmt: skip
    assert [scale(upper, "y")(point.y) for point in line] == pytest.approx([math.log(32)] * 2, abs=1e-3)


def power(label: str) -> float:
    return float(label.removeprefix("10").translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")))


@pytest.mark.parametrize("wrap", [list, torch.tensor, lambda curve: torch.tensor(curve, requires_grad=True)])
def test_gradients_stand_layer_by_layer(wrap):
    curves = {
        "post_norm": [0.01, 0.1, 1.0],
        "pre_norm": [1.0, 10.0, 100.0],
        "no_residual": [1e-6, 1e-4, 1e-5],
    }
    (axes,) = axes_of(plots.gradient_by_layer({name: wrap(curve) for name, curve in curves.items()}))
    shown = marks(axes, scale(axes, "x"), scale(axes, "y", power))
    for name, exponents in {
        "post_norm": (-2, -1, 0),
        "pre_norm": (0, 1, 2),
        "no_residual": (-6, -4, -5),
    }.items():
        assert [tuple(place) for place in shown[text(f"curve.{name}")]] == [
            pytest.approx((layer, exponent), abs=1e-3) for layer, exponent in enumerate(exponents, start=1)
        ]


@pytest.mark.parametrize(
    ("curve", "labels"),
    [
        ([1.0, 100.0], ["1", "2", "5", "10", "20", "50", "100"]),
        ([1.0, 1000.0], ["10³", "10²", "10¹", "10⁰"]),
        ([1e-10, 0.9], ["10⁰", "10⁻²", "10⁻⁴", "10⁻⁶", "10⁻⁸", "10⁻¹⁰"]),
    ],
)
def test_up_to_two_powers_of_ten_are_split_finer(curve, labels):
    (axes,) = axes_of(plots.gradient_by_layer({"pre_norm": curve}))
    shown = [(figures.texts(tick)[0][0], figures.tick_mark(tick)) for tick in figures.ticks(axes, "y")]
    assert [label for label, _ in shown] == labels
    ground = figures.shapes(figures.parts(axes, "patch")[0])[0]
    at_the_bottom = max(mark.y for _, mark in shown) > bottom(ground) - 0.01
    assert at_the_bottom is (len(labels) == 7)  # a whole power of ten has room for the point below its tick


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
