"""Says what the cells of a table are: the first row names the columns, the first column the rows."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

# A heading of nothing, or of a formula alone, which axe takes for nothing.
_WORDLESS = re.compile(
    r'<th class="[^"]*">(\s*(?:<p>(?:<math (?:(?!</math>).)*</math>)?</p>)?\s*)</th>', re.DOTALL
)
_COLUMN, _ROW = '<th class="head', '<th class="stub'


class NameRows(SphinxPostTransform):
    """Make the first cell of each row its heading: Markdown has no sign for that."""

    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Mark the first column of each table that has more than one."""
        for group in self.document.findall(nodes.tgroup):
            first, *others = group.findall(nodes.colspec)
            if others:
                first["stub"] = 1


def name_cells(body: str) -> str:
    """Say of each heading what it names; one without words is a cell as any other."""
    body = _WORDLESS.sub(r"<td>\1</td>", body)
    return body.replace(_COLUMN, f'<th scope="col"{_COLUMN[3:]}').replace(_ROW, f'<th scope="row"{_ROW[3:]}')
