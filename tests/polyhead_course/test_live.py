# ruff: noqa: E501  in the table of bad input, each case is one line
"""Explorables as objects: the figure stays the figure, and the data beside it are its numbers."""

from __future__ import annotations

import cmath
import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch
from IPython.core.formatters import DisplayFormatter
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import polyhead_course
from attention_clinic.planted import PROBES, matrix
from polyhead import causal_mask, masked_softmax
from polyhead.heads import all_heads
from polyhead_course.figures import live, plots
from polyhead_course.figures.live.explorable import MIME
from polyhead_course.models.smollm2.atlas import atlas
from polyhead_course.models.translation import TARGETS, load_translator, translate
from polyhead_course.words import sentence, set_language
from polyhead_course.words.language import LANGUAGES, text
from tests.polyhead_course.bad_input import assert_named, bad
from tests.polyhead_course.explorables import EXPLORABLES, MARKS, MEASURED, TWO, WRITTEN, writer
from tests.polyhead_course.figures import DOTS, OUTPUT, STACKS, K, Q, V

FOLDER = Path(polyhead_course.__file__).parent / "figures" / "live"
FIGURES = {
    "atlas": lambda: plots.head_atlas(np.array([row.kind for row in atlas()]).reshape(30, 9).tolist()),
    "backwards": lambda: picture_of_the_word(EXPLORABLES["backwards"]().data),
    "bugs": lambda: plots.bug_matrix(MARKS),
    "cache": lambda: plots.cache_bars({"MHA": 512.0, "GQA": 128.0, "MQA": 16.0, "MLA": 36.0}),
    "clocks": lambda: plots.rotary_arrows(
        turned([1.0, 0.0], 5), turned([0.6, 0.8], 3), [(5, 3), (5, 3)], [60, 10]
    ),
    "copier": lambda: picture_of_the_copier(EXPLORABLES["copier"]().data),
    "decoding": lambda: plots.cache_triangle(["<s>", *sentence()], 3),
    "hull": lambda: plots.weighted_sums(V, OUTPUT, sentence(), wished=[2.5, 0.25]),
    "mask": lambda: plots.heatmap(masked_softmax(DOTS / 2, causal_mask(4)), sentence(), highest=1),
    "path": lambda: plots.transpose_path(Q[None], 2),
    "reach": lambda: plots.window_reach([torch.ones(7, 7).tril(layer) > 0 for layer in (1, 2, 3)]),
    "speculative": lambda: plots.next_token_bars(
        {"q": [0.2, 0.2, 0.6], "p": [0.5, 0.3, 0.2], "min(p, q)": [0.2] * 3}, list("ABC")
    ),
    "stacks": lambda: plots.layer_curves(
        *({kind: MEASURED[kind][-1][part] for kind in STACKS} for part in (0, 1))
    ),
    "translator": lambda: weights_of(translate("Friday, November 20, 2026", "zh-TW")),
    "two_heads": lambda: plots.wish_and_hull(TWO, [3.0, 4.0], sentence()),
}
EVERY_KIND = pytest.mark.parametrize("kind", EXPLORABLES)


def turned(pair, position):
    """A pair at a position, on both clocks."""
    ends = [complex(*pair) * cmath.rect(1, math.radians(position * turn)) for turn in (60, 10)]
    return [[end.real, end.imag] for end in ends]


def picture_of_the_copier(data):
    names = [text("live.copier_head", layer=layer) for layer in (0, 1)]
    return plots.attention_lines(torch.tensor(data["weights"][0][4]) / 100, list(data["texts"][4]), names)


def picture_of_the_word(data):
    return plots.crossing(
        torch.tensor(data["weights"][0][0]) / 100, list(data["read"][0]), list(data["written"][0][0])
    )


def weights_of(translation):
    return plots.translation_weights(
        translation.weights, translation.source_tokens, translation.target_tokens
    )


@EVERY_KIND
def test_the_figure_is_the_one_of_plots_and_the_data_are_json(kind):
    shown, _ = DisplayFormatter().format(EXPLORABLES[kind]())
    assert shown["image/svg+xml"] == FIGURES[kind]().svg
    assert shown["text/plain"] == f"<polyhead_course.figures.live.{kind}>"
    assert shown[MIME]["kind"] == kind
    assert json.loads(json.dumps(shown[MIME], allow_nan=False)) == shown[MIME]


@EVERY_KIND
def test_it_is_the_same_every_time(kind):
    assert EXPLORABLES[kind]().data == EXPLORABLES[kind]().data


@EVERY_KIND
def test_labels_speak_the_readers_language_and_are_those_that_the_template_and_the_module_write(kind):
    sources = "".join((FOLDER / f"{kind}.{ending}").read_text(encoding="utf-8") for ending in ("html", "js"))
    if "parts.switch(" in sources:
        sources += (FOLDER / "parts.html").read_text(encoding="utf-8")
    spoken = set()
    for code in LANGUAGES:
        set_language(code)
        labels = EXPLORABLES[kind]().data["labels"]
        assert labels == {key: text(key) for key in labels}
        spoken.add(tuple(labels.values()))
    assert len(spoken) == len(LANGUAGES)
    for key in labels:
        assert f'"{key}"' in sources or f"labels.{key}" in sources, key


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.js")), ids=lambda path: path.name)
def test_a_module_is_small_and_asks_nobody_else(path):
    script = path.read_text(encoding="utf-8")
    assert len(script.encode()) <= 15_000
    assert "http" not in script.replace("http://www.w3.org/2000/svg", "")


def test_a_memory_in_reverse_order_gives_the_same_word_and_zeros_give_equal_weights():
    data = EXPLORABLES["backwards"]().data
    assert data["read"] == ["bead.", "cafe."]
    for written, (whole, turned, zeros) in zip(data["written"], data["weights"], strict=True):
        assert written[0] == written[1]
        assert [row[::-1] for row in turned] == whole
        assert zeros == [[20] * 5] * 5


def test_bugs_break_the_rule_of_a_probe_where_the_matrix_has_a_mark():
    marks = matrix()
    data = live.bugs(marks).data
    for line, row in zip(data["found"], marks.values(), strict=True):
        for probe, rows, name in zip(data["probes"], line, PROBES, strict=True):
            assert (rows is None) == (row[name] is None)
            sizes = [[float(size) for size in row.split()] for row in rows or []]
            kept = {*probe["may"], probe["must"]}
            differs = [size != 0 for each in sizes for at, size in enumerate(each) if at not in kept]
            missing = [each[probe["must"]] == 0 for each in sizes if probe["must"] is not None]
            assert any(differs + missing) == bool(row[name]), (row, name)
    batch = data["found"][list(marks).index("batch_mixed")][PROBES.index("batch")]
    assert [row != " ".join("0" * 11) for row in batch] == [size == 6 for size in range(2, 9)]
    nan = data["found"][list(marks).index("mask_nan")][PROBES.index("left_pad")]
    assert nan == ["0" + 10 * " nan"]


def test_hull_holds_values_scores_and_the_wish():
    data = EXPLORABLES["hull"]().data
    assert data["values"] == V.tolist()
    assert data["scores"] == (DOTS / 2).tolist()
    assert data["head_dim"] == 4
    assert data["wished"] == [2.5, 0.25]
    without = live.hull(K, K, V, list("pqrs"), axis_names=["axis.road", "score"]).data
    assert without["wished"] is None
    assert (data["axis_names"], without["axis_names"]) == ([], ["road", "score"])


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
        "Hugging Face": zeros,
        "Hugging Face, eager": equal,
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


def test_decoding_holds_the_models_weights_probabilities_and_multiply_adds():
    model, data = writer(), EXPLORABLES["decoding"]().data
    with torch.no_grad():
        weights = torch.cat(model.attention_weights(WRITTEN))
        probs = model(WRITTEN)[0].softmax(dim=-1)
        states = model.embedding(WRITTEN)
    assert torch.tensor(data["weights"]).double().allclose(weights, atol=1e-4)
    assert torch.tensor(data["probs"]).double().allclose(probs.amax(dim=-1), atol=1e-4)
    cache = model.decoder.new_cache()
    few = [_counted(lambda: model.decoder(states[:, :3], cache=cache))]
    few += [_counted(lambda n=n: model.decoder(states[:, n : n + 1], cache=cache)) for n in (3, 4)]
    assert data["with_cache"] == few
    assert data["without_cache"] == [_counted(lambda n=n: model.decoder(states[:, :n])) for n in (3, 4, 5)]


def _counted(run):
    """Multiply-adds, of which PyTorch counts each as two."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        run()
    return counter.get_total_flops() // 2


@pytest.mark.parametrize("training", [True, False])
def test_decoding_reads_a_model_as_it_generates_and_leaves_its_mode(training):
    model = copy.deepcopy(writer()).train(training)
    assert (
        live.decoding(model, WRITTEN, list("pqrstu"), 3).data["probs"]
        == EXPLORABLES["decoding"]().data["probs"]
    )
    assert model.training == training


def test_translator_takes_each_date_that_is_read():
    assert live.translator("5 Sep 2026").data["date"] == [5, 2026, 9, 5]
    assert live.translator("Sept 5, 2026").data["date"] == [2, 2026, 9, 5]


@pytest.mark.parametrize(("language", "codes"), [("en", ["zh-TW", "zh-CN", "ko"]), ("ko", ["ko"])])
def test_translator_writes_the_readers_language_and_other_readers_choose(language, codes, monkeypatch):
    set_language(language)
    data = live.translator(" 29  February 2096 ").data
    assert [target["code"] for target in data["targets"]] == codes
    assert data["to"] == 0
    assert data["date"] == [4, 2096, 2, 29]
    wanted = translate("29 February 2096", codes[0])
    assert data["target_tokens"] == list(wanted.target_tokens)
    assert torch.tensor(data["weights"]).allclose(wanted.weights, atol=1e-4)
    monkeypatch.setattr("polyhead_course.words.language._current", "fr")
    assert [target["code"] for target in live.translator("May 13, 1901").data["targets"]] == list(TARGETS)
    other = live.translator("May 13, 1901", "ko").data
    assert other["targets"][other["to"]]["code"] == "ko"
    assert other["date"] == [1, 1901, 5, 13]


def test_translator_names_the_attentions_in_the_order_of_all_heads():
    data = EXPLORABLES["translator"]().data
    named = [(*place, head) for place in data["attentions"] for head in range(data["heads"])]
    assert named == [tuple(head) for head in all_heads(load_translator().model)]


BAD = [
    bad("hull: a value of three numbers", lambda: live.hull(Q, K, K[:, :3], list("pqrs")), ValueError, "value must be Float (num_tokens = 4, 2)", "(4, 3)"),
    bad("hull: integers", lambda: live.hull(Q.int(), K, V, list("pqrs")), TypeError, "query must be Float", "int32"),
    bad("hull: on a line", lambda: live.hull(Q, K, V * 0, list("pqrs")), ValueError, "not all on one line", "[[0.0"),
    bad("mask: floats", lambda: live.mask(DOTS, DOTS, list("pqrs")), TypeError, "mask must be Bool", "float32"),
    bad("mask: another size", lambda: live.mask(DOTS, causal_mask(3), list("pqrs")), ValueError, "mask must be Bool (num_tokens = 4, num_tokens = 4)", "(3, 3)"),
    bad("path: heads that do not divide", lambda: live.path(Q[None], 3), ValueError, "num_heads must divide num_hiddens = 4", "got 3"),
    bad("path: a matrix", lambda: live.path(Q, 2), ValueError, "X must be Float (batch, num_tokens, num_hiddens)", "(4, 4)"),
    bad("decoding: two texts", lambda: live.decoding(writer(), WRITTEN.repeat(2, 1), list("pqrstu"), 3), ValueError, "token_ids must be Integer (1, num_tokens)", "(2, 5)"),
    bad("translator: no such day", lambda: live.translator("February 30, 2026"), ValueError, "February 2026 has 28 days", "got 30"),
    bad("translator: no such language", lambda: live.translator("May 13, 1901", "ja"), ValueError, "to must be", "'ja'"),
    bad("path: no head", lambda: live.path(Q[None], 0), ValueError, "num_heads must be an int of at least 1", "0"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
