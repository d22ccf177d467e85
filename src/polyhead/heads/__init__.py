"""Analysis of heads: ablation, importance, pruning, and attention patterns."""

from polyhead.heads.patterns import distance, share
from polyhead.heads.pruning import prune
from polyhead.heads.removal import Head, ablate, all_heads, by_layer, importance

__all__ = ["Head", "ablate", "all_heads", "by_layer", "distance", "importance", "prune", "share"]
