"""The figures and exercises of the encoder's chapter."""

from __future__ import annotations

import pytest
import torch

import polyhead
from polyhead import checks, plots, set_language
from polyhead.language import LANGUAGES, text
from tests.polyhead.bad_input import assert_named, bad
from tests.polyhead.figures import FIGURES

WAVES = polyhead.SinusoidalPositions(10)


def post_norm(x, attention, feed_forward, norm_1, norm_2):
    x = norm_1(x + attention(x))
    return norm_2(x + feed_forward(x))


def pre_norm(x, attention, feed_forward, norm_1, norm_2):
    x = x + attention(norm_1(x))
    return x + feed_forward(norm_2(x))


def no_residual(x, attention, feed_forward, norm_1, norm_2):
    return norm_2(feed_forward(norm_1(attention(x))))


def one_residual(x, attention, feed_forward, norm_1, norm_2):
    return norm_2(feed_forward(norm_1(x + attention(x))))


def no_norm(x, attention, feed_forward, norm_1, norm_2):
    x = x + attention(x)
    return x + feed_forward(x)


def norm_inside(x, attention, feed_forward, norm_1, norm_2):
    x = x + norm_1(attention(x))
    return x + norm_2(feed_forward(x))


def from_start(x, attention, feed_forward, norm_1, norm_2):
    return norm_2(x + feed_forward(norm_1(x + attention(x))))


def one_norm_twice(x, attention, feed_forward, norm_1, norm_2):
    return post_norm(x, attention, feed_forward, norm_1, norm_1)


def waves(speed, first=torch.sin, second=torch.cos, start=0):
    def candidate(length, embed_dim):
        angles = torch.arange(start, length + start)[:, None] * speed(
            torch.arange(0, embed_dim, 2), embed_dim
        )
        return torch.stack((first(angles), second(angles)), dim=-1).flatten(1)

    return candidate


def right_speed(dims, embed_dim):
    return 10_000 ** (-dims / embed_dim)


def halves(length, embed_dim):
    angles = torch.arange(length)[:, None] * right_speed(torch.arange(0, embed_dim, 2), embed_dim)
    return torch.cat((angles.sin(), angles.cos()), dim=1)


def each_dimension(length, embed_dim):
    dims = torch.arange(embed_dim)
    angles = torch.arange(length)[:, None] * right_speed(dims, embed_dim)
    return torch.where(dims % 2 == 0, angles.sin(), angles.cos())


LAYERS = [
    (post_norm, "agrees"),
    (lambda *args: (post_norm(*args), None), "agrees"),
    (pre_norm, "norm_first"),
    (no_residual, "no_residual"),
    (one_residual, "no_residual"),
    (no_norm, "no_norm"),
    (norm_inside, "norm_inside"),
    (from_start, "residual_from_start"),
    (one_norm_twice, "norms_swapped"),
]
POSITIONS = [
    (lambda length, embed_dim: WAVES(torch.zeros(length, embed_dim)), "agrees"),
    (waves(right_speed), "agrees"),
    (waves(right_speed, torch.cos, torch.sin), "waves_swapped"),
    (waves(right_speed, start=1), "waves_from_one"),
    (waves(lambda dims, size: right_speed(dims / 2, size)), "waves_speed"),
    (each_dimension, "waves_speed"),
    (halves, "waves_halves"),
]


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(("candidate", "finding"), LAYERS)
def test_layer(candidate, finding, code, capsys):
    set_language(code)
    checks.encoder_layer(candidate)
    assert capsys.readouterr().out == text(f"check.{finding}") + "\n"


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(("candidate", "finding"), POSITIONS)
def test_positions(candidate, finding, code, capsys):
    set_language(code)
    checks.sinusoidal_positions(candidate)
    assert capsys.readouterr().out == text(f"check.{finding}") + "\n"


def test_other_mistakes_are_told_by_number_or_by_error(capsys):
    checks.encoder_layer(lambda x, *_: 2 * x)
    checks.encoder_layer(lambda x: x)
    checks.sinusoidal_positions(lambda length, embed_dim: torch.zeros(length))
    differs, raises, shape = capsys.readouterr().out.splitlines()
    assert differs.startswith(text("check.differs", difference="")[:20])
    assert "TypeError" in raises
    assert shape == text("check.shape", expected=(7, 10), actual=(7,))


def test_sublayers_are_drawn_for_both():
    svg = plots.layer_sublayers().svg
    assert svg.count(">self-attention<") == svg.count(">feed-forward<") == 2
    assert svg.count(">norm<") == svg.count(">+<") == 4


def test_ticks_are_powers_of_ten():
    assert "10⁻¹⁰" in FIGURES["gradient_by_layer"]().svg


BAD = [
    bad("rank", lambda: plots.position_waves(torch.zeros(3)), ValueError, "table must have 2", "(3,)"),
    bad("size", lambda: plots.position_waves(torch.zeros(3, 22)), ValueError, "at most 40 rows", "(3, 22)"),
    bad("range", lambda: plots.position_waves([[2.0]]), ValueError, "between -1 and 1", "2.0"),
    bad("list", lambda: plots.gradient_by_layer([1.0]), TypeError, "curves must be a dict", "list"),
    bad("name", lambda: plots.gradient_by_layer({"x": [1.0]}), ValueError, "names out of", "x"),
    bad("none", lambda: plots.gradient_by_layer({}), ValueError, "names out of", "[]"),
    bad("zero", lambda: plots.gradient_by_layer({"pre_norm": [0.0]}), ValueError, "above 0", "0.0"),
    bad(
        *("lengths", lambda: plots.gradient_by_layer({"pre_norm": [1.0], "post_norm": [1.0, 2.0]})),
        *(ValueError, "equally long", "2"),
    ),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
