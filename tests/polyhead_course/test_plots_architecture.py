"""The whole Transformer and the family tree, as pictures; how a model learns, and where its heads look."""

from __future__ import annotations

import math
import re
import xml.etree.ElementTree as ET

import pytest
import torch

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE
from polyhead_course.words import set_language
from polyhead_course.words.language import LANGUAGES, text
from tests.polyhead_course import figures
from tests.polyhead_course.bad_input import assert_named, bad
from tests.polyhead_course.figures import (
    FIGURES,
    SVG,
    Shape,
    arrows,
    axes_of,
    boxes,
    grids,
    scale,
    texts,
    words,
)

NAN = math.nan
TOKENS = {"source": list("bad."), "given": list(">dab"), "predicted": list("dab.")}


def width(drawing: plots.Drawing) -> float:
    return float(re.search(r'width="([\d.]+)pt"', drawing.svg)[1]) / 72


# ---- the whole Transformer


def columns(drawing: plots.Drawing) -> tuple[list[tuple[str, Shape]], list[tuple[str, Shape]]]:
    """The boxes of the encoder and of the decoder, from the top; several have the same words."""
    (axes,) = axes_of(drawing)
    rounded = [shape for shape in figures.shapes(axes) if len(shape.corners) == 13 and shape.fill != "none"]
    named = [
        ("".join(word for word, place in texts(axes) if shape.holds(place)), shape)
        for shape in sorted(rounded, key=lambda shape: shape.corners[0].y)
    ]
    middle = sum(shape.corners[0].x for _, shape in named) / len(named)
    left = [each for each in named if each[1].corners[0].x < middle]
    return left, [each for each in named if each not in left]


def test_each_sublayer_of_the_whole_model_comes_in_its_order():
    left, right = columns(FIGURES["whole_transformer"]())
    encoder = ["embedding", "self_attention", "add_norm", "feed_forward", "add_norm"]
    decoder = [
        "embedding", "masked_self_attention", "add_norm", "cross_attention", "add_norm", "feed_forward",
        "add_norm", "tied_output", "softmax",
    ]  # fmt: skip
    assert [word for word, _ in left] == [text(f"block.{name}") for name in encoder]
    assert [word for word, _ in right] == [text(f"block.{name}") for name in decoder]


def lines(drawing: plots.Drawing, colour: str) -> list[Shape]:
    """The lines of one colour, each with the arrow's head as its last corner."""
    (axes,) = axes_of(drawing)
    return [
        shape
        for group in figures.parts(axes, "line2d")
        for shape in figures.shapes(group)
        if f"stroke: {colour}" in figures.style(group)
    ]


def test_memory_leads_from_the_last_encoder_layer_to_the_cross_attention():
    drawing = FIGURES["whole_transformer"]()
    (way,) = lines(drawing, ORANGE)
    left, right = columns(drawing)
    assert left[-1][1].holds(way.corners[0], 1)
    assert next(shape for word, shape in right if word == text("block.cross_attention")).holds(
        way.corners[-1], 1
    )


def test_each_sublayer_has_a_residual_that_ends_in_its_norm():
    drawing = FIGURES["whole_transformer"]()
    sides = lines(drawing, GREY)
    norms = [shape for side in columns(drawing) for word, shape in side if word == text("block.add_norm")]
    assert len(sides) == len(norms) == 5
    for side, norm in zip(sorted(sides), sorted(norms), strict=False):
        assert any(each.holds(side.corners[-1], 1) for each in norms), (side, norm)
    # Each begins above its sublayer, one norm or the embedding higher up.
    assert all(side.corners[0].y < side.corners[-1].y - 30 for side in sides)


def test_tokens_stand_at_both_ends_of_their_columns():
    drawing = plots.whole_transformer(list("xyz"), list("pq"), list("rs"))
    (axes,) = axes_of(drawing)
    place = {word: at for word, at in texts(axes) if word in ("x  y  z", "p  q", "r  s")}
    assert place["x  y  z"].x < place["p  q"].x == place["r  s"].x
    assert place["p  q"].y < place["r  s"].y


# ---- the family tree


def test_family_tree_leads_from_the_transformer_to_its_three_families():
    drawing = FIGURES["family_tree"]()
    root = f"Transformer 2017 {text('family.both')}"
    assert sorted(arrows(drawing)) == sorted((root, name) for name in boxes(drawing) if name != root)
    named = {
        text("family.encoder_only"): "BERT",
        text("family.decoder_only"): "GPT Llama",
        text("family.both"): "BART T5",
    }
    for name in set(boxes(drawing)) - {root}:
        family = next(family for family in named if name.startswith(family))
        assert re.sub(r" \d{4}", "", name.removeprefix(f"{family} ")) == named[family]


def test_each_family_has_the_masks_of_its_attentions():
    drawing = FIGURES["family_tree"]()
    (axes,) = axes_of(drawing)
    squares = [
        shape for shape in figures.shapes(axes) if len(shape.corners) == 4 and shape.fill in (BLUE, ORANGE)
    ]
    found: dict[str, list[str]] = {}
    for name, box in boxes(drawing).items():
        if not name.startswith("Transformer"):
            below = [square.fill for square in squares if abs(square.corners[0].x - box.corners[0].x) < 60]
            found[name.split()[-2]] = below
    assert {name: (fills.count(BLUE), fills.count(ORANGE)) for name, fills in found.items()} == {
        "BERT": (9, 0), "Llama": (6, 0), "T5": (15, 12),
    }  # fmt: skip


# ---- training


def test_loss_and_exact_matches_stand_at_their_steps():
    steps, loss, exact = [0, 30, 90, 120], [4.0, 2.5, 0.75, 0.25], [0.0, 0.125, 0.5, 1.0]
    upper, lower = axes_of(plots.training_progress(steps, loss, exact, guessing=2.4, warm_up=36))
    across = scale(lower, "x")
    for axes, curve in ((upper, loss), (lower, exact)):
        up = scale(axes, "y")
        shown = [
            (across(float(mark.get("x"))), up(float(mark.get("y"))))
            for group in figures.parts(axes, "line2d")
            for mark in group.iter(f"{SVG}use")
        ]
        assert shown == [pytest.approx(point, abs=1e-2) for point in zip(steps, curve, strict=True)]
        band = next(shape for shape in figures.shapes(axes) if shape.fill == GREY)
        assert [across(edge({at.x for at in band.corners})) for edge in (min, max)] == pytest.approx(
            [0, 36], abs=0.1
        )
    (level,) = [shape for group in figures.parts(upper, "line2d") for shape in figures.shapes(group)
                if f"stroke: {GREY}" in figures.style(group)]  # fmt: skip
    assert {round(scale(upper, "y")(at.y), 2) for at in level.corners} == {2.4}


def test_heads_show_who_is_written_from_whom():
    weights = torch.tensor([[[0.1, 0.2, 0.7], [0.5, 0.254, 0.246]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    first, second = grids(plots.cross_heads(weights, list("xyz"), list("pq")))
    assert first.words == [["10", "20", "70"], ["50", "25", "25"]]
    assert second.words == [["100", "0", "0"], ["0", "0", "100"]]
    assert (first.rows, first.columns) == (second.rows, second.columns) == (list("pq"), list("xyz"))
    assert first.faces[0][2] != first.faces[0][0]


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", ["whole_transformer", "family_tree", "training_progress", "cross_heads"])
def test_figures_speak_the_language_and_fit_on_a_phone(code, name):
    set_language(code)
    drawing = FIGURES[name]()
    assert drawing.svg == FIGURES[name]().svg
    assert width(drawing) <= 5.0
    keys = {
        "whole_transformer": ["block.tied_output", "block.cross_attention"],
        "family_tree": ["family.encoder_only"],
        "training_progress": ["axis.exact_match", "band.warm_up", "line.guessing", "axis.step"],
        "cross_heads": ["axis.written", "axis.read"],
    }[name]
    assert {text(key) for key in keys} <= {*words(drawing)}


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", ["whole_transformer", "family_tree"])
def test_every_label_fits_into_its_box(code, name):
    """No line of a box is wider than the box; a letter is at most 0.62 em wide, an ideograph 1 em."""
    set_language(code)
    root = ET.fromstring(FIGURES[name]().svg)
    (axes,) = figures.parts(root[1], "axes")
    for shape in (each for each in figures.shapes(axes) if len(each.corners) == 13 and each.fill != "none"):
        wide = max(at.x for at in shape.corners) - min(at.x for at in shape.corners)
        for word, place in texts(axes):
            if shape.holds(place):
                longest = sum(1.0 if ord(letter) > 0x2E80 else 0.62 for letter in word) * 9
                assert longest <= wide, word


def whole(**changed):
    return lambda: plots.whole_transformer(**{**TOKENS, **changed})


def progress(**changed):
    good = {"steps": [0, 5], "loss": [1, 2], "exact_match": [0, 1], "guessing": 2.0, "warm_up": 1}
    return lambda: plots.training_progress(**{**good, **changed})


def heads(**changed):
    good = {"weights": [[[0.5, 0.5]]], "source": ["a", "b"], "target": ["c"]}
    return lambda: plots.cross_heads(**{**good, **changed})


BAD = [
    bad("whole, no source", whole(source=[]), ValueError, "source", "[]"),
    bad("whole, a string", whole(given=">dab"), TypeError, "given", "'>dab'"),
    bad("whole, few predicted", whole(predicted=["d"]), ValueError, "predicted", "1: ['d']"),
    bad("progress, one step", progress(steps=[0]), ValueError, "steps", "[0]"),
    bad("progress, falling steps", progress(steps=[5, 0]), ValueError, "steps", "[5, 0]"),
    bad("progress, short loss", progress(loss=[1.0]), ValueError, "loss", "(1,)"),
    bad("progress, NaN", progress(loss=[1.0, NAN]), ValueError, "loss", "nan"),
    bad("progress, above 1", progress(exact_match=[0, 1.5]), ValueError, "exact_match", "1.5"),
    bad("progress, guessing 0", progress(guessing=0.0), ValueError, "guessing", "0.0"),
    bad("progress, warm-up negative", progress(warm_up=-1), ValueError, "warm_up", "-1"),
    bad("heads, rank 2", heads(weights=[[0.5, 0.5]]), ValueError, "weights", "(1, 2)"),
    bad("heads, below 0", heads(weights=[[[-0.5, 0.5]]]), ValueError, "weights", "-0.5"),
    bad("heads, few columns", heads(source=["a"]), ValueError, "weights", "(1, 1, 2)"),
    bad("heads, no rows", heads(target=[]), ValueError, "weights", "(1, 1, 2)"),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
