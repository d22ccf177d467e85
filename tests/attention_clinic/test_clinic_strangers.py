"""Code in the conventions of others: taken as it is, and ill only where it is wrong."""

from __future__ import annotations

import copy
import functools
import math
from types import SimpleNamespace

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_clinic as clinic
from polyhead import RotaryPositions


def plain(q, k, v, hidden=None, scale=None):
    """Attention with what is added to the scores, or hidden."""
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    if hidden is not None:
        scores = scores.masked_fill(hidden, -1e9) if hidden.dtype == torch.bool else scores + hidden
    return scores.softmax(-1) @ v


def future(x):
    return torch.ones(x.shape[-2], x.shape[-2], dtype=torch.bool).triu(1)


# ---- functions: each takes `scale`, so that it can be wrong


def hides(q, k, v, attn_mask=None, *, scale):
    return plain(q, k, v, attn_mask, scale)


def needs_mask(q, k, v, mask, *, scale):
    return plain(q, k, v, mask == 0, scale)


def added(query, key, value, attn_mask=None, *, scale):
    return plain(query, key, value, None if attn_mask is None else attn_mask.float(), scale)


def integers(query, key, value, attention_mask=None, *, scale):
    return plain(query, key, value, None if attention_mask is None else (1 - attention_mask) * -1e9, scale)


def causal(Q, K, V, *, scale):
    return plain(Q, K, V, future(Q), scale)


def with_size(q, k, v, d_k, mask=None, *, scale):
    return plain(q, k, v, None if mask is None else ~mask, d_k**-0.5 if scale is None else scale)


def squares_alone(q, k, v, *, scale):
    assert q.shape == k.shape == v.shape
    return plain(q, k, v, None, scale)


def weights_first(q, k, v, *, scale):
    weights = (q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)).softmax(-1)
    return weights, weights @ v


def named(q, k, v, *, scale):
    weights, output = weights_first(q, k, v, scale=scale)
    return {"weights": weights, "output": output}


def lens(q, k, v, valid_lens=None, *, scale):
    hidden = None if valid_lens is None else torch.arange(k.shape[-2]) >= valid_lens[:, None, None]
    return plain(q, k, v, hidden, scale)


def padded(q, k, v, key_padding_mask=None, *, scale):
    return plain(q, k, v, None if key_padding_mask is None else key_padding_mask[:, None], scale)


def optional_causality(q, k, v, is_causal=False, *, scale):
    return plain(q, k, v, future(q) if is_causal else None, scale)


def near(Q, K, V, window_size, *, scale):
    places = torch.arange(Q.shape[-2])
    return plain(Q, K, V, (places[:, None] - places).abs() > window_size, scale)


FUNCTIONS = [
    hides, needs_mask, added, integers, causal, with_size, squares_alone, weights_first, named, lens, padded,
    optional_causality, near,
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda each: each.__name__)
def test_functions_are_taken_as_they_are_and_named_where_they_are_wrong(function):
    diagnosis = clinic.diagnose(functools.partial(function, scale=None))
    assert diagnosis, str(diagnosis)
    assert diagnosis.kind == "attention"
    wrong = clinic.diagnose(functools.partial(function, scale=1.0))
    assert [bug.name for bug in wrong.bugs] == ["unscaled"], str(wrong)


def test_what_is_a_convention_is_told_and_blamed_only_if_the_owner_means_another():
    for function, note, mistake in (
        (hides, "mask_hides", "mask_inverted"),
        (added, "mask_additive", "mask_added"),
    ):
        candidate = functools.partial(function, scale=None)
        assert note in clinic.diagnose(candidate).names
        assert mistake in clinic.diagnose(candidate, mask="keeps").names
        assert clinic.diagnose(candidate, mask=note.removeprefix("mask_"))
    candidate = functools.partial(causal, scale=None)
    assert "causal_inside" in clinic.diagnose(candidate).names
    assert clinic.diagnose(candidate, causal=True).notes == ()


@pytest.mark.parametrize(
    ("function", "bug"),
    [
        (lambda q, k, v, valid_lens=None: plain(q, k, v), "mask_ignored"),
        (lambda q, k, v, key_padding_mask=None: plain(q, k, v), "mask_ignored"),
        (lambda q, k, v, is_causal=False: plain(q, k, v), "causal_open"),
        (lambda q, k, v, window_size: plain(q, k, v), "window_ignored"),
        (lambda q, k, v: plain(q, k, v, future(q).T), "causal_upper"),
        (lambda q, k, v: plain(q, k, v, future(q).triu(2)), "sees_ahead"),
        (lambda q, k, v: plain(q, k, v) * torch.nan, "all_nan"),
        (lambda q, k, v, mask: plain(q, k, v, (1 - mask.float()) * -1e4), "mask_finite"),
        (lambda q, k, v: plain(q, k, v, scale=1.0) / q.shape[-1] ** 0.5, "scaled_after"),
    ],
)
def test_what_an_argument_promises_must_hold(function, bug):
    assert bug in {each.name for each in clinic.diagnose(function).bugs}


# ---- modules


class Heads(nn.Module):
    """Three projections, and methods for what others do in between."""

    turn = None

    def __init__(self, width=12, heads=3, scale=None, causal=False):
        super().__init__()
        self.num_heads, self.scale, self.causal = heads, scale, causal
        self.make(width)

    def make(self, width):
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))

    def projected(self, x):
        return self.q(x), self.k(x), self.v(x)

    def split(self, x):
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def attend(self, x):
        q, k, v = map(self.split, self.projected(x))
        if self.turn is not None:
            q, k = self.turn(q), self.turn(k)
        return plain(q, k, v, future(q) if self.causal else None, self.scale).transpose(1, 2).flatten(2)

    def forward(self, x):
        return self.o(self.attend(x))


class NoOutput(Heads):
    def make(self, width):
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))

    def forward(self, x):
        return self.attend(x)


class KeysAndValues(Heads):
    def make(self, width):
        self.to_q, self.to_kv, self.to_out = (nn.Linear(width, size) for size in (width, 2 * width, width))

    def projected(self, x):
        return self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)

    def o(self, x):
        return self.to_out(x)


class Matrices(Heads):
    def make(self, width):
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Parameter(torch.randn(width, width)))

    def projected(self, x):
        return x @ self.W_q, x @ self.W_k, x @ self.W_v

    def o(self, x):
        return x @ self.W_o


class TurnedMatrices(Matrices):
    def projected(self, x):
        return F.linear(x, self.W_q), F.linear(x, self.W_k), F.linear(x, self.W_v)

    def o(self, x):
        return F.linear(x, self.W_o)


class Lazy(Heads):
    def make(self, width):
        self.q, self.k, self.v, self.o = (nn.LazyLinear(width) for _ in range(4))


class OneForAllHeads(Heads):
    def make(self, width):
        self.q, self.k, self.v = (
            nn.Linear(width // self.num_heads, width // self.num_heads) for _ in range(3)
        )
        self.o = nn.Linear(width, width)

    def projected(self, x):
        parts = x.unflatten(-1, (self.num_heads, -1))
        return self.q(parts).flatten(2), self.k(parts).flatten(2), self.v(parts).flatten(2)


class ListOfHeads(nn.Module):
    def __init__(self, width=12, heads=3, scale=None, causal=False):
        super().__init__()
        self.heads = nn.ModuleList(NoOutput(width, 1, scale, causal) for _ in range(heads))
        for head in self.heads:
            head.q, head.k, head.v = (nn.Linear(width, width // heads) for _ in range(3))

    def forward(self, x):
        return torch.cat([head(x) for head in self.heads], dim=-1)


class Residual(Heads):
    def make(self, width):
        super().make(width)
        self.layer_norm, self.dropout = nn.LayerNorm(width), nn.Dropout(0.1)

    def forward(self, x):
        return self.layer_norm(x + self.dropout(self.o(self.attend(x))))


class NormFirst(Residual):
    def forward(self, x):
        return x + super(Residual, self).forward(self.layer_norm(x))


class Halves(Heads):
    turn = RotaryPositions(4, pairs="halves")


class Neighbours(Heads):
    turn = RotaryPositions(4)


class Normed(Neighbours):
    def make(self, width):
        super().make(width)
        self.q_norm, self.k_norm = nn.RMSNorm(4), nn.RMSNorm(4)

    def attend(self, x):
        q, k, v = map(self.split, self.projected(x))
        q, k = self.turn(self.q_norm(q)), self.turn(self.k_norm(k))
        return plain(q, k, v, future(q) if self.causal else None, self.scale).transpose(1, 2).flatten(2)


class GivenAngles(Heads):
    def forward(self, x, cos, sin):
        def turn(q):
            first, second = q.chunk(2, dim=-1)
            return q * cos[: q.shape[2]] + torch.cat((-second, first), dim=-1) * sin[: q.shape[2]]

        self.turn = turn
        return super().forward(x)


class SequenceFirst(Heads):
    def forward(self, x):
        return super().forward(x.transpose(0, 1)).transpose(0, 1)


class OneSequence(Heads):
    def forward(self, x):
        assert x.ndim == 2
        return super().forward(x[None])[0]


class Half(Heads):
    def make(self, width):
        super().make(width)
        self.bfloat16()


MODULES = [
    NoOutput, KeysAndValues, Matrices, TurnedMatrices, Lazy, OneForAllHeads, ListOfHeads, Residual, NormFirst,
    Halves, Neighbours, Normed, GivenAngles, SequenceFirst, OneSequence, Half,
]  # fmt: skip


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("module", MODULES, ids=lambda each: each.__name__)
@pytest.mark.usefixtures("unchecked")
def test_modules_are_read_and_named_where_they_are_wrong(module, causal):
    diagnosis = clinic.diagnose(module(causal=causal))
    assert diagnosis, str(diagnosis)
    assert "numbers" in diagnosis.examined
    assert ("causal_inside" in diagnosis.names) == causal
    wrong = clinic.diagnose(module(causal=causal, scale=1.0))
    assert [bug.name for bug in wrong.bugs] == ["unscaled"], str(wrong)


def test_two_inputs_and_an_output_that_comes_second():
    class Cross(Heads):
        def forward(self, x_q, x_kv):
            q, k, v = self.split(self.q(x_q)), self.split(self.k(x_kv)), self.split(self.v(x_kv))
            return None, self.o(plain(q, k, v, scale=self.scale).transpose(1, 2).flatten(2))

    assert clinic.diagnose(Cross())
    assert clinic.diagnose(Cross(scale=1.0)).names == ("unscaled",)


def test_classes_are_made_from_a_configuration_or_from_the_usual_arguments():
    class FromConfig(Heads):
        def __init__(self, config):
            super().__init__(config.n_embd, config.n_head, causal=config.block_size > 8)

    class FromSizes(Heads):
        def __init__(self, d_in, d_out, context_length, dropout, num_heads, qkv_bias=False):
            super().__init__(d_in, num_heads)

    for made in (
        FromConfig,
        FromSizes,
        lambda cfg: FromConfig(SimpleNamespace(**{n: cfg[n] for n in NAMES})),
    ):
        assert clinic.diagnose(made, kind="multi_head"), made


NAMES = ("n_embd", "n_head", "block_size")


@pytest.mark.parametrize("options", [{"kdim": 8, "vdim": 8}, {"device": "meta"}, {"dtype": torch.float64}])
def test_pytorchs_own_module_in_all_its_forms(options):
    assert clinic.diagnose(nn.MultiheadAttention(12, 3, batch_first=True, **options))


OTHERS = [
    nn.Linear(12, 12), nn.Sequential(nn.Linear(12, 24), nn.Linear(24, 12)), nn.LayerNorm(12), nn.Identity(),
    nn.Sequential(*(nn.Linear(12, 12) for _ in range(4))), nn.GRU(12, 12, batch_first=True),
    nn.TransformerEncoderLayer(12, 3, 24, batch_first=True),
]  # fmt: skip


@pytest.mark.parametrize("other", OTHERS, ids=lambda each: type(each).__name__)
def test_what_cannot_be_read_as_attention_is_neither_healthy_nor_ill(other):
    diagnosis = clinic.diagnose(other, kind="multi_head")
    assert (diagnosis.verdict, bool(diagnosis)) == ("undecided", False)
    assert str(diagnosis).startswith("? ")


def test_a_module_that_wants_what_nobody_knows_was_not_called():
    class Wants(Heads):
        def forward(self, x, flux):
            return super().forward(x) * flux["capacitor"]

    diagnosis = clinic.diagnose(Wants())
    assert diagnosis.verdict == "undecided"
    assert diagnosis.tried
    assert "Tried: forward(" in str(diagnosis)


def test_the_owner_says_what_is_meant():
    assert clinic.diagnose(Heads(), causal=True).names == ("causal_open",)
    assert clinic.diagnose(Heads(causal=True), causal=True).names == ()
    assert clinic.diagnose(Heads(), residual=True).names == ("residual_missing",)
    assert "residual_inside" in clinic.diagnose(NormFirst()).names
    assert clinic.diagnose(Heads(scale=1.0), ignore=["unscaled"])
    with pytest.raises(ValueError, match="mask must be one of keeps, hides, additive, got 'inverted'"):
        clinic.diagnose(Heads(), mask="inverted")


@pytest.mark.usefixtures("unchecked")
def test_the_owner_says_how_rotary_positions_pair_numbers():
    assert clinic.diagnose(Halves(), rope="halves")
    assert clinic.diagnose(Halves(), rope="neighbours").names == ("rotary_layout",)


@pytest.mark.parametrize(
    ("pattern", "bug"),
    [
        (lambda x: future(x) & False, "causal_open"),
        (lambda x: future(x).T, "causal_upper"),
        (lambda x: ~future(x), "causal_inverted"),
        (lambda x: future(x).triu(2), "sees_ahead"),
        (lambda x: torch.ones_like(future(x)).triu(0), "causal_strict"),
    ],
)
def test_a_triangle_says_that_a_module_is_meant_to_be_causal(pattern, bug):
    class Holds(Heads):
        def make(self, width):
            super().make(width)
            self.register_buffer("bias", torch.ones(1, 1, 16, 16).tril())

        def attend(self, x):
            q, k, v = map(self.split, self.projected(x))
            return plain(q, k, v, pattern(q)).transpose(1, 2).flatten(2)

    assert [each.name for each in clinic.diagnose(Holds()).bugs] == [bug]


def test_mistakes_behind_a_residual_and_with_causality():
    class Views(Residual):
        def split(self, x):
            return x.reshape(x.shape[0], self.num_heads, x.shape[1], -1)

    class WideRoot(NormFirst):
        def attend(self, x):
            copied = copy.copy(self)
            copied.scale = 1 / math.sqrt(x.shape[-1])
            return Heads.attend(copied, x)

    assert "view" in {bug.name for bug in clinic.diagnose(Views()).bugs}
    assert [bug.name for bug in clinic.diagnose(WideRoot(causal=True)).bugs] == ["model_root"]


def test_minus_infinity_among_the_weights_is_a_mask_after_the_softmax():
    class Late(Heads):
        def forward(self, x, mask=None):
            q, k, v = map(self.split, self.projected(x))
            weights = (q @ k.mT / 2.0).softmax(-1)
            if mask is not None:
                weights = weights.masked_fill(~mask[:, None], -math.inf)
            return self.o((weights @ v).transpose(1, 2).flatten(2))

    assert [bug.name for bug in clinic.diagnose(Late()).bugs] == ["mask_after"]


# ---- layouts of functions


def tokens_before_heads(q, k, v, mask=None):
    q, k, v = (each.transpose(1, 2) for each in (q, k, v))
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e9)
    return (scores.softmax(-1) @ v).transpose(1, 2)


def by_einsum(q, k, v):
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / q.shape[-1] ** 0.5
    return torch.einsum("bhqk,bkhd->bqhd", scores.softmax(-1), v)


def test_heads_may_come_after_tokens():
    assert clinic.diagnose(by_einsum)
    assert clinic.diagnose(tokens_before_heads)
    assert clinic.diagnose(lambda q, k, v: by_einsum(q * q.shape[-1] ** 0.5, k, v)).names == ("unscaled",)


def test_a_table_may_have_dimensions_of_size_one():
    def subsequent_mask(size):
        return torch.ones(1, 1, size, size).tril() > 0

    assert clinic.diagnose(subsequent_mask, "causal_mask")
    assert clinic.diagnose(lambda size: ~subsequent_mask(size), "causal_mask").names == ("mask_inverted",)
