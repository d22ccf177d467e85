"""Positions as pictures: waves, shuffled tokens, turned vectors, scores, and longer texts."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Arc, Circle, Rectangle

from polyhead.checked import Size
from polyhead_course.figures.plots.charts import chart
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, Array, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_grid, matrix_colours, signed_colours
from polyhead_course.figures.plots.scripts import subscript
from polyhead_course.words.language import text

_CELL, _GAP = 0.46, 0.75  # inches: a cell of numbers, and the room for the lines between two grids


@plot
def position_waves(table: Array) -> Figure:
    """Draw the vectors of positions as coloured cells: orange is positive, purple negative, white 0.

    The table is (num_positions, embed_dim), at most 40 by 20, with entries from -1 to 1.

    >>> position_waves([[0.0, 1.0], [0.84, 0.54], [0.91, -0.42]])
    <polyhead_course.figures.plots.Drawing>
    """
    matrix = to_array(table).round(2)
    rows, columns = matrix.shape
    figure = inch_figure()
    axes = add_grid(figure, signed_colours(matrix, 1 / 1.44), cell=0.16)  # 1 is darker than elsewhere
    for cells in axes.patches:  # so many are a wave only without lines between them
        cells.set(edgecolor=cells.get_facecolor(), linewidth=0.3)
    axes.set_xticks(np.arange(0, columns, 2) + 0.5, [str(i) for i in range(0, columns, 2)])
    axes.set_yticks(np.arange(0, rows, 4) + 0.5, [str(i) for i in range(0, rows, 4)])
    axes.set(xlabel=text("axis.dimension"), ylabel=text("axis.position"))
    return figure


@plot
def shuffled_outputs(first: Array, second: Array, tokens: Sequence[str], order: Sequence[int]) -> Figure:
    """Draw the outputs of some tokens, and to the right those of the same tokens in another order.

    Both are (num_tokens, value_dim); row i of `second` belongs to `tokens[order[i]]`. A line joins the two
    rows of each token: orange where it has moved, grey where it keeps its row.

    >>> shuffled_outputs([[1.0], [2.0]], [[2.0], [1.0]], ["a", "b"], order=[1, 0])
    <polyhead_course.figures.plots.Drawing>
    """
    left, right = to_array(first), to_array(second)
    figure = inch_figure()
    start, width = left.shape[1] * _CELL, left.shape[1] * _CELL + _GAP
    highest = float(np.abs(np.concatenate([left, right])).max())
    for matrix, offset, rows in ((left, 0.0, tokens), (right, width, [tokens[i] for i in order])):
        axes = add_grid(
            figure, matrix_colours(matrix, highest), cell=_CELL, left=offset, cell_texts=matrix,
            number_format="z.2f", rows=rows,
        )  # fmt: skip
        if offset:
            axes.yaxis.tick_right()
    for place, token in enumerate(order):
        heights = [1 - (row + 0.5) * _CELL for row in (token, place)]
        colour, thickness = (GREY, 1.4) if token == place else (ORANGE, 2.2)
        figure.add_artist(Line2D([start + 0.06, width - 0.06], heights, color=colour, linewidth=thickness))
    return figure


@plot
def rotary_arrows(
    queries: Array, keys: Array, places: Sequence[tuple[int, int]], degrees: Sequence[int]
) -> Figure:
    """Draw turned queries and keys as arrows, with the angle between them; one panel for each pair.

    Both are (num_pairs, 2) and not 0; `places` are the positions of the query and of the key, `degrees` what
    a pair turns for a token.

    >>> rotary_arrows([[1.0, 0.0]], [[0.6, 0.8]], [(3, 1)], [60])
    <polyhead_course.figures.plots.Drawing>
    """
    lefts, rights = to_array(queries), to_array(keys)
    reach = 1.3 * float(np.linalg.norm(np.concatenate([lefts, rights]), axis=1).max())
    figure = Figure(figsize=(2.3 * len(lefts), 2.6))
    panels = np.atleast_1d(figure.subplots(1, len(lefts)))
    for axes, query, key, (at, to), turn in zip(panels, lefts, rights, places, degrees, strict=True):
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        axes.axis("off")
        axes.add_patch(Circle((0, 0), reach / 1.3, facecolor="none", edgecolor=GREY, linewidth=0.8))
        start = _add_vector(axes, query, BLUE, f"q{subscript(at)}", reach)
        end = _add_vector(axes, key, ORANGE, f"k{subscript(to)}", reach)
        _add_angle(axes, start, end, reach)
        axes.set_title(text("clock.turn", degrees=turn))
        axes.text(0, -1.1 * reach, f"q · k = {query @ key:z.2f}", ha="center", va="top")
    figure.subplots_adjust(left=0, right=1, wspace=0.05)
    return figure


def _add_vector(axes: Axes, vector: np.ndarray, colour: str, label: str, reach: float) -> float:
    """Add an arrow from the origin with its label, and return its direction in degrees."""
    line = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.4, "shrinkA": 0, "shrinkB": 0}
    axes.annotate("", (vector[0], vector[1]), (0, 0), arrowprops=line)
    x, y = vector * (1 + 0.13 * reach / np.linalg.norm(vector))
    axes.text(x, y, label, ha="center", va="center", fontsize=11, color=colour)
    return float(np.degrees(np.arctan2(vector[1], vector[0])))


def _add_angle(axes: Axes, one: float, other: float, reach: float) -> None:
    """Add an arc between two directions, the short way from one to the other, with its size in degrees."""
    turn = (other - one + 180) % 360 - 180
    start, end = sorted((one, one + turn))
    size = 0.7 * reach
    axes.add_patch(Arc((0, 0), size, size, theta1=start, theta2=end, color=INK, linewidth=1.2))
    middle = np.radians((start + end) / 2)
    x, y = 0.52 * reach * np.cos(middle), 0.52 * reach * np.sin(middle)
    axes.text(x, y, f"{abs(turn):.0f}°", ha="center", va="center")


@plot
def score_terms(panels: Mapping[str, Array]) -> Figure:
    """Draw square matrices as small heat maps, three a line: the terms of a score, and their sum.

    They are called content_content, content_position, position_content, position_position, sum and rotary.
    Orange is positive, purple negative, white 0, each on a scale of its own; distance 2 is framed.

    >>> score_terms({"sum": [[1.0, -2.0], [0.0, 1.0]]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure = inch_figure()
    for number, (name, panel) in enumerate(panels.items()):
        matrix, (line, column) = to_array(panel), divmod(number, 3)
        size, faces = len(matrix), signed_colours(matrix)
        axes = add_grid(figure, faces, cell=1.3 / size, left=column * 1.48, top=line * 1.72)
        for cells in axes.patches:
            cells.set(linewidth=0.4, edgecolor=GREY)
        for query in range(2, size):
            frame = Rectangle((query - 2, query), 1, 1, facecolor="none", edgecolor=INK, linewidth=1.5)
            axes.add_patch(frame).set(zorder=3, clip_on=False)
        axes.set_title(text(f"panel.{name}"), loc="left", pad=4, color=INK)
    figure.axes[0].set(xlabel=text("axis.key_position"), ylabel=text("axis.query_position"))
    return figure


_METHODS = {
    "learned": (GREY, "-", 5), "sinusoidal": ("#8c6bb1", (0, (1, 1)), 1.2), "rotary": (BLUE, "-", 1.2),
    "ALiBi": (ORANGE, (0, (3, 1)), 1.2),
}  # fmt: skip


@plot
def echoes(runs: Mapping[str, Array], every: Size, trained: Size) -> Figure:
    """Draw the share of right letters against the position, of several runs of each method as thin lines.

    The methods are learned, sinusoidal, rotary and ALiBi, each (num_runs, num_points), a point for `every`
    so many positions. The grey band is the length that was `trained`.

    >>> echoes({"learned": [[1.0, 1.0]], "rotary": [[1.0, 1.0, 0.5]]}, every=5, trained=10)
    <polyhead_course.figures.plots.Drawing>
    """
    figure, axes = chart(4.6, 3.0, "axis.position", "axis.right_letters")
    for name, curves in runs.items():
        heights, (colour, style, width) = to_array(curves, decimals=2).T, _METHODS[name]
        label = [text(f"positions.{name}"), *[None] * (heights.shape[1] - 1)]
        places = every * (np.arange(len(heights)) + 0.5)
        axes.plot(places, heights, color=colour, linestyle=style, linewidth=width, label=label)
    axes.axvspan(0, trained, color=GREY, alpha=0.18, linewidth=0)
    axes.set(xlim=(0, None), ylim=(0, 1.04))
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
    return figure
