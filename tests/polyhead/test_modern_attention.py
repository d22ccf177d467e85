# ruff: noqa: E501  in the tables, each case is one line
"""Rotary positions, QK-norm, windows and sinks in the attention, in layers and in models."""

from __future__ import annotations

import copy
import itertools
import types

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.testing import assert_close

from polyhead import (
    Decoder,
    DecoderLayer,
    DecoderOnly,
    Encoder,
    EncoderDecoder,
    EncoderLayer,
    EncoderOnly,
    KVCache,
    MultiHeadAttention,
    RMSNorm,
    RotaryPositions,
    TokenEmbedding,
    attention_scores,
    causal_mask,
    copy_weights,
    padding_mask,
    window_mask,
)
from polyhead.heads import Head, ablate, prune
from tests.polyhead.hugging_face import transformers
from tests.polyhead.memory import largest_float
from tests.polyhead.torch_twins import stirred

BATCH, LENGTH, EMBED_DIM, HEADS, KV_HEADS, HEAD_DIM, WINDOW = 3, 11, 26, 6, 2, 10, 4
EXACT = {"rtol": 1e-10, "atol": 1e-10}
ROTARY = RotaryPositions(HEAD_DIM, 100.0, "halves")
OPTIONS = {
    "head_dim": {}, "rotary": {"rotary": ROTARY}, "qk_norm_eps": {"qk_norm_eps": 0.1}, "window": {"window": WINDOW},
    "sinks": {"sinks": True}, "all": {"rotary": ROTARY, "qk_norm_eps": 0.1, "window": WINDOW, "sinks": True},
}  # fmt: skip
every_option = pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
with_weights = pytest.mark.parametrize("need_weights", [False, True])


def make(dtype: torch.dtype = torch.float64, embed_dim: int = EMBED_DIM, **options) -> MultiHeadAttention:
    """No parameter as it begins."""
    module = MultiHeadAttention(embed_dim, HEADS, KV_HEADS, head_dim=HEAD_DIM, **options)
    return stirred(module).to(dtype)


def tokens(length: int = LENGTH, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(BATCH, length, EMBED_DIM).to(dtype)


def by_hand(module, x, allowed, positions=None):
    """One head after the other, one query after the other."""
    places = (torch.arange(x.shape[1]) if positions is None else positions).expand(x.shape[:2])
    projected = F.linear(x, module.input_projection.weight, module.input_projection.bias)
    q, k, v = projected.split(module.sizes, dim=-1)
    outputs, weights = [], torch.zeros(len(x), HEADS, x.shape[1], x.shape[1], dtype=x.dtype)
    for head in range(HEADS):
        group = head // (HEADS // KV_HEADS)
        columns = ((q, head), (k, group), (v, group))
        own = [part[..., i * HEAD_DIM : (i + 1) * HEAD_DIM] for part, i in columns]
        for i, norm in enumerate((module.query_norm, module.key_norm)):
            if norm is not None:
                own[i] = F.rms_norm(own[i], (HEAD_DIM,), norm.weight, norm.eps)
            if module.rotary is not None:
                own[i] = torch.stack([module.rotary(row, at) for row, at in zip(own[i], places, strict=True)])
        scores = torch.exp(attention_scores(own[0], own[1])) * allowed
        sink = 0.0 if module.sinks is None else torch.exp(module.sinks[head])
        weights[:, head] = scores / (scores.sum(dim=-1, keepdim=True) + sink)
        outputs.append(weights[:, head] @ own[2])
    return module.output_projection(torch.cat(outputs, dim=-1)), weights


# ---- each option is its formula


@with_weights
@every_option
def test_it_is_the_formula(options, need_weights):
    module, x = make(**options), tokens()
    allowed = window_mask(LENGTH, WINDOW) if "window" in options else causal_mask(LENGTH)
    output, weights = module(x, is_causal=True, need_weights=need_weights)
    expected, expected_weights = by_hand(module, x, allowed)
    assert_close(output, expected, **EXACT)
    if need_weights:
        assert_close(weights, expected_weights, **EXACT)


@with_weights
@pytest.mark.parametrize(
    "options", [{"rotary": ROTARY}, {"sinks": True}, {"qk_norm_eps": 0.1, "sinks": True}]
)
def test_without_causality_and_with_padding(options, need_weights):
    module, x = make(**options), tokens()
    mask = padding_mask(torch.tensor([LENGTH, 7, 1]), LENGTH)
    output, _ = module(x, mask=mask, need_weights=need_weights)
    assert_close(output[mask[:, 0]], by_hand(module, x, mask)[0][mask[:, 0]], **EXACT)


@every_option
def test_both_ways_have_the_same_gradients(options):
    module, x = make(**options), tokens()
    mask, found = padding_mask(torch.tensor([LENGTH, 7, 1]), LENGTH), []
    for need_weights in (False, True):
        module.zero_grad()
        leaf = x.clone().requires_grad_()
        module(leaf, mask=mask, is_causal=True, need_weights=need_weights)[0].sin().sum().backward()
        found.append([leaf.grad, *(parameter.grad.clone() for parameter in module.parameters())])
        names = [name for name, parameter in module.named_parameters() if not parameter.grad.any()]
        assert names == []
    assert_close(found[0], found[1], **EXACT)


def test_what_is_not_asked_for_is_not_there():
    names = ["input_projection.weight", "input_projection.bias"]
    names += ["output_projection.weight", "output_projection.bias"]
    assert [name for name, _ in MultiHeadAttention(6, 3).named_parameters()] == names
    with_all = make(**OPTIONS["all"])
    further = [name for name in with_all.state_dict() if name not in names]
    assert further == ["sinks", "query_norm.weight", "key_norm.weight"]
    assert (with_all.query_norm.weight.shape, with_all.sinks.shape) == ((HEAD_DIM,), (HEADS,))
    assert not MultiHeadAttention(6, 3, sinks=True).sinks.any()
    assert "head_dim=10, window=4" in repr(with_all)
    torch.manual_seed(5)
    plain = MultiHeadAttention(20, 2)
    torch.manual_seed(5)
    more = MultiHeadAttention(20, 2, qk_norm_eps=1e-6, sinks=True, window=3, rotary=ROTARY)
    assert torch.equal(plain.output_projection.weight, more.output_projection.weight)


# ---- positions


@with_weights
def test_positions_given_and_counted(need_weights):
    module, x = make(rotary=ROTARY), tokens()
    options = {"is_causal": True, "need_weights": need_weights}
    counted, _ = module(x, **options)
    assert_close(module(x, positions=torch.arange(LENGTH), **options)[0], counted, rtol=0, atol=0)
    shifted, _ = module(x, positions=torch.arange(LENGTH) + 1000, **options)
    assert_close(shifted, counted, rtol=1e-9, atol=1e-9)
    apart = torch.stack([torch.arange(LENGTH) * n for n in (1, 2, 3)])
    expected, _ = by_hand(module, x, causal_mask(LENGTH), apart)
    assert_close(module(x, positions=apart, **options)[0], expected, **EXACT)
    assert not torch.isclose(expected, counted)[1:, 2:].any(dim=-1).all()


def test_positions_mean_nothing_to_an_attention_that_knows_none():
    module, x = make(), tokens()
    assert_close(module(x, positions=torch.arange(LENGTH) * 7), module(x), rtol=0, atol=0)


# ---- a cache


@with_weights
@every_option
@torch.no_grad()
def test_step_by_step_is_all_at_once(options, need_weights):
    """Padding on the left, positions counted from it, chunks larger and smaller than the window."""
    module, x = make(**options), tokens()
    real = torch.arange(LENGTH) >= torch.tensor([[0], [3], [9]])
    places = (real.cumsum(dim=1) - 1).clamp(min=0)
    for mask, positions in ((None, None), (None, places[0]), (real, None), (real, places)):
        keys = None if mask is None else mask[:, None]
        causal = {"is_causal": True}
        expected, expected_weights = module(x, mask=keys, **causal, need_weights=True, positions=positions)
        cache, ends = KVCache(), (0, 1, 2, 8, LENGTH)
        for start, end in itertools.pairwise(ends):
            part = {
                "mask": None if keys is None else keys[..., :end],
                "positions": None if positions is None else positions[..., start:end],
            }
            found, weights = module(x[:, start:end], **causal, **part, need_weights=need_weights, cache=cache)
            rows = slice(None) if mask is None else mask[:, start:end]
            assert_close(found[rows], expected[:, start:end][rows], **EXACT)
            if need_weights and mask is None:
                assert_close(weights, expected_weights[:, :, start:end, :end], **EXACT)
        assert cache.read()[0].shape == (BATCH, KV_HEADS, LENGTH, HEAD_DIM)
        assert cache.num_bytes == 2 * BATCH * KV_HEADS * LENGTH * HEAD_DIM * 8


@torch.no_grad()
def test_the_cache_keeps_turned_keys():
    module, x, cache = make(rotary=ROTARY, qk_norm_eps=0.1), tokens(), KVCache()
    module(x, is_causal=True, cache=cache)
    keys = F.linear(x, *(each.split(module.sizes)[1] for each in module.input_projection.parameters()))
    keys = keys.unflatten(-1, (KV_HEADS, HEAD_DIM)).transpose(1, 2)
    expected = module.rotary(F.rms_norm(keys, (HEAD_DIM,), module.key_norm.weight, 0.1))
    assert_close(cache.read()[0], expected, **EXACT)


@torch.no_grad()
def test_after_a_failure_the_same_call_can_be_made_again():
    module, x, cache = make(window=WINDOW), tokens(), KVCache()
    places = torch.arange(LENGTH) * 2
    expected, _ = module(x, is_causal=True, positions=places)
    module(x[:, :5], is_causal=True, cache=cache, positions=places[:5])
    with pytest.raises(ValueError, match=r"\bhead_gates"):
        gates = torch.ones(HEADS + 1).double()
        module(x[:, 5:], is_causal=True, cache=cache, positions=places[:6] * 9, head_gates=gates)
    handle = module.output_projection.register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        module(x[:, 5:], is_causal=True, cache=cache, positions=places[:6] * 9)
    handle.remove()
    found, _ = module(x[:, 5:], is_causal=True, cache=cache, positions=places[5:])
    assert_close(found, expected[:, 5:], **EXACT)


@torch.no_grad()
def test_rows_of_a_cache_take_their_positions_along():
    module, x, cache = make(window=WINDOW), tokens(), KVCache()
    places = torch.stack([torch.arange(LENGTH) * n for n in (1, 2, 3)])
    expected, _ = module(x, is_causal=True, positions=places)
    rows = torch.tensor([2, 0, 2, 1])
    module(x[:, :8], is_causal=True, cache=cache, positions=places[:, :8])
    cache.select(rows)
    found, _ = module(x[rows, 8:], is_causal=True, cache=cache, positions=places[rows, 8:])
    assert_close(found, expected[rows, 8:], **EXACT)


@torch.no_grad()
def test_positions_given_only_for_some_of_the_tokens():
    """Those before and after are counted."""
    module, x, cache = make(window=WINDOW), tokens(), KVCache()
    whole = torch.tensor([0, 1, 2, 3, 20, 21, 6, 7, 8, 9, 10])
    expected, _ = module(x, is_causal=True, positions=whole)
    found = [module(x[:, :4], is_causal=True, cache=cache)[0]]
    found += [module(x[:, 4:6], is_causal=True, cache=cache, positions=whole[4:6])[0]]
    found += [module(x[:, 6:], is_causal=True, cache=cache)[0]]
    assert_close(torch.cat(found, dim=1), expected, **EXACT)


# ---- windows


@torch.no_grad()
def test_a_window_counts_positions_where_they_are_given():
    """Padding in the midst counts no position: what is left is as without it."""
    module, x = make(window=WINDOW, rotary=ROTARY), tokens()
    real = torch.ones(LENGTH, dtype=torch.bool)
    real[3:6] = False
    places = (real.cumsum(dim=0) - 1).clamp(min=0)
    expected, _ = module(x[:, real], is_causal=True)
    found, _ = module(x, mask=real, is_causal=True, positions=places)
    assert_close(found[:, real], expected, **EXACT)
    by_order, _ = module(x, mask=real, is_causal=True)
    assert not torch.isclose(by_order[:, real], expected)[:, 3:6].any(dim=-1).all()


# ---- sinks


def test_sinks_are_gpt_oss():
    module, x = make(sinks=True), tokens()
    parts = module.input_projection(x).split(module.sizes, dim=-1)
    q, k, v = (part.unflatten(-1, (-1, HEAD_DIM)).transpose(1, 2) for part in parts)
    theirs = transformers.models.gpt_oss.modeling_gpt_oss.eager_attention_forward
    owner = types.SimpleNamespace(sinks=module.sinks, num_key_value_groups=HEADS // KV_HEADS, training=False)
    hidden = torch.zeros(LENGTH, LENGTH).double().masked_fill(~causal_mask(LENGTH), -torch.inf)
    output, weights = theirs(owner, q, k, v, hidden, HEAD_DIM**-0.5)
    found, found_weights = module(x, is_causal=True, need_weights=True)
    assert_close(found_weights, weights, **EXACT)
    assert_close(found, module.output_projection(output.flatten(2)), **EXACT)
    assert (found_weights.sum(dim=-1) < 1).all()


@with_weights
def test_a_query_that_sees_nothing_gets_the_bias_with_sinks_too(need_weights):
    module, x = make(sinks=True), tokens()
    mask = torch.ones(LENGTH, LENGTH, dtype=torch.bool)
    mask[2], mask[-1], mask[:, -1] = False, False, False
    x[:, -1] = torch.nan
    with torch.autograd.set_detect_anomaly(True):
        output, weights = module(x, mask=mask, is_causal=True, need_weights=need_weights)
        output.sin().sum().backward()
    bias = module.output_projection.bias
    for blind in (2, -1):
        assert_close(output[:, blind], bias.expand(BATCH, -1), rtol=0, atol=0)
    assert all(torch.isfinite(parameter.grad).all() for parameter in module.parameters())
    assert weights is None or (weights[:, :, 2] == 0).all()


def test_sinks_with_dropout_keep_the_expectation():
    module = make(sinks=True, dropout=0.25)
    x = torch.randn(1, 5, EMBED_DIM).double().expand(3000, -1, -1)
    expected, _ = copy.deepcopy(module).eval()(x[:1], is_causal=True)
    for need_weights in (False, True):
        output, _ = module(x, is_causal=True, need_weights=need_weights)
        assert output.std(dim=0).max() > 0.01
        assert_close(output.mean(dim=0), expected[0], rtol=0, atol=0.1)


def test_a_pruned_attention_keeps_the_sinks_of_its_heads():
    encoder = stirred(Encoder(1, EMBED_DIM, HEADS, num_kv_heads=KV_HEADS, head_dim=HEAD_DIM, sinks=True))
    off = [Head("encoder", 0, head) for head in (0, 5)]
    with ablate(encoder, off):
        expected, _ = encoder.eval()(x := tokens())
    pruned = prune(encoder, off)
    assert_close(pruned(x)[0], expected, **EXACT)
    assert torch.equal(pruned.layers[0].attention.sinks, encoder.layers[0].attention.sinks[1:5])


# ---- what is refused


X = torch.ones(2, 3, 20)


def small(**options) -> MultiHeadAttention:
    return MultiHeadAttention(20, 2, **options)


REFUSED = {
    "an odd head": (lambda: small(head_dim=5, rotary=RotaryPositions(4)), "rotary.*head_dim = 5, got 4"),
    "heads that do not divide": (lambda: MultiHeadAttention(20, 3), "num_heads.*embed_dim = 20.*3"),
    "rotary of others": (lambda: small(rotary=ROTARY)(X, X + 1), "key must be None"),
    "a window of others": (lambda: small(window=2)(X, X + 1, is_causal=True), "key must be None"),
    "a fixed cache": (lambda: small(rotary=ROTARY)(X, cache=KVCache(fixed=True)), "key must be None"),
    "a window both ways": (lambda: small(window=2)(X), "is_causal must be True.*window of 2"),
    "positions of another length": (lambda: small(rotary=ROTARY)(X, positions=torch.arange(2)), r"positions.*num_queries = 3.*\(2,\)"),
    "positions of another batch": (lambda: small(window=2)(X, is_causal=True, positions=torch.zeros(3, 3).long()), r"positions.*batch = 2.*\(3, 3\)"),
    "an encoder's window": (lambda: EncoderLayer(20, 2, window=2), "window must be None in an encoder.*2"),
    "too few windows": (lambda: Decoder(3, 20, 2, windows=[2, None]), "windows must be one for each of 3 layers, got 2"),
    "a head_dim of a layer": (lambda: Decoder(1, 20, 2, head_dim=7, rotary=ROTARY), "rotary.*7, got 10"),
    "a source with rotary": (lambda: copy_weights(small(rotary=ROTARY), small()), "MultiHeadAttention must be made without rotary"),
    "a target with sinks": (lambda: copy_weights(small(), small(sinks=True)), "without sinks"),
    "a target with a window": (lambda: copy_weights(small(), small(window=2)), "without window"),
    "a target with norms": (lambda: copy_weights(small(), small(qk_norm_eps=1.0)), "without query_norm"),
    "a target of another head_dim": (lambda: copy_weights(small(), small(head_dim=7)), "head_dim 10, got 7"),
}  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(call, message):
    with pytest.raises(ValueError, match=rf"\b({message})"):
        call()


def test_own_sizes_can_be_copied():
    source, target = (stirred(small(head_dim=7)) for _ in range(2))
    copy_weights(source, target)
    assert_close(target(X.double()), source(X.double()), rtol=0, atol=0)


# ---- memory, compilers, autocast


LONG = 1024
FEW = {"rotary": RotaryPositions(4), "qk_norm_eps": 0.1, "sinks": True}


@pytest.mark.parametrize(
    "options", [{}, FEW, {"window": LONG}, {"rotary": RotaryPositions(4)}], ids=lambda each: ", ".join(each)
)
def test_no_matrix_of_queries_and_keys_unless_asked_for(options):
    module = MultiHeadAttention(8, 2, num_kv_heads=1, **options)
    x = torch.randn(1, LONG, 8, requires_grad=True)
    assert largest_float(module, x, is_causal=True) <= 24 * LONG
    mask = torch.arange(LONG) < 700
    if "window" not in options:
        assert largest_float(module, x, mask=mask) <= 24 * LONG
    assert largest_float(module, x, is_causal=True, need_weights=True) >= LONG**2


@pytest.mark.parametrize("length", [LONG, 1])
def test_the_causal_kernel_is_told_by_a_word_and_gets_no_mask(length, monkeypatch):
    seen = []
    real = F.scaled_dot_product_attention

    def watched(q, k, v, mask=None, dropout=0.0, is_causal=False, **options):
        seen.append((mask, is_causal, k.shape[1]))
        return real(q, k, v, mask, dropout, is_causal, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", watched)
    for options in ({}, FEW, {"window": LONG}):
        MultiHeadAttention(8, 2, num_kv_heads=1, **options)(torch.randn(1, length, 8), is_causal=True)
    assert seen == [(None, length > 1, 1)] * 3  # the one head of keys is not repeated


def llama(**options) -> DecoderOnly:
    """All of it, in a whole model of two layers."""
    rotary = RotaryPositions(HEAD_DIM, 100.0, "halves")
    kind = {"norm_first": True, "norm": "rms", "gated": True, "activation": "silu", "dropout": 0.0}
    kind |= {"attention_bias": False, "ffn_bias": False, "num_kv_heads": KV_HEADS, "head_dim": HEAD_DIM}
    kind |= {"rotary": rotary, "qk_norm_eps": 0.1, "sinks": True, "ffn_dim": 31}
    decoder = Decoder(2, EMBED_DIM, HEADS, cross_attention=False, **kind | options)
    embedding = TokenEmbedding(53, EMBED_DIM, positions=None)
    return stirred(DecoderOnly(embedding, decoder, nn.Linear(EMBED_DIM, 53, bias=False)))


IDS = torch.randint(0, 53, (BATCH, LENGTH), generator=torch.Generator().manual_seed(0))


def test_a_whole_model_makes_no_matrix_either():
    embedding = TokenEmbedding(3, 8, positions=None)
    options = {"norm": "rms", "norm_first": True, "num_kv_heads": 1, "dropout": 0.0, **FEW}
    model = DecoderOnly(embedding, Decoder(1, 8, 2, cross_attention=False, ffn_dim=8, **options))
    assert largest_float(model, torch.zeros(1, LONG).long()) <= 24 * LONG


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("options", [{}, {"windows": [3, None]}], ids=["causal", "windows"])
def test_compiles_into_one_graph(in_one_graph, options):
    model = llama(**options)
    assert_close(in_one_graph(model)(IDS), model(IDS), **EXACT)
    mask = torch.arange(LENGTH) >= torch.tensor([[0], [3], [9]])
    assert_close(in_one_graph(model)(IDS, mask), model(IDS, mask), **EXACT)


@with_weights
def test_under_autocast(need_weights):
    module, x = make(torch.float32, **OPTIONS["all"]), tokens(dtype=torch.float32)
    expected, _ = module(x, is_causal=True)
    with torch.autocast("cpu", torch.bfloat16):
        output, _ = module(x, is_causal=True, need_weights=need_weights)
        with torch.no_grad():
            cache = KVCache()
            steps = [module(x[:, i : i + 1], is_causal=True, cache=cache)[0] for i in range(LENGTH)]
    scale = expected.abs().max()
    assert_close(output.float() / scale, expected / scale, rtol=0.05, atol=0.05)
    assert_close(torch.cat(steps, dim=1).float() / scale, expected / scale, rtol=0.05, atol=0.05)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_in_half_precision(dtype):
    module = make(dtype, **OPTIONS["all"])
    wide, x = copy.deepcopy(module).double(), tokens(dtype=dtype)
    expected, _ = wide(x.double(), is_causal=True)
    for need_weights in (False, True):
        output, _ = module(x, is_causal=True, need_weights=need_weights)
        assert output.dtype == dtype
        scale = expected.abs().max()
        assert_close(output.double() / scale, expected / scale, rtol=0, atol=0.04)


# ---- in layers and models


def test_every_option_reaches_the_attention_of_each_layer():
    options = {"norm": "rms", "gated": True, "num_kv_heads": 1, "head_dim": HEAD_DIM, "rotary": ROTARY}
    options |= {"qk_norm_eps": 0.3, "sinks": True, "attention_bias": False, "ffn_bias": False}
    layer = DecoderLayer(EMBED_DIM, HEADS, window=5, layer_norm_eps=0.2, **options)
    own, cross = layer.self_attention, layer.cross_attention
    for attention in (own, cross):
        assert (attention.num_kv_heads, attention.head_dim) == (1, HEAD_DIM)
        assert (attention.input_projection.bias, attention.output_projection.bias) == (None, None)
        assert attention.query_norm.eps == attention.key_norm.eps == 0.3
        assert attention.sinks.shape == (HEADS,)
    assert (own.rotary, own.window) == (ROTARY, 5)
    assert (cross.rotary, cross.window) == (None, None)
    assert layer.feed_forward.gate.bias is None
    norms = [layer.self_residual.norm, layer.cross_residual.norm, layer.feed_forward_residual.norm]
    assert [(type(norm), norm.eps) for norm in norms] == [(RMSNorm, 0.2)] * 3
    encoder = EncoderLayer(EMBED_DIM, HEADS, **options)
    assert (encoder.attention.rotary, type(encoder.attention_residual.norm)) == (ROTARY, RMSNorm)
    final = Encoder(1, EMBED_DIM, HEADS, norm_first=True, layer_norm_eps=0.2, **options).norm
    assert (type(final), final.eps) == (RMSNorm, 0.2)
    windows = [part.self_attention.window for part in llama(windows=[3, None]).decoder.layers]
    assert windows == [3, None]
    assert [part.self_attention.window for part in llama(window=5).decoder.layers] == [5, 5]


@torch.no_grad()
@pytest.mark.parametrize("options", [{}, {"window": 4}, {"windows": [3, None]}], ids=str)
def test_a_model_cached_is_a_model_uncached(options):
    model = llama(**options)
    for mask in (None, torch.arange(LENGTH) >= torch.tensor([[0], [3], [9]])):
        rows = torch.ones_like(IDS).bool() if mask is None else mask
        expected, cache, ends = model(IDS, mask), model.new_cache(), (0, 1, 2, 8, LENGTH)
        chunks = [
            model(IDS[:, start:end], None if mask is None else mask[:, start:end], cache)
            for start, end in itertools.pairwise(ends)
        ]
        assert_close(torch.cat(chunks, dim=1)[rows], expected[rows], **EXACT)
    weights = model.attention_weights(IDS)
    reach = {tuple(row.sum(dim=-1).amax(dim=(0, 1)).tolist()) for row in ((w > 0).double() for w in weights)}
    windows = options.get("windows", [options.get("window")] * 2)
    assert reach == {tuple(min(i + 1, w or LENGTH) for i in range(LENGTH)) for w in windows}


@torch.no_grad()
def test_padding_on_either_side_or_between_changes_nothing():
    model = llama(window=4)
    expected = model(IDS[:1, :6])
    for places in ([5, 6, 7, 8, 9, 10], [0, 1, 2, 3, 4, 5], [0, 2, 3, 7, 8, 10]):
        ids, mask = torch.full((1, LENGTH), 7), torch.zeros(1, LENGTH, dtype=torch.bool)
        ids[0, places], mask[0, places] = IDS[0, :6], True
        assert_close(model(ids, mask)[mask], expected[0], **EXACT)
        cache = model.new_cache()
        steps = [model(ids[:, i : i + 1], mask[:, i : i + 1], cache) for i in range(LENGTH)]
        assert_close(torch.cat(steps, dim=1)[mask], expected[0], **EXACT)


@torch.no_grad()
def test_a_model_takes_positions():
    model = llama(window=4)
    expected = model(IDS)
    assert_close(model(IDS, positions=torch.arange(LENGTH) + 5000), expected, rtol=1e-9, atol=1e-9)
    other = model(IDS, positions=torch.arange(LENGTH) * 2)
    assert not torch.isclose(other, expected)[:, 3:].any(dim=-1).all()
    cache = model.new_cache()
    parts = [model(IDS[:, i : i + 1], cache=cache, positions=torch.tensor([2 * i])) for i in range(LENGTH)]
    assert_close(torch.cat(parts, dim=1), other, **EXACT)
    weights = model.attention_weights(IDS, positions=torch.arange(LENGTH) * 2)[0]
    assert ((weights > 0).sum(dim=-1).amax(dim=(0, 1)) == torch.arange(1, LENGTH + 1).clamp(max=2)).all()


@torch.no_grad()
def test_rotary_reaches_encoders_too():
    """Padding in the midst counts no position: what there is at tokens is as without it."""
    rotary = {"rotary": ROTARY, "head_dim": HEAD_DIM, "dropout": 0.0}
    embedding = TokenEmbedding(53, EMBED_DIM, positions=None)
    model = stirred(EncoderOnly(embedding, Encoder(2, EMBED_DIM, HEADS, **rotary)))
    few, places = IDS[:1, :6], [0, 2, 3, 7, 8, 10]
    ids, mask = torch.full((1, LENGTH), 7), torch.zeros(1, LENGTH, dtype=torch.bool)
    ids[0, places], mask[0, places] = few[0], True
    expected = model(few)
    assert_close(model(ids, mask)[mask], expected[0], **EXACT)
    assert not torch.isclose(model(few.flip(1)).flip(1), expected).any(dim=-1).all()
    weights = [each[:, :, mask[0]][..., mask[0]] for each in model.attention_weights(ids, mask)]
    assert_close(weights, list(model.attention_weights(few)), **EXACT)
    decoder = Decoder(2, EMBED_DIM, HEADS, **rotary)
    both = stirred(EncoderDecoder(embedding, model.encoder, embedding, decoder))
    expected = both(few, few)
    assert_close(both(ids, ids, mask, mask)[mask], expected[0], **EXACT)
    found = both.attention_weights(ids, ids, mask, mask)
    for kind, right in zip(found, both.attention_weights(few, few), strict=True):
        assert_close([each[:, :, mask[0]][..., mask[0]] for each in kind], list(right), **EXACT)


def test_a_large_sink_does_not_overflow_in_half_precision():
    module = MultiHeadAttention(256, 2, sinks=True).half().eval()
    x = torch.randn(1, 5, 256).half()
    with torch.no_grad():
        module.sinks.copy_(torch.tensor([6000.0, -6000.0]))
        fused, (explicit, _) = module(x)[0], module(x, need_weights=True)
    assert explicit.isfinite().all()
    assert_close(fused, explicit, rtol=1e-2, atol=1e-3)
