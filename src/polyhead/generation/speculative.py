"""Speculative decoding: a cheap model drafts tokens, and the model keeps those that it might have drawn."""

import torch
from jaxtyping import Float, Integer
from torch import Tensor

from polyhead.checked import checked


@checked
def accept_drafts(
    probs: Float[Tensor, "num_new vocab_size"],
    draft_probs: Float[Tensor, "num_drafts vocab_size"],
    drafts: Integer[Tensor, "num_drafts"],
    generator: torch.Generator | None = None,
) -> Integer[Tensor, "num_kept"]:
    """Keep the drafts up to the first that is rejected, and draw one more token.

    Draft x, drawn from q = `draft_probs`, is accepted with the probability min(1, p(x) / q(x)), where p is
    its row of `probs`, which has one row more than there are drafts. In place of a rejected one a token is
    drawn in proportion to max(p - q, 0); if all are accepted, the next one from p's last row. Each token then
    has the distribution p, whatever q is.

    Source: Leviathan et al. 2023, algorithm 1.

    >>> probs = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> accept_drafts(probs, torch.tensor([[0.5, 0.5]]), torch.tensor([1]))
    tensor([1, 0])
    >>> accept_drafts(probs, torch.tensor([[0.5, 0.5]]), torch.tensor([0]))
    tensor([1])
    """
    if len(probs) != len(drafts) + 1:
        raise ValueError(f"probs must have {len(drafts) + 1} rows, got {len(probs)}")
    p, q = (each.gather(1, drafts[:, None])[:, 0] for each in (probs[:-1], draft_probs))
    accepted = torch.rand(q.shape, dtype=q.dtype, device=q.device, generator=generator) * q < p
    count = int(accepted.cumprod(dim=0).sum())
    rest = probs[count]
    if count < len(drafts):
        rest = (rest - draft_probs[count]).clamp(min=0)
        rest = rest if rest.any() else probs[count]  # p = q but for rounding
    return torch.cat((drafts[:count], torch.multinomial(rest, 1, generator=generator)))
