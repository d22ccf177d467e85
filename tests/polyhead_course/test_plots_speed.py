"""The picture of what attention costs: the points are the numbers that it was given."""

from __future__ import annotations

import math

import pytest

from polyhead_course.benchmarks import measurements
from polyhead_course.figures import plots
from tests.polyhead_course.figures import axes_of, scale, texts
from tests.polyhead_course.test_plots_heads import lines


def log2(number: object) -> float:
    return math.log2(float(str(number)))


def test_both_panels_show_every_form_at_every_length():
    times = {"baseline": [1, 1, 1], "MultiHeadAttention": [1.5, 2.0, 1.25]}
    memory = {"baseline": [4, 8, 64], "MultiHeadAttention": [16, 32, 256]}
    above, below = axes_of(plots.time_and_memory([128, 512, 2048], times, memory))
    lengths = scale(below, "x", log2)
    for axes, curves, number in ((above, times, float), (below, memory, log2)):
        shown = scale(axes, "y", number)
        drawn = [corners for _, corners in lines(axes, lengths, shown) if len(corners) == 3]
        for corners, heights in zip(drawn, curves.values(), strict=True):
            expected = zip((7, 9, 11), map(number, heights), strict=True)
            assert corners == [pytest.approx(point, abs=0.02) for point in expected]
    assert {"baseline", "MultiHeadAttention"} <= {word for word, _ in texts(above)}


@pytest.mark.parametrize(
    ("times", "memory", "said"),
    [
        ({}, {}, "the same 1 to 5 forms"),
        ({"a": [1]}, {"b": [1]}, r"got \['a'\], \['b'\]"),
        ({"a": [1, 2]}, {"a": [1]}, "times"),
        ({"a": [1]}, {"a": [0]}, "mebibytes"),
    ],
)
def test_bad_input_is_refused(times, memory, said):
    with pytest.raises(ValueError, match=said):
        plots.time_and_memory([128], times, memory)


def test_the_committed_table_has_every_form_at_every_length():
    conditions, rows = measurements()
    assert "threads: 1" in conditions and "torch" in conditions
    forms, passes, lengths = ({getattr(row, name) for row in rows} for name in ("form", "pass_", "length"))
    assert len(rows) == len(forms) * len(passes) * len(lengths) == 11 * 2 * 6
    assert all(row.time == 1 for row in rows if row.form == "baseline")
    assert all(row.time > 0.1 and row.mebibytes > 0 for row in rows)
