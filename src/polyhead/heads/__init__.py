"""Analysis of heads: ablation, importance, pruning, their outputs, and attention patterns."""

from polyhead.heads.outputs import control_heads, head_outputs, replace_outputs
from polyhead.heads.patterns import pattern_keys, share
from polyhead.heads.removal import Head, ablate, all_heads, by_layer, importance, prune

__all__ = [
    "Head", "ablate", "all_heads", "by_layer", "control_heads", "head_outputs", "importance",
    "pattern_keys", "prune", "replace_outputs", "share",
]  # fmt: skip
