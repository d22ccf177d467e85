"""What exercises call: runs a reader's function, says whether it is right, and names the mistake if known.

A reader's function returns its output alone, or as the first of a tuple. It is called once, and again only
with other inputs, where the first did not settle it.
"""

from polyhead_course.exercises.checks.generation import greedy, sees_future
from polyhead_course.exercises.checks.heads import (
    attention,
    masked_attention,
    multi_head,
    multi_head_attention,
    transpose_qkv,
)
from polyhead_course.exercises.checks.layers import cross_attention, encoder_layer
from polyhead_course.exercises.checks.learning import exact_match, learning_rates
from polyhead_course.exercises.checks.masking import cached_mask, causal_mask
from polyhead_course.exercises.checks.modern import repeat_kv, rms_norm, window_mask
from polyhead_course.exercises.checks.positions import rotary_positions, sinusoidal_positions
from polyhead_course.exercises.checks.probes import patient, probe
from polyhead_course.exercises.checks.removal import mean_reciprocal_rank, pruned_rows

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
    "patient",
    "probe",
    "pruned_rows",
    "repeat_kv",
    "rms_norm",
    "rotary_positions",
    "sees_future",
    "sinusoidal_positions",
    "transpose_qkv",
    "window_mask",
]
