"""Which laws a decoder keeps: as rows, as a table with date and versions, and as a badge."""

from __future__ import annotations

import datetime
import platform
import re
from collections.abc import Collection, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import torch
from torch import nn

from attention_clinic.arguments import DecoderAdapter, NoLogits
from attention_clinic.kinds.modules import evaluation_copy
from attention_clinic.laws import LAWS
from attention_clinic.trial import SECONDS, CallFailed, Trial

Row = Mapping[str, Any]
_MARKS = {True: "✓", False: "✗", None: "–"}
_COLORS = {"healthy": "#2a7f3f", "ill": "#b3261e", "undecided": "#6b6b6b"}


def law_rows(decoder: Any, laws: Collection[str] = tuple(LAWS), seconds: float = SECONDS) -> list[Row]:
    """Examine a decoder by laws: for each, whether it holds, or None where it does not apply.

    A module is examined as its `seeded_copy`: the laws hold whatever the weights.

    Example:
        >>> from attention_clinic.planted import planted_decoder
        >>> for row in law_rows(planted_decoder("cache_open"), ["causality", "chunk"]):
        ...     print(row["law"], row["holds"])
        causality True
        chunk False
    """
    if not isinstance(decoder, nn.Module):
        return [_row(decoder, law, seconds) for law in laws]
    with evaluation_copy(decoder) as own:
        return [_row(own, law, seconds) for law in laws]


def _row(decoder: Any, law: str, seconds: float) -> Row:
    statement = re.split("[.:;]", LAWS[law].__doc__ or law)[0] + "."
    row = {"law": law, "statement": statement, "holds": None, "deviation": None, "error": None}
    try:
        found = LAWS[law](DecoderAdapter(decoder, Trial(decoder, seconds).call))
    except CallFailed as stop:
        return row | {"error": stop.finding.explanation.removeprefix("✗ ")[:200]}
    except (NoLogits, RuntimeError, TypeError, ValueError, IndexError) as error:
        return row | {"error": f"{type(error).__name__}: {error}"[:200]}
    return row if found is None else row | {"holds": not found, "deviation": float(found)}


def verdict_of(rows: Sequence[Row]) -> str:
    """The verdict "ill" if a law is broken; "undecided" if one could not be examined, or none was."""
    if any(row["holds"] is False for row in rows):
        return "ill"
    unknown = any(row["error"] for row in rows) or not any(row["holds"] for row in rows)
    return "undecided" if unknown else "healthy"


def line_of(row: Row) -> str:
    """One line for people."""
    off = f" Off by {row['deviation']:.2g}." if row["holds"] is False else ""
    mark = "?" if row["error"] else _MARKS[row["holds"]]
    return f"{mark} {row['law']:10} {row['error'] or row['statement']}{off}"


def versions() -> dict[str, str]:
    """What a decoder is examined with."""
    try:
        own = metadata.version("attention-clinic")
    except metadata.PackageNotFoundError:  # run from its source
        own = "source"
    return {"attention-clinic": own, "torch": torch.__version__, "Python": platform.python_version()}


def write_certificate(folder: Path, subject: str, verdict: str, rows: Sequence[Row]) -> list[Path]:
    """Write `causality.md`, a table of the laws with date and versions, and `causality.svg`, a badge.

    Args:
        folder: is made if it is not there.
        subject: what was examined, as people may read it.
        verdict: see `verdict_of`.
        rows: the laws.

    Returns:
        Both paths.
    """
    table, badge = folder / "causality.md", folder / "causality.svg"
    folder.mkdir(parents=True, exist_ok=True)
    table.write_text(_table(subject, verdict, rows), encoding="utf-8")
    badge.write_text(_badge(verdict, rows), encoding="utf-8")
    return [table, badge]


def _table(subject: str, verdict: str, rows: Sequence[Row]) -> str:
    today = datetime.datetime.now(datetime.UTC).date()
    said = ", ".join(f"{name} {version}" for name, version in versions().items())
    lines = [
        f"# Causality certificate of `{subject}`",
        "",
        f"![{verdict}](causality.svg) {today}, {said}",
        "",
        "| law | | what it says | |",
        "|---|---|---|---|",
    ]
    for row in rows:
        mark = "?" if row["error"] else _MARKS[row["holds"]]
        off = "" if not row["deviation"] else f"off by {row['deviation']:.2g}"
        told = (row["error"] or off or ("does not apply" if row["holds"] is None else "")).replace("|", "\\|")
        lines.append(f"| {row['law']} | {mark} | {row['statement']} | {told} |")
    return "\n".join(lines) + "\n"


def _badge(verdict: str, rows: Sequence[Row]) -> str:
    holding, applying = sum(bool(row["holds"]) for row in rows), sum(row["holds"] is not None for row in rows)
    title, told = "attention laws", f"{holding} of {applying} hold" if applying else verdict
    left, right = (7 * len(text) + 12 for text in (title, told))
    return f"""<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="20" role="img">
<title>{title}: {told}</title>
<rect width="{left + right}" height="20" fill="{_COLORS[verdict]}"/>
<rect width="{left}" height="20" fill="#444"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11" text-anchor="middle">
<text x="{left / 2}" y="14" textLength="{left - 12}">{title}</text>
<text x="{left + right / 2}" y="14" textLength="{right - 12}">{told}</text>
</g>
</svg>
"""
