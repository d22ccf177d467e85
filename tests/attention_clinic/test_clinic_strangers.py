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
from attention_clinic import planted
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
    added_mask = torch.nn.Transformer.generate_square_subsequent_mask
    assert clinic.diagnose(added_mask) and clinic.diagnose(added_mask).names == ("mask_additive",)
    assert clinic.diagnose(added_mask, mask="additive").names == ("mask_additive",)
    assert clinic.diagnose(added_mask, mask="keeps").names == ("causal_additive",)
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


# ---- classes


class PartialNorm(nn.Module):
    def __init__(self, width, dim=-1, p=-1.0, eps=1e-6):
        super().__init__()
        self.dim, self.p, self.eps = dim, p, eps
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        part = x if self.p < 0 else x[..., : int(self.p * x.shape[-1])]
        return self.weight * x * torch.rsqrt(part.square().mean(self.dim, keepdim=True) + self.eps)


class PartialRMSNorm(PartialNorm):
    def __init__(self, features, dim=-1, p=-1.0, eps=1e-6):
        super().__init__(features, dim, p, eps)


@pytest.mark.parametrize("norm", [PartialNorm, PartialRMSNorm])
def test_a_norm_keeps_its_defaults(norm):
    assert clinic.diagnose(norm).kind in ("layer_norm", "rms_norm")
    assert clinic.diagnose(norm, "rms_norm").verdict != "ill"
    assert clinic.diagnose(PartialRMSNorm)


class Memory(nn.Module):
    def __init__(self, init_keys):
        super().__init__()
        self.keys = nn.Parameter(init_keys.clone())


class Stack(nn.Module):
    def __init__(self, layer, num_layers):
        super().__init__()
        self.layers = nn.ModuleList(copy.deepcopy(layer) for _ in range(num_layers))


class FromObject(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.layer = nn.Linear(d_model, d_k.size)


@pytest.mark.parametrize("made", [Memory, Stack, FromObject])
def test_a_class_that_is_made_from_what_nobody_knows_is_not_blamed(made):
    diagnosis = clinic.diagnose(made)
    assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("not_called",))
    assert diagnosis.question == f"candidate={made.__name__}(…)"


# ---- token ids


def triangle(seq):
    return torch.ones(1, seq.size(1), seq.size(1)).tril().bool()


def target_mask(trg):
    return (trg != 0)[:, None, None] & triangle(trg)


def key_mask(seq, pad_idx):
    return (seq != pad_idx).unsqueeze(-2)


def padding(seq):
    return seq.eq(0)[:, None].expand(-1, seq.shape[1], -1)


def waves(token_ids):
    angles = torch.arange(token_ids.shape[1])[:, None] / 1e4 ** (torch.arange(0, 16, 2) / 16)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


class Maker:
    def make(self, src):
        return triangle(src)


@pytest.mark.parametrize(
    ("function", "kind", "notes"),
    [
        (triangle, "causal_mask", ()), (target_mask, "causal_mask", ()), (Maker().make, "causal_mask", ()),
        (lambda seq: ~triangle(seq), "causal_mask", ("mask_hides",)), (key_mask, "padding_mask", ()),
        (padding, "padding_mask", ("mask_hides",)), (waves, "sinusoidal", ()),
    ],
)  # fmt: skip
def test_what_takes_token_ids_is_recognized(function, kind, notes):
    diagnosis = clinic.diagnose(function)
    assert (diagnosis.verdict, diagnosis.kind, diagnosis.names) == ("healthy", kind, notes), str(diagnosis)


def test_what_takes_token_ids_and_is_wrong_is_named():
    assert clinic.diagnose(lambda seq: triangle(seq).mT).names == ("causal_strict", "mask_hides")
    assert clinic.diagnose(lambda seq: triangle(seq).tril(-1)).names == ("causal_strict",)
    assert clinic.diagnose(lambda seq: (seq != 0).flip(1)).names == ("padding_wrong_side",)


class LearnedPositions(nn.Module):
    def __init__(self, vocab_size=50, width=16):
        super().__init__()
        self.table = nn.Embedding(vocab_size, width)

    def forward(self, ids):
        return self.table(torch.arange(ids.shape[1]))[None]


class OtherPositions(LearnedPositions):
    def forward(self, tokens):
        return self.table.weight[: tokens.shape[1]]


@pytest.mark.parametrize(
    "candidate",
    [
        LearnedPositions(), OtherPositions(), OtherPositions, lambda tokens: tokens.float(),
        lambda seq: torch.ones(seq.shape[1], seq.shape[1]).triu(1).byte() * 2,
    ],
)  # fmt: skip
def test_what_takes_token_ids_and_is_unknown_is_not_blamed(candidate):
    diagnosis = clinic.diagnose(candidate)
    assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("unknown_kind",)), str(diagnosis)
    assert '"sinusoidal"' in diagnosis.question


# ---- masks that must be there


class NeedsMask(Heads):
    """True is hidden, and the mask is repeated for each head."""

    def heads_of(self, mask):
        assert mask.ndim == 3
        return mask.unsqueeze(1).repeat(1, self.num_heads, 1, 1)

    def forward(self, q, k, v, attn_mask):
        q, k, v = self.split(self.q(q)), self.split(self.k(k)), self.split(self.v(v))
        hidden = self.heads_of(attn_mask)
        assert hidden.shape == (q @ k.mT).shape
        return self.o(plain(q, k, v, hidden, self.scale).transpose(1, 2).flatten(2))


class NeedsMaskOfHeads(NeedsMask):
    def heads_of(self, mask):
        return mask


@pytest.mark.parametrize("module", [NeedsMask, NeedsMaskOfHeads])
def test_a_mask_that_must_be_there_is_given_in_the_shape_that_runs(module):
    assert clinic.diagnose(module()).names == ("mask_hides",)
    assert clinic.diagnose(module(scale=1.0)).names == ("unscaled", "mask_hides")


# ---- rotary positions


def turned(x, angles):
    first, second = x.chunk(2, dim=-1)
    return x * angles.cos() + torch.cat((-second, first), dim=-1) * angles.sin()


def angles_of(places, size):
    return (places[:, None] / 1e4 ** (torch.arange(0, size, 2) / size)).repeat(1, 2)[:, None, None]


class RotaryOfSequences(nn.Module):
    def forward(self, x):
        return turned(x, angles_of(torch.arange(len(x)), x.shape[-1]))


@pytest.mark.parametrize(
    ("rotary", "notes"),
    [
        (lambda x, freqs: turned(x, freqs), ()),
        (lambda x, positions: turned(x, angles_of(positions, x.shape[-1])), ("sequence_first",)),
        (lambda q, k: (RotaryOfSequences()(q), RotaryOfSequences()(k)), ("sequence_first",)),
        (RotaryOfSequences, ("sequence_first",)),
    ],
)
def test_rotary_positions_of_sequences_that_come_first(rotary, notes):
    diagnosis = clinic.diagnose(rotary)
    assert (diagnosis.verdict, diagnosis.names) == ("healthy", notes), str(diagnosis)


def test_evidence_of_rotary_mistakes_is_rotated_rightly():
    class QueriesOnly(Halves):
        def attend(self, x):
            q, k, v = map(self.split, self.projected(x))
            return plain(self.turn(q), k, v, None, self.scale).transpose(1, 2).flatten(2)

    (bug,) = clinic.diagnose(QueriesOnly()).bugs
    right = clinic.seeded_copy(Halves())
    right.load_state_dict(clinic.seeded_copy(QueriesOnly()).state_dict())
    assert bug.name == "rotary_queries_only"
    assert torch.allclose(bug.expected, right(bug.input["query"]), atol=1e-5)


def test_parameters_are_put_back_if_a_call_never_ends():
    class Sleepy(Residual):
        def forward(self, x):
            while not self.q.weight.any():
                pass
            return super().forward(x)

        def __deepcopy__(self, memo):
            raise TypeError("there is one alone")

    diagnosis = clinic.diagnose(module := Sleepy(), seconds=0.2)
    assert "never_ends" in diagnosis.names
    assert module.q.weight.any()


# ---- decoders


class OwnSoftmax(planted.SmallDecoder):
    """The largest score of all, which later tokens change, is subtracted: rounding differs."""

    def weights(self, scores, visible, sinks):
        weights = (scores - scores.amax(dim=(-1, -2), keepdim=True)).exp() * visible
        return weights / weights.sum(dim=-1, keepdim=True).clamp(min=1e-30)


class TrimsBefore(planted.SmallDecoder):
    """Without a window, and yet no more than three keys are kept."""

    def visible(self, inputs):
        columns = torch.arange(inputs.num_cached + inputs.num_new)
        return super().visible(inputs) & (columns >= inputs.num_cached - 3)


def test_rounding_is_no_reach():
    assert clinic.laws.reach(planted.build(OwnSoftmax)) == 0.0
    assert clinic.diagnose(planted.build(OwnSoftmax))


def test_a_cache_that_is_cut_is_not_one_that_counts_anew():
    assert clinic.diagnose(planted.build(TrimsBefore, window=99)).names == ("cache_trimmed",)


def test_repeated_heads_behind_tokens_are_asked_about():
    def repeat_kv(x, n_rep):
        return x.repeat_interleave(n_rep, dim=2)

    diagnosis = clinic.diagnose(repeat_kv)
    assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("kv_axis",))
    assert diagnosis.question == 'ignore=["kv_axis"]'
    assert clinic.diagnose(repeat_kv, ignore=["kv_axis"])
    assert clinic.diagnose(lambda x, n_rep: x.repeat_interleave(n_rep, dim=3)).verdict == "ill"


class Flagged(nn.Module):
    """As in models of time series: the mask is an object, and a flag says whether it acts."""

    def __init__(self, mask_flag):
        super().__init__()
        self.mask_flag = mask_flag

    def forward(self, queries, keys, values, attn_mask=None):
        hidden = future(queries) if attn_mask is None else attn_mask.mask
        return plain(queries, keys, values, hidden if self.mask_flag else None)


@pytest.mark.parametrize("mask_flag", [True, False])
def test_a_mask_that_a_flag_switches_off_is_not_examined(mask_flag):
    diagnosis = clinic.diagnose(Flagged(mask_flag))
    assert diagnosis, str(diagnosis)
    assert "mask" in diagnosis.skipped
    assert ("causal_inside" in diagnosis.names) == mask_flag


def test_a_mask_of_its_owners_own_class_leaves_a_module_undecided():
    class Masked(nn.MultiheadAttention):
        def forward(self, x, mask):
            return super().forward(x, x, x, attn_mask=mask.tensor)

    assert clinic.diagnose(Masked(12, 3, batch_first=True)).names == ("not_called",)
