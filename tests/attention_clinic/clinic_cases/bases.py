"""Right code in several styles for each kind, written so that one small change makes a known bug of it."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from attention_clinic.planted import build
from attention_clinic.small import SmallDecoder
from polyhead.functional import masked_softmax
from tests.attention_clinic.clinic_cases.decoders import VOCAB, Nano, TinyLlama

__all__ = ["SmallDecoder", "TinyLlama", "build", "masked_softmax", "np"]

SMALL = SimpleNamespace(n_embd=12, n_head=3, block_size=32, n_layer=2, vocab_size=VOCAB, norm_eps=1e-5)


# ---- attention


def plain_attention(query, key, value, mask=None):
    scores = query @ key.mT / math.sqrt(query.shape[-1])
    if mask is not None:
        value = value.where(mask.any(-2)[..., None], 0.0)
        scores = scores.masked_fill(~mask, -1e9)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights.where(mask, 0.0)
    return weights @ value


class AdditiveAttention(nn.Module):
    """Heads before tokens, and a mask of 0 and -inf."""

    def forward(self, q, k, v, attn_bias=None):
        scale = q.size(-1) ** -0.5
        attn = torch.einsum("...id,...jd->...ij", q, k) * scale
        if attn_bias is not None:
            seen = torch.isfinite(attn_bias)
            v = torch.where(seen.any(-2).unsqueeze(-1), v, torch.zeros_like(v))
            attn = torch.where(seen, attn, torch.full_like(attn, -1e30))
        attn = F.softmax(attn, dim=-1)
        if attn_bias is not None:
            attn = torch.where(seen, attn, torch.zeros_like(attn))
        return torch.einsum("...ij,...jd->...id", attn, v)


class HidingAttention(nn.Module):
    """True is hidden; the exponentials are written out."""

    def forward(self, queries, keys, values, mask=None):
        d_k = queries.shape[-1]
        scores = torch.bmm(queries, keys.transpose(1, 2)) / math.sqrt(d_k)
        hidden = torch.zeros_like(scores).bool() if mask is None else mask.expand_as(scores)
        values = values.masked_fill(hidden.all(1)[..., None], 0.0)
        scores = torch.where(hidden, -1e20, scores)
        exps = torch.exp(scores - scores.max(dim=-1, keepdim=True).values)
        attention = exps / exps.sum(dim=-1, keepdim=True)
        attention = attention.masked_fill(hidden, 0.0)
        return torch.bmm(attention, values)


def attention_of_torch(Q, K, V, mask=None):
    bias = None if mask is None else torch.where(mask, 0.0, -torch.inf)
    return F.scaled_dot_product_attention(Q, K, V, attn_mask=bias)


# ---- multi-head attention


class FusedHeads(nn.Module):
    """One projection for all, a triangle as a buffer, a config."""

    def __init__(self, config=SMALL):
        super().__init__()
        self.n_head, self.n_embd = config.n_head, config.n_embd
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd)
        size = config.block_size
        self.register_buffer("bias", torch.tril(torch.ones(size, size)).view(1, 1, size, size))

    def forward(self, x):
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.n_embd, dim=2)
        q = q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        v = v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = F.softmax(att, dim=-1)
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y)


class ListedLinears(nn.Module):
    """Four linears in a list, True in the mask hides, the weights come along."""

    def __init__(self, d_model=12, h=3, dropout=0.0):
        super().__init__()
        self.d_k, self.h, self.attn_dropout = d_model // h, h, nn.Dropout(dropout)
        self.linears = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        nbatches = query.size(0)
        query, key, value = (
            lin(x).view(nbatches, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears[:3], (query, key, value), strict=True)
        )
        scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(self.d_k)
        if mask is not None:
            scores = scores.masked_fill(mask if mask.ndim == 4 else mask.unsqueeze(-3), -1e9)
        p_attn = F.softmax(scores, dim=-1)
        x = torch.matmul(self.attn_dropout(p_attn), value)
        x = x.transpose(1, 2).contiguous().view(nbatches, -1, self.h * self.d_k)
        return self.linears[-1](x), p_attn


class OneHead(nn.Module):
    def __init__(self, n_embd, head_size, block_size=32):
        super().__init__()
        self.key, self.query, self.value = (nn.Linear(n_embd, head_size, bias=False) for _ in range(3))
        self.register_buffer("tril", torch.tril(torch.ones(block_size, block_size)))

    def forward(self, x):
        T = x.shape[1]
        wei = self.query(x) @ self.key(x).mT * self.key.out_features**-0.5
        wei = wei.masked_fill(self.tril[:T, :T] == 0, float("-inf"))
        return F.softmax(wei, dim=-1) @ self.value(x)


class ListOfHeads(nn.Module):
    def __init__(self, n_embd=12, num_heads=3):
        super().__init__()
        self.heads = nn.ModuleList(OneHead(n_embd, n_embd // num_heads) for _ in range(num_heads))
        self.proj = nn.Linear(n_embd, n_embd)

    def forward(self, x):
        out = torch.cat([h(x) for h in self.heads], dim=-1)
        return self.proj(out)


class PointwiseHeads(nn.Module):
    """Convolutions of width 1 over (batch, size, tokens)."""

    def __init__(self, channels=12, n_heads=3):
        super().__init__()
        self.n_heads = n_heads
        self.conv_q, self.conv_k, self.conv_v, self.conv_o = (
            nn.Conv1d(channels, channels, 1) for _ in range(4)
        )

    def forward(self, x):
        x = x.transpose(1, 2)
        q, k, v = (f(x).unflatten(1, (self.n_heads, -1)).mT for f in (self.conv_q, self.conv_k, self.conv_v))
        p_attn = (q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1)
        out = (p_attn @ v).mT.flatten(1, 2)
        return self.conv_o(out).transpose(1, 2)


class RotaryHeads(nn.Module):
    """Llama's, without a mask."""

    def __init__(self, dim=12, n_heads=3):
        super().__init__()
        self.n_heads, self.head_dim = n_heads, dim // n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(dim, dim, bias=False) for _ in range(4))

    def rope(self, x):
        theta = 10000.0 ** (-torch.arange(0, self.head_dim, 2) / self.head_dim)
        angles = torch.outer(torch.arange(x.shape[-2]), theta)
        a, b = x.chunk(2, dim=-1)
        return torch.cat((a * angles.cos() - b * angles.sin(), b * angles.cos() + a * angles.sin()), -1)

    def forward(self, x):
        xq, xk, xv = (
            w(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2) for w in (self.wq, self.wk, self.wv)
        )
        xq, xk = self.rope(xq), self.rope(xk)
        return self.wo(F.scaled_dot_product_attention(xq, xk, xv).transpose(1, 2).flatten(2))


class WrappedTorch(nn.Module):
    """PyTorch's own module, with a residual around it."""

    def __init__(self, embed_dim=12, num_heads=3):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)

    def forward(self, query, key, value, mask=None):
        heads = self.attention.num_heads
        if mask is not None:
            mask = ~mask.expand(len(query), query.shape[1], key.shape[1]).repeat_interleave(heads, dim=0)
        return query + self.attention(query, key, value, attn_mask=mask, need_weights=False)[0]


def heads_in_a_loop(x, heads, W_O):
    outputs = []
    for W_Q, W_K, W_V in heads:
        q, k, v = x @ W_Q, x @ W_K, x @ W_V
        outputs.append(F.softmax(q @ k.mT / math.sqrt(q.shape[-1]), dim=-1) @ v)
    return torch.cat(outputs, dim=-1) @ W_O


def heads_stacked(x, heads, W_O):
    q, k, v = (torch.stack([x @ head[i] for head in heads]) for i in range(3))
    out = F.scaled_dot_product_attention(q, k, v)
    return torch.einsum("hbtd,hdm->btm", out, W_O.view(len(heads), -1, W_O.shape[-1]))


# ---- into heads and back


def split_by_permute(X, num_heads):
    batch, tokens, width = X.shape
    return X.view(batch, tokens, num_heads, width // num_heads).permute(0, 2, 1, 3).flatten(0, 1)


def join_by_loop(X, num_heads):
    batch = len(X) // num_heads
    return torch.stack(
        [torch.cat([X[b * num_heads + i] for i in range(num_heads)], dim=-1) for b in range(batch)]
    )


def repeat_by_stack(hidden_states, n_rep):
    return torch.stack([hidden_states] * n_rep, dim=2).flatten(1, 2)


# ---- masks


def causal_loop(num_tokens):
    mask = torch.zeros(num_tokens, num_tokens, dtype=torch.bool)
    for query in range(num_tokens):
        for key in range(num_tokens):
            mask[query, key] = key <= query
    return mask


def causal_places(n):
    places = torch.arange(n)
    return places[None, :] <= places[:, None]


def cached_places(past, new_len):
    query = torch.arange(past, past + new_len)[:, None]
    key = torch.arange(past + new_len)[None]
    return key <= query


def cached_parts(num_cached, num_new):
    old = torch.ones(num_new, num_cached, dtype=torch.bool)
    new = torch.ones(num_new, num_new, dtype=torch.bool).tril()
    return torch.cat((old, new), dim=-1)


def window_places(length, window):
    distance = torch.arange(length)[:, None] - torch.arange(length)
    return (distance >= 0) & (distance < window)


def window_numpy(seq_len, sliding_window):
    far = np.tril(np.ones((seq_len, seq_len), dtype=bool), -sliding_window)
    return torch.from_numpy(np.tril(np.ones((seq_len, seq_len), dtype=bool)) & ~far)


def padding_places(valid_lens, max_len):
    places = torch.arange(max_len)[None]
    return places < valid_lens[:, None]


def documents_compared(document_ids):
    same = document_ids.unsqueeze(-1) == document_ids.unsqueeze(-2)
    return same.tril()


def documents_loop(doc_ids):
    size = doc_ids.shape[-1]
    mask = torch.zeros(*doc_ids.shape, size, dtype=torch.bool)
    for query in range(size):
        for key in range(query + 1):
            mask[..., query, key] = doc_ids[..., query] == doc_ids[..., key]
    return mask


# ---- positions


def rope_vectorised(x, positions):
    size = x.shape[-1]
    speeds = 10000.0 ** (-torch.arange(0, size, 2) / size)
    angles = positions[:, None] * speeds
    cos, sin = (torch.cat((f(angles), f(angles)), dim=-1) for f in (torch.cos, torch.sin))
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


def rope_pair_by_pair(x, positions):
    half, out = x.shape[-1] // 2, x.clone()
    for i in range(half):
        theta = positions / 10000 ** (i / half)
        a, b = x[..., i], x[..., i + half]
        out[..., i] = a * torch.cos(theta) - b * torch.sin(theta)
        out[..., i + half] = b * torch.cos(theta) + a * torch.sin(theta)
    return out


class RotaryEmbedding(nn.Module):
    """Angles for as many tokens as there are; heads before tokens."""

    def forward(self, x):
        size, length = x.shape[-1], x.shape[-2]
        freqs = torch.outer(torch.arange(length), 10000.0 ** (-torch.arange(0, size, 2) / size))
        emb = torch.cat((freqs, freqs), dim=-1)
        x1, x2 = x[..., : size // 2], x[..., size // 2 :]
        return x * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()


def apply_rotary_pos_emb(q, k, cos, sin, unsqueeze_dim=1):
    cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)

    def rotate_half(x):
        return torch.cat((-x[..., x.shape[-1] // 2 :], x[..., : x.shape[-1] // 2]), dim=-1)

    q_embed = q * cos + rotate_half(q) * sin
    k_embed = k * cos + rotate_half(k) * sin
    return q_embed, k_embed


def rope_half_tables(x, cos, sin):
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def apply_rotary_emb(xq, xk, freqs_cis):
    xq_, xk_ = (torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) for x in (xq, xk))
    turns = freqs_cis[None, :, None]
    xq_out, xk_out = xq_ * turns, xk_ * turns
    return tuple(torch.view_as_real(x).flatten(-2) for x in (xq_out, xk_out))


def waves_vectorised(length, embed_dim):
    speeds = 1 / 10000 ** (torch.arange(0, embed_dim, 2) / embed_dim)
    angles = torch.arange(length)[:, None] * speeds
    return torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)


def waves_in_loops(max_len, d_model):
    table = np.zeros((max_len, d_model))
    for pos in range(max_len):
        for i in range(0, d_model, 2):
            angle = pos / 10000 ** (i / d_model)
            table[pos, i] = math.sin(angle)
            table[pos, i + 1] = math.cos(angle)
    return torch.tensor(table, dtype=torch.float32)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model=12, dropout=0.1, max_len=64):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        pe, position = torch.zeros(max_len, d_model), torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)])


def slopes_vectorised(num_heads):
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = 2.0 ** (-8 * torch.arange(1, power + 1) / power)
    between = 2.0 ** (-4 * (2 * torch.arange(num_heads - power) + 1) / power)
    return torch.cat((slopes, between))


def slopes_in_a_loop(n_heads):
    power, slopes = 1, []
    while 2 * power <= n_heads:
        power *= 2
    for head in range(n_heads):
        exponent = 8 * (head + 1) / power if head < power else 4 * (2 * (head - power) + 1) / power
        slopes.append(2.0**-exponent)
    return torch.tensor(slopes)


def slopes_of_exponents(heads):
    power = 2 ** int(math.log2(heads))
    exponents = [8 * (i + 1) / power for i in range(power)]
    exponents += [4 * (2 * i + 1) / power for i in range(heads - power)]
    return torch.tensor([0.5**exponent for exponent in exponents])


# ---- norms


def rms_function(x, weight, eps):
    squares = x.pow(2).mean(-1, keepdim=True)
    return weight * (x * torch.rsqrt(squares + eps))


class RMSNorm(nn.Module):
    def __init__(self, hidden_size=12, eps=1e-5):
        super().__init__()
        self.weight, self.variance_epsilon = nn.Parameter(torch.ones(hidden_size)), eps

    def forward(self, hidden_states):
        variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states / torch.sqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states


def rms_by_einsum(hidden_states, gain, eps):
    norm = torch.einsum("...d,...d->...", hidden_states, hidden_states)[..., None] / hidden_states.shape[-1]
    return gain * hidden_states / (norm + eps) ** 0.5


def layer_function(x, weight, bias, eps):
    mean = x.mean(-1, keepdim=True)
    var = x.var(-1, keepdim=True, unbiased=False)
    return (x - mean) / torch.sqrt(var + eps) * weight + bias


class LayerNorm(nn.Module):
    def __init__(self, features=12, eps=1e-5):
        super().__init__()
        self.gamma, self.beta = nn.Parameter(torch.ones(features)), nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        scale = torch.rsqrt(centred.square().mean(dim=-1, keepdim=True) + self.eps)
        return self.gamma * centred * scale + self.beta


def layer_of_torch(hidden_states, gamma, beta, eps):
    return F.layer_norm(hidden_states, hidden_states.shape[-1:], gamma, beta, eps)


# ---- latent attention and the softmax alone


def latent_joined(q_nope, q_pe, k_nope, k_pe, v):
    k_pe = k_pe.expand(-1, k_nope.shape[1], -1, -1)
    q, k = torch.cat((q_nope, q_pe), dim=-1), torch.cat((k_nope, k_pe), dim=-1)
    return F.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5)


def latent_summed(q_nope, q_rope, k_nope, k_rope, value):
    qk_head_dim = q_nope.shape[-1] + q_rope.shape[-1]
    scores = q_nope @ k_nope.mT + q_rope @ k_rope.mT
    return (scores / math.sqrt(qk_head_dim)).softmax(-1) @ value


def latent_by_einsum(q_pass, q_rot, k_pass, k_rot, value_states):
    content = torch.einsum("bhsd,bhtd->bhst", q_pass, k_pass)
    place = torch.einsum("bhsr,btr->bhst", q_rot, k_rot[:, 0])
    size = q_pass.size(3) + q_rot.size(3)
    return torch.einsum("bhst,bhtv->bhsv", F.softmax((content + place) * size**-0.5, dim=-1), value_states)


def softmax_filled(scores, mask=None):
    if mask is None:
        return scores.softmax(-1)
    return scores.masked_fill(~mask, -1e9).softmax(-1)


def softmax_written_out(logits, attn_mask=None):
    seen = torch.ones_like(logits, dtype=torch.bool) if attn_mask is None else attn_mask
    exps = torch.exp(logits - logits.amax(-1, keepdim=True)).where(seen, 0.0)
    return exps / exps.sum(-1, keepdim=True)


def softmax_of_lengths(X, valid_lens):
    if valid_lens is None:
        return F.softmax(X, dim=-1)
    seen = torch.arange(X.shape[-1]) < valid_lens[:, None, None]
    return F.softmax(torch.where(seen, X, -1e6), dim=-1)


# ---- layers


class GPTBlock(nn.Module):
    def __init__(self, config=SMALL):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(config.n_embd), FusedHeads(config)
        self.ln_2 = nn.LayerNorm(config.n_embd)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd),
        )

    def forward(self, x):
        h = self.ln_1(x)
        y = x + self.attn(h)
        g = self.ln_2(y)
        return y + self.mlp(g)


class PostNormEncoderLayer(nn.Module):
    """As in the first paper: the sum, then the norm."""

    def __init__(self, d_model=12, nhead=3, dim_feedforward=20):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, nhead, batch_first=True)
        sizes = (d_model, dim_feedforward), (dim_feedforward, d_model)
        self.ff = nn.Sequential(nn.Linear(*sizes[0]), nn.ReLU(), nn.Linear(*sizes[1]))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, src):
        attended = self.self_attn(src, src, src, need_weights=False)[0]
        x = self.norm1(src + attended)
        out = self.ff(x)
        return self.norm2(x + out)


class SwiGLU(nn.Module):
    def __init__(self, size=12, inner=20):
        super().__init__()
        self.gate_proj, self.up_proj = nn.Linear(size, inner), nn.Linear(size, inner)
        self.down_proj = nn.Linear(inner, size)

    def forward(self, x):
        return self.down_proj(F.silu(self.gate_proj(x)) * self.up_proj(x))


class LlamaDecoderLayer(nn.Module):
    """RMSNorm, rotary positions, a gate."""

    def __init__(self, hidden_size=12, heads=3):
        super().__init__()
        self.input_layernorm, self.post_attention_layernorm = RMSNorm(hidden_size), RMSNorm(hidden_size)
        self.self_attn, self.mlp = RotaryHeads(hidden_size, heads), SwiGLU(hidden_size)

    def forward(self, hidden_states):
        residual = hidden_states
        hidden_states = self.input_layernorm(hidden_states)
        hidden_states = residual + self.self_attn(hidden_states)
        residual = hidden_states
        hidden_states = self.post_attention_layernorm(hidden_states)
        return residual + self.mlp(hidden_states)


# ---- whole models


class MiniGPT(nn.Module):
    """Learned positions, a triangle as a buffer, masks of padding, a list of keys and values as a cache."""

    def __init__(self, config=SMALL):
        super().__init__()
        C, self.n_head = config.n_embd, config.n_head
        self.wte, self.wpe = nn.Embedding(config.vocab_size, C), nn.Embedding(64, C)
        self.ln = nn.ModuleList(nn.LayerNorm(C) for _ in range(config.n_layer + 1))
        self.qkv = nn.ModuleList(nn.Linear(C, 3 * C) for _ in range(config.n_layer))
        self.out = nn.ModuleList(nn.Linear(C, C) for _ in range(config.n_layer))
        self.head = nn.Linear(C, config.vocab_size, bias=False)
        self.register_buffer("tril", torch.ones(64, 64, dtype=torch.bool).tril())
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.35)
        self.double()

    def forward(self, input_ids, attention_mask=None, past_key_values=None, use_cache=False):
        past = past_key_values or [None] * (len(self.qkv) + 1)
        new, start = input_ids.shape[1], 0 if past[-1] is None else past[-1].shape[1]
        tokens = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        tokens = tokens if past[-1] is None else torch.cat((past[-1], tokens), dim=1)
        positions = (tokens.cumsum(-1) - 1).clamp(min=0)[:, start:]
        seen = self.tril[start : start + new, : start + new] & tokens[:, None, :].bool()
        x, present = self.wte(input_ids) + self.wpe(positions), []
        for ln, qkv, out, kept in zip(self.ln, self.qkv, self.out, past, strict=False):
            q, k, v = (y.unflatten(-1, (self.n_head, -1)).transpose(1, 2) for y in qkv(ln(x)).chunk(3, -1))
            if kept is not None:
                k, v = torch.cat((kept[0], k), dim=2), torch.cat((kept[1], v), dim=2)
            present.append((k, v))
            scores = (q @ k.mT / math.sqrt(q.shape[-1])).masked_fill(~seen[:, None], -1e9)
            x = x + out((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
        return self.head(self.ln[-1](x)), [*present, tokens]


class AlternatingModel(nn.Module):
    """Every other layer has a window, as its config says."""

    def __init__(self, pattern=("sliding_attention", "full_attention", "sliding_attention")):
        super().__init__()
        self.config = SimpleNamespace(sliding_window=3, layer_types=[*pattern])
        self.wte, self.head = nn.Embedding(VOCAB, 12), nn.Linear(12, VOCAB)
        kinds = self.config.layer_types
        self.layers = nn.ModuleList(
            WindowedHeads(3 if kind == "sliding_attention" else None) for kind in kinds
        )

    def forward(self, input_ids):
        x = self.wte(input_ids)
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


class WindowedHeads(nn.Module):
    def __init__(self, window):
        super().__init__()
        self.window, self.qkv, self.out = window, nn.Linear(12, 36), nn.Linear(12, 12)

    def forward(self, x):
        n = x.shape[1]
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        seen = window_places(n, self.window) if self.window else causal_places(n)
        return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=seen))


class BertEncoder(nn.Module):
    """Both ways, and 1 in the mask is a token."""

    def __init__(self, hidden_size=12):
        super().__init__()
        self.words, self.places = nn.Embedding(VOCAB, hidden_size), nn.Embedding(64, hidden_size)
        self.layers = nn.ModuleList(ListedLinears(hidden_size) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden_size) for _ in range(2))

    def forward(self, input_ids, attention_mask=None):
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        hidden = (mask == 0)[:, None, None, :]
        x = self.words(input_ids) + self.places(torch.arange(input_ids.shape[1]))
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = norm(x + layer(x, x, x, hidden)[0])
        return x


class TorchTextEncoder(nn.Module):
    """PyTorch's layers; True is padding."""

    def __init__(self, d_model=12):
        super().__init__()
        self.embedding, self.position = nn.Embedding(VOCAB, d_model), PositionalEncoding(d_model, dropout=0.0)
        layer = nn.TransformerEncoderLayer(d_model, 3, 20, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, src, src_key_padding_mask=None):
        return self.encoder(self.position(self.embedding(src)), src_key_padding_mask=src_key_padding_mask)


class TokenClassifier(nn.Module):
    """Logits of a class for each token, and no mask."""

    def __init__(self, size=12, classes=7):
        super().__init__()
        self.embed, self.mix, self.head = (
            nn.Embedding(VOCAB, size),
            PointwiseHeads(size),
            nn.Linear(size, classes),
        )
        self.place = nn.Parameter(torch.randn(64, size))

    def forward(self, tokens):
        x = self.embed(tokens) + self.place[: tokens.shape[1]]
        return self.head(x + self.mix(x))


class NanoWindow(Nano):
    """Four tokens, itself included."""

    def causal(self, new, old):
        return torch.ones(new, old + new, dtype=torch.bool).tril(old).triu(old - 3)

    def visible(self, tokens, new, old):
        kept = torch.arange(old + new) >= 0
        return self.causal(new, old) & tokens[:, None, None] & kept


class LlamaWindow(TinyLlama):
    """Three tokens, by a comparison of places."""

    def visible(self, tokens, new, old):
        query, key = torch.arange(old, old + new)[:, None], torch.arange(old + new)
        near = (key <= query) & (key > query - 3)
        return near & tokens[:, None, None, :]


class PartsDecoder(SmallDecoder):
    """The cap, the sinks and the bias of queries, each in a method."""

    options: ClassVar = {"softcap": 1.0, "sinks": True}

    def heads(self, layer, x):
        weight = torch.cat((layer.query.weight, layer.key.weight, layer.value.weight))
        sizes = [len(each.weight) for each in (layer.query, layer.key, layer.value)]
        q, k, v = F.linear(x, weight).split(sizes, dim=-1)
        q = q + layer.query.bias
        return [y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for y in (q, k, v)]

    def cap(self, scores):
        return torch.tanh(scores / self.softcap).mul(self.softcap)

    def weights(self, scores, visible, sinks):
        scores = scores.masked_fill(~visible, -torch.inf)
        total = torch.logaddexp(scores.logsumexp(-1, keepdim=True), sinks[:, None, None])
        return (scores - total).exp()


class WholeDecoder(PartsDecoder):
    """All of the attention in one method."""

    def attention(self, layer, x, positions, visible, cache):
        projected = layer.query(x), layer.key(x), layer.value(x)
        q, k, v = (y.unflatten(-1, (-1, self.head_dim)).transpose(1, 2) for y in projected)
        q, k = self.rotary(q, positions), self.rotary(k, positions)
        if cache is not None:
            k, v = cache.self_attention.update(k, v)
            cache.self_attention.advance()
        k, v = (y.repeat_interleave(self.num_heads // self.num_kv_heads, dim=1) for y in (k, v))
        scores = q @ k.mT / math.sqrt(self.head_dim)
        scores = self.softcap * torch.tanh(scores / self.softcap)
        column = layer.sinks[:, None, None].expand(*scores.shape[:3], 1)
        scores = torch.cat((scores.masked_fill(~visible, -torch.inf), column), dim=-1)
        weights = F.dropout(scores.softmax(-1)[..., :-1], self.dropout, self.training)
        return layer.output((weights @ v).transpose(1, 2).flatten(2)), weights


class TorchSelfAttention(nn.Module):
    """PyTorch's module behind a config; padding is given as (batch, keys)."""

    def __init__(self, config=SMALL):
        super().__init__()
        self.mha = nn.MultiheadAttention(config.n_embd, config.n_head, batch_first=True)

    def forward(self, hidden_states, key_padding_mask=None):
        x = hidden_states
        return self.mha(x, x, x, key_padding_mask=key_padding_mask)
