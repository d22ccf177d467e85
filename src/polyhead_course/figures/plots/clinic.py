"""The bug clinic: which probe finds which bug."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.figure import Figure

from polyhead_course.figures.plots.drawing import ORANGE, inch_figure, plot
from polyhead_course.figures.plots.grid import add_grid
from polyhead_course.words.language import text

_FOUND, _MISSED, _NO_ANSWER = (ORANGE, "×"), ("#f4f4f4", ""), ("#c9c9c9", "–")


@plot
def bug_matrix(matrix: Mapping[str, Mapping[str, float | None]]) -> Figure:
    """Draw a row for each bug and a column for each probe, with a mark where the probe finds the bug.

    Args:
        matrix: as of `attention_clinic.planted.matrix`: bug → probe → deviation. 0: the bug is not found;
            None: the probe says nothing about this decoder.

    >>> bug_matrix({"none": {"parity": 0.0}, "sees_ahead": {"parity": 0.5}})
    <polyhead_course.figures.plots.Drawing>
    """
    probes = next(iter(matrix.values()))
    cells = [
        [_NO_ANSWER if row[probe] is None else _FOUND if row[probe] else _MISSED for probe in probes]
        for row in matrix.values()
    ]
    faces, words = np.moveaxis(np.array(cells), -1, 0)
    figure = inch_figure()
    add_grid(
        figure, faces, cell=0.21, words=words, turn=90,
        rows=[text(f"bug.{bug}") for bug in matrix], columns=[text(f"law.{probe}") for probe in probes],
    )  # fmt: skip
    return figure
