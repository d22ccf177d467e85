"""The interactive figures that are drawn from what they get: the page computes all the rest."""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from polyhead.checked import Count, Size, checked
from polyhead.functional import attention_scores, masked_softmax
from polyhead_course.figures import plots
from polyhead_course.figures.live.explorable import Explorable, with_bugs
from polyhead_course.figures.plots.drawing import to_array
from polyhead_course.figures.plots.grid import HEAD_COLOURS
from polyhead_course.words.language import text


@checked
def cache(models: Mapping[str, Sequence[Size]]) -> Explorable:
    """The bars of one token's cache for the first model, in which the reader moves each size.

    Numbers have 16 bits. MLA's latent vector has 4.5 head_dim numbers, as in DeepSeek-V2 and V3.

    Args:
        models: By name, the layers, query heads, heads of keys and values, and head_dim.

    >>> cache({"Llama 3 8B": [32, 32, 8, 128]}).data["models"]
    {'Llama 3 8B': [32, 32, 8, 128]}
    """
    layers, heads, kv_heads, head_dim = next(iter(models.values()))
    per_token = {"MHA": 2 * heads, "GQA": 2 * kv_heads, "MQA": 2, "MLA": 4.5}
    bars = {kind: 2 * layers * head_dim * size / 1024 for kind, size in per_token.items()}
    sizes = {name: list(each) for name, each in models.items()}
    return Explorable("cache", plots.cache_bars(bars), models=sizes, first=next(iter(models)))


@checked
def clocks(
    query: Float[Tensor, "4"], key: Float[Tensor, "4"], degrees: Sequence[Size], positions: Sequence[Count]
) -> Explorable:
    """The figure `plots.rotary_arrows`, in which the reader moves the query and the key of a head of size 4.

    `degrees` is how far each of the two pairs turns for a token; `positions` are those of query and key, from
    0 to 12, to begin with.

    >>> clocks(torch.ones(4), torch.ones(4), [60, 10], [5, 3]).data["positions"]
    [5, 3]
    """
    turns = torch.polar(torch.ones(2), torch.tensor(degrees).deg2rad())
    q, k = (
        torch.view_as_real(torch.view_as_complex(each.view(2, 2)) * turns**at)
        for each, at in zip((query, key), positions, strict=True)
    )
    figure = plots.rotary_arrows(q, k, [(positions[0], positions[1])] * 2, degrees)
    return Explorable(
        "clocks", figure, query=query.tolist(), key=key.tolist(), degrees=list(degrees),
        positions=list(positions),
        bugs=with_bugs("clocks", "rotary_queries_only", "rotary_layout", "cache_positions"),
    )  # fmt: skip


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


@checked
def path(X: Float[Tensor, "batch num_tokens num_hiddens"], num_heads: Size) -> Explorable:
    """The figure `plots.transpose_path`, in which the reader follows one number of a projected tensor.

    The reader can change the sizes. At the sizes of `X`, the figure shows its numbers; at others, labels.

    Args:
        X: A projected tensor.
        num_heads: The number of heads; divides `num_hiddens`.

    >>> path(torch.tensor([[[111.0, 112.0, 121.0, 122.0]]]), num_heads=2).data["num_heads"]
    2
    """
    return Explorable(
        "path", plots.transpose_path(X, num_heads), X=to_array(X).tolist(), num_heads=num_heads,
        colours=list(HEAD_COLOURS[:4]),
        bugs=with_bugs("path", "view", "entries_before_heads", "view_back"),
    )  # fmt: skip


def reach(tokens: Sequence[str]) -> Explorable:
    """Tiles of the outputs that a token reaches; the picture is that of a mask shifted by one.

    >>> reach(["a", "b", "c"]).data["tokens"]
    ['a', 'b', 'c']
    """
    seen = torch.ones(len(tokens), len(tokens)).tril(1)
    figure = plots.window_reach([seen.matrix_power(layer) > 0 for layer in (1, 2, 3)])
    return Explorable("reach", figure, tokens=list(tokens))


@checked
def speculative(
    draft_probs: Float[Tensor, "vocab_size"], probs: Float[Tensor, "vocab_size"], tokens: Sequence[str]
) -> Explorable:
    """Bars of a draft's and a model's probabilities, in tenths, and their overlap; the reader moves them.

    >>> speculative(torch.tensor([0.75, 0.25]), torch.tensor([0.5, 0.5]), ["a", "b"]).data["p"]
    [0.5, 0.5]
    """
    panels = {"q": draft_probs, "p": probs, "min(p, q)": torch.minimum(draft_probs, probs)}
    q, p = (to_array(each).tolist() for each in (draft_probs, probs))
    figure = plots.next_token_bars(panels, tokens)
    return Explorable("speculative", figure, tokens=list(tokens), q=q, p=p)


def stacks(measured: Mapping[str, Sequence[Tensor]]) -> Explorable:
    """The figure `plots.layer_curves` of the deepest stacks, in which the reader chooses a stack.

    Args:
        measured: for "neither", "norm_only", "norm_only_before", "residual_only", "post_norm" and "pre_norm"
            a matrix (2, depth) for each depth: the gradient norms, and how far apart the tokens are.

    >>> kinds = "neither norm_only norm_only_before residual_only post_norm pre_norm".split()
    >>> stacks({kind: [torch.tensor([[0.1, 1.0], [0.9, 0.5]])] for kind in kinds}).data["curves"]["neither"]
    [[[0.1, 1.0], [0.9, 0.5]]]
    """
    deepest = {kind: each[-1] for kind, each in measured.items() if kind != "norm_only_before"}
    gradients, spreads = ({kind: each[part] for kind, each in deepest.items()} for part in (0, 1))

    def rounded(stack: Tensor) -> list[list[float]]:
        return [[float(f"{x:.2g}") for x in stack[0].tolist()], [round(x, 2) for x in stack[1].tolist()]]

    curves = {kind: [rounded(each) for each in stacks] for kind, stacks in measured.items()}
    return Explorable("stacks", plots.layer_curves(gradients, spreads), curves=curves)


@checked
def two_heads(
    values: Float[Tensor, "num_tokens 2"],
    target: Float[Tensor, "2"],
    tokens: Sequence[str],
    shares: Sequence[Count],
) -> Explorable:
    """The figure `plots.wish_and_hull`, in which the reader sets the weights of one head or of two.

    `shares` are the weights to begin with, up to a factor, from 0 to 10.

    >>> values = torch.tensor([[0.0, 2.0], [0.0, 0.0], [2.0, 0.0]])
    >>> two_heads(values, torch.tensor([2.0, 2.0]), ["a", "b", "c"], shares=[1, 0, 1]).data["target"]
    [2.0, 2.0]
    """
    figure = plots.wish_and_hull(values, target, tokens)
    return Explorable(
        "two_heads", figure, tokens=list(tokens), values=values.tolist(), target=target.tolist(),
        shares=list(shares),
    )  # fmt: skip
