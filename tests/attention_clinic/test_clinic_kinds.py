"""What each kind knows: every mistake of its tables has results of its own, and forms of code are equal."""

from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_clinic as clinic
import polyhead
from attention_clinic.cases import Case
from attention_clinic.kinds import attention, functions, heads, masks, norms, positions

CASES = {
    "attention": attention.case(2, 3, 5, 7, 11),
    "masked": attention.case(2, 3, 5, 7, 11, masked=True),
    "square": attention.case(2, 5, 5, 7, 7, masked=True),
    "blind": attention.blind_case(),
    "causal": masks.causal(5),
    "cached": masks.cached(5, 3),
    "window": masks.window(9, 4),
    "padding": masks.padding((4, 1, 5), 7),
    "documents": masks.documents((0, 0, 0, 1, 1, 2, 2)),
    "split": functions.split(2, 5, 3, 7),
    "join": functions.join(2, 5, 3, 7),
    "repeat": functions.repeat(2, 3, 5, 7, 2),
    "rotary": positions.rotary((2, 3, 5, 8, 13), 14, batch=2, heads=3),
    "sinusoidal": positions.sinusoidal(7, 12),
    "alibi": positions.alibi(12),
    "rms_norm": norms.rms_norm(2, 5, 7),
    "layer_norm": norms.layer_norm(2, 5, 7),
    "latent": functions.latent(2, 3, 5, 7, 4, 6),
    "softmax": functions.softmax(2, 5, 7),
    "parallel": heads.parallel(2, 7, 3, 5),
    "listed": heads.listed(2, 5, 3, 4),
    "misfit": heads.misfit(heads.listed(2, 5, 3, 4)),
}


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_is_neither_right_nor_another_single_mistake(name):
    case = CASES[name]
    assert case.names(case.expected) == ()
    for names, mistake in case.mistakes():
        if len(names) == 1 and names != ("causal_floats",):  # of which the numbers are right
            assert case.names(mistake) == names


def test_a_result_is_equal_up_to_what_float32_leaves_of_the_largest_number():
    case = Case({}, torch.tensor([1000.0, 1.0]))
    assert case.names(torch.tensor([1000.0, 1.009])) == ()
    assert case.names(torch.tensor([1000.0, 1.05])) is None
    assert case.names(torch.tensor([1000.0, 1.0], dtype=torch.float64)) == ()
    assert case.names(torch.tensor([1000, 1])) is None
    assert case.names(torch.tensor([[1000.0, 1.0]])) == ()
    assert case.names(torch.tensor([[1000.0, 1.0]] * 2)) is None
    assert case.names(torch.tensor([math.nan, 1.0])) is None


# ---- attention in any shape


@pytest.mark.parametrize("equation", ["bqd,bkd->bqk", "bhqd,bhkd->bhqk", "qd,kd->qk"])
@pytest.mark.parametrize("scale", [1.0, None])
def test_attention_with_and_without_batch_and_heads(equation, scale):
    weights = equation[-3:] if len(equation) == 10 else equation.partition("->")[2]

    def candidate(query, key, value, mask=None):
        scores = torch.einsum(equation, query, key) * (scale or query.shape[-1] ** -0.5)
        scores = scores if mask is None else scores.masked_fill(~mask, -1e9)
        A = scores.softmax(-1) if mask is None else scores.softmax(-1) * mask
        lead = weights[:-2]
        return torch.einsum(f"{weights},{lead}kv->{lead}qv", A, value)

    diagnosis = clinic.diagnose(candidate)
    assert {bug.name for bug in diagnosis.bugs} == ({"unscaled"} if scale else set())


def test_three_mistakes_at_once_are_all_named():
    def candidate(query, key, value, mask):
        return ((query @ key.mT).softmax(-2) * mask) @ value

    assert set(clinic.diagnose(candidate).names) >= {"unscaled", "wrong_axis", "mask_after"}


def test_a_mask_that_cannot_be_left_out_is_no_mistake_and_one_that_breaks_it_is():
    def needed(query, key, value, mask):
        return F.scaled_dot_product_attention(query, key, value, mask)

    def spoilt(query, key, value, mask=None):
        return needed(query, key, value, mask) + (1.0 if mask is None else 0.0)

    assert clinic.diagnose(needed)
    assert clinic.diagnose(spoilt).names == ("differs", "nan_leak")


def test_what_has_no_name_is_told_by_how_far_it_is_off():
    def candidate(q, k, v):
        return F.scaled_dot_product_attention(q, k, v) + 0.25

    # On a busy machine the default time would end before the smallest input is found.
    (bug,) = clinic.diagnose(candidate, seconds=60.0).bugs
    assert bug.name == "differs"
    assert bug.details["difference"] == "0.25"
    assert bug.input["query"].shape == (1, 1, 4)
    assert torch.allclose(bug.actual - bug.expected, torch.tensor(0.25))


def test_half_precision_inside_is_told_and_float64_is_not():
    def candidate(query, key, value):
        return F.scaled_dot_product_attention(query.to(dtype), key.to(dtype), value.to(dtype)).float()

    dtype = torch.float64
    assert clinic.diagnose(candidate)
    dtype = torch.bfloat16
    assert clinic.diagnose(candidate).names == ("differs",)


# ---- masks in any shape


@pytest.mark.parametrize("shape", [lambda m: m, lambda m: m[:, None], lambda m: m[:, None, None]])
def test_padding_masks_with_one_for_queries_and_heads_or_without(shape):
    def right(valid_lens, max_len):
        return shape(torch.arange(max_len) < valid_lens[:, None])

    assert clinic.diagnose(right)
    assert clinic.diagnose(lambda valid_lens, max_len: ~right(valid_lens, max_len)).names == (
        "padding_inverted",
    )


def test_a_mask_named_after_the_padding_may_mark_it_and_be_as_long_as_the_longest():
    def make_pad_mask(lengths):
        return torch.arange(lengths.max()) >= lengths[:, None]

    def lengths_to_padding_mask(lengths, max_len):
        return torch.arange(max_len) >= lengths[:, None]

    def sequence_mask(lengths):
        return ~make_pad_mask(lengths)

    def unnamed(lengths, length):
        return ~(torch.arange(length) < lengths[:, None])

    for marks in (make_pad_mask, lengths_to_padding_mask):
        assert clinic.diagnose(marks) and clinic.diagnose(marks).names == ("mask_hides",)
        assert clinic.diagnose(marks, mask="keeps").names == ("padding_inverted",)
    assert clinic.diagnose(sequence_mask) and clinic.diagnose(sequence_mask).names == ()
    assert clinic.diagnose(unnamed).names == ("padding_inverted",)

    def pad_mask(lengths):
        return make_pad_mask(lengths).flip(-1)

    assert "padding_wrong_side" in clinic.diagnose(pad_mask).names


def test_documents_with_a_batch_or_without():
    def right(ids):
        return (ids[..., :, None] == ids[..., None, :]) & polyhead.causal_mask(ids.shape[-1])

    assert clinic.diagnose(right, kind="document_mask")
    assert clinic.diagnose(lambda ids: right(ids[0])[None], kind="document_mask")


# ---- modules


class Packed(nn.Module):
    """One projection for all three, head by head, as in GPT-NeoX; it cannot be copied."""

    def __init__(self, causal=False, scale=None):
        super().__init__()
        self.num_heads, self.causal, self.scale = 4, causal, scale
        self.query_key_value, self.dense = nn.Linear(20, 60), nn.Linear(20, 20)

    def __deepcopy__(self, memo):
        raise TypeError

    def forward(self, hidden_states):
        q, k, v = self.query_key_value(hidden_states).unflatten(-1, (4, 15)).transpose(1, 2).chunk(3, dim=-1)
        output = F.scaled_dot_product_attention(q, k, v, is_causal=self.causal, scale=self.scale)
        return self.dense(output.transpose(1, 2).flatten(2))


def test_packed_projections_are_read_and_a_causal_module_is_right_too():
    module = Packed()
    weight = module.dense.weight.clone()
    assert clinic.diagnose(module)
    assert module.training
    assert torch.equal(module.dense.weight, weight)
    assert clinic.diagnose(Packed(causal=True))
    assert clinic.diagnose(Packed(scale=1.0)).names == ("unscaled",)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "options",
    [
        {"rotary": polyhead.RotaryPositions(4)},
        {"qk_norm_eps": 1e-6},
        {"sinks": True},
        {"num_kv_heads": 1, "bias": False},
        {"head_dim": 6},
    ],
)
def test_the_books_module_is_compared_with_itself_where_it_has_options(options):
    class Forgets(polyhead.MultiHeadAttention):
        def forward(self, query, key=None, value=None, mask=None, **others):
            return super().forward(query, key, value, None, **others)

    assert clinic.diagnose(polyhead.MultiHeadAttention(12, 3, **options))
    named = "differs" if "sinks" in options else "mask_ignored"
    assert named in clinic.diagnose(Forgets(12, 3, **options)).names


def test_a_module_that_is_examined_stays_what_it_is():
    module = polyhead.SplitMultiHeadAttention(12, 3)
    before = {name: value.clone() for name, value in module.state_dict().items()}
    assert clinic.diagnose(module)
    assert module.training
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())


def test_without_readable_parameters_laws_are_what_is_left():
    class Mean(nn.Module):
        def __init__(self, mixed):
            super().__init__()
            self.factor, self.mixed = nn.Parameter(torch.ones(12)), mixed

        def forward(self, x):
            return self.factor * (x + x.mean(dim=(0, 1) if self.mixed else 1, keepdim=True))

    assert clinic.diagnose(Mean(False)).verdict == "undecided"
    assert clinic.diagnose(Mean(True)).names == ("batch_mixed",)


def test_weights_that_are_dropped_out_are_a_note_and_so_is_nan():
    diagnosis = clinic.diagnose(nn.MultiheadAttention(12, 3, dropout=0.3, batch_first=True))
    assert diagnosis
    assert "weights_after_dropout" in diagnosis.names
    diagnosis = clinic.diagnose(nn.MultiheadAttention(12, 3))
    assert diagnosis
    assert "sequence_first" in diagnosis.names
