"""The exercises on a real language model: a head's pattern, and its removal."""

from collections.abc import Callable

import torch
from torch import Tensor

from attention_clinic.cases import samples
from polyhead_course.exercises.checks.verdict import Findings, exercise, finding, result_of


@exercise
def induction_shares(candidate: Callable[[Tensor, int], object]) -> Findings:
    """Print whether `candidate(weights, n)` measures how much each head copies.

    The text is n tokens, twice. The weights are (num_heads, 2n, 2n), and the answer is (num_heads,): the
    mean, over the queries n + i of the second half, of the weight on key i + 1.
    """
    n, num_heads = 7, 3
    (scores,) = samples((num_heads, 2 * n, 2 * n))
    weights = scores.masked_fill(torch.ones(2 * n, 2 * n).triu(1).bool(), -torch.inf).softmax(dim=-1)
    diagonal = weights.diagonal(1 - n, -2, -1)  # from query n - 1 on
    mistakes = [
        ("induction_duplicate", weights.diagonal(-n, -2, -1).mean(dim=-1)),
        ("induction_early", diagonal.mean(dim=-1)),
        ("induction_sum", diagonal[:, 1:].sum(dim=-1)),
        ("induction_transposed", weights.mT.diagonal(1 - n, -2, -1)[:, 1:].mean(dim=-1)),
        ("induction_previous", weights.diagonal(-1, -2, -1)[:, n - 1 :].mean(dim=-1)),
    ]
    yield finding(result_of(candidate, weights.clone(), n), diagonal[:, 1:].mean(dim=-1), mistakes)


@exercise
def ablated_output(candidate: Callable[[Tensor, Tensor, list[int]], object]) -> Findings:
    """Print whether `candidate(outputs, W_O, off)` is the output of multi-head attention with heads off.

    `outputs` are those of the heads, (num_tokens, num_heads, head_dim), `W_O` is (num_heads · head_dim,
    embed_dim), and `off` the numbers of the heads whose outputs become 0.
    """
    outputs, W_O = samples((5, 4, 3), (12, 7))
    off = [1, 3]
    is_off = torch.tensor([head in off for head in range(4)])

    def joined(gates: Tensor) -> Tensor:
        return (outputs * gates[:, None]).flatten(1) @ W_O

    right, tokens = joined((~is_off).to(outputs)), outputs.clone()
    tokens[off] = 0.0
    mean = outputs.mean(dim=0, keepdim=True).expand_as(outputs)
    mistakes = [
        ("ablation_none", joined(torch.ones(4))),
        ("ablation_kept", joined(is_off.to(outputs))),
        ("ablation_scaled", right * 2),
        ("ablation_tokens", tokens.flatten(1) @ W_O),
        ("ablation_mean", torch.where(is_off[:, None], mean, outputs).flatten(1) @ W_O),
    ]
    yield finding(result_of(candidate, outputs.clone(), W_O.clone(), off), right, mistakes)
