"""Marks up tables: the first row names the columns, the first column the rows."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from unicodedata import east_asian_width

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from polyhead_course.theme.doctree import ancestors

# An empty header cell, or one with a formula alone, which axe reports as empty.
_EMPTY_HEADER = re.compile(
    r'<th class="([^"]*)">(\s*(?:<p>(?:<math (?:(?!</math>).)*</math>)?</p>)?\s*)</th>', re.DOTALL
)
# Readers look things up in a table with so many rows, and link to single ones.
_MIN_LINKED_ROWS = 10
# Widths in columns of text: up to the first, a column does not wrap; above the second, it gets more room.
_SHORT, _LONG = 12, 60
_COLUMN_HEADER, _ROW_HEADER = '<th class="head', '<th class="stub'


class NameRows(SphinxPostTransform):
    """Make the first cell of each row its header: Markdown has no syntax for that."""

    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Mark the header column of tables with several columns, and columns with short or long text."""
        self._row_counts: Counter[str] = Counter()
        for group in self.document.findall(nodes.tgroup):
            first, *others = group.findall(nodes.colspec)
            if others:
                first["stub"] = 1
            rows = [
                row.children for part in group.children for row in part.children if isinstance(row, nodes.row)
            ]
            if len(rows) >= _MIN_LINKED_ROWS:
                self._add_row_ids(group)
            # With cells that span several columns, the width of a single column is unknown.
            for column in zip(*rows, strict=True) if len({*map(len, rows)}) == 1 else ():
                longest = max(_width(cell.astext()) for cell in column)
                if kind := "short" if longest <= _SHORT else "long" if longest > _LONG else "":
                    for cell in column:
                        cell["classes"].append(f"polyglot-{kind}")

    def _add_row_ids(self, group: nodes.tgroup) -> None:
        """Number the rows of a table after the id of the section around it, the same in every language."""
        owner = next((each["ids"][0] for each in ancestors(group) if each.get("ids")), "table")
        for body in group.findall(nodes.tbody):
            for row in body.findall(nodes.row):
                self._row_counts[owner] += 1
                row["ids"].append(f"{owner}-row-{self._row_counts[owner]}")


def _width(text: str) -> int:
    """Return the width of a text in columns; a Chinese or Korean character is two wide."""
    return sum(1 + (east_asian_width(each) in "WF") for each in text)


def name_cells(body: str) -> str:
    """Add the scope to each header cell; one without words becomes an ordinary cell."""
    body = _EMPTY_HEADER.sub(r'<td class="\1">\2</td>', body)
    body = body.replace(_COLUMN_HEADER, f'<th scope="col"{_COLUMN_HEADER[3:]}')
    return body.replace(_ROW_HEADER, f'<th scope="row"{_ROW_HEADER[3:]}')
