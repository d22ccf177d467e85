"""Every figure of the book: vector graphics in the reader's language, the same on every machine."""

from polyhead.plots.course import course_map
from polyhead.plots.curves import gradient_by_layer, scaling_curves, weighted_sums
from polyhead.plots.drawing import Drawing
from polyhead.plots.head_split import transpose_path
from polyhead.plots.layers import layer_sublayers
from polyhead.plots.masks import cache_triangle, masks, three_uses
from polyhead.plots.matrices import five_steps, head_weights, heatmap
from polyhead.plots.positions import position_waves

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
