"""The committed model that writes words backwards."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from torch.testing import assert_close

from polyhead import greedy_decode
from polyhead.training import load
from polyhead_course.models.backwards import (
    CHECKPOINT,
    END,
    PAD,
    RECIPE,
    START,
    load_model,
    make_pairs,
    make_words,
    read,
    spell,
    train_backwards,
)


def test_words_are_different_and_500_of_them_held_out():
    training, held_out = make_words()
    words = {spell(word).rstrip("_") for word in torch.cat((training, held_out))}
    assert len(words) == len(training) + len(held_out)
    assert (len(held_out), spell(held_out[-1])) == (500, "chafed")
    assert {len(word) for word in words} == {3, 4, 5, 6}
    assert set("".join(words)) == set("abcdefgh")


def test_a_pair_is_a_word_and_the_same_backwards():
    source, given, target = ([spell(row) for row in ids] for ids in make_pairs(read("bad", "chafed", "a")))
    assert source == ["bad.___", "chafed.", "a._____"]
    assert given == [">dab.__", ">defahc", ">a.____"]
    assert target == ["dab.___", "defahc.", "a._____"]


@pytest.mark.parametrize("word", ["", "deafbaf", "xyz", "a.b"])
def test_other_words_are_refused(word):
    with pytest.raises(ValueError, match="a word must have 1 to 6 of the letters abcdefgh, got"):
        read("bad", word)


def test_the_checkpoint_writes_every_held_out_word_backwards():
    assert CHECKPOINT.stat().st_size < 200_000
    facts = load(CHECKPOINT).facts
    expected = "python -m polyhead.backwards train --out src/polyhead/checkpoints/backwards.safetensors"
    assert facts["command"] == expected
    model, (_, held_out) = load_model(), make_words()
    source, _, target = make_pairs(held_out)
    written = greedy_decode(
        model, torch.full((len(held_out), 1), START), end_id=END, max_new_tokens=7,
        source_ids=source, source_mask=source != PAD,
    )  # fmt: skip
    right = (written == target) | (target == PAD)
    assert right.all(dim=1).double().mean() == 1.0


def test_a_short_run_begins_as_the_checkpoints_did_and_leaves_only_the_checkpoint(tmp_path, capsys):
    path = tmp_path / "short.safetensors"
    train_backwards(path, "a test", replace(RECIPE, steps=170))
    assert list(tmp_path.iterdir()) == [path]
    assert "step 170/170" in capsys.readouterr().err
    facts = load(path).facts
    assert facts["first_losses"][19] < facts["first_losses"][0] - 1
    assert_close(facts["first_losses"], load(CHECKPOINT).facts["first_losses"], rtol=0.02, atol=0.0)
    assert load_model(path).state_dict().keys() == load_model().state_dict().keys()
