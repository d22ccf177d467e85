"""The directive `api-reference`: public names of the book's package, from their docstrings."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError as SphinxConfigError
from sphinx.util.docutils import SphinxDirective

from polyhead_course.theme import docstrings
from polyhead_course.theme.library import Entry, Library, Section

# What the environment remembers of the names that chapters link to.
_SEEN = "polyglot_reference"
_RUBRICS = {"Args": "Arguments"}


@dataclass(frozen=True)
class Reference:
    """The pages of a package's names.

    Attributes:
        pages: The pages, each with the modules that stand on it; what else is exported stands on the last.
        library: The package.
    """

    pages: Mapping[str, Collection[str]]
    library: Library

    @classmethod
    def from_config(cls, config: Config, confdir: str | Path) -> Reference | None:
        """Read Sphinx's configuration; None where the book has no such page."""
        wanted = config.polyglot_api
        if not wanted:
            return None
        if wanted.keys() != {"packages", "pages"} or not isinstance(wanted["pages"], dict):
            raise SphinxConfigError(f"polyglot_api: expected packages, and pages with modules, got {wanted}")
        modules = [each for listed in wanted["pages"].values() for each in listed]
        return cls(
            wanted["pages"], _library(tuple(Path(confdir, each) for each in wanted["packages"]), *modules)
        )

    def page_of(self, path: str) -> str:
        """Give the page on which an entry stands."""
        section = self.library.section_of(path)
        asked = {each: docname for docname, listed in self.pages.items() for each in listed}
        inside = (docname for each, docname in asked.items() if each.startswith(f"{section}."))
        return asked.get(section) or next(inside, [*self.pages][-1])

    def address(self, app: Sphinx, docname: str, path: str) -> str:
        """Give the address of an entry, as a page links to it."""
        page = self.page_of(path)
        return f"{app.builder.get_relative_uri(docname, page) if page != docname else ''}#{path}"

    def ready(self, app: Sphinx) -> bool:
        """Whether the book has all of the pages."""
        return app.env.found_docs >= set(self.pages)


@lru_cache(maxsize=1)
def _library(roots: tuple[Path, ...], *modules: str) -> Library:
    """Read the package once in a build."""
    try:
        return Library(roots, modules)
    except (ValueError, SyntaxError) as error:
        raise SphinxConfigError(f"polyglot_api: {error}") from None


# Sphinx event: config-inited (before the languages are read)
def share_pages(app: Sphinx, config: Config) -> None:
    """Let the pages of names be there once, for the readers of all languages."""
    config.polyglot_shared = [*config.polyglot_shared, *config.polyglot_api.get("pages", ())]


# Sphinx event: env-updated
def refresh_links(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Have every page written again where names have come, gone or moved, since any may link to them."""
    found = Reference.from_config(app.config, app.confdir)
    now = sorted((path, found.page_of(path)) for path in found.library.paths) if found else []
    before = getattr(env, _SEEN, None)
    setattr(env, _SEEN, now)
    return [] if before in (None, now) else sorted(env.found_docs)


class ApiReference(SphinxDirective):
    """List the modules of this page, in each its names; before the first of all, what the package says."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        reference = Reference.from_config(self.config, self.env.app.confdir)
        here = self.env.docname
        if reference is None or here not in reference.pages:
            raise self.error(f"polyglot_api: pages: expected {here}, where names stand")
        if not reference.ready(self.env.app):
            raise self.error(f"polyglot_api: expected all of {', '.join(reference.pages)} in the book")
        writer = _Writer(self.env.app, reference, here)
        library = reference.library
        for file in library.files:
            self.env.note_dependency(str(file))
        made: list[nodes.Node] = []
        if here == next(iter(reference.pages)):
            made += _documented(library.doc, writer.names(library.name))
        return made + [
            writer.module(each) for each in library.sections if reference.page_of(each.path) == here
        ]


class _Names:
    """What names in a docstring mean: those of its module, and those that the package exports."""

    def __init__(self, writer: _Writer, module: str, entry: Entry | None = None) -> None:
        self._writer, self._module = writer, module
        self._own = entry.path if entry else ""
        self._parameters: Collection[str] = entry.parameters if entry else ()

    def code(self, text: str) -> nodes.Node:
        literal = nodes.literal(text, text)
        name = text.partition("(")[0]
        if name in self._parameters:
            return literal
        library = self._writer.reference.library
        paths = (name, f"{self._module}.{name}", f"{library.name}.{name}")
        found = next(filter(None, map(library.find, paths)), None)
        return literal if found in (None, self._own) else self._writer.linked(found, literal)


@dataclass(frozen=True)
class _Writer:
    """Writes what stands on a page.

    Attributes:
        app: The build.
        reference: The pages.
        docname: The page.
    """

    app: Sphinx
    reference: Reference
    docname: str

    def names(self, module: str, entry: Entry | None = None) -> _Names:
        return _Names(self, module, entry)

    def linked(self, path: str | None, literal: nodes.literal) -> nodes.Node:
        return linked(self.reference.address(self.app, self.docname, path), literal) if path else literal

    def module(self, module: Section) -> nodes.section:
        section = _section(module.path, module.path, "polyglot-module")
        section += _documented(module.doc, self.names(module.path))
        section += [self._entry(entry) for entry in module.entries]
        return section

    def _entry(self, entry: Entry) -> nodes.section:
        section = _section(entry.path, entry.name, "polyglot-entry")
        section += _signature(entry)
        names = self.names(entry.module, entry)
        if entry.bases:
            parts: list[nodes.Node] = [nodes.Text("Base: ")]
            for base in entry.bases:
                found = self.reference.library.find(base)
                parts += [nodes.Text(", ")] * (len(parts) > 1)
                parts.append(self.linked(found, nodes.literal(base, base)))
            section += nodes.paragraph("", "", *parts)
        fields = [each.name for each in entry.fields]
        told = [node for doc in entry.docs for node in _documented(doc, names, fields)]
        # Where it is from stands last, behind what its parameters are.
        section += sorted(told, key=lambda node: node.astext().startswith("Source:"))
        commented = [(each.name, each.comment) for each in entry.fields if each.comment]
        if commented:
            section += [nodes.rubric("", "Attributes"), _definitions(commented, names)]
        for method in entry.methods:
            box = nodes.container(ids=[method.path], classes=["polyglot-method"])
            box += _signature(method)
            for doc in method.docs:
                box += _documented(doc, self.names(method.module, method))
            section += box
        return section


def linked(address: str, literal: nodes.literal) -> nodes.reference:
    """Let code lead to the entry of what it names."""
    return nodes.reference("", "", literal, refuri=address, internal=True, classes=["polyglot-name"])


def _section(identifier: str, name: str, kind: str) -> nodes.section:
    title = nodes.title("", "", nodes.literal(name, name))
    return nodes.section("", title, ids=[identifier], classes=[kind])


def _signature(entry: Entry) -> nodes.literal_block:
    return nodes.literal_block(
        entry.signature, entry.signature, language="python", classes=["polyglot-signature"]
    )


def _documented(doc: str, names: _Names, fields: Collection[str] = ()) -> Iterator[nodes.Node]:
    if not doc:
        return
    for block in docstrings.blocks(doc, fields):
        if block.kind == "code":
            yield nodes.literal_block(block.text, block.text, language="python")
        elif block.kind == "heading":
            yield nodes.rubric("", _RUBRICS.get(block.text, block.text))
        elif block.kind == "names":
            yield _definitions(block.items, names)
        elif block.kind == "points":
            items = [nodes.list_item("", _paragraph(text, names)) for _, text in block.items]
            yield nodes.bullet_list("", *items)
        else:
            yield _paragraph(block.text, names)


def _definitions(items: Collection[tuple[str, str]], names: _Names) -> nodes.definition_list:
    made = nodes.definition_list()
    for name, text in items:
        term = nodes.term()
        for number, each in enumerate(name.split(", ")):
            term += [nodes.Text(", ")] * bool(number) + [nodes.literal(each, each)]
        made += nodes.definition_list_item("", term, nodes.definition("", _paragraph(text, names)))
    return made


def _paragraph(text: str, names: _Names) -> nodes.paragraph:
    made = nodes.paragraph()
    for kind, part in docstrings.inlines(text):
        if kind == "code":
            made += names.code(part)
        elif kind == "url":
            # The theme draws an icon, which no font here has, at an address that is its own text.
            made += nodes.reference("", part.partition("://")[2], refuri=part)
        elif kind == "emphasis":
            made += nodes.emphasis("", part)
        else:
            made += nodes.Text(part)
    return made
