"""The bug clinic: which law, and which comparison, sees which bug."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from polyhead_course.figures.plots.drawing import ORANGE, blank, drawn, fitting
from polyhead_course.figures.plots.grid import paint
from polyhead_course.words.language import text

_SEEN, _HELD, _UNASKED = ORANGE, "#f4f4f4", "#c9c9c9"


@drawn
def bug_matrix(matrix: Mapping[str, Mapping[str, float | None]]) -> Figure:
    """A line for each bug, a column for each probe: a mark where the probe sees the bug.

    Args:
        matrix: as of `attention_clinic.planted.matrix`: bug → probe → deviation. 0: the bug is not seen;
            None: the probe says nothing about this decoder.
    """
    bugs, probes = list(matrix), list(next(iter(matrix.values()), {}))
    fitting("matrix", bugs, len(bugs))
    for bug, row in matrix.items():
        if list(row) != probes or not probes:
            raise ValueError(f"matrix[{bug!r}] must have the probes {probes}, got {list(row)}")
    numbers = [[matrix[bug][probe] for probe in probes] for bug in bugs]
    faces = np.array([[_UNASKED if n is None else _SEEN if n else _HELD for n in row] for row in numbers])
    words = np.array([["–" if n is None else "×" if n else "" for n in row] for row in numbers])
    figure = blank()
    paint(
        figure, faces, cell=0.21, words=words, turn=90,
        rows=[text(f"bug.{bug}") for bug in bugs], columns=[text(f"law.{probe}") for probe in probes],
    )  # fmt: skip
    return figure
