"""The results as Markdown tables."""

from __future__ import annotations

from collections.abc import Callable

from benchmarks.forms import (
    BASELINE,
    D2L,
    OURS,
    OURS_WITH_WEIGHTS,
    TORCH,
    TORCH_WITH_AVERAGE,
    TORCH_WITH_WEIGHTS,
)
from benchmarks.measure import PASSES, Result, Results

# What MultiHeadAttention promises: like is compared with like.
COMPARISONS = (
    (OURS, BASELINE),
    (OURS, TORCH),
    (OURS_WITH_WEIGHTS, TORCH_WITH_WEIGHTS),
    (OURS_WITH_WEIGHTS, TORCH_WITH_AVERAGE),
    (OURS, D2L),
)


def report(results: Results) -> str:
    """Return every table: time, then memory, against the baseline; then the comparisons that count."""
    parts = []
    for kind in PASSES:
        time = _against_baseline(results, kind, lambda r: f"{r.median * 1e3:.1f} ms", Result.ratio)
        parts.append(f"## Time, {kind}\n\n{time}")
    for kind in PASSES:
        memory = _against_baseline(
            results,
            kind,
            lambda r: f"{r.peak_bytes / 2**20:.1f} MiB",
            lambda r, b: r.peak_bytes / b.peak_bytes,
        )
        parts.append(f"## Peak memory, {kind}\n\n{memory}")
    for kind in PASSES:
        rows = [
            [
                f"{ours} / {other}",
                *(f"{forms[ours].ratio(forms[other]):.2f}" for forms in results[kind].values()),
            ]
            for ours, other in COMPARISONS
        ]
        parts.append(f"## Time against its peers, {kind}\n\n{_table(results[kind], rows)}")
    return "\n\n".join(parts)


def _against_baseline(
    results: Results, kind: str, absolute: Callable[[Result], str], ratio: Callable[[Result, Result], float]
) -> str:
    lengths = results[kind]
    rows = [[BASELINE, *(absolute(forms[BASELINE]) for forms in lengths.values())]]
    for name in next(iter(lengths.values())):
        if name != BASELINE:
            ratios = (ratio(forms[name], forms[BASELINE]) for forms in lengths.values())
            rows.append([name, *(f"{each:.2f}" for each in ratios)])
    return _table(lengths, rows)


def _table(lengths: dict[int, dict[str, Result]], rows: list[list[str]]) -> str:
    return markdown([["length", *map(str, lengths)], *rows])


def markdown(table: list[list[str]]) -> str:
    """Format the rows as a Markdown table; the first row is its head."""
    first = max(len(row[0]) for row in table)
    width = max(len(cell) for row in table for cell in row[1:])
    lines = [
        f"| {row[0]:<{first}} | " + " | ".join(f"{cell:>{width}}" for cell in row[1:]) + " |" for row in table
    ]
    lines.insert(1, f"|{'-' * (first + 2)}|" + f"{'-' * (width + 1)}:|" * (len(table[0]) - 1))
    return "\n".join(lines)
