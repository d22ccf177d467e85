from __future__ import annotations

import functools
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import matplotlib
import numpy as np
import pytest
import torch
from matplotlib.figure import Figure

from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import numbers
from polyhead_course.words import set_language
from polyhead_course.words.language import LANGUAGES, terminology, text
from tests.polyhead_course.figures import COURSE, FIGURES, MODELS, PARTS, QUANTILES, STACKS, STEPS, SVG, words

EVERY = [(name, code) for name in FIGURES for code in LANGUAGES]


@functools.cache
def first(name: str, code: str) -> plots.Drawing:
    """The figure as it was drawn the first time."""
    set_language(code)
    return FIGURES[name]()


def keys_in(name: str) -> list[str]:
    """The keys of what must stand in a figure."""
    tokens = [f"token.{key}" for key in ("zhonghe", "has", "one", "yonghe_road")]
    return {
        "course_map": [key for key, _ in COURSE.values()],
        "gradient_quantiles": ["axis.head_dim", "axis.query_gradient", "curve.scaled", "curve.unscaled"],
        "temperatures": [*tokens, "axis.weight"],
        "path_lengths": [*tokens, "path.attention"],
        "weighted_sums": [*tokens, "point.value", "point.output"],
        "concat_blocks": ["title.concatenated"],
        "head_writes": [
            *("row.all_heads", "title.without_output_projection", "title.with_output_projection")
        ],
        "loss_by_heads": ["axis.loss", "axis.step"],
        "wish_and_hull": [*tokens, *(f"point.{name}" for name in ("value", "nearest", "wish"))],
        "transpose_path": [],
        "bug_matrix": ["bug.none", "bug.sees_ahead", "law.twice", "law.parity"],
        "head_maps": [],  # titles are broken into lines
        "removal_curves": ["axis.heads_off"],
        "removal_draws": ["axis.seed"],
        "cache_bars": ["axis.cache_per_token"],
        "largest_scores": ["axis.largest_score", "axis.step", "curve.no_qk_norm", "curve.qk_norm"],
        "window_reach": [],  # titles with numbers: test_plots_modern
        "time_and_memory": ["axis.times", "axis.mebibytes", "axis.length"],
        "joined_projections": [],
        "memory_order": ["memory.memory"],
        "tokens_seen": ["memory.transposed", "memory.viewed", "axis.token_number"],
        "view_losses": ["memory.transposed", "memory.viewed", "axis.loss", "axis.step"],
        "cache_alignment": [
            "align.lower_right",
            "align.upper_left",
            "align.earlier",
            "align.new",
            "align.lost",
        ],
        "masked_row": [*tokens, "row.before", "row.masked", "row.late"],
        "cache_triangle": [*tokens, "key.computed", "key.cached"],
        "beam_tree": [],  # a word with its probability is one text
        "cache_memory": ["axis.tokens", "axis.cache_size", "line.model_weights"],
        "decode_cost": ["axis.tokens", "axis.multiply_adds", "curve.with_cache", "curve.without_cache"],
        "decode_timeline": [*tokens, "step.prefill", "step.decode", "key.computed", "key.cached"],
        "future_rows": [
            *(f"model.{name}" for name in MODELS),
            *("mode.train", "mode.eval", "key.changed", "key.moved", "key.leak"),
        ],
        "leak_losses": ["model.causal", "curve.at_once", "curve.one_by_one", "line.lowest_loss", "axis.loss"],
        "whole_transformer": ["block.cross_attention", "block.add_norm", "block.tied_output"],
        "family_tree": ["family.encoder_only"],
        "training_progress": ["axis.held_out_loss", "axis.exact_match", "axis.step", "band.warm_up"],
        "cross_heads": ["axis.written", "axis.read"],
        "shifted_tokens": [*tokens, "title.inputs", "title.targets"],
        "activation_curves": ["activation_function"],
        "gradient_by_layer": ["axis.layer", "axis.gradient_norm", *(f"curve.{name}" for name in STACKS)],
        "parameter_bars": [f"part.{name}" for name in PARTS],
        "residual_stream": ["block.self_attention", "block.feed_forward"],
        "token_spread": ["axis.layer", "axis.token_spread", *(f"curve.{name}" for name in STACKS)],
        "layer_sublayers": [
            *("title.post_norm", "title.pre_norm", "block.self_attention", "block.feed_forward", "block.norm")
        ],
        "position_waves": ["axis.position", "axis.dimension"],
        "distance_products": ["panel.plain", "panel.projected", "axis.distance"],
        "position_losses": [
            "curve.with_positions",
            "curve.no_positions",
            "line.guessing",
            "axis.loss",
            "axis.step",
        ],
        "relative_biases": ["axis.query_position", "axis.key_position"],
        "rotary_arrows": [],  # labels with numbers: test_plots_positions
        "rotary_layouts": ["layout.neighbours", "layout.halves"],
        "score_terms": [
            *(f"panel.{name}" for name in ("content_content", "sum", "rotary")),
            *("axis.query_position", "axis.key_position"),
        ],
        "learning_rates": ["axis.learning_rate", "axis.step", "band.warm_up"],
        "loss_curves": ["axis.loss", "axis.step", "band.warm_up", "curve.stored", "curve.own"],
        "three_uses": [],  # labels of several lines: test_chapter_cross_attention
    }.get(name, tokens)


@pytest.mark.parametrize(("name", "code"), EVERY)
def test_figure(name, code):
    """Warnings are errors here: a missing glyph, or axes that matplotlib cannot scale, would raise."""
    drawing = first(name, code)
    svg = drawing.svg
    root = ET.fromstring(svg)
    assert root.tag == f"{SVG}svg"
    assert not list(root.iter(f"{SVG}image"))
    assert not list(root.iter(f"{SVG}metadata"))
    assert not re.search(r"matplotlib (v|\d)|matplotlib\.org|\b20\d\d-\d\d", svg, flags=re.IGNORECASE)
    assert matplotlib.__version__ not in svg

    set_language(code)
    shown = words(drawing)
    for key in keys_in(name):
        assert text(key) in shown
    if code != "en":
        english = {label["en"] for label in terminology()["labels"].values() if label["en"] != label[code]}
        assert not english & set(shown)


@pytest.mark.parametrize(("name", "code"), EVERY)
def test_figure_fits_a_phone(name, code):
    root = ET.fromstring(first(name, code).svg)
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


def test_a_missing_glyph_would_be_noticed():
    with pytest.warns(UserWarning, match="Glyph .* missing"):
        plots.heatmap([[1.0]], ["𒀀"])


def test_matplotlib_and_the_inputs_are_left_as_they_were():
    """And a second picture is the first: the notebooks compare those of other processes."""
    set_language("en")
    before = dict(matplotlib.rcParams), {name: tensor.clone() for name, tensor in STEPS.items()}
    for name, draw in FIGURES.items():
        assert draw().svg == first(name, "en").svg
    assert dict(matplotlib.rcParams) == before[0]
    assert all(torch.equal(STEPS[name], copy) for name, copy in before[1].items())
    assert QUANTILES["scaled"] == [[0.2, 0.25, 0.3]] * 5


@pytest.mark.parametrize(
    "setting", [{"font.size": 30}, {"svg.fonttype": "path"}, {"axes.facecolor": "red"}], ids=str
)
def test_settings_of_the_machine_do_not_matter(setting):
    expected = FIGURES["gradient_quantiles"]().svg
    with matplotlib.rc_context(setting):
        assert FIGURES["gradient_quantiles"]().svg == expected


@pytest.mark.parametrize("name", sorted(set(FIGURES) - {"position_waves"}))
def test_language_changes_the_figure(name):
    assert len({first(name, code).svg for code in LANGUAGES}) == len(LANGUAGES)


# ---- Drawing


def test_drawing_is_an_svg_for_notebooks(tmp_path):
    drawing = FIGURES["heatmap"]()
    assert repr(drawing) == "<polyhead_course.figures.plots.Drawing>"
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
    assert numbers("m", close, None, 3).tolist() == [[0.3, 0.3333, 0.0]]
    assert str(numbers("m", close, None, 3)[0, 2]) == "0.0"
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
    assert numbers("m", values, 2, 2).tolist() == [[1, 0], [0, 1]]
    assert numbers("m", values, None, 2).dtype == np.float64
