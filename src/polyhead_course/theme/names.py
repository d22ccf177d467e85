"""Lets the names of the book's package lead to their entries, in the text and the code of every page."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterator
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from polyhead_course.theme.library import Library
from polyhead_course.theme.reference import Reference, linked
from sphinx_polyglot.private import code_cells

# A name, perhaps of something in something else, perhaps called.
_NAMED = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(.*\))?", re.DOTALL)
_CELL = re.compile(r'(<div class="cell_input\b[^>]*>.*?<pre>)(.*?)(?=</pre>)', re.DOTALL)
_SIGNATURE = re.compile(r'(<div class="polyglot-signature\b[^>]*>.*?<pre>)(.*?)(?=</pre>)', re.DOTALL)
# Names in highlighted code, with dots between them, that are not part of something before them.
_TOKEN = r'<span class="n[nc]?">([\w.]+)</span>'
_DOT = r'<span class="o">\.</span>'
_CHAIN = re.compile(rf"(?<!{_DOT}){_TOKEN}(?:{_DOT}{_TOKEN})*")
_PART = re.compile(rf"(?:{_DOT})?{_TOKEN}")
# Most code neither imports names nor defines any.
_TELLING = re.compile(r"^(from|def|class) ", re.MULTILINE)
# What stands between a module and a name of it, above a listing.
_BEHIND = " · "
_NO_PLACE = (nodes.reference, nodes.title, nodes.term, nodes.rubric)


class LinkNames(SphinxPostTransform):
    """Link the code in a page's text that is nothing but a name; headings and links stay as they are."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Link the names of this page."""
        reference = Reference.from_config(self.config, self.env.app.confdir)
        docname = self.env.docname
        if reference is None or docname in reference.pages or not reference.ready(self.env.app):
            return
        scope = Scope(reference.library, self.document)
        found = [(each, scope.path_of(each)) for each in self.document.findall(nodes.literal)]
        for literal, path in found:
            if path:
                address = reference.address(self.env.app, docname, path)
                literal.replace_self(linked(address, literal.deepcopy()))


def around(node: nodes.Node) -> Iterator[nodes.Element]:
    """Give what a node stands in, from the inside out."""
    while node.parent is not None:
        node = node.parent
        yield node


class Scope:
    """What names mean on a page: what its code imports from the package, and what it defines itself."""

    def __init__(self, library: Library, document: nodes.document | None) -> None:
        """Read the code of a page."""
        self._library = library
        self._modules = {each.path for each in library.sections}
        self._imported: dict[str, str] = {}
        self._own: set[str] = set()
        for container, _ in code_cells(document) if document is not None else ():
            for block in container.findall(nodes.literal_block):
                if "cell_input" in block.parent.get("classes", ()):
                    self._read(block.astext())

    def _read(self, code: str) -> None:
        if not _TELLING.search(code):
            return
        try:
            statements = ast.parse(code).body
        except SyntaxError:  # what only IPython understands
            return
        for node in statements:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                self._own.add(node.name)
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for each in node.names:
                    self._imported[each.asname or each.name] = f"{node.module}.{each.name}"

    def imported(self, name: str) -> str:
        """Give the path of a name in code: what it was imported as, the name itself elsewhere."""
        head, dot, rest = name.partition(".")
        return f"{self._imported.get(head, head)}{dot}{rest}" if head not in self._own else ""

    def path_of(self, literal: nodes.literal) -> str | None:
        """Give the path of the entry that code in the text names, where a link can stand."""
        named = _NAMED.fullmatch(literal.astext())
        places = list(around(literal))
        if named is None or any(isinstance(each, _NO_PLACE) for each in places):
            return None
        name, place = named[1], literal.parent.index(literal)
        if place > 1 and literal.parent[place - 1].astext() == _BEHIND:
            return self._library.find(f"{literal.parent[place - 2].astext()}.{name}")
        # What a cell prints has its own words for things.
        if "." not in name and any("cell_output" in each.get("classes", ()) for each in places):
            return None
        if name.split(".")[0] in self._own:
            return None
        path = self._library.find(self.imported(name)) or self._library.find(f"{self._library.name}.{name}")
        # A word that is also a module's name mostly means something else.
        return path if path not in self._modules or "." in name else None


# Sphinx event: html-page-context (before the body is made lighter)
def link_code(
    app: Sphinx, pagename: str, templatename: str, context: dict[str, Any], doctree: nodes.document | None
) -> None:
    """Link the names in the code of a page's cells, and the types in signatures."""
    reference = Reference.from_config(app.config, app.confdir)
    if reference is None or "body" not in context or not reference.ready(app):
        return
    library = reference.library
    modules = {each.path for each in library.sections}
    find: Callable[[str], str | None]
    if pagename in reference.pages:
        pattern, find = _SIGNATURE, _types(library).get
    else:
        pattern, scope = _CELL, Scope(library, doctree)

        def find(name: str) -> str | None:
            return library.find(scope.imported(name))

    def address(path: str) -> str:
        return reference.address(app, pagename, path)

    def link(code: re.Match[str]) -> str:
        return code[1] + _CHAIN.sub(lambda names: _link(names, find, address, modules), code[2])

    context["body"] = pattern.sub(link, context["body"])


def _types(library: Library) -> dict[str, str]:
    """Give the classes and kinds whose names mean one thing alone."""
    ends: dict[str, list[str]] = {}
    for path in library.paths:
        name = path.rpartition(".")[2]
        if name[:1].isupper():
            ends.setdefault(name, []).append(path)
    exported = {name: f"{library.name}.{name}" for name in ends}
    return {
        name: exported[name] if exported[name] in paths else paths[0]
        for name, paths in ends.items()
        if len(paths) == 1 or exported[name] in paths
    }


def _link(
    names: re.Match[str],
    find: Callable[[str], str | None],
    address: Callable[[str], str],
    modules: Collection[str],
) -> str:
    """Link as many parts of a dotted name as have an entry together; a module only where nothing follows."""
    parts = list(_PART.finditer(names[0]))
    for count in range(len(parts), 0, -1):
        path = find(".".join(part[1] for part in parts[:count]))
        if path and (count == len(parts) or path not in modules):
            end = parts[count - 1].end()
            return f'<a href="{address(path)}">{names[0][:end]}</a>{names[0][end:]}'
    return names[0]
