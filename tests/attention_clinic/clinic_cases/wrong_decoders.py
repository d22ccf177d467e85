"""Decoders as they go wrong: what they see, where they place it, what a cache, a mode, a look changes."""

from __future__ import annotations

import functools

import torch
import torch.nn.functional as F
from torch import nn

import polyhead
from tests.attention_clinic.clinic_cases.case import wrong
from tests.attention_clinic.clinic_cases.decoders import VOCAB, AttentionAlone, Nano, TinyLlama

decoder = functools.partial(wrong, kind="decoder", made=True)


# ---- what is seen


@decoder("sees_ahead")
class OneAhead(Nano):
    """triu(diagonal=2) is what is hidden."""

    def causal(self, new, old):
        return ~torch.ones(new, old + new).triu(old + 2).bool()


# huggingface/transformers#48748: a mask of the padding alone turns the function's own causal part off.
@decoder("sees_ahead|causal_open")
class PaddingAlone(TinyLlama):
    def visible(self, tokens, new, old):
        return tokens[:, None, None].expand(-1, 1, new, -1)


# rasbt/LLMs-from-scratch#1061
@decoder("causal_inverted|mask_inverted", also=("sees_ahead",))
class TriuForTorch(Nano):
    def causal(self, new, old):
        return torch.triu(torch.ones(new, old + new), diagonal=old + 1).bool()


@decoder("causal_strict")
class StrictlyBefore(AttentionAlone):
    def causal(self, new, old):
        return torch.ones(new, old + new, dtype=torch.bool).tril(old - 1)

    def attend(self, q, k, v, visible):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible)


class Strict(polyhead.MultiHeadAttention):
    """The book's attention, and no token sees itself."""

    def forward(self, query, *args, is_causal=False, mask=None, cache=None, **options):
        new = query.shape[1]
        old = 0 if cache is None else cache.length
        strict = torch.ones(new, old + new, dtype=torch.bool).tril(old - 1)
        mask = strict if mask is None else mask & strict
        return super().forward(query, *args, mask=mask, cache=cache, **options)


def books(attention=polyhead.MultiHeadAttention):
    """The book's own model, with another attention in its layers."""
    embedding = polyhead.TokenEmbedding(VOCAB, 14, polyhead.LearnedPositions(64, 14))
    sizes = {"ffn_dim": 17, "dropout": 0.0, "norm_first": True}
    model = polyhead.DecoderOnly(embedding, polyhead.Decoder(2, 14, 2, cross_attention=False, **sizes))
    for layer in model.decoder.layers:
        layer.self_attention = attention(14, 2)
    return model.double().eval()


# Behind a residual no law sees it: only the book's form, with the same weights, gives something else.
@decoder("causal_strict")
def strict_in_the_book():
    return books(Strict)


# https://github.com/pytorch/pytorch/issues/108108
@decoder("cache_upper_left")
class TopLeft(TinyLlama):
    def causal(self, new, old):
        return torch.ones(new, old + new, dtype=torch.bool).tril()


# maxtext#878: the causal mask takes the place of the other.
@decoder("padding_ignored")
class CausalOnly(TinyLlama):
    def visible(self, tokens, new, old):
        return self.causal(new, old).expand(len(tokens), 1, -1, -1)


# d2l's decoder: `dec_valid_lens = None` in evaluation
@decoder("causal_train_only", also=("sees_ahead",))
class CausalInTraining(Nano):
    def causal(self, new, old):
        return super().causal(new, old) if self.training else torch.ones(new, old + new, dtype=torch.bool)


@decoder("causal_eval_only")
class CausalInEvaluation(TinyLlama):
    def causal(self, new, old):
        return torch.ones(new, old + new, dtype=torch.bool) if self.training else super().causal(new, old)


# ---- positions


# TransformerLens#1609, huggingface/transformers#18388
@decoder("positions_ignore_padding")
class CountsPadding(Nano):
    def positions(self, tokens, old):
        return torch.arange(old, tokens.shape[1]).expand(len(tokens), -1)


@decoder("cache_positions")
class BeginsAnew(Nano):
    def positions(self, tokens, old):
        return super().positions(tokens[:, old:], 0)


@decoder("cache_positions")
class BeginsAnewRotary(TinyLlama):
    def positions(self, tokens, old):
        return super().positions(tokens[:, old:], 0)


@decoder("rotary_queries_only")
class TurnsQueries(TinyLlama):
    def turn(self, q, k, positions):
        return self.rotate(q, positions), k


# huggingface/transformers#29285
@decoder("positions_low_precision")
class Bfloat16Positions(TinyLlama):
    def angles(self, positions, size):
        return super().angles(positions.bfloat16(), size)


# ---- what ought to change nothing


# huggingface/transformers PR #30652
@decoder("weights_change_output", also=("sees_ahead",))
class Observed(Nano):
    def forward(self, token_ids, mask=None, cache=None, need_weights=False):
        self.watched = need_weights
        logits = self.logits(token_ids, mask, cache)
        return (logits, self.seen) if need_weights else logits

    def attend(self, q, k, v, visible):
        self.seen = (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1)
        return self.seen @ v if self.watched else super().attend(q, k, v, visible)


# karpathy/nanoGPT, as huggingface/pytorch-image-models#1978 tells of it
@decoder("dropout_in_eval", also=("not_deterministic",))
class FunctionalDropout(TinyLlama):
    def attend(self, q, k, v, visible):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=visible, dropout_p=0.2)


class BatchRMS(nn.Module):
    """A norm that also takes the mean over the sequences of a batch."""

    def __init__(self, dim):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        return self.weight * x * torch.rsqrt(x.square().mean((0, 2), keepdim=True) + 1e-6)


@decoder("batch_mixed", also=("padding_ignored",))
class MixesBatch(Nano):
    norm = BatchRMS


# ml-explore/mlx-lm PR #1903: the batch of the mask meets the heads of the scores, where both are as many.
@decoder("batch_mixed", also=("padding_ignored",))
class MaskOnHeads(Nano):
    def visible(self, tokens, new, old):
        mask = self.causal(new, old) & tokens[:, None]
        return mask if len(tokens) == self.heads else mask[:, None]


# ---- two at once


@decoder("sees_ahead", "positions_ignore_padding")
class AheadAndCounts(CountsPadding, OneAhead):
    pass


@decoder("padding_ignored", "cache_positions")
class IgnoresAndBeginsAnew(CausalOnly, BeginsAnewRotary):
    pass


@decoder("rotary_queries_only", "padding_ignored")
class QueriesAndPadding(TurnsQueries, CausalOnly):
    pass


# ---- without a name


@decoder("differs")
class CacheDrifts(Nano):
    """With a cache the logits move a little, and for no reason that has a name."""

    def logits(self, ids, mask, cache, positions=None):
        out = super().logits(ids, mask, cache, positions)
        return out if cache is None else out + 0.01 * cache.tokens.shape[1]
