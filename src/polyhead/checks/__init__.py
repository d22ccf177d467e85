"""What exercises call: runs a reader's function, says whether it is right, and names the mistake if known.

A reader's function returns its output alone, or as the first of a tuple. It is called once, and again only
with other inputs, where the first did not settle it.
"""

from polyhead.checks.heads import attention, masked_attention, multi_head, transpose_qkv
from polyhead.checks.layers import cached_mask, cross_attention, encoder_layer, sinusoidal_positions

__all__ = [
    "attention",
    "cached_mask",
    "cross_attention",
    "encoder_layer",
    "masked_attention",
    "multi_head",
    "sinusoidal_positions",
    "transpose_qkv",
]
