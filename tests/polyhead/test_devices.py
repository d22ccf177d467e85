"""What a computation makes is made where its input is, not on the default device, which here is "meta"."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.testing import assert_close

from polyhead import (
    KVCache,
    MultiHeadAttention,
    RotaryPositions,
    accept_drafts,
    greedy_decode,
    next_token_probs,
    padding_mask,
)
from polyhead.cache import positions_and_mask
from polyhead.heads.patterns import pattern_keys
from polyhead.positions import Llama3Scaling
from tests.polyhead.models import decoder_only
from tests.polyhead.prompts import BATCH, END, LENGTH, VOCAB

MODEL = decoder_only(VOCAB)
IDS = torch.arange(BATCH * LENGTH).view(BATCH, LENGTH) % VOCAB
MASK = padding_mask(torch.tensor([2, 5, 3]), LENGTH)[:, 0]
ROTATED = MultiHeadAttention(12, 3, rotary=RotaryPositions(4)).eval()
STATES = torch.linspace(-1, 1, BATCH * LENGTH * 12).view(BATCH, LENGTH, 12)
PROBS = torch.linspace(1, 2, 3 * VOCAB).view(3, VOCAB).softmax(dim=-1)
CALLS: dict[str, Callable[[], Any]] = {
    "greedy": lambda: greedy_decode(MODEL, IDS, end_id=END, max_new_tokens=3),
    "drafts": lambda: accept_drafts(PROBS, PROBS[:2], IDS[0, :2]),
    "the best": lambda: next_token_probs(PROBS, top_k=2, top_p=0.9),
    "rotations": lambda: RotaryPositions(12, scaling=Llama3Scaling())(STATES),
    "heads with rotations": lambda: ROTATED(STATES, STATES, STATES),
    "places": lambda: positions_and_mask(IDS, None)[0],
    "places in a cache": lambda: KVCache().positions_with(LENGTH, IDS),
    "patterns": lambda: pattern_keys(IDS, None, MASK),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@torch.no_grad()
def test_it_is_computed_where_the_input_is(call):
    torch.manual_seed(0)
    expected = call()
    torch.manual_seed(0)
    with torch.device("meta"):
        assert_close(call(), expected)
