"""Every figure of the book: vector graphics in the reader's language, the same on every machine."""

from polyhead_course.figures.plots.activations import activation_curves
from polyhead_course.figures.plots.architecture import family_tree, whole_transformer
from polyhead_course.figures.plots.averages import path_lengths, temperatures
from polyhead_course.figures.plots.clinic import bug_matrix
from polyhead_course.figures.plots.concat import concat_blocks, head_writes, loss_by_heads, wish_and_hull
from polyhead_course.figures.plots.course import course_map
from polyhead_course.figures.plots.curves import gradient_quantiles, weighted_sums
from polyhead_course.figures.plots.depth import gradient_by_layer, token_spread
from polyhead_course.figures.plots.drawing import Drawing
from polyhead_course.figures.plots.generation import beam_tree, cache_memory, decode_cost, decode_timeline
from polyhead_course.figures.plots.head_split import joined_projections, transpose_path
from polyhead_course.figures.plots.heads import attention_lines, head_maps, removal_curves, removal_draws
from polyhead_course.figures.plots.layers import layer_sublayers
from polyhead_course.figures.plots.leaks import future_rows, leak_losses
from polyhead_course.figures.plots.learning import learning_rates, loss_curves
from polyhead_course.figures.plots.mask_rows import blind_rows, cache_alignment, masked_row
from polyhead_course.figures.plots.masks import cache_triangle, masks, three_uses
from polyhead_course.figures.plots.matrices import five_steps, head_weights, heatmap
from polyhead_course.figures.plots.memory import memory_order, tokens_seen, view_losses
from polyhead_course.figures.plots.modern import cache_bars, largest_scores, window_reach
from polyhead_course.figures.plots.parameters import parameter_bars
from polyhead_course.figures.plots.position_scores import (
    relative_biases,
    rotary_arrows,
    rotary_layouts,
    score_terms,
)
from polyhead_course.figures.plots.positions import (
    distance_products,
    position_losses,
    position_waves,
    shuffled_outputs,
)
from polyhead_course.figures.plots.sampling import next_token_bars
from polyhead_course.figures.plots.shifted import shifted_tokens
from polyhead_course.figures.plots.speed import time_and_memory
from polyhead_course.figures.plots.stream import residual_stream
from polyhead_course.figures.plots.training import cross_heads, training_progress, translation_weights

__all__ = [
    "Drawing", "activation_curves", "attention_lines", "beam_tree", "blind_rows", "bug_matrix",
    "cache_alignment", "cache_bars", "cache_memory", "cache_triangle", "concat_blocks", "course_map",
    "cross_heads", "decode_cost", "decode_timeline", "distance_products", "family_tree", "five_steps",
    "future_rows", "gradient_by_layer", "gradient_quantiles", "head_maps", "head_weights", "head_writes",
    "heatmap", "joined_projections", "largest_scores", "layer_sublayers", "leak_losses", "learning_rates",
    "loss_by_heads", "loss_curves", "masked_row", "masks", "memory_order", "next_token_bars",
    "parameter_bars", "path_lengths", "position_losses", "position_waves", "relative_biases",
    "removal_curves", "removal_draws", "residual_stream", "rotary_arrows", "rotary_layouts", "score_terms",
    "shifted_tokens", "shuffled_outputs", "temperatures", "three_uses", "time_and_memory", "token_spread",
    "tokens_seen", "training_progress", "translation_weights", "transpose_path", "view_losses",
    "weighted_sums", "whole_transformer", "window_reach", "wish_and_hull",
]  # fmt: skip
