"""What exercises call: runs a reader's function, says whether it is right, and names the mistake if known.

A reader's function returns its output alone, or as the first of a tuple. It is called once, and again only
with other inputs, where the first did not settle it.
"""

from polyhead.checks.generation import greedy, sees_future
from polyhead.checks.heads import attention, masked_attention, multi_head, transpose_qkv
from polyhead.checks.layers import cached_mask, cross_attention, encoder_layer, sinusoidal_positions
from polyhead.checks.learning import exact_match, learning_rates
from polyhead.checks.masking import causal_mask
from polyhead.checks.parallel import multi_head_attention
from polyhead.checks.positions import rotary_positions
from polyhead.checks.removal import mean_reciprocal_rank, pruned_rows

__all__ = [
    "attention",
    "cached_mask",
    "causal_mask",
    "cross_attention",
    "encoder_layer",
    "exact_match",
    "greedy",
    "learning_rates",
    "masked_attention",
    "mean_reciprocal_rank",
    "multi_head",
    "multi_head_attention",
    "pruned_rows",
    "rotary_positions",
    "sees_future",
    "sinusoidal_positions",
    "transpose_qkv",
]
