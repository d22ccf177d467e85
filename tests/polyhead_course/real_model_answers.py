"""Right and wrong answers to the exercises on a real language model."""

import torch


def entries(query=lambda i, n: n + i, key=lambda i, n: i + 1, average=torch.mean):
    """Take one weight for each i of n, and average them."""
    return lambda weights, n: average(
        torch.stack([weights[:, query(i, n), key(i, n)] for i in range(n)]), dim=0
    )


def by_loop(weights, n):
    totals = [sum(float(head[n + i, i + 1]) for i in range(n)) / n for head in weights]
    return torch.tensor(totals)


def removal(change):
    """Join and project the heads' outputs, some of which are changed: `change(outputs, off)`."""
    return lambda outputs, W_O, off: change(outputs, off).flatten(1) @ W_O


def without(outputs, off):
    return torch.stack([outputs[:, head] * (head not in off) for head in range(outputs.shape[1])], dim=1)


def by_rows(outputs, W_O, off):
    blocks = W_O.unflatten(0, (outputs.shape[1], -1))
    return sum(outputs[:, head] @ blocks[head] for head in range(outputs.shape[1]) if head not in off)


def means(outputs, off):
    outputs[:, off] = outputs[:, off].mean(dim=0)
    return outputs


SHARES_RIGHT = [entries(), by_loop, lambda *inputs: entries()(*inputs).double()]
SHARES_WRONG = [
    ("induction_duplicate", entries(key=lambda i, n: i)),
    ("induction_early", lambda weights, n: weights.diagonal(1 - n, 1, 2).mean(dim=-1)),
    ("induction_sum", entries(average=torch.sum)),
    ("induction_transposed", lambda weights, n: entries()(weights.mT, n)),
    ("induction_previous", entries(key=lambda i, n: n + i - 1)),
]
ABLATION_RIGHT = [removal(without), by_rows]
ABLATION_WRONG = [
    ("ablation_none", removal(lambda outputs, off: outputs)),
    ("ablation_kept", removal(lambda outputs, off: outputs - without(outputs, off))),
    ("ablation_scaled", removal(lambda outputs, off: without(outputs, off) * 2)),
    ("ablation_tokens", removal(lambda outputs, off: outputs.index_fill(0, torch.tensor(off), 0.0))),
    ("ablation_mean", removal(means)),
]
