"""What chapter 11 says of heads, over the seeds with which it was written (0 to 9) and over ten others."""

from __future__ import annotations

import math
from statistics import mean
from types import SimpleNamespace

import pytest
import torch

from experiments.cells import run_cells
from polyhead.heads import Head, ablate, all_heads, head_outputs
from polyhead_course.models.head_experiments import trials
from polyhead_course.models.induction import (
    LETTERS,
    accuracy,
    attention_only,
    load_copier,
    texts,
    train,
)
from tests.course.claims.stored import seed_measures


def runs(form, seeds):
    return seed_measures("induction", form, seeds)


def test_two_heads_copy_one_after_the_other_and_not_side_by_side(seeds):
    assert min(each["accuracy"] for each in runs("two layers", seeds)) > 0.95
    assert max(each["accuracy"] for each in runs("one layer", seeds)) < 0.25
    assert max(each["accuracy"] for each in runs("one layer, longer", seeds)) < 0.35


def test_the_first_head_looks_back_and_the_second_after_the_copy(seeds):
    for each in runs("two layers", seeds):
        assert min(each["previous"], each["induction"]) > 0.9
        assert min(each["match"], each["copy"]) > 0.9  # QK and OV, the share of letters on the diagonal
        assert each["two later"] > 0.9 and each["patched"] < 0.2


def test_a_head_finds_its_token_by_the_mark_that_the_first_one_left(seeds, capsys):
    for seed in seeds[:3]:
        torch.manual_seed(seed)
        copier = attention_only(2, 1)
        train(copier, seed=seed)
        given = {
            "induction": SimpleNamespace(load_copier=copier.eval, texts=texts, LETTERS=LETTERS),
            "math": math, "torch": torch, "Head": Head, "head_outputs": head_outputs,
        }  # fmt: skip
        run_cells("11-what-heads-do", "circuits-code", "circuits-terms", names=given)
        lines = capsys.readouterr().out.splitlines()[-4:]
        plain, composed, *others = (float(line.split()[-1]) for line in lines)
        assert 15 < composed < 35 and plain + sum(others) < 1.5


def test_dropout_makes_heads_that_can_be_spared(seeds):
    means = {}
    for form in ("without dropout", "with dropout"):
        assert min(each["accuracy"] for each in runs(form, seeds)) > 0.95
        draws = [t for t in trials("induction") if t.experiment == form and t.off]
        means[form] = [
            mean(t.measures["accuracy"] for t in draws if t.measures["seed"] == seed) for seed in seeds
        ]
    assert mean(means["without dropout"]) + 0.05 < mean(means["with dropout"])
    assert sorted(means["without dropout"])[-2] < min(means["with dropout"])  # 9 of 10 are below all others


def test_heads_chosen_on_half_of_the_queries_cost_less_than_random_ones_on_the_others(seeds):
    found = [t.measures for t in trials("halves") if t.measures["draw"] in seeds]
    assert len(found) == 10
    assert -0.05 < mean(each["others"] for each in found) < 0
    assert sum(each["random"] < each["others"] for each in found) >= 9
    assert mean(each["random"] for each in found) < 2 * mean(each["others"] for each in found)


def test_the_stored_table_and_model_are_those_of_the_training():
    rows = texts(200, torch.Generator().manual_seed(1))
    for layers, heads, form in ((2, 1, "two layers"), (1, 2, "one layer")):
        torch.manual_seed(103)
        model = attention_only(layers, heads)
        losses = train(model, seed=103)
        stored = next(each for each in runs(form, range(100, 110)) if each["seed"] == 103)
        assert losses[0] == pytest.approx(stored["loss 1"], abs=1e-4)
        assert accuracy(model.eval(), rows) == pytest.approx(stored["accuracy"], abs=0.05)


def test_no_head_of_the_copier_can_be_missing():
    copier, rows = load_copier(), texts(200, torch.Generator().manual_seed(1))
    for head in all_heads(copier):
        with ablate(copier, [head]):
            assert accuracy(copier, rows) < 0.25


def test_the_translator_can_spare_each_head_and_not_all():
    found = {"single": [], "all": []}
    for trial in trials("translator"):
        found.get(trial.experiment, []).append(trial.measures["exact_match"])
    assert len(found["single"]) == 24 and min(found["single"]) == 1
    assert found["all"] == [0]
