"""What chapter 10 says of splits and patches, over the seeds it was written with and ten others."""

from __future__ import annotations

from itertools import product
from statistics import mean

import pytest
import torch

from experiments.translator import PLACES, SEEDS, calendar, patched, two_centuries
from polyhead_course.models.head_experiments import trials
from polyhead_course.models.translation import (
    TARGETS,
    alignment,
    exact_match,
    held_out_pairs,
    load_translator,
    right_sources,
    source_tokens,
)
from tests.course.claims.stored import seed_measures

FIRST, SECOND = PLACES["digit 1"], PLACES["digit 2"]


def runs(experiment, seeds):
    return seed_measures("dates", experiment, seeds)


def test_the_table_has_twenty_seeds_of_each_task():
    found = [(t.experiment, t.measures["seed"], t.off) for t in trials("dates")]
    assert found == [
        (task, seed, []) for task, seed in product(("translation", "combination", "calendar"), SEEDS)
    ]


def test_a_leak_does_not_help_translation_and_pretends_a_calendar(seeds):
    for each in runs("translation", seeds):
        assert abs(each["random"] - each["days"]) < 0.04 and each["days"] > 0.8
    found = runs("calendar", seeds)
    for each in found:
        assert each["random"] > each["days"] + 0.4 and each["days"] < 0.25
    assert mean(each["random"] for each in found) > 0.65
    assert abs(mean(each["days"] for each in found) - 1 / 7) < 0.05


def test_a_new_combination_is_harder_than_a_new_day(seeds):
    found = runs("combination", seeds)
    for each in found:
        assert min(each["days"], each["long"]) > 0.8
    late = [each["2040s"] for each in found]
    assert mean(late) < mean(each["days"] for each in found) - 0.03
    assert min(late) < 0.7 and max(late) > 0.95


def test_a_patched_row_changes_its_part_and_no_other(seeds):
    for each in runs("translation", seeds):
        assert min(each["weekday"], each["month"]) > 0.95
        assert min(each["day 1"], each["day 2"]) > 0.85
        assert each["others"] < 0.05


def test_the_first_two_digits_of_the_year_change_together(seeds):
    found = runs("translation", seeds)
    for each in found:
        assert each["digit 2 by digit 1"] == pytest.approx(each["digit 1"], abs=0.08)
        assert each["digit 1 by digit 2"] == pytest.approx(each["digit 2"], abs=0.08)
    assert sum(each["digit 2 by digit 1"] > each["digit 2"] for each in found) >= 8
    looks = [each["digit 2 looks at digit 2"] for each in found]
    assert min(looks) < 0.1 and max(looks) > 0.9


@pytest.fixture(scope="module")
def translator():
    return load_translator()


def test_the_stored_model_makes_no_mistake_on_unseen_days(translator):
    for to in TARGETS:
        assert len(held_out_pairs(to)) == 3692
        assert exact_match(translator, held_out_pairs(to)[::11]) == 1


def test_the_second_digit_looks_at_itself_and_follows_the_first(translator):
    shares = patched(translator, *two_centuries(100))
    for name, place in PLACES.items():
        if place not in (FIRST, SECOND):
            assert shares[place, place] == 1, name
    assert shares[FIRST, SECOND] > 0.4 and shares[SECOND, SECOND] < 0.2
    assert max(each for (row, part), each in shares.items() if row != part and row != FIRST) == 0
    pairs = held_out_pairs("ko")
    A = translator.cross_attention(*translator.ids(pairs))[-1].mean(dim=1)  # (3692, num_target, num_source)
    own = [right_sources(source_tokens(pair.source, "ko"), pair.target)[1][1:] for pair in pairs]
    rows, columns = torch.tensor(own).T
    assert (A[torch.arange(len(pairs)), rows].argmax(dim=-1) == columns).double().mean() == 1


def test_no_single_head_is_as_clear_as_the_mean(translator):
    some = held_out_pairs("ko")[::11]
    assert all(share == 1 for share, _ in alignment(translator, some).values())
    layers = translator.cross_attention(*translator.ids(some))
    belongs = [right_sources(source_tokens(pair.source, "ko"), pair.target) for pair in some]
    places = torch.tensor([(i, row, column) for i, found in enumerate(belongs) for _, row, column in found])
    number, row, column = places.T
    for A in layers:
        hits = A[number, :, row].argmax(dim=-1) == column[:, None]
        assert hits.double().mean(dim=0).max() < 0.99


def test_the_stored_table_is_that_of_the_training():
    stored = runs("calendar", range(10))[0]
    found = calendar(0)
    assert all(found[name] == pytest.approx(stored[name], abs=0.12) for name in found)
