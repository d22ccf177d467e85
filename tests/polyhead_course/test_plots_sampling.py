"""The bars of the next token's probabilities, read back from their SVG."""

from __future__ import annotations

import pytest

from polyhead_course.figures import plots
from polyhead_course.words.language import text
from tests.polyhead_course import figures
from tests.polyhead_course.figures import axes_of

TOKENS = ["p", "q", "r"]
CHOICES = {"T = 1": [0.5, 0.3, 0.2], "top-k 2": [0.625, 0.375, 0.0], "a": [1, 0, 0], "b": [0.2, 0.2, 0.6]}


def words_of(axes):
    return [word for group in figures.parts(axes, "text") for word, _ in figures.texts(group)]


def heights(axes, number):
    _, *bars = [shape for group in figures.parts(axes, "patch") for shape in figures.shapes(group)]
    ys = [[point.y for point in bar.corners] for bar in bars[:number]]
    return [max(each) - min(each) for each in ys]


def test_each_choice_has_its_bars_numbers_and_title():
    drawing = plots.next_token_bars(CHOICES, TOKENS)
    panels = axes_of(drawing)
    scale = sum(heights(panels[0], 3))  # one for all panels
    for axes, (title, probs) in zip(panels, CHOICES.items(), strict=False):
        inside = words_of(axes)
        assert inside[:3] == [f"{p:.2f}" if p else "0" for p in probs]
        assert title in inside
        assert [figures.texts(tick)[0][0] for tick in figures.ticks(axes, "x")] == TOKENS
        assert [height / scale for height in heights(axes, 3)] == pytest.approx(probs, abs=1e-3)
    assert figures.words(drawing).count(text("probability")) == 2  # one a line of panels


@pytest.mark.parametrize(
    ("choices", "tokens", "message"),
    [
        ({}, TOKENS, r"choices.*one row.*got none"),
        ({"a": [0.5, 0.5]}, TOKENS, r"tokens.*2 labels.*got 3"),
        ({"a": [0.5, 0.5, 1.5]}, TOKENS, r"choices\['a'\].*between 0.0 and 1.0.*1\.5"),
        ({"a": [[0.5]]}, TOKENS, r"choices\['a'\].*shape.*\(1, 1\)"),
    ],
)
def test_bad_input(choices, tokens, message):
    with pytest.raises(ValueError, match=message):
        plots.next_token_bars(choices, tokens)
