"""The exercises about language models and what they write: what is right, and what known mistakes give."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from attention_clinic.trial import Stopped
from polyhead.masks import causal_mask
from polyhead_course.exercises.checks.verdict import Findings, exercise, finding, result_of, samples, scalar
from polyhead_course.words.language import text

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

    It gets six models with (batch, num_tokens) ids, and says True or False to each: a causal one; the same
    with dropout; one without a mask; one without it in training, and one in evaluation; one whose mask is
    shifted by one.
    """
    (numbers,) = samples((2, _LENGTH))
    ids = (numbers.abs() * 10).long() % _VOCAB
    causal, whole = causal_mask(_LENGTH), torch.ones(_LENGTH, _LENGTH, dtype=torch.bool)
    models = [
        _Averaging(causal, causal),
        _Averaging(causal, causal, dropout=0.5),
        _Averaging(whole, whole),
        _Averaging(whole, causal),
        _Averaging(causal, whole),
        _Averaging(whole.tril(1), whole.tril(1)),
    ]
    with torch.random.fork_rng(devices=[]):
        answers = [scalar(result_of(candidate, model, ids.clone(), _VOCAB)) for model in models]
    for answer in answers:
        if isinstance(answer, Stopped):
            yield finding(answer, whole)
        elif not isinstance(answer, bool):
            yield text("check.no_bool", kind=type(answer).__name__)
    patterns = {
        "future_seed": [(0, 1, 1, 1, 1, 1)],
        "future_eval_only": [(0, 0, 1, 0, 1, 1)],
        "future_train_only": [(0, 0, 1, 1, 0, 1), (0, 1, 1, 1, 0, 1)],
        "future_whole": [(1, 1, 1, 1, 1, 1)],
        "future_never": [(0, 0, 0, 0, 0, 0)],
        "future_near": [(0, 0, 1, 1, 1, 0)],
    }
    mistakes = [(name, torch.tensor(one).bool()) for name, several in patterns.items() for one in several]
    yield finding(torch.tensor(answers), torch.tensor((0, 0, 1, 1, 1, 1)).bool(), mistakes)


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
