"""Marks the sections that nobody sees when a page is opened: a browser may lay them out a moment later."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from polyhead_course.theme.tables import width

# A window of 1200 pixels, in lines of text; more columns than a line of text has; the height of other things.
_WINDOW, _COLUMNS = 44, 100
_LINE_OF_CODE, _PIXEL = 0.7, 1 / 27
_HEIGHT = re.compile(r'<svg [^>]*?\bheight="(\d+)"')


class MarkLaterSections(SphinxPostTransform):
    """Mark each section that has more than a window's height above it."""

    # After figures have become a part of the page.
    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Mark the sections of this page."""
        self.document.walk(_Ruler(self.document))


class _Ruler(nodes.SparseNodeVisitor):
    """Measures how high what it has seen is at least, in lines, on the widest page."""

    lines = 0.0

    def visit_section(self, node: nodes.section) -> None:
        if self.lines > _WINDOW:
            node["classes"].append("polyglot-later")

    def visit_title(self, node: nodes.title) -> None:
        self.lines += 2
        raise nodes.SkipNode

    def visit_paragraph(self, node: nodes.paragraph) -> None:
        self.lines += 1 + width(node.astext()) // _COLUMNS
        raise nodes.SkipNode

    def visit_literal_block(self, node: nodes.literal_block) -> None:
        self.lines += _LINE_OF_CODE * len(node.astext().splitlines())
        raise nodes.SkipNode

    def visit_raw(self, node: nodes.raw) -> None:
        if figure := _HEIGHT.match(node.astext()):
            self.lines += _PIXEL * int(figure[1])
        raise nodes.SkipNode

    def visit_table(self, node: nodes.table) -> None:
        self.lines += len(list(node.findall(nodes.row)))
        raise nodes.SkipNode

    def visit_HideCodeCellNode(self, node: nodes.Node) -> None:
        raise nodes.SkipNode  # it is folded

    def unknown_visit(self, node: nodes.Node) -> None:
        pass
