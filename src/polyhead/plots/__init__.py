"""Every figure of the book: vector graphics in the reader's language, the same on every machine."""

from polyhead.plots.course import course_map
from polyhead.plots.curves import scaling_curves, weighted_sums
from polyhead.plots.drawing import Drawing
from polyhead.plots.heads import transpose_path
from polyhead.plots.masks import masks
from polyhead.plots.matrices import five_steps, heatmap
from polyhead.plots.weights import head_weights

__all__ = [
    "Drawing",
    "course_map",
    "five_steps",
    "head_weights",
    "heatmap",
    "masks",
    "scaling_curves",
    "transpose_path",
    "weighted_sums",
]
