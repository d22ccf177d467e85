"""The exercises about layers, models, training and measures: what is right, and what mistakes give."""

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_clinic.cases import samples
from attention_clinic.trial import CallFailed
from polyhead.masks import causal_mask
from polyhead.multi_head import MultiHeadAttention
from polyhead_course.exercises.checks.verdict import Findings, exercise, finding, number, result_of, scalar
from polyhead_course.words.language import text

Sublayer = Callable[[Tensor], Tensor]


def _randomize(*modules: nn.Module) -> None:
    """Replace the parameters by random tensors, always the same."""
    generator = torch.Generator().manual_seed(1)
    for parameter in nn.ModuleList(modules).parameters():
        nn.init.normal_(parameter, generator=generator)


@exercise
def encoder_layer(candidate: Callable[[Tensor, Sublayer, Sublayer, Sublayer, Sublayer], object]) -> Findings:
    """Print whether `candidate(x, attention, feed_forward, norm_1, norm_2)` is a post-norm encoder layer.

    Each norm has parameters of its own, so that no swap goes unnoticed.
    """
    x, mixing, hidden = samples((2, 5, 6), (5, 5), (6, 6))
    first, second = nn.LayerNorm(6), nn.LayerNorm(6)
    _randomize(first, second)

    def attention(tokens: Tensor) -> Tensor:
        return mixing.softmax(-1) @ tokens

    def feed_forward(tokens: Tensor) -> Tensor:
        return torch.relu(tokens @ hidden)

    def post(one: Sublayer, two: Sublayer, path_1: int = 1, path_2: int = 1) -> Tensor:
        y = one(path_1 * x + attention(x))
        return two(path_2 * y + feed_forward(y))

    same = nn.Identity()
    inside = x + first(attention(x))
    pre = x + attention(first(x))
    mistakes = [
        ("norm_first", pre + feed_forward(second(pre))),
        *(("no_residual", post(first, second, *paths)) for paths in ((0, 0), (0, 1), (1, 0))),
        *(("no_norm", post(*pair)) for pair in ((same, same), (first, same), (same, second))),
        ("norm_inside", inside + second(feed_forward(inside))),
        ("residual_from_start", second(x + feed_forward(first(x + attention(x))))),
        *(("norms_swapped", post(*pair)) for pair in ((second, first), (first, first), (second, second))),
    ]
    output = result_of(candidate, x, attention, feed_forward, first, second)
    yield finding(output, post(first, second), mistakes)


@exercise
def cross_attention(candidate: Callable[[Tensor, Tensor, Tensor, MultiHeadAttention], object]) -> Findings:
    """Print whether `candidate(decoder_states, memory, memory_mask, attention)` is cross-attention.

    It gets (batch, target_length, embed_dim), (batch, source_length, embed_dim), a boolean mask of tokens,
    (batch, source_length), and the module to call. First both lengths are equal: every mistake then runs, and
    can be recognized by what it gives. Then they differ.
    """
    even, uneven, memory = samples((2, 5, 6), (2, 3, 6), (2, 5, 6))
    with torch.random.fork_rng(devices=[]):
        attention = MultiHeadAttention(6, num_heads=2)
    _randomize(attention)
    seen = torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]).bool()
    mask = seen[:, None]  # (batch, 1, source_length)
    exchanges = {
        "cross_exchanged": (memory, even, even),
        "cross_keys": (even, even, memory),
        "cross_values": (even, memory, even),
        "cross_self": (even, even, even),
    }
    mistakes = [
        ("cross_unmasked", attention(even, memory)[0]),
        ("cross_causal", attention(even, memory, mask=mask, is_causal=True)[0]),
        ("cross_causal", attention(even, memory, is_causal=True)[0]),
        ("mask_inverted", attention(even, memory, mask=~mask)[0]),
        *((name, attention(*inputs, mask=m)[0]) for name, inputs in exchanges.items() for m in (None, mask)),
    ]
    for states, known in ((even, mistakes), (uneven, [])):
        expected, _ = attention(states, memory, mask=mask)
        output = result_of(candidate, states.clone(), memory.clone(), seen.clone(), attention)
        yield finding(output, expected, known)


_VOCAB, _LENGTH = 7, 6


class _Averaging(nn.Module):
    """Weighted averages of token vectors, by a mask in training and one in evaluation."""

    def __init__(self, train: Tensor, evaluation: Tensor, dropout: float = 0.0) -> None:
        super().__init__()
        self.masks, self.dropout = {True: train, False: evaluation}, dropout
        (self.table,) = samples((_VOCAB, 5))

    def forward(self, ids: Tensor) -> Tensor:
        size = ids.shape[1]
        weights = self.masks[self.training][:size, :size].to(self.table)
        mixed = weights / weights.sum(dim=-1, keepdim=True) @ self.table[ids]  # (batch, num_tokens, 5)
        return F.dropout(mixed, self.dropout, self.training) @ self.table.mT


@exercise
def sees_future(candidate: Callable[[nn.Module, Tensor, int], object]) -> Findings:
    """Print whether `candidate(model, ids, vocab_size)` says which models see a later token, in either mode.

    It gets seven models with (batch, num_tokens) ids, and says True or False to each: a causal one; the same
    with dropout; one without a mask; one without it in training, and one in evaluation; one whose mask is
    shifted by one; one in which only tokens 1 and 3 see their successors.
    """
    (numbers,) = samples((2, _LENGTH))
    ids = (numbers.abs() * 10).long() % _VOCAB
    causal, whole = causal_mask(_LENGTH), torch.ones(_LENGTH, _LENGTH, dtype=torch.bool)
    pairs = causal | (whole.tril(1) & (torch.arange(_LENGTH) % 2 == 0))
    models = [
        _Averaging(causal, causal),
        _Averaging(causal, causal, dropout=0.5),
        _Averaging(whole, whole),
        _Averaging(whole, causal),
        _Averaging(causal, whole),
        _Averaging(whole.tril(1), whole.tril(1)),
        _Averaging(pairs, pairs),
    ]
    with torch.random.fork_rng(devices=[]):
        answers = [scalar(result_of(candidate, model, ids.clone(), _VOCAB)) for model in models]
    for answer in answers:
        if isinstance(answer, CallFailed):
            yield finding(answer, whole)
        elif not isinstance(answer, bool):
            yield text("check.no_bool", kind=type(answer).__name__)
    patterns = {
        "future_seed": [(0, 1, 1, 1, 1, 1, 1)],
        "future_eval_only": [(0, 0, 1, 0, 1, 1, 1)],
        "future_train_only": [(0, 0, 1, 1, 0, 1, 1), (0, 1, 1, 1, 0, 1, 1)],
        "future_whole": [(1, 1, 1, 1, 1, 1, 1)],
        "future_never": [(0, 0, 0, 0, 0, 0, 0)],
        "future_near": [(0, 0, 1, 1, 1, 0, 0)],
        "future_last": [(0, 0, 1, 1, 1, 1, 0)],
    }
    mistakes = [(name, torch.tensor(one).bool()) for name, several in patterns.items() for one in several]
    yield finding(torch.tensor(answers), torch.tensor((0, 0, 1, 1, 1, 1, 1)).bool(), mistakes)


class _Sums(nn.Module):
    """A model whose next token is a function of the sum of all tokens so far and of how many they are."""

    def forward(self, ids: Tensor) -> Tensor:
        places = torch.arange(ids.shape[1])
        wanted = (2 * ids.cumsum(dim=1) + places**2 + 3) % 11
        other = (wanted + 4) % 11
        return F.one_hot(wanted, 11).float() - F.one_hot(other, 11).float()


@exercise
def greedy(candidate: Callable[[nn.Module, Tensor, int, int], object]) -> Findings:
    """Print whether `candidate(model, prompt_ids, end_id, max_new_tokens)` decodes greedily, without a cache.

    It gets a prompt, (1, prompt_length), and gives the new tokens, (1, num_new): up to and including the end
    token, or max_new_tokens of them. First a text that ends, then one that is cut off.
    """
    model, prompt, end = _Sums(), torch.tensor([[0, 1, 8]]), 9
    longest, cut = 7, 3

    def written(
        limit: int, place: int = -1, last_only: bool = False, least: bool = False, on: bool = False
    ) -> Tensor:
        ids = prompt
        while ids.shape[1] < prompt.shape[1] + limit:
            logits = model(ids[:, -1:] if last_only else ids)[:, place]
            token = (-logits if least else logits).argmax(dim=-1)
            ids = torch.cat((ids, token[:, None]), dim=1)
            if token.item() == end and not on:
                break
        return ids[:, prompt.shape[1] :]

    right = written(longest)
    mistakes = [
        ("greedy_prompt", torch.cat((prompt, right), dim=1)),
        ("greedy_no_end", right[:, :-1]),
        ("greedy_no_stop", written(longest, on=True)),
        ("greedy_limit", right[:, : longest - prompt.shape[1]]),
        ("greedy_last_only", written(longest, last_only=True)),
        ("greedy_first_place", written(longest, place=0)),
        ("greedy_least", written(longest, least=True)),
    ]
    yield finding(result_of(candidate, model, prompt.clone(), end, longest), right, mistakes)
    late = [("greedy_limit", written(limit)) for limit in (cut + 1, longest)]
    yield finding(result_of(candidate, model, prompt.clone(), end, cut), written(cut), late)


@exercise
def exact_match(candidate: Callable[[Tensor, Tensor, int], object]) -> Findings:
    """Print whether `candidate(written, target, pad_id)` is the share of sequences that are exactly right.

    Both are ids, (batch, length). Padding fills the targets up on the right; what is written there is free.
    """
    pad = 0
    target = torch.tensor([[3, 4, 2], [5, 2, 0], [2, 0, 0], [4, 3, 2], [6, 2, 0], [3, 5, 2], [4, 2, 0]])
    written = torch.tensor([[3, 4, 2], [5, 2, 7], [2, 0, 0], [4, 6, 2], [3, 5, 5], [3, 5, 0], [4, 2, 2]])
    same, padding = written == target, target == pad
    mistakes = [
        ("exact_padding", same.all(dim=1).double().mean()),
        ("exact_tokens", same[~padding].double().mean()),
        ("exact_tokens", (same | padding).double().mean()),
        ("exact_tokens", same.double().mean()),
        ("exact_any", (same & ~padding).any(dim=1).double().mean()),
        ("exact_any", same.any(dim=1).double().mean()),
        ("exact_any", (same | padding).any(dim=1).double().mean()),
        ("exact_written", (same | (written == pad)).all(dim=1).double().mean()),
        ("exact_count", (same | padding).all(dim=1).double().sum()),
    ]
    result = number(result_of(candidate, written.clone(), target.clone(), pad))
    yield finding(result, (same | padding).all(dim=1).double().mean(), mistakes)


@exercise
def mean_reciprocal_rank(candidate: Callable[[Tensor], object]) -> Findings:
    """Print whether `candidate(similarities)` is the mean of 1 / rank of each query's own title.

    Similarities are (num_queries, num_titles); query i's own title has number i, and a tie counts against it.
    """
    similarities = torch.tensor(
        [[9.0, 1, 2, 3, 4], [8, 7, 7, 1, 2], [3, 6, 5, 6, 7], [1, 2, 3, 4, 5], [7, 8, 9, 2, 1]]
    ).double()
    own = similarities.diagonal()
    ranks = (similarities >= own[:, None]).double().sum(dim=1)
    above = (similarities > own[:, None]).double().sum(dim=1)
    mistakes = [
        ("rank_mean", ranks.mean()),
        ("rank_inverse", 1 / ranks.mean()),
        ("rank_first", (ranks == 1).double().mean()),
        ("rank_columns", (1 / (similarities >= own).double().sum(dim=0)).mean()),
        ("rank_zero", (1 / above).mean()),
        ("rank_ties", (1 / (above + 1)).mean()),
        ("rank_least", (1 / (similarities <= own[:, None]).double().sum(dim=1)).mean()),
    ]
    result = number(result_of(candidate, similarities.clone()))
    yield finding(result, (1 / ranks).mean(), mistakes)


@exercise
def pruned_rows(candidate: Callable[[Tensor, int, int], object]) -> Findings:
    """Print whether `candidate(weight, num_heads, head)` is the input projection's weight without that head.

    `weight` is (3 · embed_dim, embed_dim): the rows of all queries, then of all keys, then of all values.
    """
    heads, size, gone = 3, 4, 1
    width = heads * size
    (weight,) = samples((3 * width, width))
    head = torch.arange(3 * width) % width // size
    together = torch.arange(3 * width) // (3 * size)
    queries_only = (head == gone) & (torch.arange(3 * width) < width)
    mistakes = [
        ("prune_queries", weight[~queries_only]),
        ("prune_columns", weight[:, head[:width] != gone]),
        ("prune_from_one", weight[head != gone - 1]),
        ("prune_together", weight[together != gone]),
        ("prune_strided", weight[torch.arange(3 * width) % heads != gone]),
        ("prune_zeros", weight * (head != gone)[:, None]),
        ("prune_kept", weight[head == gone]),
    ]
    yield finding(result_of(candidate, weight.clone(), heads, gone), weight[head != gone], mistakes)
