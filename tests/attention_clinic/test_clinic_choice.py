"""Which kinds a candidate may be, and names that nobody can mean."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from attention_clinic import diagnose, laws
from attention_clinic.planted import planted_decoder


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


class Short(torch.nn.Module):
    """A right decoder, but for texts of at most seven tokens."""

    def __init__(self):
        super().__init__()
        self.decoder = planted_decoder()

    def forward(self, token_ids):
        if token_ids.shape[1] > 7:
            raise IndexError("index out of range in self")
        return self.decoder(token_ids)


def test_a_decoder_for_short_texts_alone_is_undecided():
    diagnosis = diagnose(Short(), "decoder")
    assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("not_called",))


def test_a_leak_from_one_early_token_is_found():
    class Leaky(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.decoder = planted_decoder()

        def forward(self, token_ids):
            logits = self.decoder(token_ids).clone()
            if token_ids.shape[1] > 3:
                logits[:, 0] += token_ids[:, 3:4]
            return logits

    assert laws.causality(Leaky()) > 0
    assert diagnose(Leaky(), "decoder").verdict == "ill"


@pytest.mark.parametrize("upper_left", [False, True])
def test_a_function_that_is_causal_by_itself_is_healthy_where_queries_are_fewer_than_keys(upper_left):
    def attention(query, key, value):
        queries, keys = query.shape[-2], key.shape[-2]
        seen = torch.ones(queries, keys, dtype=torch.bool).tril(0 if upper_left else keys - queries)
        return scaled_dot_product_attention(query, key, value, attn_mask=seen)

    diagnosis = diagnose(attention)
    assert diagnosis.verdict == "healthy" and "causal_inside" in diagnosis.names
    assert ("cache_upper_left" in diagnosis.names) == upper_left
