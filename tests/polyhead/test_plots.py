# ruff: noqa: E501  in the table of bad input, each case is one line
from __future__ import annotations

import functools
import hashlib
import math
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from polyhead import plots, sentence, set_language
from polyhead.language import LANGUAGES, terminology, text
from polyhead.plots.drawing import numbers
from tests.polyhead.bad_input import assert_named, bad
from tests.polyhead.figures import FALLING, FIGURES, HEAD_DIMS, STEPS

SVG = "{http://www.w3.org/2000/svg}"
NAN, INF = math.nan, math.inf
EVERY = [(name, code) for name in FIGURES for code in LANGUAGES]


@functools.cache
def first(name: str, code: str) -> str:
    """The SVG as it was drawn the first time."""
    set_language(code)
    return FIGURES[name]().svg


def words(drawing: plots.Drawing) -> list[str]:
    """Every text in the drawing."""
    root = ET.fromstring(drawing.svg)
    return ["".join(element.itertext()).strip() for element in root.iter(f"{SVG}text")]


def keys_in(name: str) -> list[str]:
    """The keys of what must stand in a figure."""
    tokens = [f"token.{key}" for key in ("zhonghe", "has", "one", "yonghe_road")]
    labels = terminology()["labels"]
    return {
        "course_map": [key for key in labels if re.match(r"map\.\d", key)],
        "scaling_curves": [
            *(
                "axis.head_dim",
                "axis.entropy",
                "axis.gradient_norm",
                "curve.scaled",
                "curve.unscaled",
                "line.uniform",
            )
        ],
        "weighted_sums": [*tokens, "point.value", "point.output"],
        "transpose_path": [],
        "cache_triangle": [*tokens, "key.computed", "key.cached"],
        "gradient_by_layer": [
            *("axis.layer", "axis.gradient_norm", "curve.post_norm", "curve.pre_norm", "curve.no_residual")
        ],
        "layer_sublayers": [
            *("title.post_norm", "title.pre_norm", "block.self_attention", "block.feed_forward", "block.norm")
        ],
        "position_waves": ["axis.position", "axis.dimension"],
        "three_uses": [],  # labels of several lines: test_chapter_cross_attention
    }.get(name, tokens)


@pytest.mark.parametrize(("name", "code"), EVERY)
def test_figure(name, code):
    """Warnings are errors here: a missing glyph, or axes that matplotlib cannot scale, would raise."""
    set_language(code)
    drawing = FIGURES[name]()
    root = ET.fromstring(drawing.svg)
    assert root.tag == f"{SVG}svg"
    assert drawing.svg == first(name, code)
    assert not list(root.iter(f"{SVG}image"))
    assert not list(root.iter(f"{SVG}metadata"))
    assert not re.search(r"matplotlib (v|\d)|matplotlib\.org|\b20\d\d-\d\d", drawing.svg, flags=re.IGNORECASE)
    assert matplotlib.__version__ not in drawing.svg

    shown = words(drawing)
    for key in keys_in(name):
        assert text(key) in shown
    if code != "en":
        english = {label["en"] for label in terminology()["labels"].values() if label["en"] != label[code]}
        assert not english & set(shown)


@pytest.mark.parametrize(("name", "code"), EVERY)
def test_figure_fits_a_phone(name, code):
    root = ET.fromstring(first(name, code))
    width, height = (float(root.get(side).removesuffix("pt")) / 72 for side in ("width", "height"))
    assert width <= 5.2
    assert 0 < height <= 10


@pytest.mark.parametrize("code", LANGUAGES)
def test_five_steps_names_every_step(code):
    set_language(code)
    shown = "\n".join(words(FIGURES["five_steps"]()))
    for step in ("project", "dot", "scale", "softmax", "weighted_sum"):
        assert text(f"step.{step}") in shown
    for name in ("embeddings", "queries", "keys", "values", "scores", "weights", "output"):
        assert text(f"title.{name}") in shown


def test_same_bytes_in_every_process():
    code = (
        "import hashlib\n"
        "from polyhead import set_language\n"
        "from tests.polyhead.figures import FIGURES\n"
        "for code in ('en', 'zh-TW'):\n"
        "    set_language(code)\n"
        "    for name, draw in FIGURES.items():\n"
        "        print(code, name, hashlib.sha256(draw().svg.encode()).hexdigest())\n"
    )

    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": "."}
    command = [sys.executable, "-W", "error", "-c", code]
    there = subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
    here = [
        f"{code} {name} {hashlib.sha256(first(name, code).encode()).hexdigest()}"
        for code in ("en", "zh-TW")
        for name in FIGURES
    ]
    assert there.splitlines() == here


def test_a_missing_glyph_would_be_noticed():
    with pytest.warns(UserWarning, match="Glyph .* missing"):
        plots.heatmap([[1.0]], ["𒀀"])


def test_matplotlib_and_the_inputs_are_left_as_they_were():
    before = dict(matplotlib.rcParams), {name: tensor.clone() for name, tensor in STEPS.items()}
    for draw in FIGURES.values():
        draw()
    assert dict(matplotlib.rcParams) == before[0]
    assert all(torch.equal(STEPS[name], copy) for name, copy in before[1].items())
    assert FALLING["scaled"] == [3.0] * 5


@pytest.mark.parametrize(
    "setting", [{"font.size": 30}, {"svg.fonttype": "path"}, {"axes.facecolor": "red"}], ids=str
)
def test_settings_of_the_machine_do_not_matter(setting):
    expected = FIGURES["scaling_curves"]().svg
    with matplotlib.rc_context(setting):
        assert FIGURES["scaling_curves"]().svg == expected


# ---- what stands in a figure


def test_heatmap_shows_every_number_and_label():
    shown = words(
        plots.heatmap([[0.5, 2.0, 3.0], [5.0, 7.0, 11.0]], ["r", "s"], ["x", "y", "z"], title="T", decimals=1)
    )
    assert sorted(shown) == sorted(["0.5", "2.0", "3.0", "5.0", "7.0", "11.0", "r", "s", "x", "y", "z", "T"])


def test_columns_are_labelled_as_the_rows_if_not_given():
    shown = words(plots.heatmap([[1, 2], [3, 5]], ["r", "s"], decimals=0))
    assert sorted(shown) == sorted(["1", "2", "3", "5", *("r", "s") * 2])


def test_no_minus_before_zero():
    assert "-0" not in "".join(
        words(plots.heatmap([[-0.0, -0.004, -1e-9, -1.0]], ["r"], list("abcd")))
    ).replace("−", "-")


def test_a_number_is_readable_on_its_cell():
    """Dark on light, and light on dark."""
    for figure in (
        plots.heatmap([[0.0, 1.0]], ["r"], ["x", "y"]),
        plots.heatmap([[-1.0, 1.0]], ["r"], ["x", "y"]),
    ):
        root = ET.fromstring(figure.svg)
        assert {"0.00", "1.00", "-1.00", "r"} & set(words(figure))
        assert re.search(r"fill: #(fdfdfd|141414)", ET.tostring(root, encoding="unicode"))


def test_highest_sets_the_darkest_colour():
    one = plots.heatmap([[0.5]], ["r"], ["x"]).svg
    assert one == plots.heatmap([[0.5]], ["r"], ["x"], highest=0.5).svg
    assert one != plots.heatmap([[0.5]], ["r"], ["x"], highest=1).svg


def test_course_map_draws_written_chapters_in_full():
    none, one, every = (
        plots.course_map(written).svg.count("stroke-dasharray")
        for written in ([], ["01-single-head"], {"01-single-head", "02-masks"})
    )
    assert none - one == one - every == 1


def test_language_changes_the_figure():
    assert len({first("course_map", code) for code in LANGUAGES}) == len(LANGUAGES)


# ---- Drawing


def test_drawing_is_an_svg_for_notebooks(tmp_path):
    drawing = FIGURES["heatmap"]()
    assert repr(drawing) == "<polyhead.plots.Drawing>"
    assert drawing._repr_svg_() == drawing.svg
    assert drawing.svg.startswith("<svg")
    for path in (tmp_path / "a.svg", str(tmp_path / "b.svg")):
        drawing.save(path)
        assert Path(path).read_text(encoding="utf-8") == drawing.svg


def test_drawing_of_any_figure():
    figure = Figure(figsize=(2, 3))
    figure.subplots().plot([2, 3, 5])
    assert "<svg" in plots.Drawing(figure).svg


# ---- numbers


def test_numbers_keeps_low_digits_out():
    close = [[0.1 + 0.2, 1 / 3 + 1e-9, -1e-9]]
    assert numbers("m", close, 2).tolist() == [[0.3, 0.3333, 0.0]]
    assert str(numbers("m", close, 2)[0, 2]) == "0.0"
    noise = torch.randn(3, 5, dtype=torch.float64).round(decimals=3)
    assert (
        plots.heatmap(noise, list("abc"), list("abcde")).svg
        == plots.heatmap(noise + 1e-7, list("abc"), list("abcde")).svg
    )


@pytest.mark.parametrize(
    "values",
    [
        [[1, 0], [0, 1]],
        ((1.0, 0.0), (0.0, 1.0)),
        np.eye(2, dtype=np.float32),
        torch.eye(2).bfloat16(),
        torch.eye(2).half(),
        torch.eye(2).bool(),
        torch.eye(2).int(),
        torch.eye(2).requires_grad_(),
        torch.eye(2).t(),
    ],
    ids=lambda values: getattr(values, "dtype", type(values).__name__).__str__(),
)
def test_numbers_takes_every_kind_of_matrix(values):
    assert numbers("m", values, 2).tolist() == [[1, 0], [0, 1]]
    assert numbers("m", values, 2).dtype == np.float64


# ---- bad input

M, R = [[1.0, 2.0], [3.0, 5.0]], ["r", "s"]
SQUARE = {"values": [[0, 0], [2, 0], [0, 2]], "outputs": [[1, 1]] * 3, "tokens": ["a", "b", "c"]}
LABELS = "must be a sequence of strings"


def heatmap(matrix=M, rows=R, columns=None, **options):
    return lambda: plots.heatmap(matrix, rows, columns, **options)


def curves(head_dims=HEAD_DIMS, entropy=FALLING, gradient_norm=FALLING, num_keys=32):
    return lambda: plots.scaling_curves(head_dims, entropy, gradient_norm, num_keys)


def sums(**changed):
    return lambda: plots.weighted_sums(**{**SQUARE, **changed})


def steps(**changed):
    return lambda: plots.five_steps(**{**STEPS, "tokens": list("abcd"), **changed})


BAD = [
    bad("heatmap, None", heatmap(None), ValueError, "matrix must hold real numbers", "None"),
    bad("heatmap, string", heatmap("ab"), ValueError, "matrix must hold real numbers", "'ab'"),
    bad("heatmap, strings", heatmap([["1", "2"]]), ValueError, "matrix must hold real numbers", "[['1', '2']]"),
    bad("heatmap, dict", heatmap({"a": 1}), ValueError, "matrix must hold real numbers", "{'a': 1}"),
    bad("heatmap, complex", heatmap(torch.eye(2) + 0j), ValueError, "matrix must hold real numbers", "j"),
    bad("heatmap, complex array", heatmap(np.eye(2) * 1j), ValueError, "matrix must hold real numbers", "j"),
    bad("heatmap, ragged", heatmap([[1.0], [2.0, 3.0]]), ValueError, "matrix must hold numbers", "[[1.0], [2.0, 3.0]]"),
    bad("heatmap, meta", heatmap(torch.eye(2, device="meta")), ValueError, "matrix must hold numbers", "tensor("),
    bad("heatmap, sparse", heatmap(torch.eye(2).to_sparse()), ValueError, "matrix must hold numbers", "tensor("),
    bad("heatmap, rank 1", heatmap([1.0, 2.0]), ValueError, "matrix must have 2 dimensions", "(2,)"),
    bad("heatmap, rank 3", heatmap(torch.ones(2, 3, 5)), ValueError, "matrix must have 2 dimensions", "(2, 3, 5)"),
    bad("heatmap, empty", heatmap(torch.ones(2, 0)), ValueError, "at least one number", "(2, 0)"),
    bad("heatmap, no row", heatmap(torch.ones(0, 2)), ValueError, "at least one number", "(0, 2)"),
    bad("heatmap, NaN", heatmap([[1.0, NAN]]), ValueError, "matrix must hold finite numbers", "nan"),
    bad("heatmap, inf", heatmap(torch.tensor([[1.0, -INF]])), ValueError, "matrix must hold finite numbers", "-inf"),
    bad("heatmap, rows None", heatmap(rows=None), TypeError, f"rows {LABELS}", "NoneType"),
    bad("heatmap, rows a string", heatmap(rows="rs"), TypeError, f"rows {LABELS}", "str 'rs'"),
    bad("heatmap, rows ints", heatmap(rows=[2, 3]), TypeError, f"rows {LABELS}", "2 in it"),
    bad("heatmap, rows an int", heatmap(rows=2), TypeError, f"rows {LABELS}", "int 2"),
    bad("heatmap, few rows", heatmap(rows=["r"]), ValueError, "must be 2 labels", "1: ['r']"),
    bad("heatmap, no rows", heatmap(rows=[]), ValueError, "2 labels", "0: []"),
    bad("heatmap, columns a string", heatmap(columns="xy"), TypeError, f"columns {LABELS}", "str 'xy'"),
    bad("heatmap, columns an int", heatmap(columns=2), TypeError, f"columns {LABELS}", "int 2"),
    bad("heatmap, columns ints", heatmap(columns=[2, 3]), TypeError, f"columns {LABELS}", "2 in it"),
    bad("heatmap, many columns", heatmap(columns=list("xyz")), ValueError, "columns must be 2 labels", "3: ['x', 'y', 'z']"),
    bad("heatmap, not square", heatmap([[1.0, 2.0, 3.0]] * 2), ValueError, "columns must be 3 labels", "2: ['r', 's']"),
    bad("heatmap, title an int", heatmap(title=3), TypeError, "title must be a string", "int 3"),
    bad("heatmap, title None", heatmap(title=None), TypeError, "title must be a string", "NoneType"),
    bad("heatmap, decimals negative", heatmap(decimals=-1), ValueError, "decimals must be at least 0", "-1"),
    bad("heatmap, decimals float", heatmap(decimals=2.0), TypeError, "decimals must be an int", "float 2.0"),
    bad("heatmap, decimals bool", heatmap(decimals=True), TypeError, "decimals must be an int", "bool True"),
    bad("heatmap, decimals string", heatmap(decimals="2"), TypeError, "decimals must be an int", "str '2'"),
    bad("heatmap, highest 0", heatmap(highest=0), ValueError, "highest must be a finite number above 0", "0"),
    bad("heatmap, highest negative", heatmap(highest=-1), ValueError, "highest must be a finite number above 0", "-1"),
    bad("heatmap, highest NaN", heatmap(highest=NAN), ValueError, "highest must be a finite number above 0", "nan"),
    bad("heatmap, highest inf", heatmap(highest=INF), ValueError, "highest must be a finite number above 0", "inf"),
    bad("heatmap, highest bool", heatmap(highest=True), TypeError, "highest must be a number above 0", "bool True"),
    bad("heatmap, highest string", heatmap(highest="1"), TypeError, "highest must be a number above 0", "str '1'"),
    bad("five steps, tokens None", steps(tokens=None), TypeError, f"tokens {LABELS}", "NoneType"),
    bad("five steps, tokens a string", steps(tokens="abcd"), TypeError, f"tokens {LABELS}", "str 'abcd'"),
    bad("five steps, few tokens", steps(tokens=["a"]), ValueError, "must be 4 labels", "1: ['a']"),
    *(
        bad(f"five steps, {name} {kind}", steps(**{name: matrix}), ValueError, expected, got)
        for name in STEPS
        for kind, matrix, expected, got in [
            ("rank 1", [1.0], f"{name} must have 2 dimensions", "(1,)"),
            ("NaN", [[NAN]] * 4, f"{name} must hold finite numbers", "nan"),
            ("too short", [[1.0, 2.0]] * 3, "must be 3 labels", "4: ['a', 'b', 'c', 'd']"),
        ]
    ),
    bad("curves, no head_dims", curves([]), ValueError, "at least one head dimension", "none"),
    bad("curves, head_dims None", curves(None), TypeError, "head_dims must be a sequence of ints", "NoneType"),
    bad("curves, head_dims a string", curves("ab"), TypeError, "head_dims must be a sequence of ints", "str"),
    bad("curves, head_dims floats", curves([2.0]), TypeError, "head_dims must be an int", "float 2.0"),
    bad("curves, head_dims 0", curves([0, 2]), ValueError, "head_dims must be at least 1", "0"),
    bad("curves, head_dims bools", curves([True]), TypeError, "head_dims must be an int", "bool True"),
    bad("curves, entropy None", curves(entropy=None), TypeError, "entropy must be a dict", "NoneType"),
    bad("curves, entropy a list", curves(entropy=[1.0]), TypeError, "entropy must be a dict", "list"),
    bad("curves, one missing", curves(entropy={"scaled": [1.0] * 5}), ValueError, "'scaled' and 'unscaled'", "['scaled']"),
    bad("curves, gradient missing", curves(gradient_norm={}), ValueError, "gradient_norm must have the curves", "[]"),
    bad("curves, too short", curves(entropy={**FALLING, "unscaled": [1.0]}), ValueError, "entropy['unscaled'] must have 5 numbers", "1"),
    bad("curves, NaN", curves(entropy={**FALLING, "scaled": [NAN] * 5}), ValueError, "entropy['scaled'] must hold finite numbers", "nan"),
    bad("curves, strings", curves(gradient_norm={**FALLING, "scaled": list("abcde")}), ValueError, "gradient_norm['scaled'] must hold real numbers", "'a'"),
    bad("curves, rank 2", curves(gradient_norm={**FALLING, "scaled": [[1.0]]}), ValueError, "must have 1 dimensions", "(1, 1)"),
    bad("curves, num_keys 0", curves(num_keys=0), ValueError, "num_keys must be at least 2", "0"),
    bad("curves, num_keys 1", curves(num_keys=1), ValueError, "num_keys must be at least 2", "1"),
    bad("curves, num_keys negative", curves(num_keys=-3), ValueError, "num_keys must be at least 2", "-3"),
    bad("curves, num_keys float", curves(num_keys=32.0), TypeError, "num_keys must be an int", "float 32.0"),
    bad("curves, num_keys bool", curves(num_keys=True), TypeError, "num_keys must be an int", "bool True"),
    bad("curves, num_keys string", curves(num_keys="32"), TypeError, "num_keys must be an int", "str '32'"),
    bad("sums, tokens None", sums(tokens=None), TypeError, f"tokens {LABELS}", "NoneType"),
    bad("sums, tokens a string", sums(tokens="abc"), TypeError, f"tokens {LABELS}", "str 'abc'"),
    bad("sums, few tokens", sums(tokens=["a"]), ValueError, "shape (1, 2), with at least 3 tokens", "(3, 2)"),
    bad("sums, two values", sums(values=M, outputs=M, tokens=R), ValueError, "at least 3 tokens", "(2, 2)"),
    bad("sums, three columns", sums(values=torch.ones(3, 3), outputs=torch.ones(3, 3)), ValueError, "shape (3, 2)", "(3, 3)"),
    bad("sums, fewer outputs", sums(outputs=M), ValueError, "shape (3, 2)", "(3, 2) and (2, 2)"),
    bad("sums, rank 1", sums(values=[1.0]), ValueError, "values must have 2 dimensions", "(1,)"),
    bad("sums, NaN", sums(outputs=[[NAN, 1]] * 3), ValueError, "outputs must hold finite numbers", "nan"),
    bad("sums, on a line", sums(values=[[0, 0], [1, 1], [2, 2]]), ValueError, "values must not lie on one line", "[[0.0, 0.0]"),
    bad("sums, one point", sums(values=[[1, 1]] * 3), ValueError, "values must not lie on one line", "[[1.0, 1.0]"),
    bad("map, unknown", lambda: plots.course_map(["99-none"]), ValueError, "chapters out of 01-single-head", "99-none"),
    bad("map, None", lambda: plots.course_map(None), TypeError, f"written {LABELS}", "NoneType"),
    bad("map, a string", lambda: plots.course_map("01-single-head"), TypeError, f"written {LABELS}", "str '01-single-head'"),
    bad("map, ints", lambda: plots.course_map([1]), TypeError, f"written {LABELS}", "1 in it"),
    bad("map, an int", lambda: plots.course_map(1), TypeError, f"written {LABELS}", "int 1"),
    bad("map, lists", lambda: plots.course_map([["02-masks"]]), TypeError, f"written {LABELS}", "['02-masks'] in it"),
    bad("Drawing, string", lambda: plots.Drawing("x"), TypeError, "figure must be a matplotlib Figure", "str"),
    bad("Drawing, None", lambda: plots.Drawing(None), TypeError, "figure must be a matplotlib Figure", "NoneType"),
    bad("Drawing, save to int", lambda: plots.Drawing(Figure()).save(3), TypeError, "str", "int"),
    bad("numbers, other rank", lambda: numbers("m", [1.0], 2), ValueError, "m must have 2 dimensions", "(1,)"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)


def test_labels_of_the_sentence_fit():
    assert len(sentence()) == 4
