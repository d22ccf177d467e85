"""How surprising the texts are that a model has drawn: to itself, at temperature 1."""

import torch
import torch.nn.functional as F
from torch import Tensor

from polyhead.transformer import DecoderOnly


@torch.no_grad()
def surprise(model: DecoderOnly, prompt_ids: Tensor, new_ids: Tensor, end_id: int) -> Tensor:
    """Return the mean -log P of the new tokens, up to the first end token, of each text: (batch,).

    >>> from polyhead import Decoder, TokenEmbedding
    >>> model = DecoderOnly(TokenEmbedding(5, 4, positions=None), Decoder(1, 4, 2, cross_attention=False))
    >>> surprise(model, torch.tensor([[1], [1]]), torch.tensor([[3, 0], [0, 0]]), end_id=0).shape
    torch.Size([2])
    """
    logits = model(torch.cat((prompt_ids, new_ids), dim=1))[:, prompt_ids.shape[1] - 1 : -1]
    losses = F.cross_entropy(logits.mT, new_ids, reduction="none")
    ends = new_ids == end_id
    counts = ends.cumsum(dim=1) == ends.long()  # no end before it
    return (losses * counts).sum(dim=1) / counts.sum(dim=1)
