"""Modes of submodules: whatever evaluates a model leaves each of them in the mode that it had."""

from __future__ import annotations

import contextlib

import pytest
import torch

import attention_clinic as clinic
from attention_clinic import laws
from polyhead import DecoderOnly, beam_search, greedy_decode, sample
from polyhead_course.figures import live
from tests.polyhead.models import decoder_only

IDS = torch.tensor([[1, 3, 4, 2, 0]])
OPTIONS = {"end_id": 10, "max_new_tokens": 2}
EVALUATE = {
    "greedy": lambda model: greedy_decode(model, IDS, **OPTIONS),
    "beams": lambda model: beam_search(model, IDS, **OPTIONS),
    "sample": lambda model: sample(model, IDS, **OPTIONS),
    "law": laws.twice,
    "diagnose": lambda model: clinic.diagnose(model),
    "live figure": lambda model: live.decoding(model, IDS, list("abcdef"), 3),
}


class Broken(DecoderOnly):
    def forward(self, *args, **kwargs):
        raise RuntimeError

    attention_weights = forward


@pytest.mark.parametrize("name", EVALUATE)
@pytest.mark.parametrize("fails", [False, True])
def test_each_submodule_keeps_its_mode(name, fails):
    model = decoder_only(11, dropout=0.5).float()
    if fails:
        model.__class__ = Broken
    model.train()
    model.decoder.layers[0].eval()
    modes = [module.training for module in model.modules()]
    raised = fails and name != "diagnose"  # which tells what is raised
    with pytest.raises(RuntimeError) if raised else contextlib.nullcontext():
        EVALUATE[name](model)
    assert [module.training for module in model.modules()] == modes
