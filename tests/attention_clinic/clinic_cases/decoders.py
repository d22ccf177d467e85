"""Two small decoders as other people write them, right as they stand; each step can be overridden.

Token ids are the new ones, the mask is theirs, True = a token, and the cache keeps what came before.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import nn

VOCAB = 23


class Past:
    """Keys and values of each layer, and which of the tokens are no padding."""

    def __init__(self):
        self.layers, self.tokens = {}, None

    def add(self, number, k, v):
        if number in self.layers:
            k, v = (torch.cat(pair, dim=2) for pair in zip(self.layers[number], (k, v), strict=True))
        self.layers[number] = k, v
        return k, v


class Block(nn.Module):
    """Attention and a feed-forward network, pre-norm."""

    def __init__(self, dim, heads, kv_heads, norm):
        super().__init__()
        size = dim // heads
        self.q_proj, self.o_proj = nn.Linear(dim, dim), nn.Linear(dim, dim)
        self.k_proj, self.v_proj = nn.Linear(dim, kv_heads * size), nn.Linear(dim, kv_heads * size)
        self.ln_1, self.ln_2 = norm(dim), norm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))


class Nano(nn.Module):
    """In the manner of nanoGPT: learned positions, LayerNorm, as many keys as queries."""

    dim, heads, kv_heads, layers, norm = 18, 3, 3, 2, nn.LayerNorm

    def __init__(self):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCAB, self.dim), nn.Embedding(256, self.dim)
        self.blocks = nn.ModuleList(
            Block(self.dim, self.heads, self.kv_heads, self.norm) for _ in range(self.layers)
        )
        self.ln_f, self.lm_head = self.norm(self.dim), nn.Linear(self.dim, VOCAB, bias=False)
        for parameter in self.parameters():
            nn.init.normal_(parameter, std=0.35 if parameter.ndim > 1 else 0.8)
        self.double().eval()

    def new_cache(self):
        return Past()

    def embed(self, ids, positions):
        return self.wte(ids) + self.wpe(positions)

    def positions(self, tokens, old):
        """How many tokens stand before each new one, padding not counted."""
        return (tokens.long().cumsum(-1) - 1).clamp(min=0)[:, old:]

    def causal(self, new, old):
        return torch.ones(new, old + new, dtype=torch.bool).tril(old)

    def visible(self, tokens, new, old):
        """Which query may see which key: (batch, 1, new, old + new)."""
        return self.causal(new, old) & tokens[:, None, None]

    def turn(self, q, k, positions):
        return q, k

    def repeat(self, x):
        return x.repeat_interleave(self.heads // self.kv_heads, dim=1)

    def attend(self, q, k, v, visible):
        scores = q @ k.mT / math.sqrt(q.shape[-1])
        return scores.masked_fill(~visible, torch.finfo(q.dtype).min).softmax(-1) @ v

    def residual(self, x, update):
        return x + update

    def forward(self, token_ids, mask=None, cache=None):
        return self.logits(token_ids, mask, cache)

    def logits(self, ids, mask, cache, positions=None):
        new = ids.shape[1]
        old = 0 if cache is None or cache.tokens is None else cache.tokens.shape[1]
        tokens = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
        tokens = torch.cat((cache.tokens, tokens), dim=1) if old else tokens
        places = self.positions(tokens, old) if positions is None else positions.expand_as(ids)
        visible = self.visible(tokens, new, old)
        x = self.embed(ids, places)
        for number, block in enumerate(self.blocks):
            h = block.ln_1(x)
            q, k, v = (
                f(h).unflatten(-1, (-1, self.dim // self.heads)).transpose(1, 2)
                for f in (block.q_proj, block.k_proj, block.v_proj)
            )
            q, k = self.turn(q, k, places)
            if cache is not None:
                k, v = cache.add(number, k, v)
            y = self.attend(q, self.repeat(k), self.repeat(v), visible).transpose(1, 2).flatten(2)
            x = self.residual(x, block.o_proj(y))
            x = self.residual(x, block.mlp(block.ln_2(x)))
        if cache is not None:
            cache.tokens = tokens
        return self.lm_head(self.ln_f(x))


class TinyLlama(Nano):
    """In the manner of Llama: rotary positions in halves, grouped keys, RMSNorm."""

    dim, heads, kv_heads, norm = 24, 6, 2, nn.RMSNorm

    def embed(self, ids, positions):
        return self.wte(ids)

    def angles(self, positions, size):
        inv_freq = 1e4 ** (-torch.arange(0, size, 2).double() / size)
        return positions.double()[:, None, :, None] * inv_freq

    def rotate(self, x, positions):
        angles = self.angles(positions, x.shape[-1])
        cos, sin = angles.cos().to(x), angles.sin().to(x)
        x1, x2 = x.chunk(2, dim=-1)
        return torch.cat((x1 * cos - x2 * sin, x2 * cos + x1 * sin), dim=-1)

    def turn(self, q, k, positions):
        return self.rotate(q, positions), self.rotate(k, positions)

    def attend(self, q, k, v, visible):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)

    def forward(self, token_ids, mask=None, cache=None, positions=None):
        return self.logits(token_ids, mask, cache, positions)


class AttentionAlone(Nano):
    """One layer without a residual: a token's logits know of it by the attention alone."""

    layers = 1

    def residual(self, x, update):
        return update
