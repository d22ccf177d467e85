"""Every figure of `polyhead.plots` with numbers like the book's, by name; drawn in the chosen language."""

from __future__ import annotations

import torch

from polyhead import plots, scaled_dot_product_attention, sentence

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

FIGURES = {
    "course_map": lambda: plots.course_map(["01-single-head"]),
    "five_steps": lambda: plots.five_steps(**STEPS, tokens=sentence()),
    "heatmap": lambda: plots.heatmap(WEIGHTS, sentence(), highest=1),
    "heatmap of negative numbers": lambda: plots.heatmap(
        V - 2, sentence(), ["x", "y"], title="V", decimals=1
    ),
    "scaling_curves": lambda: plots.scaling_curves(HEAD_DIMS, FALLING, FALLING, num_keys=32),
    "weighted_sums": lambda: plots.weighted_sums(V, OUTPUT, sentence()),
}
