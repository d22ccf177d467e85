"""Every figure of the book: vector graphics in the reader's language, the same on every machine."""

from polyhead.plots.course import course_map
from polyhead.plots.curves import scaling_curves, weighted_sums
from polyhead.plots.drawing import Drawing
from polyhead.plots.encoder import gradient_by_layer, layer_sublayers, position_waves
from polyhead.plots.generation import cache_triangle
from polyhead.plots.heads import transpose_path
from polyhead.plots.masks import masks
from polyhead.plots.matrices import five_steps, heatmap
from polyhead.plots.uses import three_uses
from polyhead.plots.weights import head_weights

__all__ = [
    "Drawing",
    "cache_triangle",
    "course_map",
    "five_steps",
    "gradient_by_layer",
    "head_weights",
    "heatmap",
    "layer_sublayers",
    "masks",
    "position_waves",
    "scaling_curves",
    "three_uses",
    "transpose_path",
    "weighted_sums",
]
