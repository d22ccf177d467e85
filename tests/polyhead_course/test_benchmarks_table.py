"""The committed table of what attention costs."""

from __future__ import annotations

from polyhead_course.benchmarks import measurements


def test_the_table_has_every_form_at_every_length():
    conditions, rows = measurements()
    assert "threads: 1" in conditions and "torch" in conditions
    forms, passes, lengths = ({getattr(row, name) for row in rows} for name in ("form", "pass_", "length"))
    assert len(rows) == len(forms) * len(passes) * len(lengths) == 11 * 2 * 6
    assert all(row.time == 1 for row in rows if row.form == "baseline")
    assert all(row.time > 0.1 and row.mebibytes > 0 for row in rows)
