"""Whole models, layers, norms and positions as people write them: right ones in many forms, and bugs."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import attention_clinic as clinic
from attention_clinic import laws
from attention_clinic.adapter import DecoderAdapter
from tests.attention_clinic.clinic_cases.decoders import VOCAB, Nano, Past, TinyLlama

pytestmark = pytest.mark.usefixtures("unchecked")  # those of the kinds are under the tests' checks

# ---- decoders that keep what they have seen in one way or another


class Returns(Nano):
    """`(logits, loss, cache)`; the cache is a tuple of tensors for each layer."""

    new_cache = None

    def forward(self, input_ids, targets=None, past_key_values=None, use_cache=False):
        cache = Past()
        if past_key_values is not None:
            cache.layers, cache.tokens = dict(enumerate(past_key_values[0])), past_key_values[1]
        logits = self.logits(input_ids, None, cache)
        return logits, None, ([*cache.layers.values()], cache.tokens) if use_cache else None


class KeepsInside(Nano):
    """As in books on language models: `use_cache=True`, and the cache is a part of the model."""

    past = None

    def forward(self, in_idx, use_cache=False):
        self.past = (self.past or Past()) if use_cache else None
        return self.logits(in_idx, None, self.past)


class StartsAt(TinyLlama):
    """`start_pos` says how much of the cache inside counts; only the last logits come."""

    past = None

    def forward(self, tokens, start_pos):
        self.past = Past() if start_pos == 0 else self.past
        return self.logits(tokens, None, self.past)[:, -1]


class ADict(TinyLlama):
    """A dict with logits and a list of caches that the caller hands over, which may be empty."""

    new_cache = None

    def forward(self, ids, attention_mask=None, cache=None):
        mask = None if attention_mask is None else (1.0 - attention_mask) < 0.5
        own = Past() if not cache else cache[0]
        logits = self.logits(ids, mask, own)
        return {"loss": None, "logits": logits, "cache": [own]}


class LastWithoutTargets(Nano):
    """All logits for learning, the last alone for writing."""

    def forward(self, idx, targets=None):
        logits = self.logits(idx, None, None)
        return (logits, logits.mean()) if targets is not None else (logits[:, [-1]], None)


class StartsAtZero(Nano):
    """Output matrices begin at zero: until they learn, nothing shows what the attention does."""

    def __init__(self):
        super().__init__()
        for block in self.blocks:
            nn.init.zeros_(block.o_proj.weight)
        nn.init.zeros_(self.lm_head.weight)


class HidesWhereTrue(Nano):
    """PyTorch's convention for padding."""

    def forward(self, ids, src_key_padding_mask=None):
        return self.logits(ids, None if src_key_padding_mask is None else ~src_key_padding_mask, None)


def positions_anew(model):
    class Anew(model):
        def positions(self, tokens, old):
            return super().positions(tokens[:, old:], 0)

    return Anew()


def seeing(model):
    class Open(model):
        def causal(self, new, old):
            return torch.ones(new, old + new, dtype=torch.bool)

    return Open()


CACHED = (Returns, KeepsInside, StartsAt, ADict)


@pytest.mark.parametrize("model", [*CACHED, LastWithoutTargets, StartsAtZero, HidesWhereTrue])
def test_right_decoders_in_any_form_are_healthy(model):
    diagnosis = clinic.diagnose(model())
    assert diagnosis, str(diagnosis)
    assert diagnosis.kind == "decoder"
    assert ("cache" in diagnosis.examined) == (model in CACHED or model is StartsAtZero)
    assert ("mask_hides" in diagnosis.names) == (model is HidesWhereTrue)


@pytest.mark.parametrize("model", CACHED)
def test_positions_that_begin_anew_with_a_cache_of_any_kind_are_named(model):
    assert clinic.diagnose(positions_anew(model)).names == ("cache_positions",)


@pytest.mark.parametrize("model", [LastWithoutTargets, StartsAtZero, HidesWhereTrue, Returns, ADict])
def test_a_future_that_is_seen_is_named_in_any_form(model):
    assert "causal_open" in clinic.diagnose(seeing(model)).names


def test_a_model_of_its_last_logits_alone_cannot_show_the_future():
    diagnosis = clinic.diagnose(StartsAt())
    assert "causality" in diagnosis.skipped


class PositionIds(Nano):
    """As Hugging Face's models do: positions among padding are the caller's."""

    def forward(self, input_ids, attention_mask=None, position_ids=None):
        return self.logits(
            input_ids, None if attention_mask is None else attention_mask.bool(), None, position_ids
        )

    def positions(self, tokens, old):
        return torch.arange(tokens.shape[1]).expand_as(tokens)


def test_positions_that_the_caller_gives_are_a_convention():
    assert clinic.diagnose(PositionIds()).notes[0].name == "positions_by_caller"


class HidesQueries(TinyLlama):
    """The mask of padding is transposed: it hides rows."""

    def visible(self, tokens, new, old):
        return self.causal(new, old) & tokens[:, None, :, None][..., -new:, :]


def test_padding_that_is_hidden_for_queries_is_named():
    assert "padding_hides_queries" in clinic.diagnose(HidesQueries()).names


# ---- windows


class ALayer(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window, self.qkv, self.out = window, nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        seen = torch.ones(x.shape[1], x.shape[1], dtype=torch.bool).tril()
        seen = seen if self.window is None else seen.triu(1 - self.window)
        return x + self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=seen))


class Windows(nn.Module):
    """Some layers see three tokens, the others all."""

    def __init__(self, *windows):
        super().__init__()
        self.sliding_window, self.layer_types = (
            3,
            ["sliding_attention", "full_attention", "sliding_attention"],
        )
        self.wte, self.head = nn.Embedding(VOCAB, 12), nn.Linear(12, VOCAB)
        self.layers = nn.ModuleList(map(ALayer, windows))

    def forward(self, idx):
        x = self.wte(idx)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


@pytest.mark.parametrize(
    ("windows", "name"),
    [
        ((3, None, 3), None),
        ((None, 3, 3), "window_wrong_layers"),
        ((3, 3, 3), "window_wrong_layers"),
        ((None, None, None), "window_ignored"),
        ((5, None, 5), "differs"),
        ((4, None, 4), "window_one_more"),
        ((2, None, 2), "window_one_less"),
    ],
)
def test_each_layer_has_the_window_that_is_declared(windows, name):
    diagnosis = clinic.diagnose(Windows(*windows), "decoder")
    assert diagnosis.names == ((name,) if name else ())
    assert "window" in str(diagnosis) or not name


def test_a_layer_that_hardly_hears_its_first_token_hears_it():
    model = Windows(3, None, 3).double()
    whole = model.layers[1]
    whole.out.weight.data.mul_(1e-6)  # what arrives is smaller than what else counts as rounding
    pairs = laws.windows_of_layers(DecoderAdapter(model))
    assert pairs == [(3, 3), (None, None), (3, 3)]


def test_a_layer_that_hears_nothing_has_a_window_of_one():
    class Deaf(nn.Module):
        def forward(self, x):
            return torch.zeros_like(x)

    model = Windows(3, None, 3)
    model.layers[1] = Deaf()
    assert laws.windows_of_layers(DecoderAdapter(model)) == [(3, 3), (1, None), (3, 3)]


# ---- encoders


class SmallEncoder(nn.Module):
    def __init__(self, how="right"):
        super().__init__()
        self.how, self.word, self.place = how, nn.Embedding(VOCAB, 12), nn.Embedding(64, 12)
        layer = nn.TransformerEncoderLayer(12, 3, 20, batch_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, input_ids, attention_mask=None):
        x = self.word(input_ids) + self.place(torch.arange(input_ids.shape[1]))
        hidden = None if attention_mask is None else attention_mask == 0
        if self.how == "ignored":
            hidden = None
        if self.how == "inverted" and hidden is not None:
            hidden = ~hidden
        if self.how == "batch":
            x = x + x.mean(0, keepdim=True)
        return {"last_hidden_state": self.layers(x, src_key_padding_mask=hidden)}


@pytest.mark.parametrize(
    ("how", "name"),
    [
        ("right", None),
        ("ignored", "padding_ignored"),
        ("inverted", "mask_inverted"),
        ("batch", "batch_mixed"),
    ],
)
def test_encoders_keep_padding_and_sequences_apart(how, name):
    diagnosis = clinic.diagnose(SmallEncoder(how))
    assert diagnosis.kind == "encoder"
    assert diagnosis.names == ((name,) if name else ())


def test_what_sees_both_ways_and_does_not_say_why_is_a_question():
    class Reader(SmallEncoder):
        pass

    diagnosis = clinic.diagnose(Reader())
    assert diagnosis.verdict == "undecided"
    assert diagnosis.question == "causal=True"
    assert clinic.diagnose(Reader(), causal=False)
    assert "causal_open" in clinic.diagnose(Reader(), causal=True).names


# ---- layers


class Block(nn.Module):
    """The norm comes before each part; `how` is the bug."""

    def __init__(self, how="right"):
        super().__init__()
        self.how, self.attn = how, nn.MultiheadAttention(12, 3, batch_first=True)
        self.ln_1, self.ln_2 = nn.LayerNorm(12), nn.LayerNorm(12)
        self.mlp = nn.Sequential(nn.Linear(12, 24), nn.GELU(), nn.Linear(24, 12))

    def forward(self, x):
        h = self.ln_1(x)
        a = self.attn(h, h, h, need_weights=False)[0]
        y = {"residual_missing": a, "residual_normed": h + a}.get(self.how, x + a)
        return (x if self.how == "residual_from_start" else y) + self.mlp(self.ln_2(y))


class PostNormLayer(Block):
    def forward(self, x):
        a = self.attn(x, x, x)[0]
        y = self.ln_1(a if self.how == "residual_missing" else x + a)
        return self.ln_2((x if self.how == "residual_from_start" else y) + self.mlp(y))


class ParallelBlock(Block):
    def forward(self, x):
        h = self.ln_1(x)
        return x + self.attn(h, h, h)[0] + self.mlp(h)


class SandwichBlock(Block):
    """Norms before and after each part."""

    def __init__(self):
        super().__init__()
        self.ln_3, self.ln_4 = nn.RMSNorm(12), nn.RMSNorm(12)

    def forward(self, x):
        h = self.ln_1(x)
        x = x + self.ln_3(self.attn(h, h, h)[0])
        return x + self.ln_4(self.mlp(self.ln_2(x)))


def of_torch(kind=nn.TransformerEncoderLayer, **options):
    return lambda: kind(12, 3, 20, **options)


RIGHT_LAYERS = {
    "before": Block, "after": PostNormLayer, "parallel": ParallelBlock, "sandwich": SandwichBlock,
    "torch": of_torch(batch_first=True), "sequence first": of_torch(),
    "torch, before": of_torch(batch_first=True, norm_first=True),
    "decoder": of_torch(nn.TransformerDecoderLayer, batch_first=True),
}  # fmt: skip


@pytest.mark.parametrize("make", RIGHT_LAYERS.values(), ids=RIGHT_LAYERS)
def test_right_layers_are_healthy(make):
    diagnosis = clinic.diagnose(make())
    assert diagnosis, str(diagnosis)
    assert diagnosis.kind == "layer"
    assert "residual" in diagnosis.examined


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (Block, "residual_missing"),
        (Block, "residual_from_start"),
        (Block, "residual_normed"),
        (PostNormLayer, "residual_missing"),
        (PostNormLayer, "residual_from_start"),
    ],
)
def test_residuals_that_add_something_else_are_named(kind, name):
    assert clinic.diagnose(kind(name)).names == (name,)


def test_a_norm_over_tokens_in_a_layer_is_named():
    class TokenNorm(nn.LayerNorm):
        def forward(self, x):
            x = (x - x.mean(1, keepdim=True)) / (x.var(1, keepdim=True, unbiased=False) + self.eps).sqrt()
            return x * self.weight + self.bias

    block = Block()
    block.ln_2 = TokenNorm(12)
    assert clinic.diagnose(block).names == ("rms_axis",)


# ---- norms


class ByStd(nn.Module):
    """The annotated transformer's."""

    def __init__(self, features, eps=1e-6):
        super().__init__()
        self.a_2, self.b_2, self.eps = (
            nn.Parameter(torch.ones(features)),
            nn.Parameter(torch.zeros(features)),
            eps,
        )

    def forward(self, x):
        return self.a_2 * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + self.eps) + self.b_2


class NormByStd(ByStd):
    pass


class RMSNorm(nn.Module):
    def __init__(self, size, how="right", eps=1e-5):
        super().__init__()
        self.scale, self.how, self.variance_epsilon = nn.Parameter(torch.ones(size)), how, eps

    def forward(self, hidden_states):
        x, eps = hidden_states, self.variance_epsilon
        square = x.pow(2).mean(-1, keepdim=True)
        return (
            self.scale
            * {
                "right": lambda: x * torch.rsqrt(square + eps),
                "rms_inverted": lambda: x / torch.rsqrt(square + eps),
                "rms_no_root": lambda: x / (square + eps),
                "rms_sum": lambda: x * torch.rsqrt(x.pow(2).sum(-1, keepdim=True) + eps),
                "rms_root_twice": lambda: x / torch.sqrt(square.sqrt() + eps),
                "rms_eps_outside": lambda: x / (square.sqrt() + eps),
                "rms_axis": lambda: x * torch.rsqrt(x.pow(2).mean(1, keepdim=True) + eps),
            }[self.how]()
        )


class AddsOneRMSNorm(nn.Module):
    """Gemma's: the weight begins at 0."""

    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(size))

    def forward(self, x):
        return F.rms_norm(x, x.shape[-1:], eps=1e-6) * (1 + self.weight)


@pytest.mark.parametrize(
    ("norm", "kind"),
    [
        (nn.LayerNorm(12), "layer_norm"), (nn.LayerNorm(12, bias=False), "layer_norm"),
        (nn.RMSNorm(12), "rms_norm"),
        (NormByStd(12), "layer_norm"), (RMSNorm(12), "rms_norm"), (AddsOneRMSNorm(12), "rms_norm"),
        (lambda x, weight, bias, eps: F.layer_norm(x, x.shape[-1:], weight, bias, eps), "layer_norm"),
    ],
)  # fmt: skip
def test_norms_are_norms(norm, kind):
    diagnosis = clinic.diagnose(norm)
    assert diagnosis, str(diagnosis)
    assert diagnosis.kind == kind
    assert ({*diagnosis.names} == {"layer_unbiased", "rms_eps_outside"}) == isinstance(norm, NormByStd)


@pytest.mark.parametrize(
    "name", ["rms_inverted", "rms_no_root", "rms_sum", "rms_root_twice", "rms_axis", "rms_eps_outside"]
)
def test_norms_that_are_wrong_are_named(name):
    diagnosis = clinic.diagnose(RMSNorm(12, name))
    assert diagnosis.names == (name,)
    assert diagnosis.verdict == ("undecided" if name == "rms_eps_outside" else "ill")
    assert clinic.diagnose(RMSNorm(12, name), ignore=[name])


def normalized(x, weight, bias, eps, centred=True):
    middle = x - x.mean(-1, keepdim=True) if centred else x
    return middle / (middle.pow(2).mean(-1, keepdim=True) + eps).sqrt() * weight + bias


@pytest.mark.parametrize(
    ("norm", "name"),
    [
        (lambda x, weight, bias, eps: normalized(x, weight, bias, eps, False), "layer_no_mean"),
        (lambda x, weight, bias, eps: normalized(x, weight, 0 * bias, eps), "layer_no_bias"),
        (lambda x, gamma, beta, eps: normalized(x.mT, 1, 0, eps).mT * gamma + beta, "rms_axis"),
        (lambda x, weight, bias, eps: normalized(x, 1 + weight, bias, eps), "rms_offset"),
    ],
)
def test_layer_norms_that_are_wrong_are_named(norm, name):
    assert clinic.diagnose(norm).names == (name,)


def test_a_root_of_the_standard_deviation_is_named():
    def norm(x, gamma, eps):
        return x / (x.std(-1, keepdim=True) + eps).sqrt() * gamma

    assert set(clinic.diagnose(norm, "rms_norm").names) == {"rms_mean", "rms_root_twice"}


def test_angles_that_were_kept_and_forget_the_offset_are_named():
    def rope(x, positions):
        theta = positions[0] * 1e4 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
        theta = torch.cat((theta, theta))
        return x * theta.cos() + rotate_half(x) * theta.sin()

    assert clinic.diagnose(rope).names == ("rotary_ignored",)


def test_a_unit_vector_divided_by_the_root_of_its_size_is_named():
    def norm(x, weight, eps):
        return F.normalize(x, dim=-1) * x.shape[-1] ** -0.5 * weight

    assert set(clinic.diagnose(norm, "rms_norm").names) == {"rms_factor", "rms_eps"}


# ---- rotary positions


def rotate_half(x):
    return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)


def rotate_neighbours(x):
    return torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)


def angles(x, base=1e4, power=-1.0):
    places = torch.arange(x.shape[-2]).double()
    return (places[:, None] * base ** (power * torch.arange(0, x.shape[-1], 2) / x.shape[-1])).float()


def hugging_face(q, k, cos, sin, position_ids=None, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def by_complex_numbers(xq, xk, freqs_cis):
    def turn(x):
        pairs = torch.view_as_complex(x.float().unflatten(-1, (-1, 2)))
        return torch.view_as_real(pairs * freqs_cis[None, :, None]).flatten(-2).type_as(x)

    return turn(xq), turn(xk)


def half_tables(x, cos, sin):
    """Half as many cosines, and −θ."""
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos + b * sin, -a * sin + b * cos), dim=-1)


def table_of_pairs(x, rope_cache):
    """Cosine and sine in the last dimension, tokens before heads."""
    even, odd = x[..., ::2], x[..., 1::2]
    cos, sin = (rope_cache[None, :, None, :, i] for i in (0, 1))
    return torch.stack((even * cos - odd * sin, odd * cos + even * sin), dim=-1).flatten(-2)


def both(q, k):
    cos, sin = (f(torch.cat((angles(q),) * 2, dim=-1)) for f in (torch.cos, torch.sin))
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


class RotaryEmbedding(nn.Module):
    """x in, turned x out, tokens before heads."""

    def forward(self, x):
        return both(x.transpose(1, 2), x.transpose(1, 2))[0].transpose(1, 2)


@pytest.mark.parametrize(
    ("rope", "notes"),
    [
        (hugging_face, ()), (by_complex_numbers, ("rotary_layout",)), (half_tables, ("rotary_sign",)),
        (table_of_pairs, ("rotary_layout",)), (both, ()), (RotaryEmbedding(), ()),
    ],
)  # fmt: skip
def test_rotary_functions_of_any_signature_are_read(rope, notes):
    diagnosis = clinic.diagnose(rope)
    assert diagnosis, str(diagnosis)
    assert diagnosis.kind == "rotary"
    assert diagnosis.names == notes


def test_the_owner_can_say_how_numbers_are_paired():
    assert clinic.diagnose(by_complex_numbers, rope="neighbours")
    assert "rotary_not_meant" in clinic.diagnose(by_complex_numbers, rope="halves").names
    assert "rotary_not_meant" in clinic.diagnose(hugging_face, rope="neighbours").names


def with_angles(make, turn):
    def rope(q, k):
        theta = make(q)
        return tuple(x * theta.cos() + turn(x) * theta.sin() for x in (q, k))

    return rope


def halves(**options):
    return lambda x: torch.cat((angles(x, **options),) * 2, dim=-1)


def squared(q, k, cos, sin):
    factor = (cos.square() + sin.square()).sqrt()
    return hugging_face(q, k, cos * factor, sin * factor)


def unit(q, k, cos, sin):
    factor = (cos.square() + sin.square()).sqrt()
    return hugging_face(q, k, cos / factor, sin / factor)


def mirrored(q, k):
    def turn(x):
        (a, b), theta = x.chunk(2, dim=-1), angles(x)
        return torch.cat((a * theta.cos() - b * theta.sin(), b * theta.cos() - a * theta.sin()), dim=-1)

    return turn(q), turn(k)


@pytest.mark.parametrize(
    ("rope", "name"),
    [
        (with_angles(halves(), rotate_neighbours), "rotary_mixed"),
        (with_angles(lambda x: angles(x).repeat_interleave(2, -1), rotate_half), "rotary_mixed"),
        (with_angles(halves(base=5e5), rotate_half), "rotary_base"),
        (with_angles(halves(power=1.0), rotate_half), "rotary_speeds_inverted"),
        (with_angles(halves(), lambda x: torch.cat((-x[..., 1::2], x[..., ::2]), -1)), "rotary_pairs_joined"),
        (lambda q, k: (both(q, k)[0], k), "rotary_queries_only"),
        (lambda q, k: (q, both(q, k)[1]), "rotary_unturned"),
        (mirrored, "rotary_mirrored"),
        (unit, "yarn_factor_lost"),
        (squared, "yarn_factor_squared"),
    ],
)
def test_rotary_functions_that_are_wrong_are_named(rope, name):
    diagnosis = clinic.diagnose(rope, "rotary")
    assert diagnosis.names == (name,), str(diagnosis)
    assert not diagnosis


# ---- sinusoids


def waves(length, dim, exponents=None, base=1e4, halves=False, other=torch.cos, floor=False):
    exponents = torch.arange(0, dim, 2) / dim if exponents is None else exponents
    theta = torch.arange(length)[:, None].double() / base ** exponents.double()
    theta = theta.floor() if floor else theta
    if halves:
        return torch.cat((theta.sin(), other(theta)), dim=1)
    return torch.stack((theta.sin(), other(theta)), dim=2).flatten(1)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model=12, sequence_first=False):
        super().__init__()
        self.sequence_first, self.dropout = sequence_first, nn.Dropout(0.1)
        pe = waves(100, d_model).float()
        self.register_buffer("pe", pe[:, None] if sequence_first else pe[None])

    def forward(self, x):
        return self.dropout(x + (self.pe[: len(x)] if self.sequence_first else self.pe[:, : x.size(1)]))


class TablePositions(PositionalEncoding):
    """Ids in, the rows of a table out."""

    def forward(self, x):
        return self.pe[0, : x.shape[1]]


@pytest.mark.parametrize(
    ("table", "notes"),
    [
        (PositionalEncoding(), ()), (PositionalEncoding(sequence_first=True), ("sequence_first",)),
        (TablePositions(), ()), (waves, ()),
        (lambda length, dim: waves(length, dim, halves=True), ("waves_halves",)),
        (lambda n, d: waves(n, d, torch.arange(d // 2) / (d // 2 - 1 or 1), halves=True),
         ("waves_halves", "waves_to_the_end")),
    ],
)  # fmt: skip
def test_sinusoids_in_any_form_are_read(table, notes):
    diagnosis = clinic.diagnose(table, None if isinstance(table, nn.Module) else "sinusoidal")
    assert diagnosis, str(diagnosis)
    assert diagnosis.kind == "sinusoidal"
    assert set(diagnosis.names) == set(notes)


@pytest.mark.parametrize(
    ("options", "name"),
    [
        (lambda d: {"base": 5e5}, "waves_base"),
        (lambda d: {"exponents": torch.zeros(d // 2)}, "waves_constant"),
        (lambda d: {"exponents": -torch.arange(0, d, 2) / d}, "waves_inverted"),
        (lambda d: {"floor": True}, "waves_floor"),
        (lambda d: {"other": torch.sin}, "waves_sines"),
    ],
)
def test_sinusoids_that_are_wrong_are_named(options, name):
    assert clinic.diagnose(lambda length, d_model: waves(length, d_model, **options(d_model))).names == (
        name,
    )


def test_slopes_that_begin_at_one_are_named():
    def slopes(num_heads):
        return torch.tensor([2.0 ** (-8 * i / num_heads) for i in range(num_heads)])

    assert "alibi_from_zero" in clinic.diagnose(slopes, "alibi").names


# ---- multi-head latent attention


def latent(q_nope, q_pe, k_nope, k_pe, v, scale=None):
    q = torch.cat((q_nope, q_pe), dim=-1)
    k = torch.cat((k_nope, k_pe.expand(-1, q.shape[1], -1, -1)), dim=-1)
    return F.scaled_dot_product_attention(q, k, v, scale=scale)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda q_nope, q_pe, k_nope, k_pe, v: latent(q_nope, q_pe, k_nope, k_pe, v), None),
        (lambda q_nope, q_pe, k_nope, k_pe, v: latent(q_nope, q_pe, k_nope, k_pe, v, k_nope.shape[3] ** -0.5),
         "latent_scale"),
        (lambda q_nope, q_rope, k_nope, k_rope, value: latent(q_nope, 0 * q_rope, k_nope, k_rope, value),
         "latent_rope_missing"),
        (lambda q_nope, q_rope, k_nope, k_rope, value: latent(0 * q_nope, q_rope, k_nope, k_rope, value),
         "latent_nope_missing"),
    ],
)  # fmt: skip
def test_keys_of_two_parts_are_scaled_as_one(function, name):
    diagnosis = clinic.diagnose(function)
    assert diagnosis.kind == "latent_attention"
    assert diagnosis.names == ((name,) if name else ())


def test_what_is_no_attention_is_never_a_healthy_one():
    for module in (nn.Linear(12, 12), nn.Sequential(nn.Linear(12, 24), nn.ReLU(), nn.Linear(24, 12))):
        diagnosis = clinic.diagnose(module)
        assert not diagnosis
        assert diagnosis.verdict == "undecided"


class SequenceFirstLayer(nn.Module):
    """An encoder layer in PyTorch's default order."""

    def __init__(self, d_model: int, nhead: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, nhead, dropout)
        self.hidden, self.back = nn.Linear(d_model, 20), nn.Linear(20, d_model)
        self.norm_1, self.norm_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, src: torch.Tensor) -> torch.Tensor:
        x = self.norm_1(src + self.attention(src, src, src)[0])
        return self.norm_2(x + self.back(self.hidden(x).relu()))


def test_the_class_of_a_layer_is_judged_as_a_layer() -> None:
    """As its instance is, and not as attention, whose batch would come first."""
    of_class, of_layer = clinic.diagnose(SequenceFirstLayer), clinic.diagnose(SequenceFirstLayer(12, 3))
    assert of_class.kind == of_layer.kind == "layer" and of_class.names == of_layer.names
    assert "sequence_first" in of_class.names and not of_class.bugs


def test_the_class_of_attention_is_judged_as_attention() -> None:
    class Unscaled(nn.Module):
        def __init__(self, embed_dim: int, num_heads: int) -> None:
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(embed_dim, embed_dim) for _ in range(4))
            self.num_heads = num_heads

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            q, k, v = (
                f(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v)
            )
            return self.o(((q @ k.mT).softmax(-1) @ v).transpose(1, 2).flatten(2))

    assert clinic.diagnose(Unscaled).names == ("unscaled",)
