"""What positions do to scores: turned queries and keys, layouts, the terms of a score, relative biases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure
from matplotlib.patches import Arc, Circle

from polyhead.checked import Size
from polyhead_course.figures.plots.drawing import BLUE, GREY, INK, ORANGE, blank, drawn, numbers
from polyhead_course.figures.plots.grid import colours, paint
from polyhead_course.words.language import text

_SUBSCRIPT = str.maketrans("-0123456789", "₋₀₁₂₃₄₅₆₇₈₉")
_TERMS = ("content_content", "content_position", "position_content", "position_position", "sum", "rotary")
_PAIRS = ("#9ecae1", "#fdae6b", "#a1d99b", "#bcbddc", "#fbb4c4", "#d9d9a0")


@drawn
def rotary_arrows(queries: object, keys: object, places: Sequence[tuple[int, int]]) -> Figure:
    """Turned queries and keys as arrows, one panel for each pair of positions, with the angle between them.

    Both are (num_pairs, 2) and not 0; `places` are the positions of the query and of the key.
    """
    asks = numbers("queries", queries, None, 2)
    answers = numbers("keys", keys, len(asks), 2)
    if len(places) != len(asks) or any(len(pair) != 2 for pair in places):
        raise ValueError(f"places must be {len(asks)} pairs of positions, got {list(places)}")
    if not (np.abs(asks).max(axis=1).all() and np.abs(answers).max(axis=1).all()):
        raise ValueError("queries and keys must not be 0, got one that has no direction")
    reach = 1.3 * float(np.linalg.norm(np.concatenate([asks, answers]), axis=1).max())
    figure = Figure(figsize=(2.3 * len(asks), 2.6))
    for axes, query, key, (at, to) in zip(
        np.atleast_1d(figure.subplots(1, len(asks))), asks, answers, places, strict=True
    ):
        axes.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal")
        axes.axis("off")
        axes.add_patch(Circle((0, 0), reach / 1.3, facecolor="none", edgecolor=GREY, linewidth=0.8))
        directions = []
        for vector, colour, letter, position in ((query, BLUE, "q", at), (key, ORANGE, "k", to)):
            line = {"arrowstyle": "-|>", "color": colour, "linewidth": 2.4, "shrinkA": 0, "shrinkB": 0}
            axes.annotate("", vector, (0, 0), arrowprops=line)
            tip = vector * (1 + 0.13 * reach / np.linalg.norm(vector))
            label = letter + str(position).translate(_SUBSCRIPT)
            axes.text(*tip, label, ha="center", va="center", fontsize=11, color=colour)
            directions.append(np.degrees(np.arctan2(vector[1], vector[0])))
        # The arc goes the short way from one arrow to the other.
        turn = (directions[1] - directions[0] + 180) % 360 - 180
        start, end = sorted((directions[0], directions[0] + turn))
        size = 0.7 * reach
        axes.add_patch(Arc((0, 0), size, size, theta1=start, theta2=end, color=INK, linewidth=1.2))
        middle = np.radians((start + end) / 2)
        axes.text(
            0.52 * reach * np.cos(middle), 0.52 * reach * np.sin(middle), f"{abs(turn):.0f}°",
            ha="center", va="center", fontsize=10,
        )  # fmt: skip
        axes.set_title(f"{text('axis.distance')}: {at - to}", fontsize=10)
        axes.text(0, -1.1 * reach, f"q · k = {query @ key:z.2f}", ha="center", va="top", fontsize=10)
    figure.subplots_adjust(left=0, right=1, wspace=0.05)
    return figure


@drawn
def rotary_layouts(head_dim: Size) -> Figure:
    """Which numbers of a query make a pair, in both layouts: the same colour, and an arc between them."""
    if head_dim % 2 or head_dim > 2 * len(_PAIRS):
        raise ValueError(f"head_dim must be even and at most {2 * len(_PAIRS)}, got {head_dim}")
    half, cell = head_dim // 2, 0.46
    figure = blank()
    places = np.arange(head_dim)
    for line, (name, owners) in enumerate({"neighbours": places // 2, "halves": places % half}.items()):
        top = line * 1.4
        faces = np.array(_PAIRS)[owners][None]
        axes = paint(figure, faces, cell=cell, top=top, words=places.astype(str)[None])
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


@drawn
def score_terms(panels: Mapping[str, object]) -> Figure:
    """Square matrices as small heat maps, three a line: the terms of a score, their sum, and rotary scores.

    They are called content_content, content_position, position_content, position_position, sum and rotary.
    Orange is positive, purple negative, white 0, each on a scale of its own.
    """
    if not panels or set(panels) - set(_TERMS):
        raise ValueError(f"panels must be some of {', '.join(_TERMS)}, got {list(panels)}")
    size: int | None = None
    matrices = {}
    for name, panel in panels.items():
        matrices[name] = numbers(f"panels[{name!r}]", panel, size, size)
        size = len(matrices[name])
        numbers(f"panels[{name!r}]", panel, size, size)  # square
    figure = blank()
    cell = 1.36 / (size or 1)
    for number, (name, matrix) in enumerate(matrices.items()):
        line, place = divmod(number, 3)
        left, top = place * 1.56, line * 1.78
        _map(figure, matrix, None, cell, left, top, text(f"panel.{name}"), outer=not number)
    return figure


@drawn
def relative_biases(t5: object, alibi: object) -> Figure:
    """What relative biases add to the scores of a decoder, head by head: T5's above, ALiBi's below.

    Both are (num_heads, num_tokens, num_tokens), two heads each; keys after the query are left out. Both
    heads have one scale; each has its smallest and largest number in the corner.
    """
    figure = blank()
    for line, (family, values) in enumerate({"T5": t5, "ALiBi": alibi}.items()):
        name = family.lower()
        stack = numbers(name, values, 2, None, None)
        size = stack.shape[1]
        numbers(name, values, 2, size, size)  # square
        seen = np.tri(size, dtype=bool)
        highest = float(np.abs(stack * seen).max()) or None
        for number, matrix in enumerate(stack):
            shown = np.where(seen, matrix, 0.0)
            title = f"{family}, {text('title.head', number=number + 1)}"
            left, top = number * 2.25, line * 2.62
            _map(figure, shown, highest, 2 / size, left, top, title, outer=not (line or number), seen=seen)
            low, high = matrix[seen].min(), matrix[seen].max()
            extremes = f"{low:z.2f} … {high:z.2f}"
            figure.text(left + 1.98, 1 - top - 0.05, extremes, ha="right", va="top", fontsize=9)
    return figure


def _map(
    figure: Figure, matrix: np.ndarray, highest: float | None, cell: float, left: float, top: float,
    title: str, *, outer: bool, seen: np.ndarray | None = None,
) -> None:  # fmt: skip
    """One heat map without numbers; the outer one says what its rows and columns are."""
    # Not `shades`, for which numbers without a negative one are blue: panels are compared by their colours.
    faces = colours("PuOr_r", 0.5 + matrix / (3.2 * (highest or float(np.abs(matrix).max()) or 1.0)))
    if seen is not None:
        faces = np.where(seen, faces, "none")
    axes = paint(figure, faces, cell=cell, left=left, top=top)
    for square in axes.patches:
        square.set(linewidth=0.4, edgecolor=GREY if seen is None else "none")
    axes.set_title(title, loc="left", fontsize=9.5, pad=4, color=INK)
    if outer:
        axes.set_ylabel(text("axis.query_position"), fontsize=9)
        axes.set_xlabel(text("axis.key_position"), fontsize=9)
