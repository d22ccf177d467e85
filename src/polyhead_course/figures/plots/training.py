"""How a model learns, and where its cross-attention looks when it has."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.figure import Figure

from polyhead.checked import Count, Positive
from polyhead_course.figures.plots.charts import level_line
from polyhead_course.figures.plots.drawing import BLUE, GREY, ORANGE, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_grid, matrix_colours
from polyhead_course.words.language import text


@plot
def training_progress(
    steps: Sequence[int], loss: object, exact_match: object, guessing: Positive, warm_up: Count
) -> Figure:
    """Draw the loss above and the share of exact matches below, each with a number for each of the `steps`.

    The dotted line is the loss of `guessing`; the grey band is the `warm_up`, in steps.

    >>> training_progress([0, 50, 100], [4.0, 2.0, 0.1], [0.0, 0.1, 1.0], guessing=2.4, warm_up=30)
    <polyhead_course.figures.plots.Drawing>
    """
    losses = to_array(loss)
    figure = Figure(figsize=(4.5, 4.4))
    upper, lower = figure.subplots(2, 1, sharex=True)
    upper.plot(steps, losses, color=BLUE, marker="o", markersize=5)
    level_line(upper, guessing, "guessing", steps[-1])
    upper.set_ylim(0, max(losses.max(), guessing) * 1.15)
    lower.plot(steps, to_array(exact_match), color=ORANGE, marker="s", markersize=5)
    lower.set_ylim(0, 1.08)
    for axes, name in ((upper, "held_out_loss"), (lower, "exact_match")):
        axes.axvspan(steps[0], warm_up, color=GREY, alpha=0.18, linewidth=0)
        axes.set_title(text(f"axis.{name}"), loc="left")
    middle = steps[0] + warm_up / 2
    lower.annotate(text("band.warm_up"), (middle, 1.04), ha="center", va="top", fontsize=9)
    lower.set_xlabel(text("axis.step"))
    figure.subplots_adjust(hspace=0.3)
    return figure


@plot
def cross_heads(weights: object, source: Sequence[str], target: Sequence[str]) -> Figure:
    """Draw each head's cross-attention in per cent, (num_heads, num_queries, num_keys), two heads a line.

    The rows are the letters that are written, the columns those that are read, one short label each.

    >>> cross_heads([[[0.25, 0.75], [1.0, 0.0]]], source=["p", "q"], target=["q", "p"])
    <polyhead_course.figures.plots.Drawing>
    """
    cell = 0.29
    figure = inch_figure()
    for number, matrix in enumerate(to_array(weights)):
        line, place = divmod(number, 2)
        axes = add_grid(
            figure, matrix_colours(matrix, 1.0), words=100 * matrix, number_format=".0f", cell=cell,
            left=place * (len(source) * cell + 0.52), top=line * (len(target) * cell + 0.95),
            rows=target, columns=source,
        )  # fmt: skip
        axes.set_title(text("title.head", number=number + 1), loc="left", y=1, pad=36)
        axes.set_ylabel(text("axis.written"), fontsize=9, labelpad=2)
        axes.set_xlabel(text("axis.read"), fontsize=9, labelpad=4)
        axes.xaxis.set_label_position("top")
    return figure


@plot
def translation_weights(weights: object, source: Sequence[str], target: Sequence[str]) -> Figure:
    """Draw the weights of a translation in per cent: a row for each target token, a column a source token.

    >>> translation_weights([[0.25, 0.75], [1.0, 0.0]], source=["May", "1"], target=["1", " "])
    <polyhead_course.figures.plots.Drawing>
    """
    array = to_array(weights)
    figure = inch_figure()
    axes = add_grid(
        figure, matrix_colours(array, 1.0), words=100 * array, number_format=".0f", cell=0.32,
        rows=[token.replace(" ", "␣") for token in target], columns=source, turn=90,
    )  # fmt: skip
    axes.set_title(text("cross_attention"), loc="left", y=1, pad=72)
    axes.set_ylabel(text("axis.written"), fontsize=9, labelpad=6)
    axes.set_xlabel(text("axis.read"), fontsize=9)
    return figure
