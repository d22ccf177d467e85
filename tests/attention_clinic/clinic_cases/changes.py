"""What is changed in the bases: one line each time, and the name of the bug that comes of it.

An entry is the name, then what stands in the source and what takes its place, once or several times; a set
has names that may be said beside it, because they are true as well. `OPTIONS` is what an owner would say.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, NamedTuple

import torch
from torch import nn

from tests.attention_clinic.clinic_cases import bases


class Unnamed(NamedTuple):
    """Stands in an entry that the clinic does not name yet."""

    reason: str


BASES = {
    "attention": "plain_attention AdditiveAttention HidingAttention",
    "multi_head": "FusedHeads ListedLinears ListOfHeads PointwiseHeads RotaryHeads WrappedTorch"
    " TorchSelfAttention heads_in_a_loop heads_stacked",
    "transpose_qkv": "split_by_permute split_by_loop",
    "transpose_output": "join_by_permute join_by_loop",
    "repeat_kv": "repeat_by_stack",
    "causal_mask": "causal_loop causal_places causal_cumulative",
    "cached_mask": "cached_places cached_parts cached_lists",
    "window_mask": "window_places window_numpy window_lists",
    "padding_mask": "padding_places padding_loop",
    "document_mask": "documents_compared documents_loop",
    "rotary": "rope_vectorised rope_pair_by_pair RotaryEmbedding apply_rotary_pos_emb rope_half_tables"
    " apply_rotary_emb",
    "sinusoidal": "waves_vectorised waves_in_loops PositionalEncoding",
    "alibi": "slopes_vectorised slopes_in_a_loop",
    "rms_norm": "rms_function RMSNorm rms_by_einsum",
    "layer_norm": "layer_function LayerNorm layer_of_torch",
    "latent_attention": "latent_joined latent_summed latent_by_einsum",
    "softmax": "softmax_filled softmax_written_out softmax_of_lengths",
    "layer": "GPTBlock PostNormEncoderLayer LlamaDecoderLayer",
    "decoder": "MiniGPT AlternatingModel NanoWindow LlamaWindow PartsDecoder WholeDecoder WrittenOutDecoder",
    "encoder": "BertEncoder TorchTextEncoder TokenClassifier",
}
KIND_OF = {base: kind for kind, names in BASES.items() for base in names.split()}
OPTIONS: dict[str, dict[str, Any]] = {
    "plain_attention": {"mask": "keeps"}, "AdditiveAttention": {"mask": "additive"},
    "HidingAttention": {"mask": "hides"}, "FusedHeads": {"causal": True}, "ListOfHeads": {"causal": True},
    "ListedLinears": {"mask": "hides"}, "RotaryHeads": {"rope": "halves"},
    "WrappedTorch": {"residual": True, "mask": "keeps"}, "TorchSelfAttention": {"mask": "hides"}, "TokenClassifier": {"causal": False},
}  # fmt: skip

Q, K = "q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)", "self.rope(xq), self.rope(xk)"
SPEEDS, BASE = "(-torch.arange(0, size, 2) / size)", "10000.0 ** "
DIV_TERM = "(-math.log(10000.0) / d_model)"
EARLIER = "self.tril[start : start + new, : start + new]"
CLEAN = "value = value.where(mask.any(-2)[..., None], 0.0)"
CHANGES: dict[str, list[tuple[Any, ...]]] = {
    # ---- attention
    "plain_attention": [
        ("scaled_after", " / math.sqrt(query.shape[-1])", "", "weights = scores.softmax(-1)",
         "weights = scores.softmax(-1) / math.sqrt(query.shape[-1])"),
        ("softmax_twice", "scores.softmax(-1)", "scores.softmax(-1).softmax(-1)",
         "weights.where(mask, 0.0)", "weights"),
        ("mask_after", "scores = scores.masked_fill(~mask, -1e9)", "pass"),
        ("mask_finite", "scores.masked_fill(~mask, -1e9)", "scores - 1e3 * ~mask",
         "weights.where(mask, 0.0)", "weights", CLEAN, "pass"),
        ("mask_nan", "-1e9", "-torch.inf", "weights.where(mask, 0.0)", "weights"),
        ("mask_nan_gradient", "scores.masked_fill(~mask, -1e9)",
         "scores + torch.where(mask, 0.0, -torch.inf)"),
        ("mask_uniform", "weights.where(mask, 0.0)", "weights", CLEAN, "pass"),
        ("nan_leak", CLEAN, "pass"),
        ("all_nan", "scores.softmax(-1)", "(scores * torch.inf).softmax(-1)"),
        ("reseeds", "    scores = query", "    torch.manual_seed(0)\n    scores = query"),
        ("settings", "    scores = query", "    torch.set_grad_enabled(False)\n    scores = query"),
        ("dtype", "return weights @ value", "return (weights @ value).round().long()"),
        ("prints", "    return weights", "    print(weights)\n    return weights"),
    ],
    "AdditiveAttention": [
        ("scaled_after", "k) * scale", "k)", "F.softmax(attn, dim=-1)", "F.softmax(attn, dim=-1) * scale"),
        ("softmax_twice", "F.softmax(attn, dim=-1)", "F.softmax(F.softmax(attn, dim=-1), dim=-1)",
         "torch.zeros_like(attn)", "attn"),
        ("mask_after", "attn = torch.where(seen, attn, torch.full_like(attn, -1e30))", "pass"),
        ("mask_nan", "-1e30", "-torch.inf", "torch.zeros_like(attn)", "attn"),
        ("mask_nan_gradient", "torch.where(seen, attn, torch.full_like(attn, -1e30))", "attn + attn_bias"),
        ("nan_leak", "v = torch.where(seen.any(-2).unsqueeze(-1), v, torch.zeros_like(v))", "pass"),
        ("values_are_keys", "...jd->...id\", attn, v)", "...jd->...id\", attn, k)", {"shape"}),
        ("all_nan", "F.softmax(attn", "F.softmax(attn - torch.inf"),
        ("reseeds", "        scale =", "        torch.manual_seed(1337)\n        scale ="),
        ("settings", "        scale =", "        torch.set_default_dtype(torch.float64)\n        scale ="),
        ("dtype", "jd->...id\", attn, v)", "jd->...id\", attn, v).to(torch.complex64)"),
    ],
    "HidingAttention": [
        ("scaled_after", " / math.sqrt(d_k)", "", "attention.masked_fill(hidden, 0.0)",
         "attention.masked_fill(hidden, 0.0) / math.sqrt(d_k)"),
        ("mask_finite", "torch.where(hidden, -1e20, scores)", "scores - 1000.0 * hidden",
         "attention = attention.masked_fill(hidden, 0.0)", "", ".masked_fill(hidden.all(1)[..., None], 0.0)", ""),
        ("mask_finite", "torch.where(hidden, -1e20, scores)", "scores + torch.where(hidden, -500.0, 0.0)",
         "attention = attention.masked_fill(hidden, 0.0)", "", ".masked_fill(hidden.all(1)[..., None], 0.0)", ""),
        ("mask_uniform", "attention = attention.masked_fill(hidden, 0.0)", "",
         ".masked_fill(hidden.all(1)[..., None], 0.0)", ""),
        ("queries_keys_swapped", "queries, keys.transpose(1, 2)", "keys, queries.transpose(1, 2)", {"raises"}),
        ("nan_leak", "values = values.masked_fill(hidden.all(1)[..., None], 0.0)", ""),
        ("values_are_keys", "self.dropout(attention), values", "self.dropout(attention), keys", {"shape"}),
        ("all_nan", "scores.max(dim=-1, keepdim=True).values", "torch.inf"),
        ("reseeds", "        d_k =", "        torch.manual_seed(42)\n        d_k ="),
        ("settings", "        d_k =", "        torch._C._set_grad_enabled(False)\n        d_k ="),
        ("dtype", "self.dropout(attention), values)", "self.dropout(attention), values) > 0"),
    ],
    # ---- multi-head attention
    "FusedHeads": [
        ("scaled_after", "* (1.0 / math.sqrt(k.size(-1)))", "", "F.softmax(att, dim=-1)",
         "F.softmax(att, dim=-1) / math.sqrt(k.size(-1))"),
        ("concat_axis", ".transpose(1, 2).contiguous().view(B, T, C)", ".permute(0, 2, 3, 1).reshape(B, T, C)"),
        ("shared_projection", "dim=2)\n", "dim=2)\n        k = q\n"),
        ("across_heads", "att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float(\"-inf\"))", "",
         "q.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)", "q.view(B, T, self.n_head, -1)",
         "k.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)", "k.view(B, T, self.n_head, -1)",
         "v.view(B, T, self.n_head, C // self.n_head).transpose(1, 2)", "v.view(B, T, self.n_head, -1)",
         "(att @ v).transpose(1, 2).contiguous()", "(att @ v)", {"causal_open"}),
        ("one_head", "self.n_head, C // self.n_head", "1, C"),
        ("causal_upper", "torch.tril(torch", "torch.triu(torch"),
        ("causal_inverted", "[:, :, :T, :T] == 0", "[:, :, :T, :T] == 1"),
        ("all_nan", "(1.0 / math.sqrt(k.size(-1)))", "torch.inf"),
        ("prints", "        B, T, C =", "        print(x.shape)\n        B, T, C ="),
    ],
    "ListedLinears": [
        ("scaled_after", " / math.sqrt(self.d_k)", "", "dropout(p_attn), value)",
         "dropout(p_attn), value) / math.sqrt(self.d_k)"),
        ("softmax_twice", "F.softmax(scores, dim=-1)", "F.softmax(F.softmax(scores, dim=-1), dim=-1)"),
        ("mask_after", "scores = scores.masked_fill(mask if mask.ndim == 4 else mask.unsqueeze(-3), -1e9)",
         "hidden = mask if mask.ndim == 4 else mask.unsqueeze(-3)", "        x = torch.matmul(",
         "        p_attn = p_attn if mask is None else p_attn * ~hidden\n        x = torch.matmul("),
        ("weights_after_dropout", "dropout=0.0", "dropout=0.4", "p_attn = F.softmax(scores, dim=-1)",
         "p_attn = self.attn_dropout(F.softmax(scores, dim=-1))", "self.attn_dropout(p_attn)", "p_attn"),
        ("shared_projection", "zip(self.linears[:3], (q", "zip([self.linears[0]] * 2 + [self.linears[2]], (q"),
        ("mask_tiled", "scores = scores.masked_fill(mask if mask.ndim == 4 else mask.unsqueeze(-3), -1e9)",
         "tiled = mask.expand(nbatches, *scores.shape[2:]).repeat(self.h, 1, 1)\n"
         "            scores = scores.masked_fill(tiled.view(scores.shape), -1e9)"),
        ("concat_axis", "x.transpose(1, 2).contiguous()", "torch.cat(x.unbind(1), dim=0)"),
    ],
    "ListOfHeads": [
        ("concat_axis", "torch.cat([h(x) for h in self.heads], dim=-1)",
         "torch.stack([h(x) for h in self.heads], dim=-1).flatten(2)"),
        ("no_output_projection", "self.proj(out)", "out"),
    ],
    "PointwiseHeads": [
        ("shared_projection", "p_attn @ v", "p_attn @ k"),
        ("across_heads", "(self.n_heads, -1)).mT for", "(self.n_heads, -1)).permute(0, 3, 1, 2) for",
         "(p_attn @ v).mT.flatten(1, 2)", "(p_attn @ v).flatten(2).mT"),
        ("one_head", "(self.n_heads, -1)", "(1, -1)"),
        ("all_nan", "math.sqrt(q.shape[-1])", "0.0"),
        ("weights_after_dropout", ".softmax(-1)", ".softmax(-1)\n        p_attn = F.dropout(p_attn, 0.3, self.training)",
         "return self.conv_o(out).transpose(1, 2)", "return self.conv_o(out).transpose(1, 2), p_attn"),
    ],
    "RotaryHeads": [
        ("rotary_queries_only", K, "self.rope(xq), xk"),
        ("rotary_unturned", K, "xq, xk"),
        ("rotary_layout", "x.chunk(2, dim=-1)", "(x[..., ::2], x[..., 1::2])"),
        ("rotary_sign", "torch.outer(torch.arange(x.shape[-2])", "torch.outer(-torch.arange(x.shape[-2])"),
    ],
    "WrappedTorch": [
        ("residual_missing", "return query + ", "return "),
        ("mask_tiled", "key.shape[1]).repeat_interleave(heads, dim=0)", "key.shape[1]).repeat(heads, 1, 1)"),
        ("batch_first", ", batch_first=True", "", "mask = ~mask.expand(len(query), query.shape[1], key.shape[1])"
         ".repeat_interleave(heads, dim=0)", "mask = None", {"mask_ignored"}),
    ],
    "TorchSelfAttention": [
        ("batch_first", ", batch_first=True", ""),
        ("mask_inverted", "key_padding_mask=key_padding_mask)", "key_padding_mask=None if key_padding_mask is None"
         " else ~key_padding_mask)"),
    ],
    "heads_in_a_loop": [
        ("heads_summed", "torch.cat(outputs, dim=-1)", "sum(outputs)"),
        ("heads_averaged", "torch.cat(outputs, dim=-1)", "(sum(outputs) / len(outputs))"),
        ("concat_axis", "torch.cat(outputs, dim=-1)", "torch.stack(outputs, dim=-1).flatten(2)"),
    ],
    "heads_stacked": [
        ("heads_summed", "torch.einsum(\"hbtd,hdm->btm\", out, W_O.view(len(heads), -1, W_O.shape[-1]))",
         "torch.einsum(\"hbtd,dm->btm\", out, W_O)"),
        ("heads_averaged", "torch.einsum(\"hbtd,hdm->btm\", out, W_O.view(len(heads), -1, W_O.shape[-1]))",
         "torch.mean(out, dim=0).matmul(W_O)"),
        ("heads_summed", "torch.einsum(\"hbtd,hdm->btm\", out, W_O.view(len(heads), -1, W_O.shape[-1]))",
         "F.linear(out, W_O.T).sum(0)"),
        ("heads_averaged", "torch.einsum(\"hbtd,hdm->btm\", out, W_O.view(len(heads), -1, W_O.shape[-1]))",
         "F.linear(out, W_O.T).mean(0)"),
        ("concat_axis", "torch.einsum(\"hbtd,hdm->btm\", out, W_O.view(len(heads), -1, W_O.shape[-1]))",
         "out.permute(1, 2, 3, 0).flatten(2) @ W_O"),
    ],
    "split_by_permute": [
        ("heads_before_batch", "permute(0, 2, 1, 3)", "permute(2, 0, 1, 3)"),
        ("prints", "    return", "    print(batch)\n    return"),
    ],
    "join_by_loop": [
        ("heads_before_batch", "X[b * num_heads + i]", "X[i * batch + b]"),
        ("view_back", "torch.cat([X[b * num_heads + i] for i in range(num_heads)], dim=-1)",
         "X[b * num_heads : (b + 1) * num_heads].reshape(X.shape[1], -1)"),
    ],
    # ---- masks
    "causal_loop": [
        ("causal_ahead", "key <= query", "key <= query + 1"),
        ("causal_upper", "key <= query", "key >= query"),
        ("causal_floats", "dtype=torch.bool", "dtype=torch.float32"),
        ("causal_additive", "dtype=torch.bool", "dtype=torch.float32", "key <= query",
         "0.0 if key <= query else -torch.inf"),
        ("no_mask", "dtype=torch.bool", "dtype=torch.int"),
    ],
    "causal_places": [
        ("causal_ahead", "<= places[:, None]", "< places[:, None] + 2"),
        ("causal_upper", "<= places", ">= places"),
        ("causal_floats", "return places[None, :] <= places[:, None]",
         "return (places[None, :] <= places[:, None]).float()"),
        ("causal_additive", "return places[None, :] <= places[:, None]",
         "return torch.where(places[None, :] <= places[:, None], 0.0, -torch.inf)"),
    ],
    "causal_cumulative": [
        ("causal_upper", "cumsum(0)", "cumsum(1)"),
        ("causal_floats", "mask > 0", "mask"),
        ("causal_additive", "mask > 0", "mask.log()"),
        ("no_mask", "mask > 0", "(mask > 0).long()"),
    ],
    "cached_places": [
        ("cache_strict", "key <= query", "key < query"),
        ("cache_ahead", "key <= query", "key <= query + 1"),
        ("cache_open", "key <= query", "key <= query.max() + 0 * query"),
        ("cache_hidden", "key <= query", "(key <= query) & (key >= past)"),
        ("cache_order", "torch.arange(past + new_len)[None]",
         "torch.cat((torch.arange(past, past + new_len), torch.arange(past)))[None]"),
    ],
    "cached_parts": [
        ("cache_strict", ".tril()", ".tril(-1)"),
        ("cache_ahead", ".tril()", ".tril(1)"),
        ("cache_open", ".tril()", ""),
        ("cache_hidden", "old = torch.ones", "old = torch.zeros"),
        ("cache_order", "(old, new)", "(new, old)"),
    ],
    "cached_lists": [
        ("cache_ahead", "k <= offset + q", "k < offset + q + 2"),
        ("cache_open", "k <= offset + q", "k < offset + seq_len"),
        ("cache_hidden", "k <= offset + q", "offset <= k <= offset + q"),
        ("cache_order", "k <= offset + q ", "(k + offset) % (offset + seq_len) <= offset + q "),
    ],
    "window_places": [
        ("no_mask", "(distance >= 0) & (distance < window)", "((distance >= 0) & (distance < window)).byte()"),
        ("window_ignored", " & (distance < window)", ""),
        ("window_one_less", "distance < window", "distance < window - 1"),
        ("causal_ahead", "distance >= 0", "distance >= -1"),
    ],
    "window_numpy": [
        ("window_one_more", "-sliding_window)", "-sliding_window - 1)"),
        ("window_ignored", " & ~far", ""),
        ("window_both_ways", "dtype=bool)) & ~far", "dtype=bool), sliding_window - 1) & ~far"),
    ],
    "window_lists": [
        ("window_ignored", "q - w < k <= q", "k <= q"),
        ("window_one_less", "q - w < k", "q - w + 1 < k"),
        ("window_one_more", "q - w < k", "q - w <= k"),
    ],
    "padding_places": [
        ("padding_inverted", "places < valid", "places >= valid"),
        ("padding_wrong_side", "places < valid_lens[:, None]", "places >= max_len - valid_lens[:, None]"),
        ("padding_ignored", "places < valid_lens[:, None]", "places < max_len + 0 * valid_lens[:, None]"),
    ],
    "padding_loop": [
        ("padding_inverted", "..., :n]", "..., n:]"),
        ("padding_wrong_side", "..., :n]", "..., length - n :]"),
    ],
    "documents_compared": [
        ("documents_future", "same.tril()", "same"),
        ("documents_leak", "same.tril()", "torch.ones_like(same).tril()"),
    ],
    "documents_loop": [
        ("documents_future", "range(query + 1)", "range(size)"),
        ("causal_strict", "range(query + 1)", "range(query)"),
        ("causal_ahead", "range(query + 1)", "range(min(query + 2, size))"),
    ],
    # ---- positions
    "rope_vectorised": [
        ("rotary_pairs_joined", "return x * cos + torch.cat((-second, first), dim=-1) * sin",
         "out = x * cos + torch.cat((-second, first), dim=-1) * sin\n"
         "    return torch.stack(out.chunk(2, dim=-1), dim=-1).flatten(-2)"),
        ("rotary_speed", SPEEDS, "(-torch.arange(0, size // 2) / size)"),
        ("rotary_base", "10000.0", "1000000.0"),
        ("rotary_speeds_inverted", SPEEDS, "(torch.arange(0, size, 2) / size)"),
        ("rotary_mixed", "torch.cat((f(angles), f(angles)), dim=-1)", "f(angles).repeat_interleave(2, -1)"),
        ("rotary_mixed", "torch.cat((-second, first), dim=-1)",
         "torch.stack((-x[..., 1::2], x[..., ::2]), dim=-1).flatten(-2)"),
        ("rotary_mirrored", "torch.cat((-second, first), dim=-1)", "torch.cat((-second, -first), dim=-1)"),
        ("rotary_not_meant", "", "", {"rope": "neighbours"}),
        ("rotary_first_pair", "torch.arange(0, size, 2)", "torch.arange(2, size + 2, 2)"),
        ("rotary_ignored", "positions[:, None]", "torch.arange(x.shape[-2])[:, None]"),
        ("rotary_cosine_only", " + torch.cat((-second, first), dim=-1) * sin", ""),
        ("rotary_added", "x * cos + torch.cat((-second, first), dim=-1) * sin",
         "x + torch.cat((angles.sin(), angles.cos()), dim=-1)"),
        ("rotary_unturned", "return x * cos + torch.cat((-second, first), dim=-1) * sin", "return x"),
    ],
    "rope_pair_by_pair": [
        ("rotary_speed", "(i / half)", "(2 * i / half)"),
        ("rotary_base", "10000 **", "500000 **"),
        ("rotary_speeds_inverted", "positions / 10000", "positions * 10000"),
        ("rotary_mirrored", "torch.cos(theta) + a", "torch.cos(theta) - a"),
        ("rotary_first_pair", "(i / half)", "((i + 1) / half)"),
        ("rotary_added", "a * torch.cos(theta) - b * torch.sin(theta)", "a + torch.sin(theta)",
         "b * torch.cos(theta) + a * torch.sin(theta)", "b + torch.cos(theta)"),
        ("rotary_unturned", "return out", "return x"),
    ],
    "RotaryEmbedding": [
        ("rotary_pairs_joined", "return x * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()",
         "out = x * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()\n"
         "        return out.unflatten(-1, (2, -1)).mT.flatten(-2)"),
        ("rotary_speeds_inverted", SPEEDS, "(torch.arange(0, size, 2) / size)"),
        ("rotary_mixed", "emb = torch.cat((freqs, freqs), dim=-1)\n        x1",
         "emb = torch.repeat_interleave(freqs, 2, dim=-1)\n        x1"),
        ("rotary_mirrored", "(-x2, x1)", "(x2, x1)", {"rotary_sign"}),
        ("rotary_not_meant", "", "", {"rope": "neighbours"}),
        ("rotary_first_pair", SPEEDS, "(-(torch.arange(0, size, 2) + 2) / size)"),
        ("rotary_cosine_only", " + torch.cat((-x2, x1), dim=-1) * emb.sin()", ""),
        ("rotary_added", "return x * emb.cos() + torch.cat((-x2, x1), dim=-1) * emb.sin()",
         "return x + torch.cat((freqs.sin(), freqs.cos()), dim=-1)"),
        ("rotary_base", "10000.0 ** " + SPEEDS, "100000.0 ** " + SPEEDS),
    ],
    "apply_rotary_pos_emb": [
        ("rotary_queries_only", "k_embed = k * cos + rotate_half(k) * sin", "k_embed = k.clone()"),
        ("rotary_not_meant", "", "", {"rope": "neighbours"}),
        ("yarn_factor_lost", "    def rotate_half", "    factor = torch.hypot(cos, sin)\n"
         "    cos, sin = cos / factor, sin / factor\n\n    def rotate_half"),
        ("yarn_factor_squared", "return q_embed, k_embed",
         "factor = torch.hypot(cos, sin)\n    return q_embed * factor, k_embed * factor"),
        ("rotary_pairs_joined", "return q_embed, k_embed",
         "return tuple(x.unflatten(-1, (2, -1)).mT.flatten(-2) for x in (q_embed, k_embed))"),
    ],
    "rope_half_tables": [
        ("yarn_factor_lost", "a, b = x.chunk(2, dim=-1)", "a, b = x.chunk(2, dim=-1)\n"
         "    angle = torch.atan2(sin, cos)\n    cos, sin = angle.cos(), angle.sin()"),
        ("yarn_factor_squared", "a, b = x.chunk(2, dim=-1)",
         "a, b = (x * torch.cat((torch.hypot(cos, sin),) * 2, dim=-1)).chunk(2, dim=-1)"),
        ("rotary_mirrored", "b * cos + a * sin", "b * cos - a * sin"),
    ],
    "apply_rotary_emb": [
        ("yarn_factor_lost", "freqs_cis[None", "(freqs_cis / freqs_cis.abs())[None"),
        ("yarn_factor_squared", "freqs_cis[None", "(freqs_cis * freqs_cis.abs())[None"),
        ("rotary_queries_only", "xk_ * turns", "xk_"),
        ("rotary_not_meant", "", "", {"rope": "halves"}),
    ],
    "waves_vectorised": [
        ("waves_swapped", "(angles.sin(), angles.cos())", "(angles.cos(), angles.sin())"),
        ("waves_halves", "torch.stack((angles.sin(), angles.cos()), dim=-1).flatten(1)",
         "torch.cat((angles.sin(), angles.cos()), dim=1)"),
        ("waves_speed", "torch.arange(0, embed_dim, 2) / embed_dim", "torch.arange(embed_dim // 2) / embed_dim"),
        ("waves_to_the_end", "torch.arange(0, embed_dim, 2) / embed_dim",
         "torch.arange(0, embed_dim, 2) / max(embed_dim - 2, 1)"),
        ("waves_constant", "torch.arange(0, embed_dim, 2) / embed_dim", "torch.zeros(embed_dim // 2)"),
        ("waves_inverted", "1 / 10000 **", "1 * 10000 **"),
        ("waves_floor", "[:, None] * speeds", "[:, None] // (1 / speeds)"),
        ("waves_base", "10000", "100000"),
        ("waves_sines", "angles.cos()", "angles.sin()"),
    ],
    "waves_in_loops": [
        ("waves_speed", "(i / d_model)", "(2 * i / d_model)"),
        ("waves_odd", "math.cos(angle)", "math.cos(pos / 10000 ** ((i + 1) / d_model))"),
        ("waves_constant", "(i / d_model)", "(i // d_model)"),
        ("waves_inverted", "pos / 10000", "pos * 10000"),
        ("waves_floor", "pos / 10000", "pos // 10000"),
        ("waves_base", "10000", "1000"),
        ("waves_sines", "math.cos", "math.sin"),
        ("waves_to_the_end", "(i / d_model)", "(i / max(d_model - 2, 1))"),
    ],
    "PositionalEncoding": [
        ("waves_swapped", "pe[:, 0::2]", "pe[:, 1::2]", "pe[:, 1::2] = torch.cos", "pe[:, 0::2] = torch.cos"),
        ("waves_speed", "torch.arange(0, d_model, 2) *", "2 * torch.arange(0, d_model, 2) *"),
        ("waves_odd", "torch.cos(position * div_term)",
         "torch.cos(position * torch.exp(torch.arange(1, d_model, 2) * " + DIV_TERM + "))"),
        ("waves_constant", "torch.arange(0, d_model, 2) *", "torch.zeros(d_model // 2) *"),
        ("waves_inverted", "(-math.log", "(math.log",
         Unnamed("at 10000^(10/12) radians a token float32 rounds the angles: compared too closely")),
        ("waves_floor", "torch.sin(position * div_term)", "torch.sin((position * div_term).long())",
         "torch.cos(position * div_term)", "torch.cos((position * div_term).long())"),
        ("waves_base", "10000.0", "1000000.0"),
        ("waves_sines", "torch.cos", "torch.sin"),
        ("waves_from_one", "torch.arange(max_len)", "torch.arange(1, max_len + 1)"),
    ],
    "slopes_vectorised": [
        ("alibi_from_zero", "    slopes =", "    return 2.0 ** (-8 * torch.arange(num_heads) / num_heads)\n    slopes ="),
        ("alibi_sign", "return torch.cat", "return -torch.cat"),
        ("alibi_powers", "2 ** math.floor(math.log2(num_heads))", "num_heads"),
    ],
    "slopes_in_a_loop": [
        ("alibi_from_zero", "8 * (head + 1) / power if head < power else 4 * (2 * (head - power) + 1) / power",
         "8 * head / n_heads"),
        ("alibi_from_zero", "8 * (head + 1) / power if head < power else 4 * (2 * (head - power) + 1) / power",
         "8 / n_heads * len(slopes)"),
        ("alibi_powers", "8 * (head + 1) / power if head < power else 4 * (2 * (head - power) + 1) / power",
         "8 * (head + 1) / n_heads"),
        ("alibi_sign", "2.0**-exponent", "-(2.0**-exponent)"),
    ],
    # ---- norms
    "rms_function": [
        ("rms_inverted", "(x * torch.rsqrt(squares + eps))", "(x / torch.rsqrt(squares + eps))"),
        ("rms_no_root", "x * torch.rsqrt(squares + eps)", "x / (squares + eps)"),
        ("rms_root_twice", "squares + eps", "squares.sqrt() + eps"),
        ("rms_sum", ".mean(-1", ".sum(-1"),
        ("rms_factor", "x.pow(2).mean(-1, keepdim=True)", "x.pow(2).sum(-1, keepdim=True) * x.shape[-1]"),
        ("rms_factor", "rsqrt(squares + eps)", "rsqrt(squares + eps) / x.shape[-1]",
         Unnamed("where eps stands, under the root or behind the factor, is known in one form alone")),
        ("rms_axis", ".mean(-1", ".mean(0"),
        ("rms_eps", "rsqrt(squares + eps)", "rsqrt(squares)"),
        ("rms_offset", "return weight *", "return (1 + weight) *"),
        ("rms_eps_outside", "x * torch.rsqrt(squares + eps)", "x / (squares.sqrt() + eps)"),
    ],
    "RMSNorm": [
        ("rms_inverted", "torch.sqrt(", "torch.rsqrt("),
        ("rms_no_root", "torch.sqrt(variance + self.variance_epsilon)", "(variance + self.variance_epsilon)"),
        ("rms_root_twice", "torch.sqrt(variance + self", "torch.sqrt(torch.sqrt(variance) + self"),
        ("rms_sum", ".mean(-1", ".sum(-1"),
        ("rms_factor", "variance = hidden_states.pow(2).mean(-1, keepdim=True)",
         "variance = hidden_states.pow(2).sum(-1, keepdim=True) * hidden_states.shape[-1]"),
        ("rms_axis", ".mean(-1", ".mean(1"),
        ("rms_eps", " + self.variance_epsilon", ""),
        ("rms_no_weight", "self.weight * ", ""),
        ("rms_eps_outside", "torch.sqrt(variance + self.variance_epsilon)",
         "(torch.sqrt(variance) + self.variance_epsilon)"),
    ],
    "rms_by_einsum": [
        ("rms_inverted", "** 0.5", "** -0.5"),
        ("rms_no_root", " ** 0.5", ""),
        ("rms_root_twice", "(norm + eps)", "(norm**0.5 + eps)"),
        ("rms_factor", "/ hidden_states.shape[-1]", "* hidden_states.shape[-1]"),
        ("rms_sum", " / hidden_states.shape[-1]", ""),
    ],
    "layer_function": [
        ("layer_no_mean", "(x - mean)", "x", "x.var(-1, keepdim=True, unbiased=False)", "x.square().mean(-1, True)"),
        ("layer_no_bias", " + bias", ""),
        ("layer_unbiased", ", unbiased=False", ""),
        ("rms_axis", "x.mean(-1", "x.mean(1", "x.var(-1", "x.var(1"),
    ],
    "LayerNorm": [
        ("layer_no_mean", " - x.mean(dim=-1, keepdim=True)", ""),
        ("layer_no_bias", " + self.beta", ""),
        ("layer_unbiased", "centred.square().mean(dim=-1, keepdim=True)", "x.var(-1, keepdim=True)"),
    ],
    "layer_of_torch": [
        ("layer_no_mean", "F.layer_norm(hidden_states, hidden_states.shape[-1:], gamma, beta, eps)",
         "F.rms_norm(hidden_states, hidden_states.shape[-1:], gamma, eps) + beta"),
        ("layer_no_bias", "gamma, beta, eps)\n", "gamma, None, eps)\n"),
        ("rms_offset", "gamma, beta, eps)\n", "1 + gamma, beta, eps)\n"),
    ],
    # ---- latent attention and the softmax alone
    "latent_joined": [
        ("latent_scale", "scale=q.shape[-1]", "scale=q_nope.shape[-1]"),
        ("latent_rope_missing", "torch.cat((q_nope, q_pe), dim=-1), torch.cat((k_nope, k_pe), dim=-1)",
         "q_nope, k_nope", "q.shape[-1] **", "(q_nope.shape[-1] + q_pe.shape[-1]) **"),
        ("latent_nope_missing", "torch.cat((q_nope, q_pe), dim=-1), torch.cat((k_nope, k_pe), dim=-1)",
         "q_pe, k_pe", "q.shape[-1] **", "(q_nope.shape[-1] + q_pe.shape[-1]) **"),
    ],
    "latent_summed": [
        ("latent_scale", "q_nope.shape[-1] + q_rope.shape[-1]", "value.shape[-1]"),
        ("latent_rope_missing", " + q_rope @ k_rope.mT", ""),
        ("latent_nope_missing", "q_nope @ k_nope.mT + ", ""),
    ],
    "latent_by_einsum": [
        ("latent_scale", "q_pass.size(3) + ", ""),
        ("latent_rope_missing", "(content + place)", "content"),
        ("latent_nope_missing", "(content + place)", "place"),
    ],
    "softmax_filled": [("mask_zero", "-1e9", "0.0"), ("mask_ignored", "masked_fill(~mask, -1e9).", "")],
    "softmax_written_out": [
        ("mask_after", "exps / exps.sum(-1, keepdim=True)", "logits.softmax(-1) * seen"),
        ("wrong_axis", "amax(-1", "amax(-2", "exps.sum(-1", "exps.sum(-2"),
    ],
    "softmax_of_lengths": [("mask_inverted", "torch.where(seen", "torch.where(~seen")],
    # ---- layers
    "GPTBlock": [
        ("residual_missing", "x + self.attn(h)", "self.attn(h)"),
        ("residual_from_start", "y + self.mlp(g)", "x + self.mlp(g)"),
        ("residual_normed", "x + self.attn(h)", "h + self.attn(h)"),
    ],
    "PostNormEncoderLayer": [
        ("residual_missing", "src + attended", "attended"),
        ("residual_from_start", "x + out", "src + out"),
    ],
    "LlamaDecoderLayer": [
        ("residual_missing", "return residual + ", "return "),
        ("residual_normed", "        residual = hidden_states\n        hidden_states = self.input_layernorm("
         "hidden_states)", "        hidden_states = self.input_layernorm(hidden_states)\n"
         "        residual = hidden_states"),
        ("residual_normed", "return residual", "return hidden_states"),
        ("residual_from_start", "residual = hidden_states\n        hidden_states = self.post",
         "hidden_states = self.post"),
    ],
    # ---- whole models
    "MiniGPT": [
        ("causal_train_only", EARLIER, "(" + EARLIER + " | (not self.training))", {"sees_ahead", "causal_open"}),
        ("causal_eval_only", EARLIER, "(" + EARLIER + " | self.training)"),
        ("padding_replaces_causal", "seen = " + EARLIER, "seen = " + EARLIER + " if attention_mask is None"
         " else torch.ones(new, start + new, dtype=torch.bool)\n        seen = seen"),
        ("padding_hides_queries", "tokens[:, None, :]", "tokens[:, start:, None]"),
        ("mask_nan", "-1e9", "-torch.inf"),
        ("causal_inverted", EARLIER, "~" + EARLIER),
        ("cache_open", "seen = self.tril[start : start + new,",
         "seen = self.tril[start + new - 1 if start else 0 : start + new,"),
        ("positions_by_caller", "past_key_values=None", "position_ids=None, past_key_values=None",
         "positions = (tokens.cumsum(-1) - 1).clamp(min=0)[:, start:]",
         "positions = torch.arange(start, start + new) if position_ids is None else position_ids"),
    ],
    "AlternatingModel": [
        ("window_wrong_layers", "for kind in kinds", "for kind in kinds[1:] + kinds[:1]"),
        ("window_wrong_layers", "3 if kind == \"sliding_attention\" else None", "3"),
        ("window_wrong_layers", "3 if kind == \"sliding_attention\" else None) for kind in kinds",
         "3 if i % 2 else None) for i in range(len(kinds))"),
        ("window_ignored", "3 if kind == \"sliding_attention\" else None", "None"),
        ("window_one_less", "3 if kind", "2 if kind"),
    ],
    "NanoWindow": [
        ("cache_trimmed", ">= 0", ">= (min(old, old + new - 4) if old else 0)"),
        ("causal_eval_only", "return torch.ones(new", "return self.training | torch.ones(new"),
        ("padding_replaces_causal", "self.causal(new, old)",
         "(self.causal(new, old) | ~tokens.all(1)[:, None, None, None])"),
    ],
    "LlamaWindow": [
        ("cache_trimmed", "return near", "near = near & (key >= old + new - 3) if old else near\n        return near"),
        ("causal_eval_only", "(key <= query)", "((key <= query) | self.training)"),
        ("padding_replaces_causal", "return near", "near = near | ~tokens.all(1)[:, None, None, None]\n        return near"),
        ("padding_hides_queries", "tokens[:, None, None, :]", "tokens[:, None, -new:, None]"),
        ("cache_upper_left", "torch.arange(old, old + new)[:, None]", "torch.arange(new)[:, None]"),
    ],
    "PartsDecoder": [
        ("softcap_missing", "torch.tanh(scores / self.softcap).mul(self.softcap)", "scores"),
        ("sinks_missing", "(scores - total).exp()", "masked_softmax(scores, visible)"),
        ("query_bias_missing", "q = q + layer.query.bias", ""),
    ],
    "WholeDecoder": [
        ("softcap_missing", "scores = self.softcap * torch.tanh(scores / self.softcap)", ""),
        ("sinks_missing", "scores.softmax(-1)[..., :-1]", "masked_softmax(scores[..., :-1], visible)"),
        ("query_bias_missing", "layer.query(x)", "F.linear(x, layer.query.weight)"),
        ("cache_trimmed", "cache.self_attention.advance()", "cache.self_attention.advance()\n"
         "            recent = torch.arange(k.shape[2]) >= k.shape[2] - self.window\n"
         "            visible = visible & recent if k.shape[2] > x.shape[1] else visible"),
    ],
    "WrittenOutDecoder": [
        ("softcap_missing", "return score_mod(", "return ("),
        ("sinks_missing", " + sinks[:, None, None].exp()", ""),
        ("query_bias_missing", ", layer.query.bias)", ")"),
    ],
    "BertEncoder": [
        ("padding_ignored", "layer(x, x, x, hidden)", "layer(x, x, x)"),
        ("padding_hides_queries", "[:, None, None, :]", "[:, None, :, None]"),
        ("mask_inverted", "(mask == 0)", "(mask != 0)"),
    ],
    "TorchTextEncoder": [
        ("padding_ignored", "src_key_padding_mask=src_key_padding_mask", "src_key_padding_mask=None"),
        ("batch_mixed", "self.encoder(self.position(self.embedding(src))", "self.encoder("
         "self.position(self.embedding(src)) + self.embedding(src).mean(0)"),
    ],
}  # fmt: skip


# What is right after a change, too.
STILL_RIGHT = [
    ("PostNormEncoderLayer", "self.ff(x)", "self.ff[2](self.ff[1](self.ff[0](x)))",
     Unnamed("of the linear layers the last one's input is wider than the tokens: it is not looked at")),
]  # fmt: skip


@dataclass(frozen=True)
class Change:
    """One base with one change, the name of the bug and what else may be said."""

    name: str
    base: str
    pairs: tuple[str, ...]
    number: int
    also: frozenset[str] = frozenset()
    options: tuple[tuple[str, Any], ...] = ()
    reason: str = ""  # why it is not named yet

    def __str__(self) -> str:
        return f"{self.base}-{self.number}-{self.name or 'right'}"

    @property
    def kind(self) -> str:
        return KIND_OF[self.base]

    @property
    def original(self) -> Any:
        return getattr(bases, self.base)

    def candidate(self) -> Any:
        source = inspect.getsource(self.original)
        for before, after in zip(self.pairs[::2], self.pairs[1::2], strict=True):
            assert before in source, before
            source = source.replace(before, after)
        space = dict(vars(bases))
        exec(source, space)
        return made(space[self.base])


def made(thing: Any) -> Any:
    """A function, or a module of a class, with the same parameters each time."""
    torch.manual_seed(0)
    if isinstance(thing, type) and issubclass(thing, bases.SmallDecoder):
        return bases.build(thing, **thing.options)
    return thing() if isinstance(thing, type) and issubclass(thing, nn.Module) else thing


def _change(base: str, number: int, name: str, *rest: Any) -> Change:
    of_type = {kind: [each for each in rest if isinstance(each, kind)] for kind in (str, set, dict, Unnamed)}
    also = frozenset[str]().union(*of_type[set])
    options = OPTIONS.get(base, {}) | {key: value for each in of_type[dict] for key, value in each.items()}
    reason = "".join(each.reason for each in of_type[Unnamed])
    return Change(name, base, (*of_type[str],), number, also, (*options.items(),), reason)


TABLE = [_change(base, i, *entry) for base, entries in CHANGES.items() for i, entry in enumerate(entries)]
RIGHT = [_change(base, 0, "") for base in KIND_OF] + [
    _change(base, i, "", *rest) for i, (base, *rest) in enumerate(STILL_RIGHT, 1)
]
