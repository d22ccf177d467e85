"""What stands where in a grid of cells: each is read back from its SVG."""

from __future__ import annotations

import math

import pytest
import torch
from matplotlib.colors import to_rgb

from polyhead import causal_mask
from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, FIXED_INK, FIXED_PAPER, ORANGE
from polyhead_course.words import set_language
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import FIGURES, Grid, axes_of, grids, words

T, F = True, False


def light(face: str) -> float:
    return sum(to_rgb(face))


def true_cells(grid: Grid) -> list[list[bool]]:
    assert {face for line in grid.faces for face in line} <= {BLUE, "none"}
    return [[face == BLUE for face in line] for line in grid.faces]


# ---- matrices


def test_heatmap_has_each_number_label_and_colour_in_its_place():
    drawing = plots.heatmap([[0.5, 2, 3], [5, 7, 11]], ["r", "s"], list("xyz"), title="T", decimals=1)
    (grid,) = grids(drawing)
    assert grid[1:] == ([["0.5", "2.0", "3.0"], ["5.0", "7.0", "11.0"]], ["r", "s"], list("xyz"), "T")
    shades = [light(face) for line in grid.faces for face in line]
    assert shades == sorted(set(shades), reverse=True)  # the larger, the darker
    assert len(words(drawing)) == 6 + 2 + 3 + 1


def test_columns_are_labelled_as_the_rows_if_not_given():
    (grid,) = grids(plots.heatmap([[1, 2], [3, 5]], ["r", "s"], decimals=0))
    assert grid.words == [["1", "2"], ["3", "5"]]
    assert grid.rows == grid.columns == ["r", "s"]


def test_long_labels_stand_in_the_order_of_the_columns():
    columns = ["a long label", "b", "c"]
    (grid,) = grids(plots.heatmap([[1, 2, 3]], ["r"], columns))
    assert grid.columns == columns


def test_negative_numbers_are_purple_and_positive_ones_orange():
    (grid,) = grids(plots.heatmap([[-3, 0, 2]], ["r"], list("xyz")))
    (negative, zero, positive) = (to_rgb(face) for face in grid.faces[0])
    assert negative[2] > negative[0]
    assert positive[0] > positive[2]
    assert max(zero) - min(zero) < 0.02


def test_no_minus_before_zero():
    (grid,) = grids(plots.heatmap([[-0.0, -0.004, -1e-9, -1.0]], ["r"], list("abcd")))
    assert grid.words == [["0.00", "0.00", "0.00", "-1.00"]]


def test_a_number_is_readable_on_its_cell():
    """Dark on light, and light on dark."""
    for matrix in ([[0.0, 1.0]], [[-1.0, 0.0, 1.0]]):
        drawing = plots.heatmap(matrix, ["r"], ["x"] * len(matrix[0]))
        (grid,) = grids(drawing)
        inks = figures.inks(drawing, "0.00"), figures.inks(drawing, "1.00")
        assert inks == ([FIXED_INK], [FIXED_PAPER])
        assert light(grid.faces[0][-1]) < 1.5


def test_highest_sets_the_darkest_colour():
    one, same, larger = (
        grids(plots.heatmap([[0.5]], ["r"], ["x"], highest=highest))[0].faces[0][0]
        for highest in (None, 0.5, 1)
    )
    assert one == same
    assert light(one) < light(larger)


def test_weights_of_heads_stand_in_their_places():
    weights = [
        [[0.25, 0.75, 0], [0.5, 0.125, 0.375]],
        [[1, 0, 0], [0, 0, 1]],
        [[0, 1, 0], [0.0625, 0, 0.9375]],
    ]
    shown = grids(plots.head_weights(weights, ["r", "s"], ["a long label", "y", "z"]))
    assert [grid.title for grid in shown] == ["head 1", "head 2", "head 3"]
    assert [grid.words for grid in shown] == [
        [[f"{n:.2f}" for n in line] for line in head] for head in weights
    ]
    assert [grid.rows for grid in shown] == [["r", "s"], ["", ""], ["r", "s"]]
    assert [grid.columns for grid in shown] == [["a long label", "y", "z"]] * 2 + [[""] * 3]
    # One scale for all heads: equal weights have one colour.
    assert shown[0].faces[0][2] == shown[1].faces[0][1] == shown[2].faces[0][0]
    assert shown[1].faces[0][0] == shown[2].faces[0][1]
    assert light(shown[0].faces[0][1]) < light(shown[0].faces[0][0])


# ---- masks


def test_a_coloured_cell_for_each_true():
    mask = torch.tensor([[T, F, T], [F, F, F], [T, T, F]])
    padding, both = grids(plots.masks({"padding": mask, "both": ~mask}, list("abc")))
    assert true_cells(padding) == mask.tolist()
    assert true_cells(both) == (~mask).tolist()
    assert padding.rows == padding.columns == both.columns == list("abc")
    assert both.rows == ["", "", ""]
    assert (padding.title, both.title) == (text("mask.padding"), text("mask.both"))


def test_each_use_has_its_mask_and_its_labels():
    seen = torch.tensor([T, F, T])
    shown = grids(
        plots.three_uses(
            seen.expand(3, 3), causal_mask(2), seen.expand(2, 3), source=list("abc"), target=list("xy")
        )
    )
    assert [true_cells(grid) for grid in shown] == [[[T, F, T]] * 3, [[T, F], [T, T]], [[T, F, T]] * 2]
    assert [(grid.rows, grid.columns) for grid in shown] == [
        (list("abc"), list("abc")),
        (list("xy"), list("xy")),
        (list("xy"), list("abc")),
    ]


def test_names_of_the_uses_stand_above_their_masks():
    drawing = FIGURES["three_uses"]()
    lines = [word for axes in axes_of(drawing) for word, _ in figures.texts(axes)]
    asked = [text(f"use.{side}_asks") for side in ("source", "target", "target")]
    assert [word for word in lines if word in asked] == asked
    expected = [
        *text("use.encoder").split("\n"),
        text("use.source_answers"),
        text("use.mask", name=text("mask.padding")),
        *text("use.decoder").split("\n"),
        text("use.target_answers"),
        text("use.mask", name=text("mask.causal")),
        *text("use.cross").split("\n"),
        text("use.source_answers"),
        text("use.mask", name=text("mask.padding")),
    ]
    assert [word for word in words(drawing) if word not in lines] == expected


def test_the_triangle_says_which_keys_are_computed_and_which_cached():
    drawing = plots.cache_triangle(["a", "b", "c", "d"], 2)
    (grid,) = grids(drawing)
    new, old = ORANGE, BLUE
    assert grid.faces == [
        [new, "none", "none", "none"],
        [new, new, "none", "none"],
        [old, old, new, "none"],
        [old, old, old, new],
    ]
    assert grid.rows == grid.columns == ["a", "b", "c", "d"]
    (axes,) = axes_of(drawing)
    assert figures.legend(axes) == {new: text("key.computed"), old: text("key.cached")}


# ---- positions, and the split of heads


def test_waves_are_orange_above_zero_and_purple_below():
    (grid,) = grids(plots.position_waves([[1, -1, 0], [0.5, 0.25, -0.5]]))
    signs = [[math.copysign(abs(r - b) > 0.1, r - b) for r, _, b in map(to_rgb, line)] for line in grid.faces]
    assert signs == [[1, -1, 0], [1, 1, -1]]
    assert light(grid.faces[0][0]) < light(grid.faces[1][0]) < light(grid.faces[1][1])


def test_ticks_of_the_waves_count_positions_down_and_dimensions_across():
    (grid,) = grids(plots.position_waves(torch.zeros(6, 3)))
    assert grid.rows == ["0", "", "", "", "4", ""]
    assert grid.columns == ["0", "", "2"]


def test_every_element_keeps_its_head_on_the_way():
    X = torch.tensor([[[1.0, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]])
    shown = grids(plots.transpose_path(X, 2))
    a, b = "#9ecae1", "#fdae6b"
    first, second = [["1", "2"], ["5", "6"], ["9", "10"]], [["3", "4"], ["7", "8"], ["11", "12"]]
    assert [grid.words for grid in shown] == [
        [["1", "2", "3", "4"], ["5", "6", "7", "8"], ["9", "10", "11", "12"]],
        *([["1", "2"], ["3", "4"]], [["5", "6"], ["7", "8"]], [["9", "10"], ["11", "12"]]),
        *(first, second),
        *([["1", "2"], ["3", "4"], ["5", "6"]], [["7", "8"], ["9", "10"], ["11", "12"]]),
    ]
    assert [grid.faces for grid in shown] == [
        [[a, a, b, b]] * 3,
        *[[[a, a], [b, b]]] * 3,
        *([[a, a]] * 3, [[b, b]] * 3),
        *([[a, a], [b, b], [a, a]], [[b, b], [a, a], [b, b]]),
    ]


def test_eight_heads_have_eight_colours():
    first, *_ = grids(plots.transpose_path(torch.arange(8.0)[None, None], 8))
    assert len(set(first.faces[0])) == 8


def test_stages_are_named_with_their_shapes():
    shown = [word for word in words(plots.transpose_path(torch.ones(1, 3, 4), 2)) if "(" in word]
    shapes = [(1, 3, 4), (1, 3, 2, 2), (1, 2, 3, 2), (2, 3, 2), (1, 2, 3, 2)]
    names = [text(f"stage.{name}") for name in ("input", "split", "permute", "flatten", "wrong_view")]
    assert shown == [f"{name}  {shape}" for name, shape in zip(names, shapes, strict=True)]


# ---- labels


def test_a_dollar_is_a_dollar():
    drawing = plots.heatmap([[1.0]], ["$x_1$"], ["$y$ and $z"], title="$t^2$")
    assert {"$x_1$", "$y$ and $z", "$t^2$"} <= set(words(drawing))


@pytest.mark.parametrize("code", ["en", "ko"])
def test_a_figure_speaks_the_readers_language(code):
    set_language(code)
    assert [grid.title for grid in grids(FIGURES["masks"]())] == [
        text(f"mask.{name}") for name in ("padding", "causal", "both")
    ]
