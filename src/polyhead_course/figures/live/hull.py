"""The output of one query in the hull of the values, by its scores, the temperature and the scaling."""

from collections.abc import Sequence

from jaxtyping import Float
from torch import Tensor

from polyhead.checked import checked
from polyhead.functional import attention_scores, masked_softmax
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable
from polyhead_course.figures.plots.drawing import to_array
from polyhead_course.words.language import text


@checked
def hull(
    query: Float[Tensor, "num_tokens head_dim"],
    key: Float[Tensor, "num_tokens head_dim"],
    value: Float[Tensor, "num_tokens 2"],
    tokens: Sequence[str],
    wished: object | None = None,
    axis_names: Sequence[str] = (),
) -> Explorable:
    """The figure `plots.weighted_sums`, in which the reader moves the output of one query.

    Args:
        query: Queries.
        key: Keys.
        value: At least three points, not all on a line.
        tokens: The names of the tokens.
        wished: An output to aim for, (2,).
        axis_names: What the two coordinates of a value mean, as labels of `terms.yml`.

    >>> import torch
    >>> points = torch.tensor([[0.0, 0.0], [4.0, 0.0], [0.0, 4.0], [1.0, 1.0]])
    >>> hull(points, points, points, ["p", "q", "r", "s"]).data["scores"][1]
    [0.0, 11.3137, 0.0, 2.8284]
    """
    scores = attention_scores(query, key)
    figure = plots.weighted_sums(value, masked_softmax(scores) @ value, tokens, wished, axis_names)
    return Explorable(
        "hull", figure, tokens=list(tokens), scores=to_array(scores).tolist(),
        values=to_array(value).tolist(), head_dim=query.shape[1],
        wished=None if wished is None else to_array(wished).tolist(),
        axis_names=[text(name) for name in axis_names],
    )  # fmt: skip
