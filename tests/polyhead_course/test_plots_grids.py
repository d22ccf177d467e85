"""Grids of cells: what is read back from the SVG is what the figure was given."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import torch
from matplotlib.colors import to_rgb

from polyhead import causal_mask, window_mask
from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, FIXED_INK, FIXED_PAPER, GREY, ORANGE
from polyhead_course.figures.plots.grid import HEAD_COLOURS
from polyhead_course.figures.plots.matrices import _FRAME
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import STEPS, axes_of, curves, grids, parts, shapes, words

T, F, NONE = True, False, "none"
A, B, C = HEAD_COLOURS[:3]


def light(face: str) -> float:
    return sum(to_rgb(face))


# ---- matrices


def test_heatmap_has_each_number_label_and_colour_in_its_place():
    drawing = plots.heatmap([[0.5, 2, 3], [5, 7, 11]], ["r", "s"], ["a long label", "y", "z"])
    (grid,) = grids(drawing)
    numbers = [["0.50", "2.00", "3.00"], ["5.00", "7.00", "11.00"]]
    assert grid[1:] == (numbers, ["r", "s"], ["a long label", "y", "z"], "")
    shades = [light(face) for line in grid.faces for face in line]
    assert shades == sorted(set(shades), reverse=True)  # the larger, the darker
    assert len(words(drawing)) == 6 + 2 + 3


def test_columns_are_labelled_as_the_rows_if_not_given():
    (grid,) = grids(plots.heatmap([[1, 2], [3, 5]], ["r", "s"]))
    assert grid.rows == grid.columns == ["r", "s"]


def test_negative_numbers_are_purple_positive_ones_orange_and_no_0_has_a_minus():
    (grid,) = grids(plots.heatmap([[-3, -0.004, 2]], ["r"], list("xyz")))
    negative, zero, positive = (to_rgb(face) for face in grid.faces[0])
    assert negative[2] > negative[0]
    assert positive[0] > positive[2]
    assert max(zero) - min(zero) < 0.02
    assert grid.cell_texts == [["-3.00", "0.00", "2.00"]]


def test_a_number_is_readable_on_its_cell():
    """Dark on light, and light on dark."""
    for matrix, dark in (([[0.0, 1.0]], "1.00"), ([[-1.0, 0.0, 1.0]], "-1.00")):
        drawing = plots.heatmap(matrix, ["r"], ["x"] * len(matrix[0]))
        assert (figures.inks(drawing, "0.00"), figures.inks(drawing, dark)) == ([FIXED_INK], [FIXED_PAPER])


def test_highest_sets_the_darkest_colour():
    one, same, larger = (
        grids(plots.heatmap([[0.5]], ["r"], ["x"], highest=highest))[0].faces[0][0]
        for highest in (None, 0.5, 1)
    )
    assert one == same
    assert light(one) < light(larger)


def test_weights_of_heads_are_in_their_places_and_have_one_scale():
    weights = [[[0.25, 0.75]] * 2, [[1, 0], [0, 1]], [[0, 1], [0.0625, 0.9375]]]
    tokens = ["a long label", "z"]
    shown = grids(plots.head_weights(weights, tokens))
    assert [grid.title for grid in shown] == ["head 1", "head 2", "head 3"]
    assert [grid.cell_texts for grid in shown] == [
        [[f"{n:.2f}" for n in line] for line in head] for head in weights
    ]
    assert [grid.rows for grid in shown] == [tokens, ["", ""], ["", ""]]
    assert [grid.columns for grid in shown] == [tokens] * 3
    assert shown[1].faces[0][1] == shown[1].faces[1][0] == shown[2].faces[0][0]
    assert shown[1].faces[0][0] == shown[2].faces[0][1]


def test_weights_in_per_cent_are_at_their_query_and_key():
    weights = torch.tensor([[[0.1, 0.2, 0.7], [0.5, 0.254, 0.246]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    first, second = grids(plots.cross_heads(weights, list("xyz"), list("pq")))
    (same,) = grids(plots.translation_weights(weights[0], list("xyz"), ["p", " "]))
    assert first.cell_texts == same.cell_texts == [["10", "20", "70"], ["50", "25", "25"]]
    assert second.cell_texts == [["100", "0", "0"], ["0", "0", "100"]]
    assert (first.rows, first.columns) == (second.rows, second.columns) == (list("pq"), list("xyz"))
    assert (same.rows, same.columns) == (["p", "␣"], list("xyz"))


def test_the_atlas_of_heads_has_layers_across_and_counts_kinds():
    kinds = [["first", "mixed"], ["first", "first"], ["induction", "mixed"]]
    lower, upper, *keys = grids(plots.head_atlas(kinds))
    assert (lower.cell_texts, upper.cell_texts) == ([["1", "1"], ["", "1"]], [["→"], [""]])
    assert (lower.columns, upper.columns, upper.rows) == (["0", "1"], ["2"], ["0", "1"])
    found = {key.faces[0][0]: key for key in keys}
    assert len(found) == 3
    assert lower.faces[0][0] in found and upper.faces[0][0] in found
    svg = plots.head_atlas(kinds).svg
    for kind, number in (("first", 3), ("induction", 1), ("mixed", 2)):
        assert text("head.count", kind=text(f"head.{kind}"), number=number) in svg
    assert text("head.self") not in svg
    assert len(grids(plots.head_atlas([["mixed", "self"]]))) == 3


# ---- the five steps


def test_five_steps_has_each_matrix_in_its_order_with_its_name_and_numbers():
    shown = grids(plots.five_steps(**STEPS, tokens=list("pqrs")))
    matrices = dict(zip(("X", "Q", "K", "V", "QKᵀ", "S", "A", "O"), STEPS.values(), strict=True))
    matrices["Kᵀ"] = matrices["K"].T
    names = {
        "X": "embeddings",
        "Q": "queries",
        "K": "keys",
        "V": "values",
        "S": "scores",
        "A": "weights",
        "O": "output",
    }
    order = ["X", "Q", "K", "V", "Q", "Kᵀ", "QKᵀ", "S", "A", "A", "V", "O"]
    for number, (symbol, grid) in enumerate(zip(order, shown, strict=True)):
        name = f"{text(f'title.{names[symbol]}')} " if symbol in names else ""
        assert grid.title == name + ("S = QKᵀ / √d_k" if symbol == "S" else symbol)
        digits = {"S": 1, "A": 2, "O": 2}.get(symbol, 0)
        assert grid.cell_texts == [[f"{n:.{digits}f}" for n in line] for line in matrices[symbol].tolist()]
        assert grid.rows == (list("pqrs") if number in (0, 4, 7, 9) else [""] * 4)


def test_frames_are_around_the_last_row_the_first_column_and_what_they_make():
    drawing = plots.five_steps(**STEPS, tokens=list("pqrs"))
    row, column, cell = (3, 4, None), (0, 4, 1), (3, 4, 1)  # from, to, columns
    expected = [None] * 4 + [row, column, cell, row, row, row, column, cell]
    for axes, frame in zip(axes_of(drawing), expected, strict=True):
        lines = [corners for colour, corners in curves(axes, float, float) if colour == _FRAME]
        assert len(lines) == (frame is not None)
        if frame is not None:
            _, *cells = [shape for group in parts(axes, "patch") for shape in shapes(group)]
            side, corner = cells[0].size.x, [min(each) for each in zip(*cells[0].corners, strict=True)]
            xs, ys = ([round((value - start) / side) for value in each]
                      for each, start in zip(zip(*lines[0], strict=True), corner, strict=True))  # fmt: skip
            assert (min(ys), max(ys), max(xs)) == (frame[0], frame[1], frame[2] or len(cells) // 4)
    assert [word for word in words(drawing) if word in "→×="] == ["→", "×", "=", "→", "×", "="]


# ---- masks


def test_a_coloured_cell_for_each_true_and_a_frame_around_rows_that_see_nothing():
    mask = torch.tensor([[T, F, T], [F, F, F], [T, T, F]])
    drawing = plots.masks({"padding": mask, "both": causal_mask(3)}, list("abc"))
    padding, both = grids(drawing)
    assert padding.faces == [[BLUE if cell else NONE for cell in row] for row in mask.tolist()]
    assert both.faces == [[BLUE, NONE, NONE], [BLUE, BLUE, NONE], [BLUE, BLUE, BLUE]]
    assert padding.rows == padding.columns == both.columns == list("abc")
    assert (padding.title, both.title) == (text("mask.padding"), text("mask.both"))
    five = plots.masks(dict.fromkeys(["padding", "causal", "both", "window", "packed"], mask), list("123"))
    assert [each.title for each in grids(five)][3:] == [text("mask.window"), text("mask.packed")]
    framed, unframed = (
        [each for each in curves(axes, float, float) if each[0] == ORANGE] for axes in axes_of(drawing)
    )
    cells = [shape for group in parts(axes_of(drawing)[0], "patch") for shape in shapes(group)][1:]
    ((_, corners),) = framed
    middle = sorted(cells, key=lambda cell: cell.middle.y)[4]
    assert {round(y) for _, y in corners} == {round(y) for _, y in middle.corners}
    assert not unframed


def test_each_use_of_attention_has_its_mask_and_its_labels():
    seen, decoder = torch.tensor([T, F, T]), causal_mask(4)
    drawing = plots.three_uses(seen.expand(3, 3), decoder, seen.expand(4, 3), list("abc"), list("wxyz"))
    shown = grids(drawing)
    for grid, mask in zip(shown, (seen.expand(3, 3), decoder, seen.expand(4, 3)), strict=True):
        assert grid.faces == [[BLUE if cell else NONE for cell in row] for row in mask.tolist()]
    assert [("".join(grid.rows), "".join(grid.columns)) for grid in shown] == [
        ("abc", "abc"), ("wxyz", "wxyz"), ("wxyz", "abc"),
    ]  # fmt: skip
    inside = [word for axes in axes_of(drawing) for word, _ in figures.texts(axes)]
    asked = [text(f"use.{side}_asks") for side in ("source", "target", "target")]
    assert [word for word in inside if word in asked] == asked
    assert [word for word in words(drawing) if word not in inside] == [
        line
        for use, keys, mask in (
            ("encoder", "source", "padding"),
            ("decoder", "target", "causal"),
            ("cross", "source", "padding"),
        )
        for line in (
            *text(f"use.{use}").split("\n"),
            text(f"use.{keys}_answers"),
            text("use.mask", name=text(f"mask.{mask}")),
        )
    ]


def test_the_triangle_shows_which_keys_are_computed_and_which_cached():
    drawing = plots.cache_triangle(["a", "b", "c", "d"], 2)
    (grid,) = grids(drawing)
    new, old = ORANGE, BLUE
    assert grid.faces == [
        [new, NONE, NONE, NONE],
        [new, new, NONE, NONE],
        [old, old, new, NONE],
        [old, old, old, new],
    ]
    assert grid.rows == grid.columns == ["a", "b", "c", "d"]
    assert figures.legend(axes_of(drawing)[0]) == {new: text("key.computed"), old: text("key.cached")}


def test_new_rows_continue_the_triangle_on_the_left_and_begin_it_anew_on_the_right():
    drawing = plots.cache_alignment(1, list("abc"))
    left, right = grids(drawing)
    pale, new, lost = "#9ecae1", BLUE, ORANGE
    assert left.faces == [[pale, NONE, NONE], [new, new, NONE], [new, new, new]]
    assert right.faces == [[pale, NONE, NONE], [new, lost, NONE], [new, new, lost]]
    assert (left.title, right.title) == (text("align.lower_right"), text("align.upper_left"))
    assert left.rows == left.columns == right.columns == list("abc")
    assert figures.legend(axes_of(drawing)[0]) == {
        pale: text("align.earlier"), new: text("align.new"), lost: text("align.lost"),
    }  # fmt: skip


def test_what_moves_before_the_changed_token_is_orange_and_after_it_blue():
    moved = {
        "unmasked": {"train": torch.tensor([[0.5, 0], [0.25, 1e-9]]), "eval": [[0, 0], [0.125, 3]]},
        "causal": {"train": [[2, 2], [0, 2]], "eval": [[0.0] * 2] * 2},
    }
    drawing = plots.future_grids(moved)
    shown = grids(drawing)
    assert [grid.faces for grid in shown] == [
        [[BLUE, NONE], [ORANGE, NONE]], [[NONE, NONE], [ORANGE, BLUE]],
        [[BLUE, BLUE], [NONE, BLUE]], [[NONE] * 2] * 2,
    ]  # fmt: skip
    assert [grid.rows for grid in shown] == [["0", "1"], ["", ""]] * 2
    said = words(drawing)
    assert {text(f"model.{name}") for name in moved} | {text("axis.changed"), text("axis.moved")} <= set(said)
    assert figures.legend(axes_of(drawing)[2])[ORANGE] == text("key.leak")


def test_each_panel_of_a_windows_reach_adds_what_its_layer_adds():
    one, two = window_mask(5, window=2), window_mask(5, window=3)
    shown = grids(plots.window_reach([one, two]))
    assert [panel.title for panel in shown] == [text("panel.layers", number=number) for number in (1, 2)]
    for panel, old, new in zip(shown, (torch.zeros_like(one), one), (one, two), strict=True):
        assert panel.faces == [
            [BLUE if before else ORANGE if after else NONE for before, after in zip(*row, strict=True)]
            for row in zip(old.tolist(), new.tolist(), strict=True)
        ]


# ---- heads


def test_every_element_keeps_its_head_on_the_way():
    drawing = plots.transpose_path(torch.arange(1.0, 13).reshape(1, 3, 4), 2)
    shown = grids(drawing)
    first, second = [["1", "2"], ["5", "6"], ["9", "10"]], [["3", "4"], ["7", "8"], ["11", "12"]]
    assert [grid.cell_texts for grid in shown] == [
        [["1", "2", "3", "4"], ["5", "6", "7", "8"], ["9", "10", "11", "12"]],
        *([["1", "2"], ["3", "4"]], [["5", "6"], ["7", "8"]], [["9", "10"], ["11", "12"]]),
        *(first, second),
        *([["1", "2"], ["3", "4"], ["5", "6"]], [["7", "8"], ["9", "10"], ["11", "12"]]),
    ]
    assert [grid.faces for grid in shown] == [
        [[A, A, B, B]] * 3,
        *[[[A, A], [B, B]]] * 3,
        *([[A, A]] * 3, [[B, B]] * 3),
        *([[A, A], [B, B], [A, A]], [[B, B], [A, A], [B, B]]),
    ]
    sizes = [(1, 3, 4), (1, 3, 2, 2), (1, 2, 3, 2), (2, 3, 2), (1, 2, 3, 2)]
    names = [text(f"stage.{name}") for name in ("input", "split", "permute", "flatten", "wrong_view")]
    assert [word for word in words(drawing) if "(" in word] == [
        f"{name}  {size}" for name, size in zip(names, sizes, strict=True)
    ]


def test_memory_is_that_of_a_tensor():
    """What PyTorch's own view and transposition give to each head is what the figure shows."""
    row = torch.arange(12)
    memory, *lines = grids(plots.memory_order(num_tokens=3, num_heads=2, head_dim=2))
    for line, heads in zip(lines, (row.view(3, 2, 2).transpose(0, 1), row.view(2, 3, 2)), strict=True):
        for head in range(2):
            places = [place for place, word in enumerate(line.cell_texts[0]) if word == str(head + 1)]
            assert places == sorted(heads[head].flatten().tolist())
            assert {line.faces[0][place] for place in places} == {HEAD_COLOURS[head]}
    assert " ".join(memory.cell_texts[0]) == "111 112 121 122 211 212 221 222 311 312 321 322"
    assert memory.faces == [[A, A, B, B] * 3]


def test_tokens_that_a_head_sees_have_its_colour_and_others_none():
    viewed = torch.tensor([[T, T, F], [F, F, T]])
    first, second = grids(plots.tokens_seen(torch.ones(2, 3).bool(), viewed))
    assert first.faces == [[A] * 3, [B] * 3]
    assert second.faces == [[A, A, NONE], [NONE, NONE, B]]
    for grid, name in ((first, "transposed"), (second, "viewed")):
        assert grid.rows == [text("title.head", number=1), text("title.head", number=2)]
        assert (grid.columns, grid.title) == (["1", "2", "3"], text(f"memory.{name}"))


def test_without_w_o_a_head_fills_its_own_columns_and_with_it_those_of_its_block():
    weight = torch.zeros(6, 4)
    weight[0, 1] = weight[3, 3] = 1.0  # head 1 writes 1.0 to column 1, head 2 writes 5 to column 3
    upper, lower = grids(plots.head_writes([[1.0, -2.0], [3.0, 5.0], [0.5, 4.0]], weight))
    heads = [text("title.head", number=number) for number in (1, 2, 3)]
    assert upper.rows == lower.rows == [*heads, text("row.all_heads")]
    filled = [[face != NONE for face in line] for line in upper.faces]
    assert filled == [[column // 2 == row for column in range(6)] for row in range(3)] + [[T] * 6]
    assert [[face != NONE for face in line] for line in lower.faces] == [
        [F, T, F, F],
        [F, F, F, T],
        [F] * 4,
        [F, T, F, T],
    ]
    assert lower.faces[0][1] == lower.faces[3][1] != lower.faces[1][3] == lower.faces[3][3]
    assert upper.columns == ["0", "", "2", "", "4", ""]
    assert upper.title == text("title.without_output_projection")
    assert lower.title == text("title.with_output_projection")


# ---- positions


def test_waves_are_orange_above_zero_and_purple_below():
    (grid,) = grids(plots.position_waves(torch.tensor([[1, -1, 0]] + [[0.5, 0.25, -0.5]] * 5)))
    signs = [[math.copysign(abs(r - b) > 0.1, r - b) for r, _, b in map(to_rgb, line)] for line in grid.faces]
    assert signs[:2] == [[1, -1, 0], [1, 1, -1]]
    assert light(grid.faces[0][0]) < light(grid.faces[1][0]) < light(grid.faces[1][1])
    assert (grid.rows, grid.columns) == (["0", "", "", "", "4", ""], ["0", "", "2"])


def test_lines_join_the_two_rows_of_each_token():
    first, order, tokens = torch.arange(12.0).reshape(4, 3), [2, 1, 0, 3], ["ab", "cd", "ef", "gh"]
    drawing = plots.shuffled_outputs(first, first[order], tokens, order)
    left, right = grids(drawing)
    assert (left.rows, right.rows) == (tokens, [tokens[i] for i in order])
    assert left.cell_texts[3] == right.cell_texts[3] == ["9.00", "10.00", "11.00"]
    assert (right.cell_texts[0], right.faces[0]) == (left.cell_texts[2], left.faces[2])
    _, *cells = [shape for group in parts(axes_of(drawing)[0], "patch") for shape in shapes(group)]
    top, side = min(corner.y for corner in cells[0].corners), cells[0].size.y
    links = {
        (colour, *(round((y - top) / side - 0.5) for _, y in corners))
        for colour, corners in curves(ET.fromstring(drawing.svg)[1], float, float)
    }
    assert links == {(ORANGE, 2, 0), (GREY, 1, 1), (ORANGE, 0, 2), (GREY, 3, 3)}


def test_each_panel_of_scores_has_its_title_and_its_own_scale_around_0():
    small, large = [[0.1, -0.2], [0.2, 0.0]], [[10.0, -20.0], [20.0, 0.0]]
    one, other, below = grids(
        plots.score_terms({"content_content": small, "rotary": large, "sum": [[-1.0] * 2] * 2})
    )
    assert one.faces == other.faces
    assert (one.title, other.title) == (text("panel.content_content"), text("panel.rotary"))
    assert len({face for row in one.faces for face in row}) == 4
    assert below.faces[0][0] == one.faces[0][1]  # negative numbers alone are purple, too


# ---- the clinic


def test_a_mark_where_a_probe_finds_a_bug():
    matrix = {"none": {"twice": 0.0, "parity": 0.0}, "unscaled": {"twice": None, "parity": 0.5}}
    (grid,) = grids(plots.bug_matrix(matrix))
    assert grid.cell_texts == [["", ""], ["–", "×"]]
    assert grid.rows == [text("bug.none"), text("bug.unscaled")]
    assert grid.columns == [text("law.twice"), text("law.parity")]
    assert len({*grid.faces[0], *grid.faces[1]}) == 3
