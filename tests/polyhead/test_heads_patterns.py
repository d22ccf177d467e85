"""The share of a head's weight on given keys, and the distance between heads."""

from __future__ import annotations

import pytest
import torch
from scipy.spatial.distance import jensenshannon
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
    with pytest.raises(ValueError, match="where must be True somewhere"):
        heads.share(torch.rand(2, 3, 5, 7), torch.zeros(2, 5, 7, dtype=torch.bool))


def test_distance_is_that_of_scipy():
    generator = torch.Generator().manual_seed(0)
    weights = torch.rand(2, 3, 5, 7, generator=generator, dtype=torch.float64).pow(6)
    others = torch.rand(2, 2, 5, 7, generator=generator, dtype=torch.float64)
    weights[..., 2] = 0.0
    weights, others = (each / each.sum(dim=-1, keepdim=True) for each in (weights, others))
    queries = torch.tensor([[True, True, False, False, True], [False, True, False, False, False]])
    expected = [
        sum(
            jensenshannon(weights[b, i, q], others[b, j, q], base=2)
            for b, q in queries.nonzero().tolist()
        ) / 4
        for i in range(3)
        for j in range(2)
    ]  # fmt: skip
    got = heads.distance(weights, others, queries)
    assert_close(got, torch.tensor(expected).double().view(3, 2), rtol=0, atol=1e-12)


def test_distance_is_0_of_equal_rows_and_1_of_rows_without_a_common_key():
    rows = torch.eye(3)[None, None].expand(1, 2, 3, 3)
    queries = torch.ones(1, 3, dtype=torch.bool)
    assert_close(heads.distance(rows, rows, queries), torch.zeros(2, 2))
    assert_close(heads.distance(rows, rows.roll(1, dims=-1), queries), torch.ones(2, 2))


def test_distance_of_no_query_is_refused():
    rows = torch.eye(3)[None, None]
    with pytest.raises(ValueError, match="queries must be True somewhere"):
        heads.distance(rows, rows, torch.zeros(1, 3, dtype=torch.bool))
