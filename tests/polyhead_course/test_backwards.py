"""The committed model that writes words backwards."""

from __future__ import annotations

import pytest
import torch

from polyhead import greedy_decode
from polyhead.training import load
from polyhead_course.models.backwards import (
    CHECKPOINT,
    END,
    PAD,
    START,
    load_model,
    make_pairs,
    make_words,
    read,
    spell,
)


def test_words_are_different_and_500_of_them_held_out():
    training, held_out = make_words()
    words = {spell(word).rstrip("_") for word in torch.cat((training, held_out))}
    assert len(words) == len(training) + len(held_out)
    assert (len(held_out), spell(held_out[-1])) == (500, "chafed")
    assert {len(word) for word in words} == {3, 4, 5, 6}
    assert set("".join(words)) == set("abcdefgh")


def test_a_pair_is_a_word_and_the_same_backwards():
    source, shifted, target = ([spell(row) for row in ids] for ids in make_pairs(read("bad", "chafed", "a")))
    assert source == ["bad.___", "chafed.", "a._____"]
    assert shifted == [">dab.__", ">defahc", ">a.____"]
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
