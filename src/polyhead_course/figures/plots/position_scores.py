"""What positions do to scores: turned queries and keys, layouts, the terms of a score, relative biases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import HEAD_COLOURS, add_grid, signed_colours
from polyhead_course.figures.plots.scripts import subscript
from polyhead_course.words.language import text


@plot
def rotary_arrows(queries: object, keys: object, places: Sequence[tuple[int, int]]) -> Figure:
    """Draw turned queries and keys as arrows, with the angle between them; one panel for each pair.

    Both are (num_pairs, 2) and not 0; `places` are the positions of the query and of the key.

    >>> rotary_arrows([[1.0, 0.0]], [[0.6, 0.8]], [(3, 1)])
    <polyhead_course.figures.plots.Drawing>
    """
    lefts, rights = to_array(queries), to_array(keys)
    reach = 1.3 * float(np.linalg.norm(np.concatenate([lefts, rights]), axis=1).max())
    figure = Figure(figsize=(2.3 * len(lefts), 2.6))
    panels = np.atleast_1d(figure.subplots(1, len(lefts)))
    for axes, query, key, (at, to) in zip(panels, lefts, rights, places, strict=True):
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        axes.axis("off")
        axes.add_patch(Circle((0, 0), reach / 1.3, facecolor="none", edgecolor=GREY, linewidth=0.8))
        start = _add_vector(axes, query, BLUE, f"q{subscript(at)}", reach)
        end = _add_vector(axes, key, ORANGE, f"k{subscript(to)}", reach)
        _add_angle(axes, start, end, reach)
        axes.set_title(f"{text('axis.distance')}: {at - to}", fontsize=10)
        axes.text(0, -1.1 * reach, f"q · k = {query @ key:z.2f}", ha="center", va="top", fontsize=10)
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
    axes.text(
        0.52 * reach * np.cos(middle), 0.52 * reach * np.sin(middle), f"{abs(turn):.0f}°",
        ha="center", va="center", fontsize=10,
    )  # fmt: skip


@plot
def rotary_layouts(head_dim: Size) -> Figure:
    """Draw which numbers of a query, at most 12, make a pair in both layouts, by colours and arcs.

    >>> rotary_layouts(head_dim=8)
    <polyhead_course.figures.plots.Drawing>
    """
    half, cell = head_dim // 2, 0.46
    figure = inch_figure()
    places = np.arange(head_dim)
    for line, (name, owners) in enumerate({"neighbours": places // 2, "halves": places % half}.items()):
        top = line * 1.4
        faces = np.array(HEAD_COLOURS)[owners][None]
        axes = add_grid(figure, faces, cell=cell, top=top, words=places[None])
        figure.text(0, 1 - top + 0.55, text(f"layout.{name}"), va="bottom", fontsize=10)
        for pair in range(half):
            first, second = np.flatnonzero(owners == pair) + 0.5
            bow = f"arc3,rad=-{min(0.6, 1.1 / (second - first)):.2f}"
            axes.annotate(
                "", (second, 0), (first, 0), annotation_clip=False,
                arrowprops={"arrowstyle": "-", "color": GREY, "linewidth": 1.6, "connectionstyle": bow,
                            "shrinkA": 1, "shrinkB": 1},
            )  # fmt: skip
    return figure


@plot
def score_terms(panels: Mapping[str, object]) -> Figure:
    """Draw square matrices as small heat maps, three a line: the terms of a score, and their sum.

    They are called content_content, content_position, position_content, position_position, sum and rotary.
    Orange is positive, purple negative, white 0, each on a scale of its own.

    >>> score_terms({"sum": [[1.0, -2.0], [0.0, 1.0]]})
    <polyhead_course.figures.plots.Drawing>
    """
    figure = inch_figure()
    for number, (name, panel) in enumerate(panels.items()):
        matrix, (line, column) = to_array(panel), divmod(number, 3)
        cell, label = 1.36 / len(matrix), text(f"panel.{name}")
        _add_map(figure, signed_colours(matrix), GREY, cell, column * 1.56, line * 1.78, label)
    _add_axis_names(figure.axes[0])
    return figure


@plot
def relative_biases(t5: object, alibi: object) -> Figure:
    """Draw what relative biases add to the scores of a decoder, head by head: T5's above, ALiBi's below.

    Both are (num_heads, num_tokens, num_tokens), two heads each; keys after the query are left out. Both
    heads have one scale; each has its smallest and largest number in the corner.

    >>> bias = [[[0.0, 0.0], [-1.0, 0.0]], [[0.0, 0.0], [-0.5, 0.0]]]
    >>> relative_biases(t5=bias, alibi=bias)
    <polyhead_course.figures.plots.Drawing>
    """
    figure = inch_figure()
    for line, (family, values) in enumerate({"T5": t5, "ALiBi": alibi}.items()):
        stack = to_array(values)
        size = stack.shape[1]
        causal = np.tri(size, dtype=bool)
        shown = np.where(causal, stack, 0.0)
        highest = float(np.abs(shown).max())
        for number, matrix in enumerate(shown):
            faces = np.where(causal, signed_colours(matrix, highest), "none")
            left, top = number * 2.25, line * 2.62
            label = f"{family}, {text('title.head', number=number + 1)}"
            _add_map(figure, faces, "none", 2 / size, left, top, label)
            low, high = matrix[causal].min(), matrix[causal].max()
            extremes = f"{low:z.2f} … {high:z.2f}"
            figure.text(left + 1.98, 1 - top - 0.05, extremes, ha="right", va="top", fontsize=9)
    _add_axis_names(figure.axes[0])
    return figure


def _add_map(
    figure: Figure, faces: np.ndarray, edge: str, cell: float, left: float, top: float, label: str
) -> None:
    """Add a heat map without numbers."""
    axes = add_grid(figure, faces, cell=cell, left=left, top=top)
    for square in axes.patches:
        square.set(linewidth=0.4, edgecolor=edge)
    axes.set_title(label, loc="left", fontsize=9.5, pad=4, color=INK)


def _add_axis_names(axes: Axes) -> None:
    axes.set_ylabel(text("axis.query_position"), fontsize=9)
    axes.set_xlabel(text("axis.key_position"), fontsize=9)
