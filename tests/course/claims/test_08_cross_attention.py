"""What chapter 8 says of trained models, over the seeds of the page (0 to 9) and over ten others."""

from __future__ import annotations

import math
from statistics import mean

import pytest
import torch

from experiments.backwards import FORMS, on_place, page, trained
from polyhead_course.models.head_experiments import trials
from tests.course.claims.stored import seed_measures


def runs(form, seeds, key):
    return [each[key] for each in seed_measures("backwards", form, seeds)]


@pytest.fixture(scope="module")
def cells():
    """The names of the page."""
    return page()


def test_an_encoder_and_a_decoder_learn_to_write_backwards(seeds):
    assert min(runs("encoder and decoder", seeds, "exact")) > 0.97


def test_every_head_looks_at_the_letter_to_write(seeds):
    assert min(runs("encoder and decoder", seeds, "lowest head")) > 0.7
    assert max(runs("encoder and decoder", seeds, "highest head")) < 0.9


def test_a_decoder_alone_learns_it_too_and_more_slowly(seeds):
    together, alone = (runs(form, seeds, "exact") for form in ("encoder and decoder", "decoder alone"))
    assert mean(alone) < 0.95 < min(together)
    assert min(alone) < 0.6
    assert min(runs("decoder alone, longer", seeds, "exact")) > 0.95
    assert min(runs("decoder alone", seeds, "held-out loss")) > min(
        runs("encoder and decoder", seeds, "held-out loss")
    )


def test_without_the_memory_nothing_is_known_of_the_word(seeds, cells):
    lengths = torch.tensor([len(word) for word in cells["train"]])
    share, n = torch.bincount(lengths)[3:] / len(lengths), torch.arange(3, 7)
    floor = (share * (n * math.log(8) - share.log())).sum() / (share * (n + 1)).sum()
    losses = runs("no memory", seeds, "held-out loss")
    assert floor.item() - 0.02 < min(losses) <= max(losses) < floor.item() + 0.05
    assert max(runs("no memory", seeds, "exact")) == 0


def test_without_positions_whole_words_are_luck(seeds):
    assert 0 < max(runs("no positions", seeds, "exact")) < 0.08


def test_an_untrained_model_repeats_what_it_is_given(seeds, cells):
    for seed in seeds:
        model = cells["make_model"](seed)
        _, given, _ = cells["make_pairs"](cells["held_out"][:50])
        with torch.no_grad():
            logits, target = cells["both_halves"](model, cells["held_out"][:50])
            loss = cells["F"].cross_entropy(logits.mT, target, ignore_index=cells["PAD"]).item()
        real = target != cells["PAD"]
        assert loss > 1.3 * math.log(11)
        assert (logits.argmax(dim=-1) == given)[real].double().mean() > 0.9, seed


def test_the_stored_table_is_that_of_the_training(cells):
    form, seed = "encoder and decoder", 103
    model, run, losses = trained(cells, form, seed)
    (stored,) = seed_measures("backwards", form, [seed])
    assert losses[0] == pytest.approx(stored["loss 0"], rel=1e-4)
    assert cells["exact_match"](model, run) == pytest.approx(stored["exact"], abs=0.03)
    highest = on_place(cells, model, alone=False).max().item()
    assert highest == pytest.approx(stored["highest head"], abs=0.05)


def test_the_table_has_each_form_and_no_other():
    assert {t.experiment for t in trials("backwards")} == set(FORMS)
