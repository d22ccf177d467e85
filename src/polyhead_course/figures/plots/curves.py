"""Curves: gradients, activations, heads that are off, what attention costs, and losses of a training."""

import math
from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Count, Positive, Size
from polyhead_course.figures.plots.charts import chart, decimal_ticks, level_line, power_ticks, stacked_charts
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, Array, plot, to_array, to_log10
from polyhead_course.words.language import text

_SCALINGS = {"scaled": (BLUE, "o"), "unscaled": (ORANGE, "s")}


@plot
def gradient_quantiles(head_dims: Sequence[int], sizes: Mapping[str, Array]) -> Figure:
    """Draw the size of the gradient at the query against the head dimension, both on logarithmic axes.

    Two curves, "scaled" and "unscaled", each (num_head_dims, 3): the 10th percentile, the median and the 90th
    percentile. The median is the line, the others are the edges of the band around it.

    >>> gradient_quantiles([4, 16], {"scaled": [[0.1, 0.2, 0.3]] * 2, "unscaled": [[0.01, 0.1, 0.2]] * 2})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.7, "axis.head_dim", "axis.query_gradient")
    exponents = {name: to_log10(sizes[name]) for name in _SCALINGS}
    places = np.log2(head_dims).round(4)
    for name, (colour, marker) in _SCALINGS.items():
        low, middle, high = exponents[name].T
        axes.fill_between(places, low, high, color=colour, alpha=0.25, linewidth=0)
        axes.plot(places, middle, color=colour, marker=marker, label=text(f"curve.{name}"))
    bottom = math.floor(min(0.0, *(each.min() for each in exponents.values())))
    top = math.ceil(max(0.0, *(each.max() for each in exponents.values())))
    power_ticks(axes, range(top, bottom - 1, -math.ceil((top - bottom) / 6)))
    axes.set_ylim(bottom - 0.3, top + 0.3)
    axes.set_xticks(places, [str(dim) for dim in head_dims])
    axes.legend(loc="lower left")
    axes.text(0.025, 0.22, text("legend.quantiles"), transform=axes.transAxes, va="bottom")
    return figure


# By colour, and by the shape of the marks for those who see no colours.
_STACKS = {
    "neither": (GREY, "^"),
    "norm_only": ("#8c6bb1", "v"),
    "residual_only": ("#31a354", "D"),
    "post_norm": (BLUE, "o"),
    "pre_norm": (ORANGE, "s"),
}


@plot
def layer_curves(gradients: Mapping[str, Array], spreads: Mapping[str, Array]) -> Figure:
    """Draw the gradient norm against the layer, on a logarithmic axis, and below it the spread of the tokens.

    The curves have one number for each layer from the first, by the names "neither", "norm_only",
    "residual_only", "post_norm" and "pre_norm", of which some may be missing.

    >>> layer_curves({"post_norm": [1e-3, 1e-2, 1.0]}, {"post_norm": [0.9, 0.5, 0.0]})
    <polyhead_course.figures.plots.Drawing>
    """
    titles = [text("axis.gradient_norm"), text("axis.token_spread")]
    figure, (upper, lower) = stacked_charts((4.5, 5.2), titles, text("axis.layer"))
    for name, norms in gradients.items():
        colour, marker = _STACKS[name]
        for axes, heights in (upper, to_log10(norms)), (lower, to_array(spreads[name]).round(3)):
            layers, label = range(1, len(heights) + 1), text(f"curve.{name}")
            axes.plot(layers, heights, color=colour, marker=marker, markersize=4, label=label)
    low, high = upper.dataLim.intervaly
    # Whole powers of ten, at most eight, counted from 10⁰, so that it is among them if it is in sight.
    step = max(1, math.ceil((high - low) / 6))
    powers = range(math.floor(low / step) * step, math.ceil(high / step) * step + 1, step)
    power_ticks(upper, powers)
    margin = 0.03 * (powers[-1] - powers[0] or step)
    upper.set_ylim(powers[0] - margin, powers[-1] + margin)
    lower.set_ylim(-0.03, 1.03)
    lower.legend(loc="upper center", bbox_to_anchor=(0.5, -0.25), ncols=2)
    return figure


@plot
def removal_draws(shares: Mapping[float, Array], number: Count, num_heads: Size) -> Figure:
    """Draw how many letters copiers get right with random heads off; a point is a draw, a line the mean.

    Args:
        shares: by the dropout with which the models were trained, the share of right letters,
            (num_seeds, num_draws). The first dropout is orange, the second blue.
        number: of the heads that are off.
        num_heads: of the whole model.

    >>> removal_draws({0.0: [[0.1, 0.6]], 0.1: [[0.9, 1.0]]}, number=5, num_heads=24)
    <polyhead_course.figures.plots.Drawing>
    """
    figure = Figure(figsize=(4.7, 3.1))
    axes, seeds = figure.subplots(), list[str]()
    for (dropout, rows), colour in zip(shares.items(), (ORANGE, BLUE), strict=True):
        label = text("draws.dropout", probability=f"{dropout:g}")
        for seed, row in enumerate(to_array(rows)):
            _add_draws(axes, len(seeds), row, colour, "" if seed else label)
            seeds.append(str(seed))
    axes.set_xticks(range(len(seeds)), seeds)
    axes.set_title(text("panel.heads_off", number=number, total=num_heads))
    axes.set(xlabel=text("axis.seed"), ylim=(-0.04, 1.04), ylabel=text("axis.right_letters"))
    axes.legend(loc="upper left", bbox_to_anchor=(-0.1, -0.2), ncols=2, handletextpad=0.2)
    return figure


def _add_draws(axes: Axes, x: int, row: np.ndarray, colour: str, label: str) -> None:
    """Add the draws of one model as points beside one another, and their mean as a line."""
    xs = x + np.linspace(-0.28, 0.28, len(row)) if len(row) > 1 else np.array([x])
    axes.scatter(xs, row, s=14, color=colour, alpha=0.75, linewidths=0, label=label or None)
    mean = round(float(row.mean()), 4)
    axes.plot([x - 0.38, x + 0.38], [mean, mean], color=INK, linewidth=1.8)


@plot
def roofline(peak: Positive, bandwidth: Positive, batches: Sequence[Size], prompt: Size) -> Figure:
    """Draw what a machine computes in a second against the operations for each byte that it reads.

    Both axes are logarithmic. The roof rises with `bandwidth`, in bytes a second, up to `peak`. With weights
    of 2 bytes, decoding a batch of n texts makes n operations a byte, and so does a prompt of n tokens.

    >>> roofline(989e12, 3.35e12, batches=[1, 32], prompt=1024)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.6, 3.1, "axis.operations_per_byte", "axis.tera_operations")

    def place(ratios: list[int | float]) -> tuple[np.ndarray, np.ndarray]:
        return to_log10(ratios, 3), to_log10([min(peak, ratio * bandwidth) / 1e12 for ratio in ratios], 3)

    axes.plot(*place([0.5, peak / bandwidth, 1e4]), color=GREY)
    labels = [text("point.decode", number=each) for each in batches]
    names = {**dict(zip(batches, labels, strict=True)), prompt: text("point.prefill", number=f"{prompt:,}")}
    for ratio, name in names.items():
        ((x,), (y,)), under = place([ratio]), ratio * bandwidth >= peak
        axes.plot(x, y, "o", color=ORANGE if under else BLUE)
        shift, side = ((0, -8), "center") if under else ((8, -4), "left")
        axes.annotate(name, (x, y), shift, textcoords="offset points", ha=side, va="top")
    decimal_ticks(axes)
    axes.set(xlim=(-0.3, 4), xticks=range(5), xticklabels=[f"{10**power:,}" for power in range(5)])
    return figure


@plot
def attention_cost(embed_dim: Size) -> Figure:
    """Draw the multiply-adds for one token, in millions, against the number of tokens.

    The four projections cost the same at each length, scores and averages 2 · `embed_dim` for each token that
    is read. The lines cross at 2 · `embed_dim` tokens; the axis ends at twice as many.

    >>> attention_cost(512)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.6, 3.1, "axis.tokens", "axis.multiply_adds")
    lengths = [0, 2 * embed_dim, 4 * embed_dim]
    levels = 4 * embed_dim**2 / 1e6 * np.array([[1, 1, 1], [0, 1, 2]])
    for name, heights, colour in zip(("projections", "scores"), levels, (BLUE, ORANGE), strict=True):
        axes.plot(lengths, heights, color=colour, label=text(f"curve.cost_{name}"))
    axes.axvline(2 * embed_dim, color=GREY, linestyle=":", linewidth=1.4)
    axes.set(xlim=(0, lengths[-1]), ylim=(0, None))
    axes.set_xticks(lengths, [f"{length:,}" for length in lengths])
    axes.legend(loc="upper left")
    return figure


@plot
def cache_memory(
    lengths: Sequence[int], gibibytes: Mapping[int, Sequence[float]], weights: Positive
) -> Figure:
    """Draw the size of one text's cache against its length, one line for each number of key and value heads.

    Sizes are in GiB, by at most three numbers of heads, one for each of the lengths. The dotted line is the
    size of the model's weights.

    >>> cache_memory([100, 200], {32: [1.0, 2.0], 8: [0.25, 0.5]}, weights=1.5)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.2, "axis.tokens", "axis.cache_size")
    colours = (ORANGE, BLUE, GREY)[: len(gibibytes)]
    for (heads, sizes), colour in zip(gibibytes.items(), colours, strict=True):
        label = text("curve.kv_heads", number=heads)
        axes.plot(lengths, to_array(sizes), color=colour, marker="o", markersize=4, label=label)
    level_line(axes, weights, "model_weights", 0.85 * max(lengths))
    axes.set(xlim=(0, max(lengths) * 1.02), ylim=(0, None))
    ticks = [length for length in lengths if length > max(lengths) / 8]  # labels that do not overlap
    axes.set_xticks(ticks, [f"{length:,}" for length in ticks])
    axes.legend(loc="upper left")
    return figure


@plot
def loss_curves(stored: Sequence[float], own: Sequence[float], guessing: Positive, warm_up: Count) -> Figure:
    """Draw the loss of each step on a logarithmic axis, of the stored run and of one's own, shorter run.

    The dotted line is the loss of `guessing`; the grey band is the `warm_up`, in steps.

    >>> loss_curves([4.0, 2.0, 0.5], [4.5, 2.5], guessing=3.5, warm_up=1)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.6, "axis.step", "axis.loss")
    for name, losses, colour in (("stored", stored, BLUE), ("own", own, ORANGE)):
        label = text(f"curve.{name}")
        axes.plot(range(len(losses)), to_log10(losses), color=colour, linewidth=1.4, label=label)
    level_line(axes, round(math.log10(guessing), 2), "guessing", len(stored))
    low, high = decimal_ticks(axes)
    axes.set(xlim=(0, len(stored)), ylim=(low, high + 0.1))
    axes.legend(loc="lower left")
    _add_warm_up(axes, warm_up)
    return figure


def _add_warm_up(axes: Axes, steps: int) -> None:
    """Add the band of the warm-up with its name."""
    axes.axvspan(0, steps, color=GREY, alpha=0.18, linewidth=0)
    corner = steps, axes.get_ylim()[1]
    axes.annotate(text("band.warm_up"), corner, (4, -2), textcoords="offset points", ha="left", va="top")


@plot
def leak_losses(
    at_once: Mapping[str, Sequence[float]], one_by_one: Mapping[str, Mapping[int, float]], guessing: Positive
) -> Figure:
    """Draw the loss against training steps: whole texts at once, as in training, and token by token.

    Models go by the names "causal" and "unmasked", one panel each. `at_once` has the losses of the steps 0,
    1, 2, …, `one_by_one` some of them by the step. The dotted line is the loss of equal probabilities.

    >>> leak_losses({"causal": [2.0, 1.0]}, {"causal": {0: 2.0, 1: 1.1}}, guessing=2.1)
    <polyhead_course.figures.plots.Drawing>
    """
    titles, size = [text(f"model.{name}") for name in at_once], (4.6, 2.35 * len(at_once))
    figure, panels = stacked_charts(size, titles, text("axis.step"), sharey=True)
    highest = guessing
    for axes, (name, losses) in zip(panels, at_once.items(), strict=True):
        training, generation = to_array(losses).round(3), to_array(list(one_by_one[name].values())).round(3)
        axes.plot(training, color=BLUE, linewidth=1.3, label=text("curve.at_once"))
        steps, label = list(one_by_one[name]), text("curve.one_by_one")
        axes.plot(steps, generation, color=ORANGE, marker="o", markersize=4, label=label)
        end = len(training) - 1
        level_line(axes, guessing, "guessing", end)
        axes.set_ylabel(text("axis.loss"))
        highest = max(highest, training.max(), generation.max())
    panels[0].set_ylim(0, 1.1 * highest)
    panels[0].legend(loc="upper right")
    return figure


# The looks of the first model and of the second.
_TWO = ((ORANGE, "-"), (BLUE, (0, (3, 1))))


@plot
def loss_of_runs(
    runs: Mapping[int | str, Array], every: Size = 1, guessing: Positive | None = None
) -> Figure:
    """Draw the losses of several runs of one or two models, (num_runs, num_points), as thin lines.

    Args:
        runs: The losses by the model's number of heads, or by its name, "two layers" for `curve.two_layers`.
        every: The number of steps from one loss to the next; the first is that of step 0.
        guessing: The loss of guessing, drawn as a dotted line.

    >>> loss_of_runs({1: [[1.0, 0.5], [1.0, 0.25]], 2: [[0.75, 0.0]]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.5, 3.0, "axis.step", "axis.loss")
    for (colour, style), (name, curves) in zip(_TWO[: len(runs)], runs.items(), strict=True):
        key = "heads" if isinstance(name, int) else name.replace(" ", "_")
        label = text(f"curve.{key}", number=name)
        losses = to_array(curves, decimals=2).T
        steps, labels = every * np.arange(len(losses)), [label, *[None] * (losses.shape[1] - 1)]
        axes.plot(steps, losses, color=colour, linestyle=style, linewidth=0.8, label=labels)
    _finish(axes, guessing, int(steps[-1]))
    return figure


def _finish(axes: Axes, guessing: float | None, end: int) -> None:
    """Add the dotted line of guessing, if there is one, and the legend."""
    if guessing is not None:
        level_line(axes, round(guessing, 2), "guessing", end)
    axes.set(xlim=(0, None), ylim=(0, None))
    axes.legend(loc="best")


@plot
def view_losses(transposed: Array, viewed: Array, every: Size = 1, guess: Positive | None = None) -> Figure:
    """Draw the losses of two models, each number `every` steps after the last; a dotted line at `guess`.

    >>> view_losses([2.5, 0.5, 0.0], [2.5, 1.5, 1.0], every=10)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.6, 3.0, "axis.step", "axis.loss")
    for name, losses, style in (("transposed", transposed, (BLUE, "o")), ("viewed", viewed, (ORANGE, "s"))):
        curve, (colour, marker) = to_array(losses).round(2), style
        steps = every * np.arange(1, len(curve) + 1)
        axes.plot(steps, curve, color=colour, marker=marker, markersize=4, label=text(f"memory.{name}"))
    _finish(axes, guess, int(steps[-1]))
    return figure
