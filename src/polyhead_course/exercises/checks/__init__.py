"""What exercises call: runs a reader's function, says whether it is right, and names the mistake if known.

A reader's function returns its output alone, or as the first of a tuple. It is called once, and again only
with other inputs, where the first did not settle it.
"""

# ruff: isort: skip_file
# fmt: off
from polyhead_course.exercises.checks.cases import (
    attention, cached_mask, causal_mask, masked_attention, multi_head, multi_head_attention, repeat_kv,
    rotary_positions, sinusoidal_positions, transpose_qkv, window_mask,
)
from polyhead_course.exercises.checks.learning import (
    cross_attention, encoder_layer, exact_match, greedy, mean_reciprocal_rank, pruned_rows,
    sees_future,
)
from polyhead_course.exercises.checks.probes import patient, probe
from polyhead_course.exercises.checks.quiz import choices
from polyhead_course.exercises.checks.real_model import ablated_output, induction_shares
# fmt: on

__all__ = [
    "ablated_output", "attention", "cached_mask", "causal_mask", "choices", "cross_attention",
    "encoder_layer", "exact_match", "greedy", "induction_shares", "masked_attention",
    "mean_reciprocal_rank", "multi_head", "multi_head_attention", "patient", "probe", "pruned_rows",
    "repeat_kv", "rotary_positions", "sees_future", "sinusoidal_positions", "transpose_qkv",
    "window_mask",
]  # fmt: skip
