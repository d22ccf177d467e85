"""Every figure of `polyhead.plots` with numbers like the book's, by name; drawn in the chosen language."""

from __future__ import annotations

import torch

from polyhead import (
    SinusoidalPositions,
    causal_mask,
    padding_mask,
    plots,
    scaled_dot_product_attention,
    sentence,
)

X = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]])
Q = torch.tensor([[2.0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 2], [2, 0, 0, 2]])
K = torch.tensor([[1.0, 0, 0, 2], [0, 2, 0, 0], [0, 2, 2, 0], [1, 0, 2, 2]])
V = torch.tensor([[2.0, 0], [0, 2], [2, 3], [4, 1]])
DOTS = Q @ K.T
OUTPUT, WEIGHTS = scaled_dot_product_attention(Q, K, V)
HEAD_DIMS = [4, 16, 64, 256, 1024]
FALLING = {"scaled": [3.0, 3.0, 3.0, 3.0, 3.0], "unscaled": [2.3, 1.2, 0.5, 0.2, 0.1]}
STEPS = {
    "embeddings": X,
    "queries": Q,
    "keys": K,
    "values": V,
    "dot_products": DOTS,
    "scores": DOTS / 2,
    "weights": WEIGHTS,
    "output": OUTPUT,
}

PADDING = padding_mask(torch.tensor([4]), 5)[0].expand(5, 5)
MASKS = {"padding": PADDING, "causal": causal_mask(5), "both": PADDING & causal_mask(5)}
USES = {"encoder": PADDING, "decoder": causal_mask(4), "cross": PADDING[:4]}
FIGURES = {
    "cache_triangle": lambda: plots.cache_triangle([*sentence(), "</s>"], 2),
    "course_map": lambda: plots.course_map(["01-single-head"]),
    "gradient_by_layer": lambda: plots.gradient_by_layer(
        {"post_norm": [0.5, 0.6], "pre_norm": [0.6, 0.2], "no_residual": [1e-10, 0.1]}
    ),
    "five_steps": lambda: plots.five_steps(**STEPS, tokens=sentence()),
    "head_weights": lambda: plots.head_weights(
        torch.stack([WEIGHTS, WEIGHTS.mT, WEIGHTS]).clamp(0, 1), sentence()
    ),
    "heatmap": lambda: plots.heatmap(WEIGHTS, sentence(), highest=1),
    "heatmap of negative numbers": lambda: plots.heatmap(
        V - 2, sentence(), ["x", "y"], title="V", decimals=1
    ),
    "layer_sublayers": plots.layer_sublayers,
    "masks": lambda: plots.masks(MASKS, [*sentence(), "[PAD]"]),
    "position_waves": lambda: plots.position_waves(SinusoidalPositions(16)(torch.zeros(1, 24, 16))[0]),
    "scaling_curves": lambda: plots.scaling_curves(HEAD_DIMS, FALLING, FALLING, num_keys=32),
    "three_uses": lambda: plots.three_uses(**USES, source=list("hed._"), target=list(">deh")),
    "transpose_path": lambda: plots.transpose_path(STEPS["queries"][None], 2),
    "weighted_sums": lambda: plots.weighted_sums(V, OUTPUT, sentence()),
}
