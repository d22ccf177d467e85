"""Says what the cells of a table are: the first row names the columns, the first column the rows."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any
from unicodedata import east_asian_width

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from polyglot_book.site.names import ancestors

# A heading of nothing, or of a formula alone, which axe takes for nothing.
_WORDLESS = re.compile(
    r'<th class="([^"]*)">(\s*(?:<p>(?:<math (?:(?!</math>).)*</math>)?</p>)?\s*)</th>', re.DOTALL
)
# From how many rows on a table is one to look things up in, so that each row has a place of its own.
_MANY_ROWS = 10
# Up to how wide a text of one line is, and how wide one that wants room.
_SHORT, _LONG = 12, 60
_COLUMN, _ROW = '<th class="head', '<th class="stub'


class NameRows(SphinxPostTransform):
    """Make the first cell of each row its heading: Markdown has no sign for that."""

    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Mark the first column of each table that has more than one, and columns of short or long text."""
        self._numbers: Counter[str] = Counter()
        for group in self.document.findall(nodes.tgroup):
            first, *others = group.findall(nodes.colspec)
            if others:
                first["stub"] = 1
            rows = [
                row.children for part in group.children for row in part.children if isinstance(row, nodes.row)
            ]
            if len(rows) >= _MANY_ROWS:
                self._name_places(group)
            # Where cells span several columns, it is open whose text is how wide.
            for column in zip(*rows, strict=True) if len({*map(len, rows)}) == 1 else ():
                longest = max(width(cell.astext()) for cell in column)
                if kind := "short" if longest <= _SHORT else "long" if longest > _LONG else "":
                    for cell in column:
                        cell["classes"].append(f"polyglot-{kind}")

    def _name_places(self, group: nodes.tgroup) -> None:
        """Name the rows of a table after what it stands in: the same names in every language."""
        owner = next((each["ids"][0] for each in ancestors(group) if each.get("ids")), "table")
        for body in group.findall(nodes.tbody):
            for row in body.findall(nodes.row):
                self._numbers[owner] += 1
                row["ids"].append(f"{owner}-row-{self._numbers[owner]}")


def width(text: str) -> int:
    """Count the columns that a text takes: a Chinese or Korean character takes two."""
    return sum(1 + (east_asian_width(each) in "WF") for each in text)


def name_cells(body: str) -> str:
    """Say of each heading what it names; one without words is a cell as any other."""
    body = _WORDLESS.sub(r'<td class="\1">\2</td>', body)
    return body.replace(_COLUMN, f'<th scope="col"{_COLUMN[3:]}').replace(_ROW, f'<th scope="row"{_ROW[3:]}')
