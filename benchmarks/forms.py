"""The baseline and the seven forms of multi-head attention, all with the same weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from polyhead.multi_head import (
    AnnotatedMultiHeadAttention,
    LoopedMultiHeadAttention,
    MultiHeadAttention,
    SplitMultiHeadAttention,
    TransposedMultiHeadAttention,
    copy_weights,
)
from polyhead_course import peers

BASELINE = "baseline"
OURS = "MultiHeadAttention"
OURS_WITH_WEIGHTS = "MultiHeadAttention, weights"
TORCH = "nn.MultiheadAttention"
TORCH_WITH_WEIGHTS = "nn.MultiheadAttention, weights"
TORCH_WITH_AVERAGE = "nn.MultiheadAttention, average weights"
D2L = "d2l"

Form = tuple[nn.Module, Callable[[nn.Module, Tensor], Tensor]]


class Baseline(nn.Module):
    """Self-attention as one writes it by hand for speed: no checks, no masks, no options."""

    def __init__(self, embed_dim: int, num_heads: int) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.input_projection = nn.Linear(embed_dim, 3 * embed_dim)
        self.output_projection = nn.Linear(embed_dim, embed_dim)

    def forward(self, x: Tensor) -> Tensor:
        batch, length, embed_dim = x.shape
        q, k, v = (
            part.view(batch, length, self.num_heads, -1).transpose(1, 2)
            for part in self.input_projection(x).split(embed_dim, dim=-1)
        )
        output = F.scaled_dot_product_attention(q, k, v)
        return self.output_projection(output.transpose(1, 2).reshape(x.shape))


def make(embed_dim: int, num_heads: int) -> dict[str, Form]:
    """Return, by name, each form's module, and a call that makes it attend to one sequence.

    No two share a module: the second to run would find the weights in the processor's cache.
    """
    source = MultiHeadAttention(embed_dim, num_heads)
    d2l = peers.d2l().MultiHeadAttention
    forms = {
        BASELINE: (Baseline(embed_dim, num_heads), lambda m, x: m(x)),
        OURS: (MultiHeadAttention(embed_dim, num_heads), lambda m, x: m(x)[0]),
        OURS_WITH_WEIGHTS: (
            MultiHeadAttention(embed_dim, num_heads),
            lambda m, x: m(x, need_weights=True)[0],
        ),
        "LoopedMultiHeadAttention": (
            LoopedMultiHeadAttention(embed_dim, num_heads),
            lambda m, x: m(x)[0],
        ),
        "TransposedMultiHeadAttention": (
            TransposedMultiHeadAttention(embed_dim, num_heads, 0.0, bias=True),
            lambda m, x: m(x, x, x),
        ),
        "AnnotatedMultiHeadAttention": (
            AnnotatedMultiHeadAttention(num_heads, embed_dim, dropout=0.0),
            lambda m, x: m(x, x, x),
        ),
        "SplitMultiHeadAttention": (SplitMultiHeadAttention(embed_dim, num_heads), lambda m, x: m(x)[0]),
        TORCH: (
            nn.MultiheadAttention(embed_dim, num_heads, batch_first=True),
            lambda m, x: m(x, x, x, need_weights=False)[0],
        ),
        TORCH_WITH_WEIGHTS: (
            nn.MultiheadAttention(embed_dim, num_heads, batch_first=True),
            lambda m, x: m(x, x, x, average_attn_weights=False)[0],
        ),
        TORCH_WITH_AVERAGE: (
            nn.MultiheadAttention(embed_dim, num_heads, batch_first=True),
            lambda m, x: m(x, x, x)[0],
        ),
        D2L: (d2l(embed_dim, num_heads, 0.0, bias=True), lambda m, x: m(x, x, x, None)),
    }
    forms[BASELINE][0].load_state_dict(source.state_dict())
    for name, (module, _) in forms.items():
        if name != BASELINE:
            copy_weights(source, module)
    return forms


def check_agreement(forms: dict[str, Form], x: Tensor) -> None:
    """Raise unless all forms compute the same: otherwise their times could not be compared."""
    with torch.no_grad():
        module, call = forms[BASELINE]
        expected = call(module, x)
        for name, (module, call) in forms.items():
            error = (call(module, x) - expected).abs().max().item()
            if error > 1e-5:
                raise ValueError(f"{name} must compute what the baseline does, is off by {error:.1e}")
