"""The tables of SmolLM2's heads: complete, and some of their rows computed again."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from experiments import smollm2 as experiment
from polyhead.heads import Head, ablate, all_heads, replace_outputs
from polyhead.pretrained import SmolLM2, smollm2
from polyhead_course.models.smollm2.atlas import atlas, copying, kind_of, sinks
from polyhead_course.models.smollm2.texts import texts
from tests.polyhead.head_models import IDS, MASK, model

HEADS = [Head("decoder", layer, head) for layer in range(30) for head in range(9)]


@pytest.fixture(scope="module")
def smol() -> SmolLM2:
    return smollm2()


def off_in(made, way, constant):
    def off(head):
        return ablate(made, [head]) if way == "zero" else replace_outputs(made, {head: constant})

    return off


@pytest.mark.parametrize("way", ["zero", "mean"])
@torch.no_grad()
def test_a_rise_of_the_loss_is_that_of_the_whole_model(way):
    made, off = (made := model("decoder only")), off_in(made, way, torch.tensor([2.0, 3.0, 5.0]))
    batch = experiment.Batch(IDS, MASK, MASK & (torch.arange(7) > 0))

    def loss():
        logits = made(IDS, MASK).log_softmax(dim=-1)
        rows = [(0, number) for number in range(1, 7)] + [(1, number) for number in range(1, 4)]
        return -sum(logits[row, number - 1, IDS[row, number]] for row, number in rows).item() / 9

    before = loss()
    for head, rise in experiment.loss_rises(made, batch, all_heads(made)[::4], off).items():
        with off(head):
            assert rise == pytest.approx(loss() - before, abs=1e-9)
        assert abs(rise) > 1e-6


def test_the_atlas_has_a_row_for_each_head():
    rows = atlas()
    assert [row.head for row in rows] == HEADS
    assert [row.kind for row in rows] == [kind_of(row.shares) for row in rows]
    assert all(0 <= share <= 1 for row in rows for share in row.shares.values())
    assert all(list(row.losses) == ["zero", "mean", "copying"] for row in rows)


@torch.inference_mode()
def test_shares_of_the_atlas_computed_again(smol):
    natural, drawn = ["first", "self", "previous", "sentence"], ["duplicate", "induction"]
    found = experiment.shares(smol.model, experiment.text_batch(smol), natural)
    one_draw = experiment.shares(smol.model, experiment.random_batch(0), drawn)
    for row in atlas():
        place = row.head.layer, row.head.head
        for name in natural:
            assert found[name][place].item() == pytest.approx(row.shares[name], abs=1.5e-3), row.head
        for name in drawn:  # the table has the mean over ten draws
            assert one_draw[name][place].item() == pytest.approx(row.shares[name], abs=0.1), row.head


def test_losses_of_the_atlas_computed_again(smol):
    rows, heads = {row.head: row for row in atlas()}, [HEADS[27 * 9 + 4], HEADS[29 * 9 + 1]]
    losses = experiment.measure_losses(smol, heads)
    for head in heads:
        rises = {way: rise[head] for way, rise in losses.items()}
        assert rises == pytest.approx(rows[head].losses, abs=1.5e-3), head


@torch.no_grad()
def test_a_trial_of_copying_computed_again(smol):
    trials, batch = copying(), experiment.random_batch(3)
    best = next(each.off for each in trials if each.experiment == "induction" and len(each.off) == 8)
    off = best[:4]
    measures = next(trial.measures for trial in trials if trial.measures["seed"] == 3 and trial.off == off)
    inputs = experiment.layer_inputs(smol.model, batch)
    again = experiment.copying_measures(smol.model, batch, inputs, best, off)
    assert {"seed": 3, **again} == pytest.approx(measures, abs=2e-3)


def test_the_trials_of_copying_are_those_of_the_experiment(smol):
    trials = copying()
    counts = Counter((trial.experiment, trial.measures["seed"]) for trial in trials)
    per_seed = {"none": 1, "induction": 4, "previous": 4}
    controls = {f"{name} control": 5 * count for name, count in per_seed.items() if name != "none"}
    assert counts == {(name, seed): n for name, n in (per_seed | controls).items() for seed in range(10)}
    for name in ("induction", "previous"):
        own = {head for trial in trials if trial.experiment == name for head in trial.off}
        others = {head for trial in trials if trial.experiment == f"{name} control" for head in trial.off}
        assert len(own) == 8 and not own & others
        chosen = max((trial.off for trial in trials if trial.experiment == name), key=len)
        expected = list(experiment.with_controls(smol.model, name, chosen))
        assert expected == [
            (trial.experiment, trial.off)
            for trial in trials
            if trial.experiment.startswith(name) and trial.measures["seed"] == 0
        ]


def test_the_sinks_of_each_text_and_what_their_heads_are_for():
    trials = sinks()
    assert [trial.experiment for trial in trials[:10]] == list(texts())
    assert all(0 <= trial.measures["above"] <= 270 for trial in trials[:10])
    removals = [(trial.experiment, trial.off) for trial in trials[10:]]
    assert removals == list(experiment.sink_removals())


def test_sentence_starts_of_the_texts(smol):
    batch = experiment.text_batch(smol)
    assert batch.mask.sum().item() == sum(len(smol.tokenizer.encode(text).ids) for text in texts().values())
    assert batch.starts[:, 0].all() and not (batch.starts & ~batch.mask).any()
    row = dict(zip(texts(), range(10), strict=True))["dialogue"]
    starts = [smol.tokenizer.id_to_token(i) for i in batch.ids[row][batch.starts[row]].tolist()]
    assert starts == ["Anna", "ĠBen", "ĠAnna", "ĠBen", "ĠAnna", "ĠBen", "ĠAnna"]


def test_the_atlas_is_written_as_it_is_committed(tmp_path):
    experiment.write_atlas(tmp_path / "atlas.csv", atlas())
    assert (tmp_path / "atlas.csv").read_bytes() == (experiment.FOLDER / "atlas.csv").read_bytes()
