# ruff: noqa: E501  in the table of bad input, each case is one line
"""Explorables as objects: the figure stays the figure, and the data beside it are its numbers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from IPython.core.formatters import DisplayFormatter

import polyhead
from polyhead import causal_mask, live, masked_softmax, plots, sentence, set_language
from polyhead.language import LANGUAGES, text
from polyhead.live.explorable import MIME
from tests.polyhead.bad_input import assert_named, bad
from tests.polyhead.explorables import EXPLORABLES
from tests.polyhead.figures import DOTS, OUTPUT, K, Q, V

FOLDER = Path(polyhead.__file__).parent / "live"
FIGURES = {
    "hull": lambda: plots.weighted_sums(V, OUTPUT, sentence(), wished=[2.5, 0.25]),
    "mask": lambda: plots.heatmap(masked_softmax(DOTS / 2, causal_mask(4)), sentence(), highest=1),
    "path": lambda: plots.transpose_path(Q[None], 2),
}
EVERY_KIND = pytest.mark.parametrize("kind", EXPLORABLES)


@EVERY_KIND
def test_the_figure_is_the_one_of_plots_and_the_data_are_json(kind):
    shown, _ = DisplayFormatter().format(EXPLORABLES[kind]())
    assert shown["image/svg+xml"] == FIGURES[kind]().svg
    assert shown["text/plain"] == f"<polyhead.live.{kind}>"
    assert shown[MIME]["kind"] == kind
    assert json.loads(json.dumps(shown[MIME], allow_nan=False)) == shown[MIME]


@EVERY_KIND
def test_it_is_the_same_every_time(kind):
    one, other = EXPLORABLES[kind](), EXPLORABLES[kind]()
    assert one.data == other.data
    assert one.svg == other.svg


@EVERY_KIND
def test_labels_speak_the_readers_language_and_are_those_that_the_module_writes(kind):
    script = (FOLDER / f"{kind}.js").read_text(encoding="utf-8")
    spoken = set()
    for code in LANGUAGES:
        set_language(code)
        labels = EXPLORABLES[kind]().data["labels"]
        assert labels == {key: text(key) for key in labels}
        spoken.add(tuple(labels.values()))
    assert len(spoken) == len(LANGUAGES)
    for key in labels:
        assert f'"{key}"' in script or f"labels.{key}" in script, key


@EVERY_KIND
def test_a_module_is_small_and_asks_nobody_else(kind):
    script = (FOLDER / f"{kind}.js").read_text(encoding="utf-8")
    assert len(script.encode()) <= 15_000
    assert "export const render = ({ model, el }) =>" in script
    assert "http" not in script


def test_hull_holds_values_scores_corners_and_the_wish():
    data = EXPLORABLES["hull"]().data
    assert data["values"] == V.tolist()
    assert data["scores"] == (DOTS / 2).tolist()
    assert data["head_dim"] == 4
    assert sorted(data["corners"]) == sorted(V.tolist())
    assert data["wished"] == [2.5, 0.25]
    inside = torch.cat([V, torch.tensor([[2.0, 1.0]])])
    keys = torch.cat([K, K[:1]])
    without = live.hull(keys, keys, inside, list("pqrst")).data
    assert without["wished"] is None
    assert sorted(without["corners"]) == sorted(V.tolist())


def test_mask_holds_what_each_library_gives_to_a_row_without_keys():
    data = EXPLORABLES["mask"]().data
    assert data["scores"] == (DOTS / 2).tolist()
    assert data["mask"] == causal_mask(4).int().tolist()
    found = {each["name"]: each["blind"] for each in data["libraries"]}
    zeros, equal, lost = [[0.0] * 4] * 4, [[0.25] * 4] * 4, [[None] * 4] * 4
    assert found == {
        "polyhead": zeros,
        "F.scaled_dot_product_attention": zeros,
        "nn.MultiheadAttention": lost,
        "nn.MultiheadAttention, need_weights=False": zeros,
        "Hugging Face": equal,
        "d2l": equal,
        "Annotated Transformer": equal,
    }


def test_making_a_mask_leaves_the_random_numbers_alone():
    before = torch.random.get_rng_state()
    EXPLORABLES["mask"]()
    assert torch.equal(torch.random.get_rng_state(), before)


def test_path_holds_the_tensor():
    data = EXPLORABLES["path"]().data
    assert data["X"] == Q[None].tolist()
    assert data["num_heads"] == 2


@EVERY_KIND
def test_save_writes_the_figure(kind, tmp_path):
    EXPLORABLES[kind]().save(tmp_path / "x.svg")
    assert (tmp_path / "x.svg").read_text(encoding="utf-8") == FIGURES[kind]().svg


BAD = [
    bad("hull: a value of three numbers", lambda: live.hull(Q, K, K[:, :3], list("pqrs")), ValueError, "value must be Float (num_tokens = 4, 2)", "(4, 3)"),
    bad("hull: integers", lambda: live.hull(Q.int(), K, V, list("pqrs")), TypeError, "query must be Float", "int32"),
    bad("hull: too few tokens", lambda: live.hull(Q, K, V, ["p"]), ValueError, "tokens must be 4 labels", "got 1"),
    bad("hull: on a line", lambda: live.hull(Q, K, V * 0, list("pqrs")), ValueError, "not all on one line", "[[0.0"),
    bad("hull: a wish of three", lambda: live.hull(Q, K, V, list("pqrs"), [1, 2, 3]), ValueError, "wished must have shape (2)", "(3,)"),
    bad("hull: NaN", lambda: live.hull(Q * torch.nan, K, V, list("pqrs")), ValueError, "finite", "nan"),
    bad("mask: floats", lambda: live.mask(DOTS, DOTS, list("pqrs")), TypeError, "mask must be Bool", "float32"),
    bad("mask: another size", lambda: live.mask(DOTS, causal_mask(3), list("pqrs")), ValueError, "mask must be Bool (num_tokens = 4, num_tokens = 4)", "(3, 3)"),
    bad("mask: too few tokens", lambda: live.mask(DOTS, causal_mask(4), list("pqr")), ValueError, "labels", "got 3"),
    bad("path: heads that do not divide", lambda: live.path(Q[None], 3), ValueError, "num_heads must divide num_hiddens = 4", "got 3"),
    bad("path: a matrix", lambda: live.path(Q, 2), ValueError, "X must be Float (batch, num_tokens, num_hiddens)", "(4, 4)"),
    bad("path: no head", lambda: live.path(Q[None], 0), ValueError, "num_heads must be an int of at least 1", "0"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
