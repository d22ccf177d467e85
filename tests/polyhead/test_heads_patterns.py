"""The share of a head's weight on given keys."""

from __future__ import annotations

import pytest
import torch
from torch.testing import assert_close

from polyhead import heads


def test_share_is_the_mean_over_the_queries_that_have_such_a_key():
    weights = torch.tensor([[[[0.1, 0.2, 0.7], [0.5, 0.25, 0.25]], [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]]])
    where = torch.tensor([[[True, False, True], [False, False, False]]])
    assert_close(heads.share(weights, where), torch.tensor([0.8, 1.0]))  # the second query does not count
    where[0, 1, 1] = True
    assert_close(heads.share(weights, where), torch.tensor([(0.8 + 0.25) / 2, 0.5]))


def test_share_counts_queries_not_sentences():
    weights = torch.rand(2, 3, 5, 7).softmax(dim=-1)
    where = torch.zeros(2, 5, 7, dtype=torch.bool)
    where[0, :, 3], where[1, 4, 3] = True, True
    rows = torch.cat([weights[0, :, :, 3], weights[1, :, 4:, 3]], dim=1)
    assert_close(heads.share(weights, where), rows.mean(dim=1))


def test_share_of_nowhere_is_refused():
    with pytest.raises(ValueError, match=r"\bwhere must be True somewhere"):
        heads.share(torch.rand(2, 3, 5, 7), torch.zeros(2, 5, 7, dtype=torch.bool))


def test_the_keys_of_each_pattern_by_hand():
    ids = torch.tensor([[1, 7, 3, 7, 7, 3, 1]])
    starts = torch.tensor([[True, False, True, False, False, True, False]])
    keys = heads.pattern_keys(ids, starts=starts)
    found = {
        name: {query: row.nonzero().flatten().tolist() for query, row in enumerate(where[0]) if row.any()}
        for name, where in keys.items()
    }
    assert found == {
        "first": {query: [0] for query in range(1, 7)},
        "self": {query: [query] for query in range(1, 7)},
        "previous": {query: [query - 1] for query in range(2, 7)},
        "duplicate": {3: [1], 4: [1, 3], 5: [2]},  # not 6: its copy is the first token
        "induction": {3: [2], 4: [2], 5: [3], 6: [1]},  # not 4: [4], the query itself
        "sentence": {3: [2], 4: [2], 6: [5]},
    }
    assert "sentence" not in heads.pattern_keys(ids)


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_no_pattern_and_is_in_none(side):
    ids = torch.randint(3, (5, 11), generator=torch.Generator().manual_seed(0))
    starts = torch.rand(5, 11, generator=torch.Generator().manual_seed(0)) < 0.3
    starts[:, 0] = True
    pad = torch.zeros(5, 7, dtype=torch.long)  # looks like a token
    order = [pad, ids] if side == "left" else [ids, pad]
    padded = torch.cat(order, dim=1)
    mask = torch.cat([torch.full_like(each, each is ids, dtype=torch.bool) for each in order], dim=1)
    padded_starts = torch.zeros_like(mask).masked_scatter(mask, starts)
    inside = slice(7, None) if side == "left" else slice(11)
    plain = heads.pattern_keys(ids, starts=starts)
    for name, where in heads.pattern_keys(padded, mask, padded_starts).items():
        assert_close(where[:, inside, inside], plain[name])
        assert where.sum() == plain[name].sum() > 0
