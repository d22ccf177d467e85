"""Which heads are switched off, the baselines of the search task, and the tables."""

from __future__ import annotations

import math

import pytest
import torch

from experiments import heads as experiment
from polyhead import Decoder, Encoder
from polyhead.heads import Head, all_heads
from polyhead_course.models.head_experiments import KINDS, Trial, trials
from polyhead_course.models.ranking import Pair, query_title_pairs
from tests.polyhead_course.minilm import tiny_minilm


def test_tf_idf_by_hand():
    pairs = [Pair("red fox", "a fox"), Pair("blue sky", "the sky, blue")]
    rare, twice = math.log(4), math.log(2)  # in one text of four, and in two
    got = experiment.tf_idf(pairs)
    expected = twice**2 / (math.hypot(rare, twice) * math.hypot(rare, twice))
    assert got[0].tolist() == pytest.approx([expected, 0.0], abs=1e-6)
    assert got[1, 1].item() == pytest.approx(
        2 * twice**2 / (math.hypot(twice, twice) * math.hypot(rare, twice, twice))
    )


def test_static_vectors_are_means_of_the_table():
    minilm, pairs = tiny_minilm(), query_title_pairs()[:5]
    table, got = minilm.model.embedding.tokens.weight.detach(), experiment.static(minilm, pairs)
    means = [
        table[minilm.tokenizer.encode(text).ids].mean(dim=0) for text in (pairs[4].query, pairs[1].title)
    ]
    assert got[4, 1].item() == pytest.approx(torch.cosine_similarity(*means, dim=0).item(), abs=1e-6)


def test_random_heads_are_the_same_for_a_draw_and_differ_between_draws():
    heads = [Head("encoder", layer, head) for layer in range(3) for head in range(5)]
    first = experiment.random_heads(heads, 7, 0)
    assert first == experiment.random_heads(heads[::-1], 7, 0)
    assert len(set(first)) == 7
    assert first != experiment.random_heads(heads, 7, 1)


def small_model(*num_layers: int, num_heads: int) -> torch.nn.Module:
    """So many layers of an encoder, and of a decoder, with hardly a parameter."""
    stacks = zip((Encoder, Decoder), num_layers, strict=False)
    return torch.nn.ModuleList(kind(number, num_heads, num_heads) for kind, number in stacks if number)


def test_removals_of_a_model():
    model = small_model(4, 2, num_heads=5)  # 20, 10 and 10 heads
    heads = all_heads(model)
    scores = {head: float(number) for number, head in enumerate(heads)}
    removals: dict[str, list[list[Head]]] = {}
    for name, removed in experiment.removals(model, scores):
        removals.setdefault(name, []).append(removed)
    assert (removals["none"], removals["all"]) == ([[]], [heads])
    assert [len(each) for each in removals["random"][:: experiment.DRAWS]] == [4, 8, 12, 16, 20, 24, 28]
    assert [removals["least important"][0], removals["most important"][0]] == [heads[:4], heads[-4:]]
    assert len(removals["single"]) == 40 and len(removals["layer"]) == 8
    assert {head.layer for each in removals["lower"] for head in each} == {0, 1}
    assert {head.layer for each in removals["upper"] for head in each} == {2, 3}


def test_each_removal_is_measured_with_its_heads_off():
    model, x = small_model(2, num_heads=3)[0].eval(), torch.ones(1, 5, 3)
    scores = {head: float(number) for number, head in enumerate(all_heads(model))}
    untouched = model(x)[0].sum().item()
    rows = experiment.measure_removals(model, scores, lambda: {"sum": model(x)[0].sum().item()})
    assert rows[0] == Trial("none", [], {"sum": untouched})
    assert rows[1].off == list(scores) and rows[1].measures["sum"] != untouched
    assert [row.measures["importance"] for row in rows if row.experiment == "single"] == [*scores.values()]
    assert model(x)[0].sum().item() == untouched


@pytest.mark.parametrize(
    ("table", "measure", "count"), [("minilm", "mean_reciprocal_rank", 72), ("translator", "exact_match", 24)]
)
def test_a_committed_table_has_the_removals_of_the_experiment(table, measure, count):
    rows = trials(table)
    scores = {row.off[0]: row.measures["importance"] for row in rows if row.experiment == "single"}
    assert len(scores) == count
    assert all(0 <= row.measures[measure] <= 1 for row in rows)
    num_layers = [len({head.layer for head in scores if head.kind == kind}) for kind in KINDS]
    model = small_model(*num_layers, num_heads=1 + max(head.head for head in scores))
    expected = list(experiment.removals(model, scores))
    assert [(row.experiment, row.off) for row in rows[-len(expected) :]] == expected


def test_the_table_of_dropout_has_equally_many_trials_with_and_without():
    trials_by_run = [
        (row.measures["dropout"], row.measures["seed"], len(row.off)) for row in trials("dropout")
    ]
    numbers = [0, *[5] * experiment.DRAWS, *[12] * experiment.DRAWS]
    assert trials_by_run == [
        (dropout, seed, number) for dropout in (0.0, 0.1) for seed in range(3) for number in numbers
    ]


@pytest.mark.parametrize("table", experiment.TABLES)
def test_a_committed_table_that_is_read_and_written_is_the_same(table, tmp_path, monkeypatch):
    monkeypatch.setitem(experiment.TABLES, table, lambda: trials(table))
    experiment.main([table, "--folder", str(tmp_path)])
    name = f"heads_{table}.csv"
    assert (tmp_path / name).read_bytes() == (experiment.FOLDER / name).read_bytes()
