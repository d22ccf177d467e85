"""Links the names of the book's package to their entries, in the text and the code of every page."""

import ast
import re
from collections.abc import Callable
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from polyhead_course.theme.api import Api
from polyhead_course.theme.markup import ancestors
from polyhead_course.theme.reference import address, link, linkable_api
from sphinx_polyglot.internals import code_cells

# A name with dots, perhaps called.
_NAME = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)(?:\(.*\))?", re.DOTALL)
_CELL = re.compile(r'(<div class="cell_input\b[^>]*>.*?<pre>)(.*?)(?=</pre>)', re.DOTALL)
_SIGNATURE = re.compile(r'(<div class="polyglot-signature\b[^>]*>.*?<pre>)(.*?)(?=</pre>)', re.DOTALL)
# Names with dots in highlighted code, except attributes of something that is not a name.
_TOKEN = r'<span class="n[nc]?">([\w.]+)</span>'
_DOT = r'<span class="o">\.</span>'
_DOTTED = re.compile(rf"(?<!{_DOT}){_TOKEN}(?:{_DOT}{_TOKEN})*")
_PART = re.compile(rf"(?:{_DOT})?{_TOKEN}")
# `show` prints this between a module and a name, above a listing.
_SEPARATOR = " · "
_UNLINKED = (nodes.reference, nodes.title, nodes.term, nodes.rubric)


class LinkNames(SphinxPostTransform):
    """Link the inline code of a page that is nothing but a name, except in headings and links."""

    default_priority = 400
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Link the names of this page."""
        app, docname = self.env.app, self.env.docname
        api = linkable_api(app)
        if api is None or docname in app.config.polyglot_api["pages"]:
            return
        scope = Scope(api, self.document)
        entries = [(each, scope.entry(each)) for each in self.document.findall(nodes.literal)]
        for literal, path in entries:
            if path:
                link(literal, address(app, api, path, docname))


class Scope:
    """The names of a page: what its code imports from the package, and what it defines itself."""

    def __init__(self, api: Api, document: nodes.document | None) -> None:
        """Read the code of a page."""
        self._api = api
        imports: dict[str, str] = {}
        definitions: list[str] = []
        for container, _ in code_cells(document) if document is not None else ():
            for block in container.findall(nodes.literal_block):
                if "cell_input" not in block.parent.get("classes", ()):
                    continue
                for node in _statements(block.astext()):
                    if isinstance(node, ast.FunctionDef | ast.ClassDef):
                        definitions.append(node.name)
                    elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                        imports |= {
                            each.asname or each.name: f"{node.module}.{each.name}" for each in node.names
                        }
        self._paths = imports | dict.fromkeys(definitions, "")

    def path(self, name: str) -> str:
        """Return the path of a name in code, as imported; an empty one if the page itself defines it."""
        head, dot, rest = name.partition(".")
        path = self._paths.get(head, head)
        return f"{path}{dot}{rest}" if path else ""

    def entry(self, literal: nodes.literal) -> str | None:
        """Return the path of the entry that inline code names; None without one, or where no link may be."""
        match = _NAME.fullmatch(literal.astext())
        around = list(ancestors(literal))
        if match is None or any(isinstance(each, _UNLINKED) for each in around):
            return None
        name, index = match[1], literal.parent.index(literal)
        if index > 1 and literal.parent[index - 1].astext() == _SEPARATOR:
            return self._api.find(f"{literal.parent[index - 2].astext()}.{name}")
        # The words of a cell's output are seldom names of the package.
        if "." not in name and any("cell_output" in each.get("classes", ()) for each in around):
            return None
        if not (imported := self.path(name)):
            return None
        path = self._api.find(imported) or self._api.find(f"{self._api.package.path}.{name}")
        # A single word that is also a module's name mostly means something else.
        return path if "." in name or path not in self._api.modules else None


def _statements(code: str) -> list[ast.stmt]:
    try:
        return ast.parse(code).body
    except SyntaxError:  # a magic of IPython
        return []


def link_code(app: Sphinx, pagename: str, body: str, doctree: nodes.document | None) -> str:
    """Link the names in the code cells of a page, and the types in signatures."""
    api = linkable_api(app)
    if api is None:
        return body
    find: Callable[[str], str | None]
    if pagename in app.config.polyglot_api["pages"]:
        pattern, find = _SIGNATURE, _types(api).get
    else:
        pattern, scope = _CELL, Scope(api, doctree)

        def find(name: str) -> str | None:
            return api.find(scope.path(name))

    def link_name(match: re.Match[str]) -> str:
        """Link the longest part of a dotted name that has an entry; of a module, only the whole name."""
        parts = list(_PART.finditer(match[0]))
        for count in range(len(parts), 0, -1):
            path = find(".".join(part[1] for part in parts[:count]))
            if path and (count == len(parts) or path not in api.modules):
                end = parts[count - 1].end()
                return f'<a href="{address(app, api, path, pagename)}">{match[0][:end]}</a>{match[0][end:]}'
        return match[0]

    return pattern.sub(lambda code: code[1] + _DOTTED.sub(link_name, code[2]), body)


def _types(api: Api) -> dict[str, str]:
    """Return the paths of classes and type aliases by name, without names that several modules share."""
    paths_of: dict[str, list[str]] = {}
    for path in api.pages:
        name = path.rpartition(".")[2]
        if name[:1].isupper():
            paths_of.setdefault(name, []).append(path)
    exported = {name: f"{api.package.path}.{name}" for name in paths_of}
    return {
        name: exported[name] if exported[name] in paths else paths[0]
        for name, paths in paths_of.items()
        if len(paths) == 1 or exported[name] in paths
    }
