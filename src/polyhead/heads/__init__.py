"""What heads do: switch them off, ask how much each one matters, remove them, and see what they attend to."""

from polyhead.heads.patterns import distance, share
from polyhead.heads.pruning import prune
from polyhead.heads.removal import Head, ablate, all_heads, by_layer, importance

__all__ = ["Head", "ablate", "all_heads", "by_layer", "distance", "importance", "prune", "share"]
