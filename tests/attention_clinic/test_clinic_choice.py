"""Which kinds a candidate may be, and names that nobody can mean."""

from __future__ import annotations

import pytest
import torch

from attention_clinic import diagnose


def test_a_name_to_ignore_that_no_finding_has_is_refused():
    with pytest.raises(ValueError, match=r"got 'unscale'; names like it: .*unscaled"):
        diagnose(lambda query, key, value: value, ignore=("unscaled", "unscale"))


@pytest.mark.parametrize("function", [lambda: 1, lambda *args: 1, lambda **options: 1])
def test_arguments_that_tell_nothing_are_not_called_unknown(function):
    with pytest.raises(ValueError, match="arguments do not tell which"):
        diagnose(function)


def test_a_function_without_a_signature_is_called_so():
    with pytest.raises(ValueError, match="signature is unknown"):
        diagnose(torch.tril)


@pytest.mark.parametrize("length", [1, 3, 4])
def test_a_mask_that_is_wrong_for_one_length_is_found(length):
    def mask(num_tokens):
        right = torch.ones(num_tokens, num_tokens, dtype=torch.bool).tril()
        return ~right if num_tokens == length else right

    assert not diagnose(mask)
