"""Speculative decoding: each token has the model's distribution, whatever drafted it."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from polyhead import accept_drafts

P, Q = torch.tensor([0.5, 0.375, 0.125]).double(), torch.tensor([0.25, 0.25, 0.5]).double()


def drawn(p, q, seed, draws=400):
    """The first token of each of many drafts of two tokens, as shares, and the mean number of tokens kept."""
    generator = torch.Generator().manual_seed(seed)
    drafts = torch.multinomial(q, 2 * draws, replacement=True, generator=generator).view(draws, 2)
    kept = [accept_drafts(p.expand(3, -1), q.expand(2, -1), each, generator) for each in drafts]
    firsts = torch.stack([each[0] for each in kept])
    return firsts.bincount(minlength=len(p)) / draws, sum(map(len, kept)) / draws


@pytest.mark.parametrize("q", [Q, P, torch.tensor([0.0, 0.0, 1.0]).double()], ids=str)
def test_tokens_have_the_models_distribution(q):
    shares, kept = drawn(P, q, seed=0, draws=4000)
    assert_close(shares.double(), P, atol=0.03, rtol=0)
    rate = torch.minimum(P, q).sum().item()
    assert kept == pytest.approx(1 + rate + rate**2, abs=0.06)


def test_what_is_rejected_is_drawn_from_what_is_missing():
    drafts = torch.tensor([2, 2, 2])
    p, q = torch.tensor([0.25, 0.75, 0.0]), torch.tensor([0.25, 0.0, 0.75])
    for seed in range(20):
        generator = torch.Generator().manual_seed(seed)
        assert accept_drafts(p.expand(4, -1), q.expand(3, -1), drafts, generator).tolist() == [1]


def test_without_drafts_it_is_a_draw():
    assert accept_drafts(torch.eye(3)[1:2], torch.empty(0, 3), torch.empty(0, dtype=torch.long)).tolist() == [
        1
    ]


def test_equal_distributions_that_rounding_parts():
    p = torch.tensor([0.5, 0.5])
    q = p + torch.tensor([1e-7, 1e-7])  # everywhere above p: nothing is missing
    for seed in range(50):
        generator = torch.Generator().manual_seed(seed)
        assert len(accept_drafts(p.expand(2, -1), q[None], torch.tensor([0]), generator)) in (1, 2)
    assert len(accept_drafts(p.expand(2, -1), q[None] * 1e9, torch.tensor([0]))) == 1


def test_a_row_too_few():
    with pytest.raises(ValueError, match=r"\bprobs must have 2 rows, got 1"):
        accept_drafts(P[None], Q[None], torch.tensor([0]))


def test_a_generator_decides_alone():
    even, certain = torch.full((3, 97), 1 / 97), torch.eye(97)[:2]
    for drafts in ([5, 5], [0, 1]):  # rejected at once; perhaps accepted
        found = [
            accept_drafts(even, certain, torch.tensor(drafts), torch.Generator().manual_seed(3)).tolist()
            for _ in range(3)
        ]
        assert found[0] == found[1] == found[2]
