"""Answers to the exercises: right ones, and one that makes each mistake that the checks know."""

from __future__ import annotations

import itertools
import math

import torch
import torch.nn.functional as F

import polyhead
from polyhead_course.exercises import checks
from tests.polyhead_course import (
    learning_answers,
    parallel_answers,
    real_model_answers,
    removal_answers,
    rotary_answers,
)

sdpa = F.scaled_dot_product_attention
ROOT = math.sqrt(7)


def dots(query, key):
    return query @ key.mT


def attend(query, key, value):
    return (dots(query, key) / ROOT).softmax(-1) @ value


def spoiling(function):
    """The same, and then its arguments are zeros."""

    def candidate(*tensors):
        result = function(*tensors).detach().clone()
        for tensor in tensors:
            tensor.detach().zero_()
        return result

    return candidate


# ---- masked attention: what stands in a row where nothing may be seen, and everything else


def masked(weigh, blind=None):
    """Attention with weights of its own; `blind`: what the rows get that see nothing."""

    def candidate(query, key, value, mask):
        weights = weigh(dots(query, key), mask)
        if blind is not None:
            weights = weights.masked_fill(~mask.any(-1, keepdim=True), blind)
        return weights @ value

    return candidate


MASKED = {
    "mask_ignored": lambda dots, mask: (dots / ROOT).softmax(-1),
    "mask_inverted": lambda dots, mask: (dots / ROOT).masked_fill(mask, -math.inf).softmax(-1),
    "mask_after": lambda dots, mask: (dots / ROOT).softmax(-1) * mask,
    "mask_added": lambda dots, mask: (dots / ROOT + mask).softmax(-1),
    "mask_zero": lambda dots, mask: (dots / ROOT).masked_fill(~mask, 0.0).softmax(-1),
    "unscaled": lambda dots, mask: dots.masked_fill(~mask, -math.inf).softmax(-1),
    "no_root": lambda dots, mask: (dots / 7).masked_fill(~mask, -math.inf).softmax(-1),
}


def filled(number):
    return masked(lambda dots, mask: (dots / ROOT).masked_fill(~mask, number).softmax(-1))


def nan_to_num(query, key, value, mask):
    additive = torch.zeros(mask.shape).masked_fill(~mask, -math.inf)
    return (dots(query, key) / ROOT + additive).softmax(-1).nan_to_num(0.0) @ value


def overwriting(query, key, value, mask):
    weights = (dots(query, key) / ROOT).masked_fill(~mask, -1e9).softmax(-1)
    weights[~mask] = 0
    return weights @ value


# ---- heads


def split(X, num_heads):
    return X.unflatten(-1, (num_heads, -1))  # (batch, num_tokens, num_heads, head_dim)


def outputs(x, heads, divisor=2.0):
    return [((x @ q) @ (x @ k).mT / divisor).softmax(-1) @ (x @ v) for q, k, v in heads]


def joined(join, divisor=2.0):
    """Heads put together by a function, then projected."""
    return lambda x, heads, W_O: join(outputs(x, heads, divisor)) @ W_O


def cat(dim, *shape):
    return lambda heads: torch.cat(heads, dim).reshape(shape or torch.cat(heads, dim).shape)


def stack(dim, *shape):
    return lambda heads: cat(dim, *shape)([head.unsqueeze(dim) for head in heads])


def by_blocks(x, heads, W_O):
    return sum(output @ block for output, block in zip(outputs(x, heads), W_O.split(4), strict=True))


def library(x, heads, W_O):
    module = polyhead.LoopedMultiHeadAttention(12, 3, bias=False)
    with torch.no_grad():
        for head, (q, k, v) in zip(module.heads, heads, strict=True):
            head.query_projection.weight.copy_(q.T)
            head.key_projection.weight.copy_(k.T)
            head.value_projection.weight.copy_(v.T)
        module.output_projection.weight.copy_(W_O.T)
    return module(x)


# ---- an encoder layer: which norm, and whether the path around a sublayer is there


def layer(around_1=1, around_2=1, norms=(1, 2)):
    def candidate(x, attention, feed_forward, *given):
        first, second = ((lambda y: y, *given)[number] for number in norms)
        x = first(around_1 * x + attention(x))
        return second(around_2 * x + feed_forward(x))

    return candidate


def pre_norm(x, attention, feed_forward, norm_1, norm_2):
    x = x + attention(norm_1(x))
    return x + feed_forward(norm_2(x))


def norm_inside(x, attention, feed_forward, norm_1, norm_2):
    x = x + norm_1(attention(x))
    return x + norm_2(feed_forward(x))


def from_start(x, attention, feed_forward, norm_1, norm_2):
    return norm_2(x + feed_forward(norm_1(x + attention(x))))


# ---- positions: the exponent of each dimension's speed


def waves(exponent, first=torch.sin, second=torch.cos, start=0):
    def candidate(length, embed_dim):
        table = torch.empty(length, embed_dim)
        for dim in range(embed_dim):
            angles = torch.arange(start, length + start) / 10_000 ** exponent(dim - dim % 2, dim, embed_dim)
            table[:, dim] = (second if dim % 2 else first)(angles)
        return table

    return candidate


def right_speed(pair, dim, embed_dim):
    return pair / embed_dim


def halves(length, embed_dim):
    table = waves(right_speed)(length, embed_dim)
    return torch.cat((table[:, ::2], table[:, 1::2]), dim=1)


# ---- masks of a cache


def ones(old, new):
    return torch.ones(new, old + new, dtype=torch.bool)


def band(last, first):
    """A triangle that ends `last` places after the diagonal, without what is left of first - window."""
    return lambda length, window: torch.ones(length, length).tril(last).triu(first - window).bool()


# ---- cross-attention


def crossed(*order, masked=False, **options):
    """A call of the attention with query, key and value out of states (0) and memory (1)."""

    def candidate(states, memory, seen, attention):
        inputs = [(states, memory)[number] for number in order]
        return attention(*inputs, mask=seen[:, None] if masked else None, **options)

    return candidate


# ---- a test of what a model sees, and greedy decoding


def future_test(modes=(True, False), seed=True, places=range(1, 6), compared=None, combine=any):
    """Change each of these tokens in turn and compare outputs, by default those before it, in these modes."""

    def candidate(model, ids, vocab_size):
        moved = []
        for training, place in itertools.product(modes, places):
            other = ids.clone()
            other[:, place] = (other[:, place] + 1) % vocab_size
            model.train(training)
            outputs = []
            for each in (ids, other):
                if seed:
                    torch.manual_seed(0)
                outputs.append(model(each)[:, compared or slice(place)])
            moved.append(not torch.allclose(*outputs))
        return combine(moved)

    return candidate


def decoding(new=True, with_end=True, stop=True, given=slice(None), place=-1, sign=1, extra=0):
    """Greedy decoding, or one that is wrong in one of many ways."""

    def candidate(model, prompt_ids, end_id, max_new_tokens):
        ids = prompt_ids
        for _ in range(max_new_tokens + extra):
            token = (sign * model(ids[:, given])[:, place]).argmax(dim=-1)
            if token.item() == end_id and not with_end:
                break
            ids = torch.cat((ids, token[:, None]), dim=1)
            if token.item() == end_id and stop:
                break
        return ids[:, prompt_ids.shape[1] if new else 0 :]

    return candidate


RIGHT = {
    checks.sees_future: [future_test(), lambda *inputs: torch.tensor(future_test()(*inputs))],
    checks.greedy: [decoding(), lambda *inputs: decoding()(*inputs).int().long()],
    checks.rotary_positions: rotary_answers.RIGHT,
    checks.exact_match: learning_answers.EXACT_RIGHT,
    checks.mean_reciprocal_rank: removal_answers.RANK_RIGHT,
    checks.pruned_rows: removal_answers.ROWS_RIGHT,
    checks.induction_shares: real_model_answers.SHARES_RIGHT,
    checks.ablated_output: real_model_answers.ABLATION_RIGHT,
    checks.attention: [attend, polyhead.scaled_dot_product_attention, lambda q, k, v: (attend(q.double(),
        k.double(), v.double()),), lambda q, k, v: attend(q.requires_grad_(), k, v), spoiling(attend)],
    checks.transpose_qkv: [polyhead.transpose_qkv],
    checks.masked_attention: [
        sdpa,
        polyhead.scaled_dot_product_attention,
        lambda q, k, v, mask: sdpa(q.double(), k.double(), v.double(), mask),
        masked(lambda dots, mask: (dots / ROOT).masked_fill(~mask, -1e9).softmax(-1) * mask),
        # masked_fill writes zeros into the gradient, too.
        masked(lambda dots, mask: (dots / ROOT).masked_fill(~mask, -math.inf).softmax(-1).nan_to_num()),
        spoiling(sdpa),
    ],
    checks.multi_head: [joined(cat(-1)), joined(stack(2, 2, 5, 12)), by_blocks, library],
    checks.multi_head_attention: parallel_answers.RIGHT,
    checks.cached_mask: [lambda old, new: polyhead.causal_mask(new, old + new)],
    checks.causal_mask: [polyhead.causal_mask, lambda n: torch.arange(n) <= torch.arange(n)[:, None]],
    checks.encoder_layer: [layer(), lambda *inputs: (layer()(*inputs), None)],
    checks.sinusoidal_positions: [waves(right_speed), lambda length, size:
        polyhead.SinusoidalPositions(size)(torch.zeros(length, size))],
    checks.window_mask: [band(0, 1)],
    checks.repeat_kv: [lambda x, groups: x[:, torch.arange(x.shape[1] * groups) // groups]],
    checks.cross_attention: [crossed(0, 1, masked=True), lambda x, m, seen, a: a(x, m, m, seen[:,
        None].expand(-1, x.shape[1], -1))[0]],
}  # fmt: skip

WRONG = {
    checks.sees_future: [
        ("future_seed", future_test(seed=False)),
        ("future_eval_only", future_test(modes=(False,))),
        ("future_train_only", future_test(modes=(True,))),
        ("future_train_only", future_test(modes=(True,), seed=False)),
        ("future_whole", future_test(compared=slice(None))),
        ("future_never", future_test(places=[0])),
        ("future_near", future_test(places=[5], compared=slice(1))),
        ("future_last", future_test(places=[5])),
    ],
    checks.greedy: [
        ("greedy_prompt", decoding(new=False)),
        ("greedy_no_end", decoding(with_end=False)),
        ("greedy_no_stop", decoding(stop=False)),
        ("greedy_limit", decoding(extra=-3)),
        ("greedy_last_only", decoding(given=slice(-1, None))),
        ("greedy_first_place", decoding(place=0)),
        ("greedy_least", decoding(sign=-1)),
    ],
    checks.rotary_positions: rotary_answers.WRONG,
    checks.exact_match: learning_answers.EXACT_WRONG,
    checks.mean_reciprocal_rank: removal_answers.RANK_WRONG,
    checks.pruned_rows: removal_answers.ROWS_WRONG,
    checks.induction_shares: real_model_answers.SHARES_WRONG,
    checks.ablated_output: real_model_answers.ABLATION_WRONG,
    checks.attention: [
        ("unscaled", lambda q, k, v: dots(q, k).softmax(-1) @ v),
        ("unscaled", lambda q, k, v: (dots(q, k).softmax(-1) @ v, None)),
        ("no_root", lambda q, k, v: (dots(q, k) / 7).softmax(-1) @ v),
        ("wrong_axis", lambda q, k, v: (dots(q, k) / ROOT).softmax(1) @ v),
        ("no_softmax", lambda q, k, v: dots(q, k) / ROOT @ v),
    ],
    checks.transpose_qkv: [
        ("view", lambda X, h: X.reshape(6, 5, 7)),
        ("heads_before_batch", lambda X, h: split(X, h).permute(2, 0, 1, 3).flatten(0, 1)),
        ("entries_before_heads", lambda X, h: split(X, 7).permute(0, 3, 1, 2).flatten(0, 1)),
    ],
    checks.masked_attention: [
        *(
            (name, masked(weigh, blind))
            for name, weigh in MASKED.items()
            for blind in (None, 0.0, math.nan, 0.2)
        ),
        ("mask_nan", filled(-math.inf)),
        ("mask_uniform", filled(-1e9)),
        ("mask_nan_gradient", nan_to_num),
    ],
    checks.multi_head: [
        ("unscaled", joined(cat(-1), divisor=1.0)),
        ("model_root", joined(cat(-1), divisor=math.sqrt(12))),
        ("no_output_projection", lambda x, heads, W_O: torch.cat(outputs(x, heads), -1)),
        ("heads_summed", joined(sum)),
        ("heads_averaged", joined(lambda heads: sum(heads) / 3)),
        *(("concat_axis", joined(cat(dim))) for dim in (0, 1)),
        *(("concat_axis", joined(stack(dim))) for dim in (0, 1, 2)),
        *(("concat_axis", joined(cat(dim, 2, 5, 12))) for dim in (0, 1)),
        *(("concat_axis", joined(stack(dim, 2, 5, 12))) for dim in (1, 3)),
    ],
    checks.multi_head_attention: parallel_answers.WRONG,
    checks.cached_mask: [
        ("cache_upper_left", lambda old, new: ones(old, new).tril()),
        ("mask_inverted", lambda old, new: ~polyhead.causal_mask(new, old + new)),
        ("cache_strict", lambda old, new: ones(old, new).tril(old - 1)),
        ("cache_ahead", lambda old, new: ones(old, new).tril(old + 1)),
        ("cache_open", ones),
        ("cache_hidden", lambda old, new: ones(old, new).tril(old) & (torch.arange(old + new) >= old)),
        ("cache_order", lambda old, new: ones(old, new).tril(old).roll(new, 1)),
    ],
    checks.causal_mask: [
        ("causal_additive", lambda n: torch.full((n, n), -math.inf).triu(1)),
        ("causal_floats", lambda n: torch.ones(n, n).tril()),
        ("mask_inverted", lambda n: torch.full((n, n), -math.inf).triu(1).bool()),
        ("causal_strict", lambda n: torch.ones(n, n).tril(-1).bool()),
        ("causal_ahead", lambda n: torch.ones(n, n).tril(1).bool()),
        ("causal_upper", lambda n: torch.ones(n, n).triu().bool()),
        ("causal_open", lambda n: torch.ones(n, n).bool()),
    ],
    checks.encoder_layer: [
        ("norm_first", pre_norm),
        *(("no_residual", layer(*paths)) for paths in ((0, 0), (0, 1), (1, 0))),
        *(("no_norm", layer(norms=pair)) for pair in ((0, 0), (1, 0), (0, 2))),
        *(("norms_swapped", layer(norms=pair)) for pair in ((2, 1), (1, 1), (2, 2))),
        ("norm_inside", norm_inside),
        ("residual_from_start", from_start),
    ],
    checks.sinusoidal_positions: [
        ("waves_swapped", waves(right_speed, torch.cos, torch.sin)),
        ("waves_halves", halves),
        ("waves_from_one", waves(right_speed, start=1)),
        ("waves_speed", waves(lambda pair, dim, size: pair / 2 / size)),
        ("waves_speed", waves(lambda pair, dim, size: 2 * pair / size)),
        ("waves_to_the_end", waves(lambda pair, dim, size: pair / (size - 2))),
        ("waves_odd", waves(lambda pair, dim, size: dim / size)),
        ("waves_speed", waves(lambda pair, dim, size: 2 * dim / size)),
    ],
    checks.window_mask: [
        ("window_one_more", band(0, 0)),
        ("window_one_less", band(0, 2)),
        ("window_both_ways", lambda n, w: (torch.arange(n)[:, None] - torch.arange(n)).abs() < w),
        ("window_ignored", lambda n, w: polyhead.causal_mask(n)),
        ("mask_inverted", lambda n, w: ~band(0, 1)(n, w)),
        ("causal_strict", band(-1, 1)),
        ("causal_ahead", band(1, 1)),
        ("causal_open", lambda n, w: torch.ones(n, n).bool()),
    ],
    checks.repeat_kv: [("kv_tiled", lambda x, groups: x.repeat(1, groups, 1, 1))],
    checks.cross_attention: [
        ("cross_unmasked", crossed(0, 1)),
        ("mask_inverted", lambda x, m, seen, a: a(x, m, mask=~seen[:, None])),
        *(("cross_exchanged", crossed(1, 0, masked=masked)) for masked in (False, True)),
        *(("cross_keys", crossed(0, 0, 1, masked=masked)) for masked in (False, True)),
        *(("cross_values", crossed(0, 1, 0, masked=masked)) for masked in (False, True)),
        *(("cross_self", crossed(0, masked=masked)) for masked in (False, True)),
        *(("cross_causal", crossed(0, 1, masked=masked, is_causal=True)) for masked in (False, True)),
    ],
}
# Right for several new tokens, and not for one; right with a cache, and not without; right if the text ends.
LATE = [
    (checks.greedy, "greedy_limit", decoding(extra=1)),
    (checks.greedy, "greedy_limit", decoding(extra=99)),
    (checks.cached_mask, "mask_inverted", lambda old, new: polyhead.causal_mask(new, old + new) & (new > 1)),
    (checks.cached_mask, "cache_ahead", lambda old, new: ones(old, new).tril(old or 1)),
]
