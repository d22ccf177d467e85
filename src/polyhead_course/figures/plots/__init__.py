"""Every figure of the book, one function each: vector graphics in the reader's language, the same everywhere.

>>> heatmap([[0.25, 0.75], [0.5, 0.5]], ["a", "b"])
<polyhead_course.figures.plots.Drawing>

Each function returns a `Drawing`. They are in modules: `bars` and `curves` have measurements, `matrices`,
`mask_figures` and `heads` attention, `layers`, `sequences` and `modern` models, `positions` and `points`
vectors.
"""

# ruff: isort: skip_file
# fmt: off
from polyhead_course.figures.plots.bars import (
    blind_rows, cache_bars, masked_row, next_token_bars, temperatures,
)
from polyhead_course.figures.plots.curves import (
    attention_cost, cache_memory, gradient_quantiles, layer_curves, leak_losses, loss_curves, loss_of_runs,
    removal_draws, roofline, view_losses,
)
from polyhead_course.figures.plots.drawing import Drawing
from polyhead_course.figures.plots.heads import (
    attention_lines, head_writes, memory_order, tokens_seen, transpose_path,
)
from polyhead_course.figures.plots.layers import (
    concat_blocks, layer_sublayers, residual_stream, whole_transformer,
)
from polyhead_course.figures.plots.mask_figures import (
    cache_alignment, cache_triangle, future_grids, masks, three_uses, window_reach,
)
from polyhead_course.figures.plots.matrices import (
    bug_matrix, cross_heads, five_steps, head_atlas, head_weights, heatmap, translation_weights,
)
from polyhead_course.figures.plots.modern import cache_kinds, flash_tiles, two_blocks
from polyhead_course.figures.plots.points import keys_and_query, weighted_sums, wish_and_hull
from polyhead_course.figures.plots.positions import (
    echoes, position_waves, rotary_arrows, score_terms, shuffled_outputs,
)
from polyhead_course.figures.plots.sequences import (
    beam_tree, crossing, decode_timeline, one_query, shifted_tokens,
)
# fmt: on

__all__ = [
    "Drawing", "attention_cost", "attention_lines", "beam_tree", "blind_rows", "bug_matrix",
    "cache_alignment", "cache_bars", "cache_kinds", "cache_memory", "cache_triangle", "concat_blocks",
    "cross_heads", "crossing", "decode_timeline", "echoes", "five_steps", "flash_tiles", "future_grids",
    "gradient_quantiles", "head_atlas", "head_weights", "head_writes", "heatmap", "keys_and_query",
    "layer_curves", "layer_sublayers", "leak_losses", "loss_curves", "loss_of_runs",
    "masked_row", "masks", "memory_order", "next_token_bars", "one_query",
    "position_waves", "removal_draws", "residual_stream", "roofline", "rotary_arrows", "score_terms",
    "shifted_tokens", "shuffled_outputs", "temperatures", "three_uses", "tokens_seen",
    "translation_weights", "transpose_path", "two_blocks", "view_losses", "weighted_sums",
    "whole_transformer", "window_reach", "wish_and_hull",
]  # fmt: skip
