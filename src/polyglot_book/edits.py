"""Edits a chapter's text where it must and nowhere else: every other byte stays as it was."""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jupytext.myst import dump_yaml_blocks

from polyglot_book.chapters import Cell, Chapter


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        # mkstemp makes files that only their owner can read.
        umask = os.umask(0)
        os.umask(umask)
        Path(name).chmod(0o666 & ~umask)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _lines(text: str) -> list[str]:
    r"""Split at \n alone, as Markdown does, keeping the ends."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _newline(chapter: Chapter) -> str:
    return "\r\n" if "\r\n" in chapter.text else "\n"


def _header_key(chapter: Chapter, cell: Cell, key: str, value: str | None) -> str:
    """Set or remove (None) a top-level key of a code cell's header; `value` is YAML on one line."""
    lines, newline = _lines(chapter.text), _newline(chapter)
    first = cell.start + 1
    block = lines[first].startswith("---") if first < cell.body else False
    colon = "" if block else ":"

    def content(line: str) -> str:
        return line if block else line.lstrip()[1:]

    header = range(first + block, cell.body)
    at = [n for n in header if re.match(rf"{re.escape(key)}\s*:", content(lines[n]))]
    written = [] if value is None else [f"{colon}{key}: {value}{newline}"]
    if at:
        stop = at[0] + 1
        # A value may go on in further lines: indented, or the items of a list.
        while stop in header and re.match(r"[ \t]+\S|- ", content(lines[stop])):
            stop += 1
        lines[at[0] : stop] = written
    elif written:
        after_id = next(n for n in header if re.match(r"id\s*:", content(lines[n]))) + 1
        lines[after_id:after_id] = written
    return "".join(lines)


def set_of(chapter: Chapter, cell_id: str, value: str) -> str:
    """Record in a cell which reference text it translates.

    Args:
        chapter: The chapter to edit.
        cell_id: One of its cells.
        value: The hash of the reference text.

    Returns:
        The chapter's new text.
    """
    cell = chapter.by_id[cell_id]
    if cell.kind == "code":
        return _header_key(chapter, cell, "of", f'"{value}"')
    lines = _lines(chapter.text)
    metadata = {
        "id": cell_id,
        "of": value,
        **{key: each for key, each in cell.metadata.items() if key != "of"},
    }
    ending = lines[cell.start][len(lines[cell.start].rstrip("\r\n")) :]
    lines[cell.start] = f"+++ {json.dumps(metadata, ensure_ascii=False)}{ending}"
    return "".join(lines)


def set_tags(chapter: Chapter, cell_id: str, tags: Sequence[str]) -> str:
    """Give a code cell other tags; returns the chapter's new text."""
    plain = (tag if re.fullmatch(r"[A-Za-z][\w-]*-[\w-]+", tag) else json.dumps(tag) for tag in tags)
    value = f"[{', '.join(plain)}]" if tags else None
    return _header_key(chapter, chapter.by_id[cell_id], "tags", value)


def set_code(chapter: Chapter, cell_id: str, source: str) -> str:
    """Replace a code cell's body and keep its own header; returns the chapter's new text."""
    cell, newline = chapter.by_id[cell_id], _newline(chapter)
    lines = _lines(chapter.text)
    body = [f"{line}{newline}" for line in source.split("\n")] if source else []
    # jupytext drops one blank line after a header, and takes ":" below it for more of it.
    if re.match(r"\s*(:|$)", source.split("\n")[0]) and body and lines[cell.body - 1].strip():
        body.insert(0, newline)
    fence = _fence(source)
    opening = lines[cell.start]
    ticks = len(opening) - len(opening.lstrip("`"))
    if len(fence) > ticks:
        lines[cell.start] = fence + opening[ticks:]
        lines[cell.stop] = fence + lines[cell.stop].lstrip("`")
    lines[cell.body : cell.stop] = body
    return "".join(lines)


def _fence(source: str) -> str:
    """Give a fence longer than any in the source."""
    runs = re.findall(r"^\s*(`{3,})", source, re.MULTILINE)
    return "`" * max([3, *(len(run) + 1 for run in runs)])


def insert_code(chapter: Chapter, after: str | None, cell: Cell, source: str) -> str:
    """Insert a code cell.

    Args:
        chapter: The chapter to edit.
        after: The id of the cell that it follows, or None where it comes first.
        cell: Where its id and metadata come from; text for readers is left out, for the translator to write.
        source: Its body.

    Returns:
        The chapter's new text.
    """
    newline = _newline(chapter)
    lines = _lines(chapter.text)
    if after is None:
        at = min((each.start for each in chapter.cells), default=len(lines))
    else:
        at = chapter.by_id[after].end
        # Markdown cells own the blank lines after them; a code cell does not.
        while at < len(lines) and not lines[at].strip():
            at += 1
    header = {"id": cell.id, **_without_words(cell.metadata)}
    fence = _fence(source)
    if not source.split("\n")[0].strip():
        source = f"\n{source}"  # jupytext drops one blank line after a header
    block = f"{fence}{{code-cell}} ipython3\n{dump_yaml_blocks(header, compact=False)}{source}\n{fence}\n"
    before = "".join(lines[:at])
    gap = (
        ""
        if not before or before.endswith(newline * 2)
        else newline
        if before.endswith("\n")
        else newline * 2
    )
    return before + gap + block.replace("\n", newline) + newline + "".join(lines[at:])


def _without_words(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Leave out `of` and every text below `mystnb`, which are in the reference's language."""

    def prune(value: Mapping[str, Any]) -> dict[str, Any]:
        pruned = {
            k: prune(v) if isinstance(v, Mapping) else v for k, v in value.items() if not isinstance(v, str)
        }
        return {k: v for k, v in pruned.items() if v != {}}

    kept = {key: value for key, value in metadata.items() if key not in ("of", "mystnb")}
    if mystnb := prune(metadata.get("mystnb") or {}):
        kept["mystnb"] = mystnb
    return kept
