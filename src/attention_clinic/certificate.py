"""Which laws a decoder keeps: as rows, as a table with date and versions, and as a badge."""

import datetime
import platform
import re
from collections.abc import Collection, Iterable, Mapping
from importlib import metadata, resources
from pathlib import Path
from typing import Any

import torch

from attention_clinic.adapter import DecoderAdapter, awakened
from attention_clinic.laws import ALL, LAWS
from attention_clinic.trial import SECONDS, CallFailed, Trial, one_thread

Row = Mapping[str, str]
MARKS = {"holds": "✓", "broken": "✗", "undecided": "?", "does not apply": "–"}
_COLORS = {"healthy": "#2a7f3f", "ill": "#b3261e", "undecided": "#6b6b6b"}
DECODER, ENCODER = (*LAWS, "windows"), ("twice", "hears", "right_pad", "look", "batch", "train")


@one_thread()
def law_rows(decoder: Any, laws: Collection[str] = DECODER, seconds: float = SECONDS) -> list[Row]:
    """Examine a model by laws: for each, a key of `MARKS`, and what it says, or why it is undecided.

    Weights that are zero in a fresh model, and so would hide a bug, are random in a copy.

    Example:
        >>> from attention_clinic.planted import planted_decoder
        >>> for row in law_rows(planted_decoder("cache_open"), ["causality", "chunk"]):
        ...     print(row["law"], row["found"])
        causality holds
        chunk broken
    """
    own = awakened(decoder)
    return [_row(DecoderAdapter(own, Trial(own, seconds).call), law) for law in laws]


def _row(decoder: DecoderAdapter, law: str) -> Row:
    try:
        off = ALL[law](decoder)
    except Exception as error:  # also of what the decoder returns
        says = error.finding.explanation[2:] if isinstance(error, CallFailed) else repr(error)
        return {"law": law, "found": "undecided", "says": " ".join(says.split())[:200]}
    found = "does not apply" if off is None else "broken" if off else "holds"
    says = re.split("[.:;]", ALL[law].__doc__ or law)[0] + (f". Off by {off:.2g}." if off else ".")
    return {"law": law, "found": found, "says": says}


def verdict_of(rows: Iterable[Row]) -> str:
    """The verdict "ill" if a law is broken; "undecided" if one is, or if none holds."""
    found = {row["found"] for row in rows}
    if "broken" in found:
        return "ill"
    return "healthy" if "holds" in found and "undecided" not in found else "undecided"


def versions() -> dict[str, str]:
    """What a decoder is examined with."""
    own = [each.version for each in metadata.distributions(name="attention-clinic")]
    here = {"attention-clinic": [*own, "source"][0], "torch": torch.__version__}
    return here | {"Python": platform.python_version()}


def write_certificate(folder: Path, subject: str, rows: Collection[Row]) -> list[Path]:
    """Write `causality.md`, a table of the laws of a subject, and `causality.svg`, a badge.

    Returns:
        Both paths, in a folder that is made if it is not there.
    """
    verdict, today = verdict_of(rows), datetime.datetime.now(datetime.UTC).date()
    found = [row["found"] for row in rows if row["found"] != "does not apply"]
    text = f"{found.count('holds')} of {len(found)} hold"
    sizes = {"length": 7 * len(text), "width": 7 * len(text) + 122}
    badge = resources.files(__package__).joinpath("badge.svg").read_text(encoding="utf-8")
    lines = [f"# Causality certificate of `{subject}`", ""]
    lines += [f"![{verdict}](causality.svg) {today}, {', '.join(map(' '.join, versions().items()))}", ""]
    lines += ["| law | | |", "|---|---|---|"]
    for row in rows:
        lines.append(f"| {row['law']} | {MARKS[row['found']]} | {row['says'].replace('|', '/')} |")
    table, svg = folder / "causality.md", folder / "causality.svg"
    folder.mkdir(parents=True, exist_ok=True)
    table.write_text("\n".join([*lines, ""]), encoding="utf-8")
    svg.write_text(badge.format(told=text, color=_COLORS[verdict], **sizes), encoding="utf-8")
    return [table, svg]
