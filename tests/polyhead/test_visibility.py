import ast
import inspect
import itertools
import textwrap

import pytest
import torch

import polyhead
from polyhead.visibility import Visibility

BATCH, HEADS = 2, 3
MASKS = {
    "none": lambda queries, keys: None,
    "keys": lambda queries, keys: torch.arange(keys) % 3 > 0,
    "rows": lambda queries, keys: (torch.arange(BATCH * queries * keys) % 5 > 1).view(BATCH, queries, keys),
    "heads": lambda queries, keys: (torch.arange(HEADS * keys) % 4 > 0).view(1, HEADS, 1, keys),
}
POSITIONS = {
    "counted": lambda keys: None,
    "holes": lambda keys: 2 * torch.arange(keys),
    "two rows": lambda keys: torch.stack((torch.arange(keys), 3 * torch.arange(keys))),
}


def sees(mask, is_causal, window, positions, num_queries, num_keys):
    """The definition, one entry after another."""
    seen = torch.ones(BATCH, HEADS, num_queries, num_keys, dtype=torch.bool)
    mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
    positions = torch.arange(num_keys) if positions is None else positions
    positions = positions.expand(BATCH, num_keys)
    for b, h, i, j in itertools.product(*map(range, seen.shape)):
        last = i + num_keys - num_queries
        seen[b, h, i, j] = (
            (mask is None or bool(mask.expand(seen.shape)[b, h, i, j]))
            and (not is_causal or j <= last)
            and (window is None or int(positions[b, last] - positions[b, j]) < window)
        )
    return seen


@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (1, 5), (2, 5), (5, 5)])
@pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS.keys())
@pytest.mark.parametrize("positions", POSITIONS.values(), ids=POSITIONS.keys())
@pytest.mark.parametrize("is_causal", [False, True], ids=["both ways", "causal"])
def test_allows_what_all_allow(queries, keys, mask, positions, is_causal):
    mask, positions = mask(queries, keys), positions(keys)
    for window, need_mask in itertools.product((None, 2, 7) if is_causal else (None,), (False, True)):
        shape = (BATCH, HEADS, queries, keys)
        found = Visibility.combine(shape, mask, is_causal, window, positions, need_mask=need_mask)
        assert found.mask is None or (not found.is_causal and found.mask.ndim == 4)
        assert not (found.is_causal and (need_mask or queries != keys))
        seen = torch.ones(queries, keys).tril().bool() if found.is_causal else torch.tensor(True)
        seen = seen if found.mask is None else found.mask
        assert torch.equal(seen.expand(shape), sees(mask, is_causal, window, positions, queries, keys))


def test_plain_causality_needs_no_matrix():
    assert Visibility.combine((7, 5, 3, 3), None, is_causal=True) == (None, True)
    assert Visibility.combine((7, 5, 3, 3), None, is_causal=True, window=3) == (None, True)
    assert Visibility.combine((7, 5, 1, 3), None, is_causal=True) == (None, False)


MODULES = [each for each in vars(polyhead).values() if inspect.isclass(each) and hasattr(each, "forward")]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_a_forward_fits_in_twenty_lines(module):
    (function,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(module.forward)))).body
    _docstring, first, *_ = function.body
    assert function.end_lineno - first.lineno < 20
