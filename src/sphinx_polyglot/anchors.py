"""Makes the ids of a notebook's cells the anchors of its page, equal in every language.

Before a page is parsed, each cell's id is written where the parser keeps it: for a Markdown cell into a MyST
comment, which becomes a comment node, for a code cell into its metadata. A transform then moves the ids to
the nodes of the cells. The anchors are no Sphinx labels: labels are global, and all languages have the same
ids.
"""

import json
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from polyglot_book.ipynb import NotebookError, parse_notebook
from sphinx_polyglot.internals import code_cells, publish_anchors
from sphinx_polyglot.pages import Pages

LOGGER = logging.getLogger(__name__)

_MARK = "polyglot-cell:"
_METADATA = "polyglot_cell"
# In the metadata of a page: anchor of a heading -> anchor of the same heading in the reference language.
_SHARED = "polyglot_shared_anchors"
# Nodes whose id Sphinx writes into the HTML; other nodes get an empty target before them.
_BLOCKS = (nodes.section, nodes.paragraph, nodes.Sequential, nodes.block_quote, nodes.table, nodes.Admonition)
_INVISIBLE = (nodes.Invisible, nodes.footnote, nodes.system_message)


# Sphinx event: source-read
def mark_cells(app: Sphinx, docname: str, source: list[str]) -> None:
    """Write each cell's id where the parser keeps it."""
    if Path(app.env.doc2path(docname)).suffix != ".ipynb":
        return
    try:
        notebook = parse_notebook(source[0], docname, check=False)
    except NotebookError:
        return  # the parser reports it
    # Cells have ids since nbformat 4.5; in an older notebook, ids would change at every build.
    for cell in notebook.get("cells", []):
        if not (identifier := cell.get("id")):
            continue
        if cell["cell_type"] == "markdown":
            cell["source"] = f"% {_MARK} {identifier}\n\n{cell['source']}"
        elif cell["cell_type"] == "code":
            cell.setdefault("metadata", {})[_METADATA] = identifier
    app.emit("polyglot-notebook-read", notebook)
    source[0] = json.dumps(notebook, ensure_ascii=False)


class AnchorCells(SphinxTransform):
    """Move the cells' ids to headings, paragraphs and code cells."""

    # Before the links of the page are resolved (879), before titles and contents are collected.
    default_priority = 700

    def apply(self, **kwargs: Any) -> None:
        """Anchor every cell, then register the anchors as targets of MyST's links."""
        self._anchors: dict[str, tuple[int, str, str]] = {}
        self._renamed: dict[str, str] = {}
        for mark in list(self.document.findall(nodes.comment)):
            if _is_mark(mark):
                self._anchor_text(mark)
        for container, metadata in code_cells(self.document):
            if identifier := metadata.get(_METADATA):
                self._register(identifier, container, "")
                container["ids"].insert(0, identifier)
        self._number_inner_headings()
        publish_anchors(self.document, self._anchors, self._renamed)

    def _register(self, identifier: str, node: nodes.Element, title: str) -> None:
        if identifier in self._anchors:
            LOGGER.warning("the cell id %r occurs twice on this page", identifier, location=node)
        self._anchors[identifier] = (node.line or 0, identifier, title)
        self.document.ids[identifier] = node

    def _anchor_text(self, mark: nodes.comment) -> None:
        identifier = mark.astext().split(_MARK, 1)[1].strip()
        target = _first_node(mark)
        if isinstance(target, nodes.section):
            self._register(identifier, target, target[0].astext())
            self._replace_ids(target, identifier)
        elif isinstance(target, _BLOCKS):
            self._register(identifier, target, "")
            target["ids"].insert(0, identifier)
        else:
            empty = nodes.target("", "", ids=[identifier])
            self._register(identifier, empty, "")
            mark.parent.insert(mark.parent.index(mark), empty)
        mark.parent.remove(mark)

    def _replace_ids(self, section: nodes.section, identifier: str) -> None:
        """Replace the id that docutils makes from a heading, which differs by language, by its cell's id."""
        names, explicit = self.document.nameids, self.document.nametypes
        kept = {old for name, old in names.items() if explicit.get(name)}
        for old in {*section["ids"]} - kept - {identifier}:
            self.document.ids.pop(old, None)
            self._renamed[old] = identifier
            names.update({name: identifier for name in names if names[name] == old})
        section["ids"] = [identifier, *(old for old in section["ids"] if old in kept)]

    def _number_inner_headings(self) -> None:
        """Number the further headings of a cell: `why-scale-2` is the second heading of `why-scale`."""
        owner, count = "", 1
        for section in self.document.findall(nodes.section):
            if section["ids"] and section["ids"][0] in self._anchors:
                owner, count = section["ids"][0], 1
            elif owner:
                count += 1
                while (identifier := f"{owner}-{count}") in self._anchors:
                    count += 1
                self._register(identifier, section, section[0].astext())
                self._replace_ids(section, identifier)


# Sphinx event: env-updated
def share_anchors(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give the headings of a translated page the anchors of the reference, if both have the same headings.

    A heading's own anchor is made from its text, which differs by language. It leads to the heading, too.
    """
    pages, changed = Pages.from_config(app.config), []
    for docname in sorted(env.found_docs):
        reference = pages.counterpart(docname, pages.reference, env.found_docs) or docname
        own, others = (list(env.tocs[each].findall(nodes.reference)) for each in (docname, reference))
        old, new = ([each["anchorname"][1:] for each in entries] for entries in (own, others))
        if old == new or [*map(_depth, own)] != [*map(_depth, others)]:
            continue
        # An anchor that leads to something else on the page remains there.
        taken = env.get_doctree(docname).ids
        new = [b if b not in taken or a == b else a for a, b in zip(old, new, strict=True)]
        if old != new:
            changed.append(docname)
            renamed, before = dict(zip(old, new, strict=True)), env.metadata[docname].get(_SHARED, {})
            before = {anchor: renamed.get(each, each) for anchor, each in before.items()}
            env.metadata[docname][_SHARED] = renamed | before
            for entry, anchor in zip(own, new, strict=True):
                entry["anchorname"] = f"#{anchor}" if anchor else ""
    return changed


def _depth(node: nodes.Node) -> int:
    return 1 + _depth(node.parent) if node.parent else 0


class ShareAnchors(SphinxPostTransform):
    """Write the anchors of the reference before the own anchors of headings."""

    default_priority = 2

    def run(self, **kwargs: Any) -> None:
        """Write them."""
        shared = self.env.metadata[self.env.docname].get(_SHARED, {})
        for section in self.document.findall(nodes.section) if shared else ():
            if anchor := next(filter(None, map(shared.get, section["ids"])), ""):
                section["ids"] = [anchor, *(each for each in section["ids"] if each != anchor)]


def _is_mark(node: nodes.Node) -> bool:
    return isinstance(node, nodes.comment) and node.astext().startswith(_MARK)


def _first_node(mark: nodes.comment) -> nodes.Node | None:
    """Return the first visible node of a cell, or None if it has none."""
    following = mark.findall(include_self=False, descend=False, ascend=True)
    first = next((each for each in following if _is_mark(each) or not isinstance(each, _INVISIBLE)), mark)
    return None if _is_mark(first) else first
