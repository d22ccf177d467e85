"""Right heads, positions, norms and whole decoders: the book's, other libraries', and as people have them."""

from __future__ import annotations

import functools
import math

import torch
import torch.nn.functional as F
from torch import nn

import polyhead
from polyhead_course import peers
from tests.attention_clinic.clinic_cases.case import right
from tests.attention_clinic.clinic_cases.decoders import VOCAB, AttentionAlone, Nano, TinyLlama
from tests.attention_clinic.clinic_cases.wrong_decoders import books
from tests.attention_clinic.clinic_cases.wrong_heads import head
from tests.attention_clinic.clinic_cases.wrong_modules import Heads

multi_head = functools.partial(right, "multi_head")
module = functools.partial(right, "multi_head", made=True)
decoder = functools.partial(right, "decoder", made=True)


# ---- multi-head attention


module()(functools.partial(polyhead.LoopedMultiHeadAttention, 12, 3))
module()(functools.partial(polyhead.TransposedMultiHeadAttention, 12, 3, 0.0))
module()(functools.partial(polyhead.AnnotatedMultiHeadAttention, 3, 12, 0.0))
module()(functools.partial(polyhead.SplitMultiHeadAttention, 12, 3))
module()(functools.partial(polyhead.MultiHeadAttention, 12, 3))
module()(functools.partial(polyhead.MultiHeadAttention, 12, 6, num_kv_heads=2))
module()(functools.partial(nn.MultiheadAttention, 12, 3, batch_first=True))
module()(Heads)


@module()
def d2l():
    made = peers.d2l().MultiHeadAttention(12, 3, 0.0)
    made(*[torch.zeros(1, 2, 12)] * 3, None)
    return made


@module()
class Grouped(Heads):
    """Fewer heads of keys and values; the third argument of the library's function repeats them."""

    def __init__(self):
        super().__init__(d_model=24, n_head=6, n_kv=2)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.projected(query, key, value)
        mask = mask[:, None] if mask is not None and mask.ndim == 3 else mask
        return self.w_o(self.join(F.scaled_dot_product_attention(q, k, v, mask, enable_gqa=True)))


@module()
class TimmAttention(nn.Module):
    def __init__(self, dim=20, num_heads=4, qkv_bias=True, attn_drop=0.0):
        super().__init__()
        self.num_heads, self.scale = num_heads, (dim // num_heads) ** -0.5
        self.qkv, self.proj = nn.Linear(dim, dim * 3, bias=qkv_bias), nn.Linear(dim, dim)
        self.attn_drop = nn.Dropout(attn_drop)

    def forward(self, x):
        B, N, C = x.shape
        qkv = self.qkv(x).reshape(B, N, 3, self.num_heads, C // self.num_heads).permute(2, 0, 3, 1, 4)
        q, k, v = qkv.unbind(0)
        attn = self.attn_drop((q * self.scale @ k.transpose(-2, -1)).softmax(dim=-1))
        return self.proj((attn @ v).transpose(1, 2).reshape(B, N, C))


@module()
class Convolutions(nn.Module):
    """A convolution of width 1 is a linear layer."""

    def __init__(self, embed_dim=12, num_heads=3):
        super().__init__()
        self.num_heads = num_heads
        self.q, self.k, self.v, self.o = (nn.Conv1d(embed_dim, embed_dim, 1) for _ in range(4))

    def forward(self, x):
        q, k, v = (f(x.mT).unflatten(1, (self.num_heads, -1)).mT for f in (self.q, self.k, self.v))
        return self.o(F.scaled_dot_product_attention(q, k, v).mT.flatten(1, 2)).mT


@multi_head()
def sum_of_blocks(x, heads, W_O):
    """Concat(head_1, …) W_O is the sum of each head times its own rows of W_O."""
    blocks = W_O.split(heads[0][2].shape[1])
    return sum(head(x, *h) @ block for h, block in zip(heads, blocks, strict=True))


@multi_head()
def stacked_matrices(x, heads, W_O):
    W_Q, W_K, W_V = (torch.stack(each) for each in zip(*heads, strict=True))
    q, k, v = (torch.einsum("bte,hed->bhtd", x, W) for W in (W_Q, W_K, W_V))
    return F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2) @ W_O


@multi_head()
def torch_function(X, W_Q, W_K, W_V, W_O, num_heads):
    tokens, width = X.transpose(0, 1), X.shape[-1]
    output, _ = F.multi_head_attention_forward(
        *(tokens, tokens, tokens, width, num_heads, torch.cat((W_Q, W_K, W_V), 1).T, None, None, None, False),
        *(0.0, W_O.T, None),
    )
    return output.transpose(0, 1)


@multi_head()
def heads_one_by_one(X, W_Q, W_K, W_V, W_O, num_heads):
    outputs = []
    for q, k, v in zip(*((X @ W).chunk(num_heads, dim=-1) for W in (W_Q, W_K, W_V)), strict=True):
        outputs.append((q @ k.mT / math.sqrt(q.shape[-1])).softmax(-1) @ v)
    return torch.cat(outputs, dim=-1) @ W_O


# ---- into heads and back


right("transpose_qkv")(polyhead.transpose_qkv)
right("transpose_output")(polyhead.transpose_output)
right("transpose_qkv")(lambda X, num_heads: torch.stack(X.chunk(num_heads, dim=-1), dim=1).flatten(0, 1))


@right("transpose_output")
def cat_of_heads(X, num_heads):
    return torch.cat(X.unflatten(0, (-1, num_heads)).unbind(1), dim=-1)


# ---- positions, norms, repeated heads


right("rotary")(lambda x, positions: polyhead.RotaryPositions(x.shape[-1], pairs="halves")(x, positions))


@right("rotary")
def complex_numbers(x, positions):
    first, second = x.double().chunk(2, dim=-1)
    speeds = torch.logspace(0, -1, len(first[0, 0, 0]) + 1, base=1e4, dtype=torch.float64)[:-1]
    turned = torch.complex(first, second) * torch.exp(1j * positions[:, None] * speeds)
    return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)


@right("rotary")
def rotation_matrices(x, positions):
    half = x.shape[-1] // 2
    out = torch.empty_like(x)
    for place, p in enumerate(positions.tolist()):
        R = torch.zeros(2 * half, 2 * half, dtype=torch.float64)
        for i in range(half):
            c, s = math.cos(p * 1e4 ** (-i / half)), math.sin(p * 1e4 ** (-i / half))
            R[i, i], R[i, i + half], R[i + half, i], R[i + half, i + half] = c, -s, s, c
        out[..., place, :] = (x[..., place, :].double() @ R.T).to(x.dtype)
    return out


@right("sinusoidal")
def annotated(length, embed_dim):
    position = torch.arange(length).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, embed_dim, 2) * -(math.log(10000.0) / embed_dim))
    pe = torch.zeros(length, embed_dim)
    pe[:, 0::2], pe[:, 1::2] = torch.sin(position * div_term), torch.cos(position * div_term)
    return pe


right("rms_norm")(lambda x, weight, eps: F.rms_norm(x, x.shape[-1:], weight, eps))


@right("rms_norm")
def llama_norm(x, weight, eps):
    x32 = x.to(torch.float32)
    return weight * (x32 * torch.rsqrt(x32.pow(2).mean(-1, keepdim=True) + eps)).to(x.dtype)


@right("repeat_kv")
def hugging_face(hidden_states, n_rep):
    batch, heads, length, size = hidden_states.shape
    hidden_states = hidden_states[:, :, None].expand(batch, heads, n_rep, length, size)
    return hidden_states.reshape(batch, heads * n_rep, length, size)


right("repeat_kv")(lambda x, groups: x[:, torch.arange(x.shape[1] * groups) // groups])


@right("alibi")
def papers_slopes(num_heads):
    def power(n):
        start = 2 ** (-(2 ** -(math.log2(n) - 3)))
        return [start * start**i for i in range(n)]

    def slopes(n):
        if math.log2(n).is_integer():
            return power(n)
        closest = 2 ** math.floor(math.log2(n))
        return power(closest) + slopes(2 * closest)[0::2][: n - closest]

    return torch.tensor(slopes(num_heads))


# ---- decoders


decoder()(books)
decoder()(Nano)
decoder()(TinyLlama)
decoder()(AttentionAlone)


class Wrapped(nn.Module):
    """A model of transformers behind the book's call: the mask of all tokens, and positions counted by it."""

    def __init__(self, model):
        super().__init__()
        self.model = model.eval()

    def new_cache(self):
        from tests.polyhead.hugging_face import transformers

        return [transformers.DynamicCache(), None]

    def places(self, mask, new):
        return (mask.long().cumsum(-1) - 1).clamp(min=0)[:, -new:]

    def forward(self, token_ids, mask=None, cache=None):
        mask = torch.ones_like(token_ids, dtype=torch.bool) if mask is None else mask
        past, earlier = cache or (None, None)
        mask = mask if earlier is None else torch.cat((earlier, mask), dim=1)
        if cache is not None:
            cache[1] = mask
        places = self.places(mask, token_ids.shape[1])
        given = {"attention_mask": mask.long(), "position_ids": places, "past_key_values": past}
        return self.model(token_ids, use_cache=past is not None, **given).logits


@decoder()
def transformers_llama():
    from tests.polyhead.hugging_face import transformers

    sizes = {"hidden_size": 24, "intermediate_size": 31, "num_hidden_layers": 2, "num_attention_heads": 6}
    config = transformers.LlamaConfig(vocab_size=VOCAB, num_key_value_heads=2, **sizes)
    return Wrapped(transformers.LlamaForCausalLM(config).double())


@decoder()
def transformers_gpt2():
    from tests.polyhead.hugging_face import transformers

    config = transformers.GPT2Config(vocab_size=VOCAB, n_embd=18, n_layer=2, n_head=3, n_positions=64)
    return Wrapped(transformers.GPT2LMHeadModel(config).double())


@decoder()
class TorchEncoder(nn.Module):
    """An encoder of torch.nn with a causal mask is a decoder; it has no cache and takes no padding."""

    def __init__(self, width=16):
        super().__init__()
        self.embed, self.place = nn.Embedding(VOCAB, width), nn.Embedding(64, width)
        layer = nn.TransformerEncoderLayer(width, 4, 32, dropout=0.0, batch_first=True, norm_first=True)
        self.layers = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCAB)

    def embedded(self, ids):
        return self.embed(ids) + self.place(torch.arange(ids.shape[1]))

    def forward(self, token_ids):
        hidden = nn.Transformer.generate_square_subsequent_mask(token_ids.shape[1])
        return self.head(self.layers(self.embedded(token_ids), mask=hidden, is_causal=True))
