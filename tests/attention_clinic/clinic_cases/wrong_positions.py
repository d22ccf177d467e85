"""Positions, biases, norms and repeated heads as they go wrong."""

from __future__ import annotations

import functools
import math

import numpy as np
import torch
from torch import nn

from tests.attention_clinic.clinic_cases.case import wrong

rotary, sinusoidal, rms_norm, repeat_kv, alibi = (
    functools.partial(wrong, kind=kind) for kind in ("rotary", "sinusoidal", "rms_norm", "repeat_kv", "alibi")
)


# ---- rotary(x, positions): number i is turned with number i + head_dim / 2


def cos_sin(positions, dim, base=10000.0, powers=None, dtype=torch.float32):
    """As in Llama: the angles of one half, twice."""
    powers = torch.arange(0, dim, 2, dtype=torch.int64).to(dtype) / dim if powers is None else powers
    freqs = torch.outer(positions.to(dtype), (1.0 / base**powers).to(dtype))
    emb = torch.cat((freqs, freqs), dim=-1)
    return emb.cos().float(), emb.sin().float()


def rotate_half(x):
    x1, x2 = x[..., : x.shape[-1] // 2], x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


# meta-llama's form, with weights of Hugging Face: huggingface/transformers#25199, llama2.c#286
@rotary("rotary_layout")
def complex_pairs(x, positions):
    freqs = 1.0 / (10000.0 ** (torch.arange(0, x.shape[-1], 2).float() / x.shape[-1]))
    cis = torch.polar(torch.ones(len(positions), len(freqs)), torch.outer(positions.float(), freqs))
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2).contiguous())
    return torch.view_as_real(pairs * cis).flatten(-2).type_as(x)


@rotary("rotary_sign")
def minus_sine(x, positions):
    cos, sin = cos_sin(positions, x.shape[-1])
    x1, x2 = x.chunk(2, -1)
    return x * cos + torch.cat((x2, -x1), dim=-1) * sin


# A base of 500,000 is Llama 3's; here it is 10,000.
@rotary("rotary_base")
def other_base(x, positions):
    cos, sin = cos_sin(positions, x.shape[-1], base=500_000.0)
    return x * cos + rotate_half(x) * sin


# DeepSeek's rope_interleave, left as it is where the other layout is wanted
@rotary("rotary_pairs_joined")
def halves_woven(x, positions):
    cos, sin = cos_sin(positions, x.shape[-1])
    turned = x * cos + rotate_half(x) * sin
    return torch.stack(turned.chunk(2, dim=-1), dim=-1).flatten(-2)


@rotary("rotary_speed")
def half_speed(x, positions):
    dim = x.shape[-1]
    cos, sin = cos_sin(positions, dim, powers=torch.arange(dim // 2).float() / dim)
    return x * cos + rotate_half(x) * sin


@rotary("rotary_first_pair")
def pairs_from_one(x, positions):
    half = x.shape[-1] // 2
    out = x.clone()
    for i in range(half):
        theta = positions * 10000.0 ** (-2 * (i + 1) / x.shape[-1])
        a, b = x[..., i], x[..., i + half]
        out[..., i] = a * theta.cos() - b * theta.sin()
        out[..., i + half] = b * theta.cos() + a * theta.sin()
    return out


@rotary("rotary_from_one")
def positions_from_one(x, positions):
    cos, sin = cos_sin(positions + 1, x.shape[-1])
    return torch.addcmul(x * cos, rotate_half(x), sin)


# The first rows of a table that was made in advance, whatever the positions are.
@rotary("rotary_ignored")
class RotaryTable:
    def __new__(cls, x, positions):
        cos, sin = cos_sin(torch.arange(128), x.shape[-1])
        cos, sin = cos[: x.shape[-2]], sin[: x.shape[-2]]
        return (x * cos) + (rotate_half(x) * sin)


@rotary("rotary_cosine_only")
def only_cosine(x, positions):
    return x * cos_sin(positions, x.shape[-1])[0]


@rotary("rotary_added")
def waves_added(x, positions):
    speeds = np.power(10000.0, -np.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = torch.outer(positions.double(), torch.from_numpy(speeds))
    return x + torch.cat((angles.sin(), angles.cos()), dim=-1).to(x.dtype)


@rotary("rotary_unturned")
def built_and_not_used(x, positions):
    cos, sin = cos_sin(positions, x.shape[-1])
    x.mul(cos).add(rotate_half(x).mul(sin))
    return x.clone()


# https://github.com/huggingface/transformers/issues/29285, 25681: autocast took the angles to bfloat16.
@rotary("positions_low_precision")
def bfloat16_angles(x, positions):
    cos, sin = cos_sin(positions, x.shape[-1], dtype=torch.bfloat16)
    return x * cos + rotate_half(x) * sin


@rotary("positions_low_precision")
def float16_angles(x, positions):
    speeds = 1e4 ** (-torch.arange(0, x.shape[-1], 2) / x.shape[-1])
    angles = positions.half()[:, None] * speeds.half()
    first, second = x.tensor_split(2, dim=-1)
    cos, sin = angles.cos().to(x), angles.sin().to(x)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), -1)


@rotary("rotary_sign", "rotary_from_one")
def backwards_from_one(x, positions):
    cos, sin = cos_sin(-(positions + 1), x.shape[-1])
    return x * cos + rotate_half(x) * sin


@rotary("rotary_layout", "rotary_speed")
def neighbours_at_double_speed(x, positions):
    angles = positions[:, None] / 1e4 ** (4 * torch.arange(x.shape[-1] // 2) / x.shape[-1])
    even, odd = x[..., ::2], x[..., 1::2]
    out = torch.empty_like(x)
    out[..., ::2] = even * angles.cos() - odd * angles.sin()
    out[..., 1::2] = even * angles.sin() + odd * angles.cos()
    return out


# ---- sinusoidal(length, embed_dim)


@sinusoidal("waves_swapped")
def cosine_first(length, embed_dim):
    position = torch.arange(length).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, embed_dim, 2) * -(math.log(10000.0) / embed_dim))
    pe = torch.zeros(length, embed_dim)
    pe[:, 0::2] = torch.cos(position * div_term)
    pe[:, 1::2] = torch.sin(position * div_term)
    return pe


# Marian's layout
@sinusoidal("waves_halves")
def in_halves(length, embed_dim):
    table = np.array(
        [[p / np.power(10000, 2 * (j // 2) / embed_dim) for j in range(embed_dim)] for p in range(length)]
    )
    out = torch.empty(length, embed_dim)
    out[:, : embed_dim // 2] = torch.FloatTensor(np.sin(table[:, 0::2]))
    out[:, embed_dim // 2 :] = torch.FloatTensor(np.cos(table[:, 1::2]))
    return out


@sinusoidal("waves_odd")
def a_speed_for_each_dimension(length, embed_dim):
    table = torch.empty(length, embed_dim)
    for p in range(length):
        for i in range(embed_dim):
            angle = p / 10000 ** (i / embed_dim)
            table[p, i] = math.cos(angle) if i % 2 else math.sin(angle)
    return table


@sinusoidal("waves_from_one")
def first_is_one(length, embed_dim):
    angles = torch.arange(1, length + 1)[:, None] / 10_000 ** (torch.arange(0, embed_dim, 2) / embed_dim)
    return torch.stack((angles.sin(), angles.cos()), dim=2).reshape(length, embed_dim)


@sinusoidal("waves_swapped", "waves_from_one")
def cosine_first_from_one(length, embed_dim):
    angles = torch.arange(1, length + 1)[:, None] * 1e4 ** (-torch.arange(0, embed_dim, 2) / embed_dim)
    return torch.view_as_real(torch.polar(torch.ones_like(angles), angles)).flatten(1)


# ---- rms_norm(x, weight, eps)


@rms_norm("rms_mean")
def layer_norm_without_bias(x, weight, eps=1e-6):
    return nn.functional.layer_norm(x, x.shape[-1:], weight, None, eps)


@rms_norm("rms_eps_outside")
def eps_beside_the_root(x, weight, eps):
    return weight * x / (x.square().mean(-1, keepdim=True).sqrt() + eps)


@rms_norm("rms_eps")
def no_eps(x, weight, eps=1e-5):
    return weight * (x / torch.linalg.vector_norm(x, dim=-1, keepdim=True)) * x.shape[-1] ** 0.5


# vllm-project/vllm#16311: a norm over another axis than the last
@rms_norm("rms_axis")
def over_tokens(x, weight, eps):
    return weight * (x * torch.rsqrt(x.pow(2).mean(dim=1, keepdim=True) + eps))


@rms_norm("rms_no_weight")
def without_weight(x, weight, eps):
    return torch.nn.functional.rms_norm(x, (x.size(-1),), eps=eps)


@rms_norm("rms_sum")
def sum_of_squares(x, weight, eps):
    return weight * x / torch.sqrt(x.square().sum(-1, keepdim=True) + eps)


# Gemma's order, with Llama's weights
@rms_norm("rms_offset")
def gemma(x, weight, eps):
    normed = x.float() * torch.rsqrt(x.float().pow(2).mean(-1, keepdim=True) + eps)
    return (normed * (1.0 + weight.float())).type_as(x)


@rms_norm("rms_mean", "rms_no_weight")
def standardised(x, weight, eps):
    return (x - x.mean(-1, keepdim=True)) / (x.var(-1, keepdim=True, unbiased=False) + eps).sqrt()


# ---- repeat_kv(x, groups): (batch, num_kv_heads, length, head_dim), each head `groups` times in a row


# https://github.com/onnx/onnx/issues/7274, jax-js#180
@repeat_kv("kv_tiled")
def tiled(x, groups):
    return x.repeat(1, groups, 1, 1)


@repeat_kv("kv_tiled")
def expanded_in_front(hidden_states, n_rep):
    batch, heads, length, size = hidden_states.shape
    return hidden_states[:, None].expand(batch, n_rep, heads, length, size).reshape(batch, -1, length, size)


# datawhalechina/tiny-universe#21: repeated before heads and tokens are exchanged, where it may be right
@repeat_kv("kv_axis")
def along_time(x, groups):
    return x.repeat_interleave(groups, dim=2)


# ---- alibi(num_heads): the slope of each head


# https://github.com/ml-explore/mlx/issues/343, NVIDIA/TensorRT-LLM#1611
@alibi("alibi_powers")
def only_powers_of_two(num_heads):
    start = 2 ** (-8 / num_heads)
    return torch.tensor([start ** (i + 1) for i in range(num_heads)])


@alibi("alibi_sign")
def negative_slopes(num_heads):
    def slopes(n):
        return [-(2.0 ** (-8 * (i + 1) / n)) for i in range(n)]

    power = 2 ** math.floor(math.log2(num_heads))
    return torch.tensor(slopes(power) + slopes(2 * power)[0::2][: num_heads - power])


@alibi("alibi_powers", "alibi_sign")
def negative_powers(num_heads):
    return -torch.logspace(-8 / num_heads, -8, num_heads, base=2)
