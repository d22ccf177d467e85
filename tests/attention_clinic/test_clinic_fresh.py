"""What code in repositories that the clinic had not seen asked of it."""

from __future__ import annotations

import importlib
import math
import time

import numpy as np
import pytest
import torch
from torch import nn

from attention_clinic import diagnose
from attention_clinic.diagnose import possible_kinds
from attention_clinic.kinds.modules import HEAD_DIMS, WIDTHS, declared
from attention_clinic.trial import Trial

pytestmark = pytest.mark.usefixtures("unchecked")  # those of the kinds are under the tests' checks

MODULE = importlib.import_module("attention_clinic.diagnose")  # whose name in the package is the function's


def attend(q, k, v, mask=None, scale=None):
    scores = q @ k.mT * (q.shape[-1] ** -0.5 if scale is None else scale)
    return (scores if mask is None else scores.masked_fill(mask == 0, -torch.inf)).softmax(-1) @ v


class Heads(nn.Module):
    """Splits tokens into its own number of heads, and projects nothing."""

    def __init__(self, heads=3, axis=-1, viewed=False):
        super().__init__()
        self.heads, self.axis, self.viewed = heads, axis, viewed

    def forward(self, q, k, v, mask=None):
        q, k, v = (x.view(*x.shape[:2], self.heads, -1).transpose(1, 2) for x in (q, k, v))
        scores = q @ k.mT / q.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask.unsqueeze(1), -torch.inf)
        output = scores.softmax(self.axis) @ v
        batch, _, length, _ = output.shape
        return (output if self.viewed else output.transpose(1, 2)).reshape(batch, length, -1)


def test_a_module_that_keeps_a_number_of_heads_is_called_with_tokens_of_as_many():
    assert diagnose(Heads()), str(diagnose(Heads()))
    assert [bug.name for bug in diagnose(Heads(axis=-2)).bugs] == ["wrong_axis"]
    assert [bug.name for bug in diagnose(Heads(viewed=True)).bugs] == ["view_back"]

    class Fails(Heads):
        def forward(self, q, k, v):
            return super().forward(q, k, v).view(1, 1, 1)

    assert diagnose(Fails()).names == ("not_called",)


class OwnSize:
    """Divides by the root of a size that it keeps."""

    def __init__(self, size=4, **kept):
        self.scale = size**-0.5
        vars(self).update(kept)

    def attention(self, q, k, v, mask=None):
        return attend(q, k, v, mask, self.scale)

    def __call__(self, q, k, v, mask=None):
        return attend(q, k, v, mask, self.scale)


def test_what_keeps_a_size_is_called_with_it():
    for name in ("d_head", "d_k", "head_dim", "embed_dim", "d_model"):
        assert declared(OwnSize(4, **{name: 7}).attention, *HEAD_DIMS, *WIDTHS) == 7
    assert diagnose(OwnSize(4, d_head=4)), str(diagnose(OwnSize(4, d_head=4)))
    assert [bug.name for bug in diagnose(OwnSize(1, d_model=6).attention).bugs] == ["unscaled"]


class SelfAttention(nn.Module):
    def __init__(self, first_hidden=1):
        super().__init__()
        self.n_heads, self.first_hidden = 3, first_hidden
        self.in_proj, self.out_proj = nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, x, causal_mask=False):
        q, k, v = (y.unflatten(-1, (3, 4)).transpose(1, 2) for y in self.in_proj(x).chunk(3, dim=-1))
        seen = torch.ones(x.shape[1], x.shape[1]).triu(self.first_hidden) == 0
        return self.out_proj(attend(q, k, v, seen if causal_mask else None).transpose(1, 2).flatten(2))


class ClipLayer(nn.Module):
    def __init__(self, causal, first_hidden=1):
        super().__init__()
        self.norm_1, self.attention, self.norm_2 = (
            nn.LayerNorm(12),
            SelfAttention(first_hidden),
            nn.LayerNorm(12),
        )
        self.linear_1, self.linear_2, self.causal = nn.Linear(12, 48), nn.Linear(48, 12), causal

    def forward(self, x, past=None):
        x = x + self.attention(self.norm_1(x), causal_mask=self.causal)
        return x + self.linear_2(self.linear_1(self.norm_2(x)).relu())


def test_attention_that_its_layer_makes_causal_is_examined_as_the_layer_calls_it():
    assert diagnose(ClipLayer(True), causal=True), str(diagnose(ClipLayer(True), causal=True))
    assert "causal_open" in diagnose(ClipLayer(False), causal=True).names
    assert diagnose(ClipLayer(True, first_hidden=2), causal=True).names == ("sees_ahead",)
    layer = ClipLayer(False)
    layer.attention = nn.Sequential(layer.attention)
    layer.attention.forward = lambda x, causal_mask: layer.attention[0](x)
    assert diagnose(layer, causal=True).names == ("causal_open",)  # of attention that nobody finds
    layer = ClipLayer(True)
    diagnose(layer)
    assert "forward" not in vars(layer.attention)


def test_a_cache_that_was_not_given_is_not_examined():
    class Cached(SelfAttention):
        def forward(self, x, past=None):
            return super().forward(x)

    for candidate in (Cached(), ClipLayer(False), lambda q, k, v, kv_cache=None: attend(q, k, v)):
        diagnosis = diagnose(candidate)
        assert diagnosis and "cache" in diagnosis.skipped, str(diagnosis)
    assert "cache" not in diagnose(SelfAttention()).skipped


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int64])
def test_integers_0_and_1_are_a_mask(dtype):
    def hidden(seq, diagonal=1):
        return torch.ones(*seq.shape, seq.shape[1], dtype=dtype).triu(diagonal)

    assert diagnose(hidden).names == ("mask_hides",)
    assert diagnose(lambda seq: hidden(seq, 2)).names == ("causal_ahead", "mask_hides")
    assert diagnose(lambda num_tokens: torch.ones(num_tokens, num_tokens, dtype=dtype).tril())
    twos = diagnose(lambda num_tokens: 2 * torch.ones(num_tokens, num_tokens, dtype=dtype).tril())
    assert twos.names == ("no_mask",)


def test_a_table_of_numpy_is_taken_as_a_tensor():
    def waves(n_seq, d_hidn, step=2):
        table = np.array(
            [[t / 10000 ** (step * (i // 2) / d_hidn) for i in range(d_hidn)] for t in range(n_seq)]
        )
        table[:, 0::2], table[:, 1::2] = np.sin(table[:, 0::2]), np.cos(table[:, 1::2])
        return table

    assert diagnose(waves, "sinusoidal")
    assert diagnose(lambda n_seq, d_hidn: waves(n_seq, d_hidn, 1), "sinusoidal").names == ("waves_speed",)


class Bidirectional(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 12)
        self.layer = nn.TransformerEncoderLayer(12, 3, 24, dropout=0.5, batch_first=True)

    def forward(self, x, segments, mask):
        return self.layer(self.embedding(x) + segments[..., None], src_key_padding_mask=mask == 0)


def test_a_function_around_an_encoder_is_asked_in_evaluation_mode_and_as_an_encoder():
    torch.manual_seed(0)
    model = Bidirectional()

    def around(token_ids):
        return model(token_ids, torch.zeros_like(token_ids), torch.ones_like(token_ids))

    diagnosis = diagnose(around)
    assert (diagnosis.kind, diagnosis.names) == ("encoder", ("causal_unknown",)), str(diagnosis)
    assert diagnose(around, causal=False) and diagnose(around, "encoder")
    assert "causal_open" in diagnose(around, causal=True).names
    assert model.training


class FutureMasking(nn.Module):
    def __init__(self, first=1):
        super().__init__()
        self.first = first

    def forward(self, x, offset=0):
        future = torch.ones(x.shape[-1], x.shape[-1] + offset, dtype=torch.bool).triu(offset + self.first)
        return future.expand(*x.shape, future.shape[-1])


def test_what_a_mask_is_said_to_hide_is_read_so():
    assert diagnose(FutureMasking()).names == ("mask_hides",)
    assert diagnose(FutureMasking(), mask="hides").names == ()
    assert diagnose(FutureMasking(0), mask="hides").names == ("causal_strict",)
    assert diagnose(lambda num_tokens: torch.ones(num_tokens, num_tokens).triu(1) == 1, mask="hides")
    assert "cache" in diagnose(FutureMasking()).skipped


class Tripled(SelfAttention):
    def forward(self, x):
        return 3 * math.pi * super().forward(x)


def test_a_search_that_takes_too_long_leaves_it_undecided(monkeypatch):
    monkeypatch.setattr(Trial, "exhausted", True)
    assert diagnose(Tripled()).names == ("not_compared",)


class ByView(SelfAttention):
    """Two mistakes, which are far into the search."""

    def forward(self, x):
        q, k, v = (y.reshape(len(x), 3, -1, 4) for y in self.in_proj(x).chunk(3, dim=-1))
        return self.out_proj(attend(q, k, v, scale=1.0).transpose(1, 2).flatten(2))


def test_on_a_slow_machine_the_verdict_is_the_same(monkeypatch):
    processor = time.process_time
    expected = diagnose(ByView()).names
    assert expected == ("view", "unscaled")
    monkeypatch.setattr(time, "process_time", lambda: 1000 * processor())
    assert diagnose(ByView()).names == expected


def test_the_end_of_a_search_is_a_number_of_recipes(monkeypatch):
    monkeypatch.setattr("attention_clinic.trial.MOST_RECIPES", 50)
    assert diagnose(SelfAttention())
    assert diagnose(ByView()).names == ("not_compared",)


def test_slow_calls_end_with_the_diagnosis_which_says_so(monkeypatch):
    class Slow(ByView):
        def forward(self, x):
            time.sleep(0.1)
            return super().forward(x)

    monkeypatch.setattr(MODULE, "MOST_CALLS", 0.2)
    diagnosis = diagnose(Slow())
    assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("out_of_time",))
    assert "0.4 seconds" in str(diagnosis) and "seconds=20" in str(diagnosis)


def test_what_may_be_of_several_kinds_has_no_more_time(monkeypatch):
    calls = []

    def slow(a, b):
        calls.append(time.sleep(0.1))
        return torch.zeros(3, 3)

    assert len(possible_kinds(slow)) > 2
    monkeypatch.setattr(MODULE, "MOST_CALLS", 0.5)
    assert diagnose(slow).names == ("out_of_time",)
    assert len(calls) < 15


def test_what_is_asked_makes_sense_for_what_is_asked():
    class Strange(SelfAttention):
        def forward(self, x, cos, sin):
            assert cos.ndim == 7, cos.shape
            return super().forward(x)

    question = diagnose(Strange()).question
    assert question == "candidate=Module(forward=lambda x: …)"
    assert possible_kinds(FutureMasking()).count("padding_mask") == 1
    assert "padding_mask" in possible_kinds(lambda seq_1, number: None)


def test_a_strict_triangle_of_token_ids_that_hides_is_told_as_that():
    def strict(seq):
        return torch.ones(seq.shape[1], seq.shape[1]).triu().bool()

    assert diagnose(strict).names == ("causal_strict", "mask_hides")
    assert diagnose(lambda seq: ~strict(seq)).names == ("causal_strict",)
    assert diagnose(lambda seq: strict(seq).mT).names == ()


def test_heads_behind_tokens_repeated_in_the_wrong_order_are_named():
    def repeated(x, n_rep):
        return x.repeat(1, 1, n_rep, 1)

    assert diagnose(repeated).names == ("kv_tiled",)


class Turned(nn.Module):
    """Takes cosines and sines of one sequence, (1, num_tokens, head_dim)."""

    def __init__(self, tiled=False):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.tiled = 6, 2, tiled
        self.q_proj, self.o_proj = nn.Linear(24, 24), nn.Linear(24, 24)
        self.k_proj, self.v_proj = nn.Linear(24, 8), nn.Linear(24, 8)

    def forward(self, x, cos, sin):
        def turn(x):
            first, second = x.chunk(2, dim=-1)
            return x * cos[:, None] + torch.cat((-second, first), dim=-1) * sin[:, None]

        batch, length, _ = cos.expand(len(x), -1, -1).shape
        q, k, v = (p(x).view(batch, length, -1, 4).transpose(1, 2) for p in self.projections())
        q, k = turn(q), turn(k)
        k, v = (x.repeat(1, 3, 1, 1) if self.tiled else x.repeat_interleave(3, dim=1) for x in (k, v))
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        return self.o_proj(attend(q, k, v, mask).transpose(1, 2).flatten(2))

    def projections(self):
        return self.q_proj, self.k_proj, self.v_proj


def test_a_module_is_given_cosines_and_sines_in_the_shape_that_it_takes():
    right, wrong = (diagnose(Turned(tiled), causal=True) for tiled in (False, True))
    assert right, str(right)
    assert [bug.name for bug in wrong.bugs] == ["kv_tiled"]


class Biased(nn.Module):
    """Causal attention in which the scores of far keys are lowered."""

    def __init__(self, slopes, size=6):
        super().__init__()
        self.num_heads, self.slopes, self.size = len(slopes), torch.tensor(slopes), size
        self.qkv, self.proj = nn.Linear(24, 72), nn.Linear(24, 24)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        places = torch.arange(x.shape[1])
        scores = q @ k.mT / self.size**0.5 + self.slopes[:, None, None] * (places - places[:, None])
        scores = scores.masked_fill(places > places[:, None], -torch.inf)
        return self.proj((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize(
    ("slopes", "size", "names"),
    [
        ((1 / 4, 1 / 16, 1 / 64, 1 / 256), 6, ()),
        ((1 / 16, 1 / 256, 1 / 4), 8, ()),
        ((1 / 4, 1 / 16, 1 / 64, 1 / 256), 24, ("model_root",)),
        ((1.0, 1 / 4, 1 / 16, 1 / 64), 6, ("alibi_from_zero",)),
        ((-1 / 4, -1 / 16, -1 / 64, -1 / 256), 6, ("alibi_sign",)),
    ],
)
def test_alibi_in_a_module_is_known_with_its_mistakes(slopes, size, names):
    diagnosis = diagnose(Biased(slopes, size), causal=True)
    assert diagnosis.names == names, str(diagnosis)


def test_a_mask_of_ids_that_must_keep_is_called_what_it_is():
    assert diagnose(FutureMasking(0), mask="keeps").names == ("causal_upper",)
    assert diagnose(FutureMasking(1), mask="keeps").names == ("mask_inverted",)


class Unscaled(nn.Module):
    def __init__(self, scaling, axis=-1):
        super().__init__()
        self.num_heads, self.scaling, self.axis = 3, scaling, axis
        self.qkv, self.proj = nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (3, -1)).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        return self.proj(((q @ k.mT).softmax(self.axis) @ v).transpose(1, 2).flatten(2))


def test_a_module_that_says_that_its_scale_is_1_has_none_on_purpose():
    diagnosis = diagnose(Unscaled(1.0), causal=False)
    assert diagnosis and diagnosis.names == ("unscaled",), str(diagnosis)
    assert [bug.name for bug in diagnose(Unscaled(0.5), causal=False).bugs] == ["unscaled"]
    assert [bug.name for bug in diagnose(Unscaled(1.0, axis=-2), causal=False).bugs] == ["wrong_axis"]


class Cached(nn.Module):
    """Returns its keys and values, and takes those of earlier tokens."""

    def __init__(self, is_right=True, uses=True):
        super().__init__()
        self.num_heads, self.is_right, self.uses = 3, is_right, uses
        self.q, self.k, self.v, self.o = (nn.Linear(12, 12) for _ in range(4))

    def forward(self, q, k, v, past=None):
        k, v = self.k(k), self.v(v)
        if past is not None and self.uses:
            k = torch.cat((past[0], k) if self.is_right else (k, past[0]), dim=1)
            v = torch.cat((past[1], v), dim=1)
        heads = [x.unflatten(-1, (3, -1)).transpose(1, 2) for x in (self.q(q), k, v)]
        return self.o(attend(*heads).transpose(1, 2).flatten(2)), (k, v)


@pytest.mark.parametrize(
    ("module", "names"),
    [(Cached(), ()), (Cached(is_right=False), ("cache_order",)), (Cached(uses=False), ("cache_hidden",))],
)
def test_the_cache_of_a_layer_is_examined(module, names):
    diagnosis = diagnose(module, causal=False)
    assert diagnosis.names == names, str(diagnosis)
    assert "cache" in diagnosis.examined


class OwnLinear(nn.Module):
    """A linear layer that somebody wrote, its matrix as (out, in)."""

    def __init__(self, num_inputs, num_outputs, has_bias):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(num_outputs, num_inputs), requires_grad=False)
        self.bias = nn.Parameter(torch.empty(num_outputs)) if has_bias else None

    def forward(self, x):
        return nn.functional.linear(x, self.weight, self.bias)


class OwnLinears(nn.Module):
    """Groups of heads, from one layer for all and a square one for the output."""

    def __init__(self, has_bias, tiled=False):
        super().__init__()
        self.num_heads, self.num_kv_heads, self.tiled = 6, 2, tiled
        self.qkv_proj, self.o_proj = OwnLinear(24, 40, has_bias), OwnLinear(24, 24, has_bias)

    def forward(self, x):
        parts = self.qkv_proj(x).split([24, 8, 8], dim=-1)
        q, k, v = (y.unflatten(-1, (-1, 4)).transpose(1, 2) for y in parts)
        k, v = (y.repeat(1, 3, 1, 1) if self.tiled else y.repeat_interleave(3, dim=1) for y in (k, v))
        return self.o_proj(attend(q, k, v).transpose(1, 2).flatten(2))


@pytest.mark.parametrize("has_bias", [False, True])
def test_matrices_of_an_own_linear_layer_are_read_whichever_way_they_lie(has_bias):
    assert diagnose(OwnLinears(has_bias), causal=False)
    assert diagnose(OwnLinears(has_bias, tiled=True), causal=False).names == ("kv_tiled",)


class ConstantScale(nn.Module):
    """Keeps its scale as a parameter that is not trained."""

    def __init__(self, power):
        super().__init__()
        self.num_heads, self.scale = 3, nn.Parameter(torch.tensor(4.0**power), requires_grad=False)
        self.qkv, self.proj = nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, x):
        q, k, v = (y.unflatten(-1, (3, -1)).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        return self.proj(attend(q, k, v, scale=self.scale).transpose(1, 2).flatten(2))


def test_a_scale_that_is_not_trained_is_no_parameter_to_draw():
    assert diagnose(ConstantScale(-0.5), causal=False)
    assert diagnose(ConstantScale(0.5), causal=False).names == ("scale_multiplied",)


class OfOneSequence(nn.Module):
    """Causal attention that writes a mask of padding into its own mask, which is that of one sequence."""

    def __init__(self, is_right=False):
        super().__init__()
        self.num_heads, self.is_right = 3, is_right
        self.qkv, self.proj = nn.Linear(12, 36), nn.Linear(12, 12)
        self.register_buffer("later", torch.ones(1, 1, 16, 16, dtype=torch.bool).triu(1))

    def forward(self, x, mask=None):
        q, k, v = (y.unflatten(-1, (3, -1)).transpose(1, 2) for y in self.qkv(x).chunk(3, -1))
        hidden = self.later[..., : x.shape[1], : x.shape[1]]
        if mask is not None and self.is_right:
            hidden = hidden | mask.view(len(x), 1, 1, -1)
        elif mask is not None:
            hidden |= mask.view(len(x), 1, 1, -1)
        return self.proj(attend(q, k, v, ~hidden).transpose(1, 2).flatten(2))


def test_a_mask_that_stops_a_batch_and_no_single_sequence_is_an_error():
    diagnosis = diagnose(OfOneSequence())
    assert [bug.name for bug in diagnosis.bugs] == ["raises"], str(diagnosis)
    assert len(diagnosis.bugs[0].input["mask"]) == 2
    assert diagnose(OfOneSequence(is_right=True)).names == ("mask_hides", "causal_inside")


@pytest.mark.parametrize(("sign", "names"), [(1, ("rotary_layout",)), (-1, ("rotary_mirrored",))])
def test_the_wrong_sign_of_the_second_term_has_its_name_in_either_layout(sign, names):
    def rotary(q, k, cos, sin):
        def turn(x):
            a, b = x[..., ::2], x[..., 1::2]
            return torch.stack((a * cos - b * sin, b * cos + sign * a * sin), dim=-1).flatten(-2)

        return turn(q), turn(k)

    assert diagnose(rotary).names == names


class PackedHead(nn.Module):
    def __init__(self, axis):
        super().__init__()
        self.qkv, self.axis = nn.Linear(12, 12), axis

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        return (q @ k.mT / q.shape[-1] ** 0.5).softmax(self.axis) @ v


class PackedHeads(nn.Module):
    """Heads in a list, each with one layer for its queries, keys and values."""

    def __init__(self, axis=-1):
        super().__init__()
        self.num_heads, self.proj = 3, nn.Linear(12, 12)
        self.heads = nn.ModuleList(PackedHead(axis) for _ in range(3))

    def forward(self, x):
        return self.proj(torch.cat([head(x) for head in self.heads], dim=-1))


def test_heads_in_a_list_may_have_one_layer_each():
    assert diagnose(PackedHeads(), causal=False)
    assert diagnose(PackedHeads(axis=1), causal=False).names == ("wrong_axis",)


def test_a_table_of_positions_is_known_by_the_size_of_hidden_states():
    def waves(max_len, hidden_dim):
        angles = torch.arange(max_len)[:, None] / 1e4 ** (torch.arange(0, hidden_dim, 2) / hidden_dim)
        return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)

    diagnosis = diagnose(waves)
    assert diagnosis and diagnosis.kind == "sinusoidal"
    assert diagnose(lambda max_len, hidden_dim: waves(max_len, hidden_dim).flip(0)).kind == "sinusoidal"


class ChannelsFirst(nn.Module):
    """Speech: (batch, channels, num_tokens), projected by convolutions of width 1."""

    def __init__(self, power=-0.5):
        super().__init__()
        self.n_heads, self.power = 3, power
        self.conv_q, self.conv_k, self.conv_v, self.conv_o = (nn.Conv1d(12, 12, 1) for _ in range(4))

    def forward(self, x, c, attn_mask=None):
        heads = (y.unflatten(1, (3, 4)).mT for y in (self.conv_q(x), self.conv_k(c), self.conv_v(c)))
        return self.conv_o(attend(*heads, attn_mask, 4**self.power).mT.flatten(1, 2))


def test_a_module_with_convolutions_may_have_channels_before_tokens():
    diagnosis = diagnose(ChannelsFirst())
    assert diagnosis and {"numbers", "mask"} <= {*diagnosis.examined}, str(diagnosis)
    assert [bug.name for bug in diagnose(ChannelsFirst(power=-1)).bugs] == ["no_root"]


class OwnNorm(nn.Module):
    """PyTorch's norm in a module that keeps the eps, too."""

    def __init__(self, size, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.layer = nn.LayerNorm(size, eps=self.eps)

    def forward(self, x):
        return self.layer(x)


class OwnNormOutside(OwnNorm):
    def forward(self, x):
        return self.layer(x) / (1 + self.eps)


def test_a_norm_in_a_norm_is_given_its_eps():
    assert diagnose(OwnNorm(12)), str(diagnose(OwnNorm(12)))
    assert diagnose(OwnNormOutside(12)).verdict == "ill"


class MaskedLayer(nn.Module):
    """A layer of a decoder, its norm in a module of its own, that must be given two masks."""

    def __init__(self, is_right=True):
        super().__init__()
        self.attention, self.is_right = SelfAttention(), is_right
        self.norm_1, self.norm_2, self.linear = OwnNorm(12), OwnNorm(12), nn.Linear(12, 12)

    def forward(self, x, e_mask, d_mask):
        h = x + self.attention(self.norm_1(x))
        return (h if self.is_right else x) + self.linear(self.norm_2(h))


def test_a_layer_may_need_two_masks_and_keep_its_norms_in_modules():
    assert diagnose(MaskedLayer(), causal=False), str(diagnose(MaskedLayer(), causal=False))
    assert diagnose(MaskedLayer(is_right=False), causal=False).names == ("residual_from_start",)


class TurnedAttention(Turned):
    pass


class TurnedLayer(nn.Module):
    """A layer that must be given cosines and sines."""

    def __init__(self, tiled=False, is_right=True):
        super().__init__()
        self.attention, self.is_right = TurnedAttention(tiled), is_right
        self.norm_1, self.norm_2, self.linear = nn.LayerNorm(24), nn.LayerNorm(24), nn.Linear(24, 24)

    def forward(self, x, freqs_cos, freqs_sin, attention_mask=None):
        h = x + self.attention(self.norm_1(x), freqs_cos, freqs_sin)
        return (h if self.is_right else x) + self.linear(self.norm_2(h))


def test_a_layer_is_given_the_rotary_positions_that_it_must_have():
    assert diagnose(TurnedLayer(), causal=True), str(diagnose(TurnedLayer(), causal=True))
    assert diagnose(TurnedLayer(is_right=False), causal=True).names == ("residual_from_start",)
    assert diagnose(TurnedLayer(tiled=True), causal=True).names == ("kv_tiled",)


class Gated(nn.Module):
    """Three matrices that are no queries, keys and values."""

    def __init__(self):
        super().__init__()
        self.gate, self.up, self.down = nn.Linear(24, 24), nn.Linear(24, 24), nn.Linear(24, 24)

    def forward(self, x):
        return self.down(self.gate(x).sigmoid() * self.up(x))


class PlainBlock(nn.Module):
    """A layer in which nothing has a name that tells what it is."""

    def __init__(self, mixer):
        super().__init__()
        self.mixer, self.gated = mixer, Gated()
        self.norm_1, self.norm_2 = nn.LayerNorm(24), nn.LayerNorm(24)

    def forward(self, x):
        h = x + self.mixer(x=self.norm_1(x))
        return h + self.gated(self.norm_2(h))


class FlatBlock(PlainBlock):
    """Projects in the layer itself, and repeats two heads of keys in the wrong order."""

    def __init__(self):
        super().__init__(nn.Linear(24, 24))
        self.projection = nn.Linear(24, 40)

    def forward(self, x):
        parts = self.projection(self.norm_1(x)).split([24, 8, 8], dim=-1)
        q, *both = (y.unflatten(-1, (-1, 4)).transpose(1, 2) for y in parts)
        h = x + self.mixer(attend(q, *(y.repeat(1, 3, 1, 1) for y in both)).transpose(1, 2).flatten(2))
        return h + self.gated(self.norm_2(h))


def test_attention_in_a_layer_is_found_whatever_its_class_is_called():
    diagnosis = diagnose(PlainBlock(OwnLinears(has_bias=True)), causal=False)
    assert diagnosis and "numbers" in diagnosis.examined, str(diagnosis)
    assert diagnose(PlainBlock(OwnLinears(has_bias=True, tiled=True)), causal=False).names == ("kv_tiled",)
    assert diagnose(PlainBlock(Gated()), causal=False)


def test_a_layer_whose_attention_cannot_be_examined_is_not_called_right():
    class Bent(OwnLinears):
        def forward(self, x):
            return 3 * super().forward(x).tanh()

    for layer in (FlatBlock(), PlainBlock(Bent(has_bias=True))):
        diagnosis = diagnose(layer, causal=False)
        assert (diagnosis.verdict, diagnosis.names) == ("undecided", ("not_compared",)), str(diagnosis)
        assert "numbers" in diagnosis.skipped


def test_the_calls_that_were_tried_are_calls_of_the_owners_code():
    class PositionalEncoder(nn.Module):
        def forward(self, x):
            return x + torch.zeros(3, 5, 11)

    diagnosis = diagnose(PositionalEncoder())
    assert diagnosis.names == ("not_called",) and diagnosis.tried[0] == "candidate((2, 7))"
    assert "lambda" not in "".join(diagnosis.tried) and "PositionalEncoder" not in str(diagnosis)
