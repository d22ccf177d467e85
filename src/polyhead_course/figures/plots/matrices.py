"""Matrices as coloured tables: heat maps, the five steps of attention, heads, bugs and probes.

`@plot` checks a function's arguments, and turns the `Figure` that it returns into a `Drawing`, which is SVG.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from polyhead.checked import Positive
from polyhead_course.figures.plots.drawing import ORANGE, Array, inch_figure, plot, to_array
from polyhead_course.figures.plots.grid import add_grid, has_long_label, matrix_colours
from polyhead_course.words.language import text

_CELL = 0.46  # inches: a phone shrinks a figure of 4.8 inches to three quarters, and digits stay legible
_FRAME = "#d6006c"  # in neither scale of colours, and seen on light and dark cells


@plot
def heatmap(
    matrix: Array,
    rows: Sequence[str],
    columns: Sequence[str] | None = None,
    *,
    highest: Positive | None = None,
) -> Figure:
    """Draw a matrix, (num_rows, num_columns), with its numbers: one coloured cell for each entry.

    Args:
        matrix: The numbers.
        rows: A label for each row.
        columns: A label for each column; by default `rows`.
        highest: The value of the darkest colour; by default the largest absolute entry.

    Raises:
        ValueError: `matrix` is no matrix, a row or a column has no label, or `highest` is not above 0.

    >>> heatmap([[0.25, 0.75], [0.5, 0.5]], ["a", "b"], highest=1)
    <polyhead_course.figures.plots.Drawing>
    """
    array = to_array(matrix)
    across = rows if columns is None else columns
    figure = inch_figure()
    add_grid(
        figure, matrix_colours(array, highest), cell_texts=array, number_format="z.2f", cell=_CELL,
        rows=rows, columns=across, turn=30 if has_long_label(across) else 0,
    )  # fmt: skip
    return figure


# Each line of `five_steps`: its steps, the matrices with signs between them, the side of a cell in inches.
_LINES = (
    (("project",), "X → Q K V", 0.22),
    (("dot",), "Q × Kᵀ = QKᵀ", 0.22),
    (("scale", "softmax"), "S → A", 0.36),
    (("weighted_sum",), "A × V = O", 0.36),
)
_SIGNS = ("→", "×", "=")
# The matrices with a title in words: the label `title.<key>` of terms.yml.
_TITLE_KEYS = {"X": "embeddings", "Q": "queries", "K": "keys", "V": "values", "S": "scores", "A": "weights",
               "O": "output"}  # fmt: skip
_DECIMALS = {"S": 1, "A": 2, "O": 2}
# The part of each matrix of a product that is framed; see `_add_frame`.
_FRAMED_PART = {"Q": "row", "Kᵀ": "column", "QKᵀ": "cell", "S": "row", "A": "row", "V": "column", "O": "cell"}
# Inches: how far to the left of the cells a line begins, where the tokens are; the room above the cells for
# the steps and titles; the room of a sign; the least width of a matrix with a title; gaps.
_LINE_LEFT, _HEADING, _SIGN_WIDTH, _TITLE_WIDTH = -0.68, 0.44, 0.28, 0.6
_MATRIX_GAP, _LINE_GAP = 0.1, 0.3


@plot
def five_steps(
    *, embeddings: Array, queries: Array, keys: Array, values: Array, dot_products: Array,
    scores: Array, weights: Array, output: Array, tokens: Sequence[str],
) -> Figure:  # fmt: skip
    """Draw the whole of attention on one page: every matrix from the embeddings to the output.

    Each has a row for each token, with its label in `tokens`. Each line is a step or two. In each product
    the last row of the left matrix, the first column of the right one, and what they make are framed.

    Raises:
        ValueError: One of them is no matrix, or the first of a line has not one row for each token.

    >>> Q, A = [[1.0, 0.0], [0.0, 1.0]], [[0.75, 0.25], [0.25, 0.75]]
    >>> five_steps(embeddings=Q, queries=Q, keys=Q, values=Q, dot_products=Q, scores=Q, weights=A, output=A,
    ...            tokens=["a", "b"])
    <polyhead_course.figures.plots.Drawing>
    """
    arrays = {
        "X": to_array(embeddings), "Q": to_array(queries), "K": to_array(keys), "Kᵀ": to_array(keys).T,
        "V": to_array(values), "QKᵀ": to_array(dot_products), "S": to_array(scores), "A": to_array(weights),
        "O": to_array(output),
    }  # fmt: skip
    figure, top = inch_figure(), 0.0
    for steps, formula, cell in _LINES:
        names = [text(f"step.{step}") for step in steps]
        figure.text(_LINE_LEFT, 1 - top, " · ".join(names), va="center")
        top += _HEADING
        left, middle = 0.0, 1 - top - len(tokens) * cell / 2
        for symbol in formula.split():
            if symbol in _SIGNS:
                figure.text(left + _SIGN_WIDTH / 2, middle, symbol, fontsize=12, ha="center", va="center")
                left += _SIGN_WIDTH
                continue
            array, rows = arrays[symbol], () if left else tokens
            axes = _add_step(figure, symbol, array, cell=cell, left=left, top=top, rows=rows)
            if steps != ("project",):
                _add_frame(axes, _FRAMED_PART[symbol], array.shape)
            left += max(array.shape[1] * cell, _TITLE_WIDTH if symbol in _TITLE_KEYS else 0.0) + _MATRIX_GAP
        top += len(tokens) * cell + _LINE_GAP
    return figure


def _add_step(figure: Figure, symbol: str, array: np.ndarray, **look: Any) -> Axes:
    """Add one matrix of the five steps with its title."""
    faces = matrix_colours(array, 1.0 if symbol == "A" else None)
    number_format = f"z.{_DECIMALS.get(symbol, 0)}f"
    axes = add_grid(figure, faces, cell_texts=array, number_format=number_format, **look)
    name = text(f"title.{_TITLE_KEYS[symbol]}") + " " if symbol in _TITLE_KEYS else ""
    formula = "S = QKᵀ / √d_k" if symbol == "S" else symbol
    axes.set_title(name + formula, loc="left", y=1, pad=4)
    return axes


def _add_frame(axes: Axes, part: str, shape: tuple[int, ...]) -> None:
    """Add a frame around the last row, the first column, or the cell where they meet."""
    height, width = shape
    upper = 0 if part == "column" else height - 1
    right = width if part == "row" else 1
    across, down = [0, right, right, 0, 0], [upper, upper, height, height, upper]
    axes.plot(across, down, color=_FRAME, linewidth=2.2, clip_on=False, zorder=4)


@plot
def head_weights(weights: Array, tokens: Sequence[str]) -> Figure:
    """Draw the weights of each head, (num_heads, num_tokens, num_tokens), as a heat map, side by side.

    The rows of a heat map are queries, its columns keys.

    Raises:
        ValueError: `weights` has not three dimensions, or `tokens` not num_tokens labels.

    >>> head_weights([[[0.25, 0.75], [0.5, 0.5]]], ["a", "b"])
    <polyhead_course.figures.plots.Drawing>
    """
    # Inches: two heads of four keys each, with labels, stay within 4.8.
    figure, cell, upright = inch_figure(), 0.42, has_long_label(tokens)
    for number, matrix in enumerate(to_array(weights)):
        left, rows = number * (len(tokens) * cell + 0.25), () if number else tokens
        axes = add_grid(
            figure, matrix_colours(matrix, 1.0), cell_texts=matrix, number_format="z.2f", cell=cell,
            left=left, rows=rows, columns=tokens, turn=90 if upright else 0,
        )  # fmt: skip
        axes.set_title(text("title.head", number=number + 1), loc="left", y=1, pad=68.4 if upright else 19.4)
    return figure


@plot
def cross_heads(weights: Array, source: Sequence[str], target: Sequence[str]) -> Figure:
    """Draw each head's cross-attention, (num_heads, num_target, num_source), in per cent, below one another.

    The rows of a matrix are the target's tokens (queries), its columns the source's (keys); labels are short.

    Raises:
        ValueError: `weights` has not three dimensions, or a row or a column has no label.

    >>> cross_heads([[[0.25, 0.75], [1.0, 0.0]]], source=["p", "q"], target=["q", "p"])
    <polyhead_course.figures.plots.Drawing>
    """
    figure, cell = inch_figure(), 0.29
    for number, matrix in enumerate(to_array(weights)):
        top = number * (len(target) * cell + 0.95)  # in the gap are labels and titles of the axes
        axes = _add_percents(figure, matrix, target, source, cell=cell, top=top)
        axes.set_title(text("title.head", number=number + 1), loc="left", y=1, pad=36)
        axes.xaxis.set_label_position("top")
    return figure


@plot
def translation_weights(weights: Array, source: Sequence[str], target: Sequence[str]) -> Figure:
    """Draw the cross-attention of a translation, (num_target, num_source), in per cent.

    The rows are the target's tokens (queries), the columns the source's (keys).

    Raises:
        ValueError: `weights` is no matrix, or a row or a column has no label.

    >>> translation_weights([[0.25, 0.75], [1.0, 0.0]], source=["May", "1"], target=["1", " "])
    <polyhead_course.figures.plots.Drawing>
    """
    figure, rows = inch_figure(), [token.replace(" ", "␣") for token in target]
    axes = _add_percents(figure, to_array(weights), rows, source, cell=0.32, turn=90)
    axes.set_title(text("cross_attention"), loc="left", y=1, pad=72)
    return figure


def _add_percents(
    figure: Figure, matrix: np.ndarray, rows: Sequence[str], columns: Sequence[str], **look: Any
) -> Axes:
    """Add weights of what is written (rows) on what is read (columns), in per cent."""
    faces = matrix_colours(matrix, 1.0)
    axes = add_grid(
        figure, faces, cell_texts=100 * matrix, number_format=".0f", rows=rows, columns=columns, **look
    )
    axes.set(xlabel=text("axis.read"), ylabel=text("axis.written"))
    return axes


# The colour and the mark of each kind of head; colours that also differ for readers who see no red or green.
HEAD_KINDS = {
    "first": ("#9ecae1", "1"), "previous": ("#f0e442", "←"), "induction": (ORANGE, "→"),
    "duplicate": ("#cc79a7", "="), "self": ("#66c2a5", "•"), "sentence": ("#b39b7d", "¶"),
    "mixed": ("#f4f4f4", ""),
}  # fmt: skip


@plot
def head_atlas(kinds: Sequence[Sequence[str]]) -> Figure:
    """Draw the kind of each head in two tables, the lower and the upper layers, and count the kinds below.

    A column is a layer, a row a head, both counted from 0.

    Args:
        kinds: For each head, "first", "previous", "induction", "duplicate", "self", "sentence" or "mixed",
            (num_layers, num_heads).

    >>> head_atlas([["first", "mixed"], ["first", "induction"]])
    <polyhead_course.figures.plots.Drawing>
    """
    heads = np.array([[HEAD_KINDS[kind] for kind in row] for row in zip(*kinds, strict=True)])
    counts = Counter(kind for layer in kinds for kind in layer)
    figure, cell, top = inch_figure(), 0.25, 0.0
    half = (len(kinds) + 1) // 2
    for start in range(0, len(kinds), half):
        faces, marks = np.moveaxis(heads[:, start : start + half], -1, 0)
        axes = add_grid(
            figure, faces, cell=cell, top=top, cell_texts=marks,
            rows=[str(head) for head in range(len(heads))],
            columns=[str(start + layer) for layer in range(faces.shape[1])],
        )  # fmt: skip
        axes.set(xlabel=text("axis.layer"), ylabel=text("axis.head"))
        axes.xaxis.set_label_position("top")
        top += len(heads) * cell + 0.58  # inches: for the next table's labels
    for number, kind in enumerate(kind for kind in HEAD_KINDS if counts[kind]):
        face, mark = np.array(HEAD_KINDS[kind])[:, None, None]
        line, place = divmod(number, 2)
        below = top - 0.42 + 0.28 * line
        key = add_grid(figure, face, cell=0.22, left=2.2 * place, top=below, cell_texts=mark)
        name = text("head.count", kind=text(f"head.{kind}"), number=counts[kind])
        key.text(1.3, 0.5, name, va="center")
    return figure


# The colour and the mark of a cell.
_FOUND, _MISSED, _NO_ANSWER = (ORANGE, "×"), ("#f4f4f4", ""), ("#c9c9c9", "–")


@plot
def bug_matrix(matrix: Mapping[str, Mapping[str, float | None]]) -> Figure:
    """Draw a row for each bug and a column for each probe, with a mark where the probe finds the bug.

    Args:
        matrix: as of `attention_clinic.planted.matrix`: bug → probe → deviation. 0: the bug is not found;
            None: the probe says nothing about this decoder. There is at least one bug.

    Raises:
        KeyError: A bug lacks a probe that the first bug has.
        ValueError: A bug or a probe is not one of the clinic's.

    >>> bug_matrix({"none": {"parity": 0.0}, "sees_ahead": {"parity": 0.5}})
    <polyhead_course.figures.plots.Drawing>
    """
    probes = next(iter(matrix.values()))
    cells = [
        [_NO_ANSWER if row[probe] is None else _FOUND if row[probe] else _MISSED for probe in probes]
        for row in matrix.values()
    ]
    faces, marks = np.moveaxis(np.array(cells), -1, 0)
    figure, cell = inch_figure(), 0.21
    add_grid(
        figure, faces, cell=cell, cell_texts=marks, turn=90,
        rows=[text(f"bug.{bug}") for bug in matrix], columns=[text(f"law.{probe}") for probe in probes],
    )  # fmt: skip
    return figure
