"""A mask that the reader changes, the weights that it leaves, and the weights of a row without any key."""

from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from polyhead.checked import checked
from polyhead.functional import masked_softmax
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable, with_bugs
from polyhead_course.figures.plots.drawing import to_array


@checked
def mask(
    scores: Float[Tensor, "num_tokens num_tokens"],
    mask: Bool[Tensor, "num_tokens num_tokens"],
    tokens: Sequence[str],
) -> Explorable:
    """The heat map of the weights that a mask leaves, in which the reader hides and shows keys.

    For a query that may attend to no key, the data have the weights that each library gives.

    Args:
        scores: Scores.
        mask: True where a query may attend.
        tokens: The names of the tokens.

    >>> import torch
    >>> causal = torch.tensor([[True, False], [True, True]])
    >>> for library in mask(torch.zeros(2, 2), causal, ["p", "q"]).data["libraries"][-2:]:
    ...     print(library["name"], library["blind"][0])
    d2l [0.5, 0.5]
    Annotated Transformer [0.5, 0.5]
    """
    figure = plots.heatmap(masked_softmax(scores, mask), tokens, highest=1)
    rounded = to_array(scores)
    single, nothing = torch.tensor(rounded).float(), torch.zeros_like(mask)
    return Explorable(
        "mask", figure, tokens=list(tokens), scores=rounded.tolist(), mask=mask.int().tolist(),
        bugs=with_bugs("mask", "mask_inverted", "wrong_axis", "mask_after"),
        libraries=[
            {"name": name, "writes": writes, "blind": [_json(row) for row in weights(single, nothing)]}
            for name, (writes, weights) in _LIBRARIES.items()
        ],
    )  # fmt: skip


def _json(row: Tensor) -> list[float | None]:
    """Write NaN as null: JSON has no NaN."""
    return [None if number != number else round(number, 4) for number in row.tolist()]


def _torch_function(scores: Tensor, mask: Tensor) -> Tensor:
    """Weights of `F.scaled_dot_product_attention`: with unit vectors as values they are its output."""
    units = torch.eye(len(scores))
    return F.scaled_dot_product_attention(_queries(scores), units[None], units[None], attn_mask=mask)[0]


def _torch_module(need_weights: bool) -> Callable[[Tensor, Tensor], Tensor]:
    def weights(scores: Tensor, mask: Tensor) -> Tensor:
        size = len(scores)
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            module = nn.MultiheadAttention(size, num_heads=1, bias=False, batch_first=True).eval()
            module.in_proj_weight.copy_(torch.eye(size).repeat(3, 1))
            module.out_proj.weight.copy_(torch.eye(size))
            units = torch.eye(size)[None]
            result = module(_queries(scores), units, units, attn_mask=~mask, need_weights=need_weights)
        return result[int(need_weights)][0]  # of the output and the weights

    return weights


def _queries(scores: Tensor) -> Tensor:
    """Queries whose scores with unit vectors as keys are these, (1, num_tokens, num_tokens)."""
    return (scores * len(scores) ** 0.5)[None]


def _filled(number: float) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda scores, mask: scores.masked_fill(~mask, number).softmax(dim=-1)


def _added(scores: Tensor, mask: Tensor) -> Tensor:
    lowest = torch.finfo(scores.dtype).min
    return (scores + torch.zeros_like(scores).masked_fill(~mask, lowest)).softmax(dim=-1)


# How each library writes a row of a mask, and the weights that it computes; the last three repeat its lines,
# and Hugging Face's default calls PyTorch's function.
_LIBRARIES: dict[str, tuple[str, Callable[[Tensor, Tensor], Tensor]]] = {
    "polyhead": ("attend", masked_softmax),
    "F.scaled_dot_product_attention": ("attend", _torch_function),
    "nn.MultiheadAttention": ("hide", _torch_module(need_weights=True)),
    "nn.MultiheadAttention, need_weights=False": ("hide", _torch_module(need_weights=False)),
    "Hugging Face": ("ones", _torch_function),
    "Hugging Face, eager": ("ones", _added),
    "d2l": ("length", _filled(-1e6)),
    "Annotated Transformer": ("ones", _filled(-1e9)),
}
