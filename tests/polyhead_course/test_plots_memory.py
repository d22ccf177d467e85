"""What figures about the order of memory show: each cell, colour and curve is read back from its SVG."""

from __future__ import annotations

import pytest
import torch

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import FIXED_PAPER
from polyhead_course.figures.plots.head_split import COLOURS
from polyhead_course.words import set_language
from polyhead_course.words.language import LANGUAGES, text
from tests.polyhead_course.bad_input import assert_named, bad
from tests.polyhead_course.figures import axes_of, grids, marks, scale, texts, words

A, B, C = COLOURS[:3]
SEEN = torch.tensor([[1, 1, 1], [1, 1, 1]]).bool()


def test_memory_is_in_the_order_of_tokens_then_heads_then_features():
    memory, transposed, viewed = grids(plots.memory_order(num_tokens=2, num_heads=3, head_dim=2))
    names = "111 112 121 122 131 132 211 212 221 222 231 232"
    assert memory.words == [names.split()]
    assert transposed.words == [list("112233112233")]
    assert viewed.words == [list("111122223333")]
    assert memory.faces == transposed.faces == [[A, A, B, B, C, C] * 2]
    assert viewed.faces == [[A] * 4 + [B] * 4 + [C] * 4]


def test_memory_is_that_of_a_tensor():
    """What PyTorch's own view and transposition give to each head is what the picture says."""
    row = torch.arange(12)
    memory, *lines = grids(plots.memory_order(num_tokens=3, num_heads=2, head_dim=2))
    right, wrong = row.view(3, 2, 2).transpose(0, 1), row.view(2, 3, 2)
    for line, given in zip(lines, (right, wrong), strict=True):
        for head in range(2):
            shown = [place for place, word in enumerate(line.words[0]) if word == str(head + 1)]
            assert shown == sorted(given[head].flatten().tolist())
    assert memory.words[0][right[1].flatten()[0]] == "121"


def test_lines_of_memory_are_named():
    for code in LANGUAGES:
        set_language(code)
        labels = [word for word in words(plots.memory_order(1, 2, 2)) if not word.isdecimal()]
        head = text("memory.head")
        names = (f"{head} · {text('memory.transposed')}", f"{head} · {text('memory.viewed')}")
        assert labels == [text("memory.memory"), *names]


def test_tokens_that_a_head_sees_have_its_colour_and_others_none():
    viewed = torch.tensor([[1, 1, 0], [0, 0, 1]]).bool()
    first, second = grids(plots.tokens_seen(SEEN, viewed))
    assert first.faces == [[A] * 3, [B] * 3]
    assert second.faces == [[A, A, "none"], ["none", "none", B]]
    for grid, name in ((first, "transposed"), (second, "viewed")):
        assert grid.rows == [text("title.head", number=1), text("title.head", number=2)]
        assert grid.columns == ["1", "2", "3"]
        assert grid.title == text(f"memory.{name}")


def test_losses_have_their_numbers_at_their_steps():
    losses = {"transposed": [2.5, 0.5, 0.0], "viewed": [2.25, 1.5, 0.125]}
    (axes,) = axes_of(plots.view_losses(**losses, every=10))
    shown = marks(axes, scale(axes, "x"), scale(axes, "y"))
    for name, curve in losses.items():
        expected = [
            pytest.approx((step, round(loss, 2)), abs=1e-2)
            for step, loss in zip((10, 20, 30), curve, strict=True)
        ]
        assert [tuple(place) for place in shown[text(f"memory.{name}")]] == expected
    assert {word for word, _ in texts(axes)} >= {text("axis.loss"), text("axis.step")}


def test_each_head_owns_the_same_columns_of_matrices_and_results():
    X, keys, *products = grids(plots.joined_projections(num_tokens=2, embed_dim=6, num_heads=3))
    columns = [A, A, B, B, C, C]
    assert keys.faces == [[A], [B], [C]]
    assert X.faces == [[FIXED_PAPER] * 6] * 2
    matrices, results = products[::2], products[1::2]
    assert [grid.faces for grid in matrices] == [[columns] * 6] * 3
    assert [grid.faces for grid in results] == [[columns] * 2] * 3


def test_a_matrix_is_above_its_result():
    drawing = plots.joined_projections(num_tokens=2, embed_dim=4, num_heads=2)
    placed = {word: place for axes in axes_of(drawing) for word, place in texts(axes)}
    for name in "QKV":
        assert placed[f"W_{name}"].x == pytest.approx(placed[name].x, abs=1)
        assert placed[f"W_{name}"].y < placed[name].y
    assert placed["X"].x < placed["Q"].x < placed["K"].x < placed["V"].x
    assert placed["X"].y == pytest.approx(placed["Q"].y, abs=1)


BAD = [
    bad("memory, many", lambda: plots.memory_order(3, 3, 2), ValueError, "num_tokens", "3 · 3 · 2"),
    bad("memory, heads", lambda: plots.memory_order(1, 9, 1), ValueError, "num_heads", "9"),
    bad("memory, none", lambda: plots.memory_order(0, 1, 1), ValueError, "num_tokens", "0"),
    bad("memory, float", lambda: plots.memory_order(1, 1, 1.0), TypeError, "head_dim", "1.0"),
    bad("seen, shapes", lambda: plots.tokens_seen(SEEN, SEEN[:1]), ValueError, "viewed", "(1, 3)"),
    bad("seen, empty", lambda: plots.tokens_seen(SEEN[:0], SEEN[:0]), ValueError, "transposed", "(0, 3)"),
    bad("seen, floats", lambda: plots.tokens_seen(SEEN.float(), SEEN), TypeError, "transposed", "float32"),
    bad(
        "seen, heads", lambda: plots.tokens_seen(SEEN[:1].expand(9, 3), SEEN[:1].expand(9, 3)),
        ValueError, "num_heads", "9",
    ),
    bad("losses, length", lambda: plots.view_losses([1.0, 2.0], [1.0]), ValueError, "viewed", "(1,)"),
    bad("losses, negative", lambda: plots.view_losses([-1.0], [1.0]), ValueError, "transposed", "-1.0"),
    bad("losses, every", lambda: plots.view_losses([1.0], [1.0], every=0), ValueError, "every", "0"),
    bad("joined, heads", lambda: plots.joined_projections(2, 4, 3), ValueError, "num_heads", "3"),
    bad("joined, many heads", lambda: plots.joined_projections(2, 9, 9), ValueError, "num_heads", "9"),
    bad("joined, float", lambda: plots.joined_projections(2, 4.0, 2), TypeError, "embed_dim", "4.0"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input_is_named(call, error, message):
    assert_named(call, error, message)
