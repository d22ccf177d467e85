"""Every figure in every language, and what all of them share."""

from __future__ import annotations

import functools
import pkgutil
import re
import time
import xml.etree.ElementTree as ET
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from experiments.fonts import PRINTED
from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import plot, to_array
from polyhead_course.words import Glossary, language, set_language
from polyhead_course.words.language import LANGUAGES
from tests.polyhead_course.explorables import EXPLORABLES
from tests.polyhead_course.figures import FIGURES, STEPS, SVG, least_text, words

LABELS, TERMS = language.terminology()["labels"], language.terminology()["terms"]
keys: set[str] = set()  # of all labels that were read


class _Labels(dict):
    def get(self, key, default=None):
        keys.add(key)
        return super().get(key, default)


@functools.cache
def drawing(name: str, code: str) -> plots.Drawing:
    """The figure as it is drawn the first time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(language, "_read_terms", lambda: {"labels": _Labels(LABELS), "terms": TERMS})
        set_language(code)
        return (FIGURES | EXPLORABLES)[name]()


def test_no_figure_hides_the_module_of_its_name():
    assert {module.name for module in pkgutil.iter_modules(plots.__path__)}.isdisjoint(plots.__all__)


@pytest.mark.parametrize("name", FIGURES)
def test_a_figure_is_in_the_readers_language_and_fits_a_phone(name):
    """Warnings are errors here: a missing glyph, or axes that matplotlib cannot scale, would raise."""
    for code in LANGUAGES:
        svg = drawing(name, code).svg
        root = ET.fromstring(svg)
        assert root.tag == f"{SVG}svg"
        assert not [*root.iter(f"{SVG}image"), *root.iter(f"{SVG}metadata")]
        assert not re.search(r"matplotlib (v|\d)|matplotlib\.org|\b20\d\d-\d\d", svg, flags=re.IGNORECASE)
        assert least_text(svg) >= 10
        assert 0 < float(root.get("height").removesuffix("pt")) / 72 <= 10
        english = {label["en"] for label in LABELS.values() if label["en"] != label[code]}
        assert not english & set(words(drawing(name, code)))
    assert len({drawing(name, code).svg for code in LANGUAGES}) == len(LANGUAGES)


def test_every_label_is_used():
    """By a figure, the sentence, the glossary or a chapter; those of the checks have a test of their own."""
    for name in (*FIGURES, *EXPLORABLES):
        drawing(name, "en")
    chapters = "".join(path.read_text(encoding="utf-8") for path in Path("chapters/en").glob("*.md"))
    Glossary()._repr_markdown_()
    headings = {"meaning", *(f"language.{code}" for code in LANGUAGES)}  # of the glossary
    headings |= {
        "curve.layer_A",
        "curve.layer_B",
        "model.pairs",
    }  # chapters 4 and 7 give the ends of the keys
    unused = {key for key in LABELS if f'"{key}"' not in chapters} - keys - headings
    assert not [key for key in unused if not key.startswith(PRINTED)]


@pytest.mark.parametrize("name", ["heatmap", "five_steps"])
@pytest.mark.parametrize("setting", [{}, {"font.size": 30, "axes.facecolor": "red", "svg.fonttype": "path"}])
def test_a_second_figure_is_the_first_whatever_the_settings_of_the_machine(name, setting):
    inputs = {key: tensor.clone() for key, tensor in STEPS.items()}
    expected = drawing(name, "en").svg
    set_language("en")
    with matplotlib.rc_context(setting):
        before = dict(matplotlib.rcParams)
        assert FIGURES[name]().svg == expected
        assert dict(matplotlib.rcParams) == before
    assert all(torch.equal(STEPS[key], copy) for key, copy in inputs.items())


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.loss_of_runs({heads: [[1.0, 0.5]] for heads in (1, 2, 4)}),
        lambda: plots.cache_memory([1, 2], {heads: [1.0, 2.0] for heads in (32, 16, 8, 1)}, weights=5),
        lambda: plots.concat_blocks(num_tokens=3, num_heads=6, head_dim=2),
        lambda: plots.keys_and_query([[1, 0]], [0, 0], ["a"]),
    ],
)
def test_what_a_figure_cannot_show_is_an_error_and_never_left_out(draw):
    with pytest.raises(ValueError):
        draw()


def test_a_missing_glyph_would_be_noticed():
    with pytest.warns(UserWarning, match="Glyph .* missing"):
        plots.heatmap([[1.0]], ["𒀀"])


def test_a_dollar_is_a_dollar():
    shown = plots.heatmap([[1.0]], ["$x_1$"], ["$y$ and $z"])
    assert {"$x_1$", "$y$ and $z"} <= set(words(shown))


def test_a_drawing_is_an_svg_for_notebooks(tmp_path):
    figure = Figure(figsize=(2, 3))
    figure.subplots().plot([2, 3, 5])
    shown = plots.Drawing(figure)
    assert shown._repr_svg_() == shown.svg
    assert shown.svg.startswith("<svg")
    for path in (tmp_path / "a.svg", str(tmp_path / "b.svg")):
        shown.save(path)
        assert Path(path).read_text(encoding="utf-8") == shown.svg


def test_low_digits_of_a_machine_stay_out_and_no_0_has_a_minus():
    assert to_array([0.1 + 0.2, 1 / 3 + 1e-9, -1e-9]).tolist() == [0.3, 0.3333, 0.0]
    assert str(to_array([-1e-9])[0]) == "0.0"


@pytest.mark.parametrize(
    "values",
    [
        [[1, 0], [0, 1]], np.eye(2, dtype=np.float32), torch.eye(2).bfloat16(), torch.eye(2).bool(),
        torch.eye(2).int(), torch.eye(2).requires_grad_(), torch.eye(2).t(),
    ],
    ids=lambda values: str(getattr(values, "dtype", "list")),
)  # fmt: skip
def test_every_kind_of_matrix_becomes_an_array(values):
    array = to_array(values)
    assert array.tolist() == [[1, 0], [0, 1]]
    assert array.dtype == np.float64


def test_figures_in_threads_are_drawn_one_at_a_time():
    at_work, most = [], []

    @plot
    def slow() -> Figure:
        at_work.append(1)
        most.append(len(at_work))
        time.sleep(0.05)
        at_work.pop()
        return Figure()

    with ThreadPoolExecutor(3) as threads:
        list(threads.map(lambda _: slow(), range(3)))
    assert most == [1, 1, 1]
