"""The figure and the exercise about `transpose_qkv`."""

from __future__ import annotations

import pytest
import torch

import polyhead
from polyhead import checks, plots, set_language
from polyhead.language import LANGUAGES, text
from tests.polyhead.bad_input import assert_named, bad

WRONG = {
    "check.view": lambda X, h: X.reshape(len(X) * h, X.shape[1], -1),
    "check.heads_before_batch": lambda X, h: X.unflatten(2, (h, -1)).permute(2, 0, 1, 3).flatten(0, 1),
    "check.entries_before_heads": lambda X, h: X.unflatten(2, (-1, h)).permute(0, 3, 1, 2).flatten(0, 1),
}


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("key", WRONG)
def test_known_mistake_is_named(key, code, capsys):
    set_language(code)
    checks.transpose_qkv(WRONG[key])
    assert capsys.readouterr().out == text(key) + "\n"


def test_right_function(capsys):
    checks.transpose_qkv(polyhead.transpose_qkv)
    checks.transpose_qkv(lambda X, h: X.unflatten(2, (h, -1)).transpose(1, 2).flatten(0, 1))
    assert capsys.readouterr().out == 2 * (text("check.agrees") + "\n")


def test_heads_left_in_a_dimension_of_their_own(capsys):
    checks.transpose_qkv(lambda X, h: X.unflatten(2, (h, -1)).transpose(1, 2))
    assert capsys.readouterr().out == text("check.shape", expected=(6, 5, 7), actual=(2, 3, 5, 7)) + "\n"


def test_picture_shows_every_element_in_every_stage():
    X = 100 * torch.arange(1, 4.0)[:, None] + torch.tensor([11.0, 12, 21, 22])
    svg = plots.transpose_path(X[None], 2).svg
    for label in X.flatten().tolist():
        assert svg.count(f">{label:g}<") == 5
    # Six cells of each head in each of five stages.
    assert svg.count("fill: #9ecae1") == svg.count("fill: #fdae6b") == 30


X = torch.zeros(1, 3, 4)
BAD = [
    bad("rank", lambda: plots.transpose_path(X[0], 2), ValueError, "X must have 3 dimensions", "(3, 4)"),
    bad("heads", lambda: plots.transpose_path(X, 3), ValueError, "must divide num_hiddens = 4", "3"),
    bad("ints", lambda: plots.transpose_path(X.long(), 2), TypeError, "floating dtype", "int64"),
    bad("list", lambda: plots.transpose_path([1], 2), TypeError, "torch.Tensor", "list"),
    bad("NaN", lambda: plots.transpose_path(X * torch.nan, 2), ValueError, "finite numbers", "nan"),
    bad("many", lambda: plots.transpose_path(torch.zeros(1, 1, 9), 9), ValueError, "at most 8", "9"),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
