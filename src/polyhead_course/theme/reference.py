"""The directive `api-reference`: the public names of the book's package, with their docstrings."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import griffe
from docutils import nodes
from griffe import DocstringSectionKind as Kind
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.errors import ConfigError as SphinxConfigError
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from polyhead_course.theme.api import Api, Section, docstrings_of, methods_of, parameters_of, signature_of

# The attribute of the environment with the page of each name, as of the last build.
_PAGES = "polyglot_api_pages"
_OPTIONS = griffe.GoogleOptions(returns_multiple_items=False, warn_missing_types=False)
_HEADINGS = {Kind.parameters: "Arguments"}
# What docstrings have beyond Markdown: examples without a fence, and bare addresses. Code stays as it is.
_EXTENSIONS = re.compile(
    r"^```[\s\S]*?^```|`[^`]+`|(?P<example>^>>> .*(?:\n.+)*)|https?://(?P<address>[^\s)>\]]*[^\s)>\].,;:])",
    re.MULTILINE,
)


def configured_api(config: Config, confdir: str | Path) -> Api | None:
    """Read the packages that the configuration names, once in a build; None if it names none."""
    settings = config.polyglot_api
    if settings and "_polyglot_api" not in vars(config):
        pages = settings.get("pages")
        if settings.keys() != {"packages", "pages"} or not (isinstance(pages, dict) and pages):
            raise SphinxConfigError(
                f"polyglot_api: expected packages, and pages with modules, got {settings}"
            )
        griffe.patch_loggers(logging.getLogger)  # its warnings are warnings of the build
        try:
            api = Api([Path(confdir, each) for each in settings["packages"]], pages)
        except (ValueError, SyntaxError, griffe.GriffeError) as error:
            raise SphinxConfigError(f"polyglot_api: {error}") from None
        vars(config)["_polyglot_api"] = api  # such a name is not stored with the environment
    return vars(config).get("_polyglot_api")


def linkable_api(app: Sphinx) -> Api | None:
    """Return the configured API if the book has all of its pages."""
    api = configured_api(app.config, app.confdir)
    return api if api and app.env.found_docs >= set(app.config.polyglot_api["pages"]) else None


def address(app: Sphinx, api: Api, path: str, docname: str) -> str:
    """Return the address of an entry, relative to the page that links to it."""
    page = api.pages[path]
    return f"{app.builder.get_relative_uri(docname, page) if page != docname else ''}#{path}"


def link(literal: nodes.literal, address: str) -> None:
    """Turn code into a link."""
    literal.replace_self(
        nodes.reference("", "", literal.deepcopy(), refuri=address, internal=True, classes=["polyglot-name"])
    )


# Sphinx event: config-inited (before the build starts processes, so that each of them has the packages)
def configure(app: Sphinx, config: Config) -> None:
    """Read the packages, and add the pages of names to those that readers of all languages share."""
    configured_api(config, app.confdir)
    config.polyglot_shared = [*config.polyglot_shared, *config.polyglot_api.get("pages", ())]


# Sphinx event: env-updated
def refresh_links(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Write every page again if names have come, gone or moved, since any page may link to them."""
    api = configured_api(app.config, app.confdir)
    pages = api.pages if api else {}
    before = getattr(env, _PAGES, None)
    setattr(env, _PAGES, pages)
    return [] if before in (None, pages) else sorted(env.found_docs)


class ApiReference(SphinxDirective):
    """List the modules of this page and their names; on the first page, after the package's docstring."""

    def run(self) -> list[nodes.Node]:
        """Make the sections."""
        app, docname = self.env.app, self.env.docname
        pages = [*self.config.polyglot_api.get("pages", ())]
        api = linkable_api(app)
        if api is None or docname not in pages:
            raise self.error(f"polyglot_api: expected pages of the book, among them {docname}, got {pages}")
        self.api = api
        for file in api.files:
            self.env.note_dependency(str(file))
        docs = self._docs(api.package) if docname == pages[0] else []
        return [*docs, *(self._module(each) for each in api.sections if each.page == docname)]

    def _module(self, section: Section) -> nodes.section:
        path = section.module.path
        entries = (self._entry(*each) for each in section.entries.items())
        return _section(path, path, "polyglot-module", [*self._docs(section.module), *entries])

    def _entry(self, path: str, entry: griffe.Object) -> nodes.section:
        content: list[nodes.Node] = [_signature(entry, entry.name if entry.is_attribute else path)]
        if bases := self.api.bases(entry):
            paragraph = nodes.paragraph("", "Base: ")
            for number, base in enumerate(bases):
                paragraph += [nodes.Text(", ")] * bool(number) + [nodes.literal(base, base)]
            content.append(paragraph)
            self._link_names(paragraph, entry)
        # The source of a class comes after what its `__init__` documents.
        content += sorted(self._docs(entry), key=lambda node: node.astext().startswith("Source:"))
        for method in methods_of(entry):
            parts = [_signature(method, method.name), *self._docs(method)]
            content.append(
                nodes.container("", *parts, ids=[f"{path}.{method.name}"], classes=["polyglot-method"])
            )
        return _section(path, entry.name, "polyglot-entry", content)

    def _docs(self, entry: griffe.Object) -> list[nodes.Node]:
        """Render the docstrings of a module, a name or a method."""
        sections = [each for text in docstrings_of(entry) for each in text.parse("google", **_OPTIONS)]
        content = nodes.container("", *(node for each in sections for node in self._docstring_section(each)))
        for code in content.findall(nodes.literal_block):
            if code["language"] == "none":  # indented, and Markdown cannot say what it is
                code["language"] = "python"
        self._link_names(content, entry)
        return content.children

    def _docstring_section(self, section: griffe.DocstringSection) -> Iterator[nodes.Node]:
        if section.kind is Kind.text:
            yield from self._markdown(section.value)
            return
        title = section.title or _HEADINGS.get(section.kind, section.kind.value.capitalize())
        if section.kind is Kind.admonition and title.lower().replace(" ", "-") != section.value.kind:
            # "Source: Euclid," and an indented line: a paragraph, but to griffe a heading with a title.
            first = f"{section.value.kind.capitalize()}: {title}"
            yield from self._markdown(f"{first}\n{section.value.contents}")
            return
        yield nodes.rubric("", title)
        if section.kind is Kind.admonition:  # any other heading, such as "Note:" or "Example:"
            yield from self._markdown(section.value.contents)
        elif section.kind is Kind.examples:
            yield from self._markdown("\n\n".join(text for _, text in section.value))
        elif section.kind in {Kind.returns, Kind.yields}:
            for each in section.value:
                yield from self._markdown(
                    f"{each.name}: {each.description}" if each.name else each.description
                )
        else:
            definitions = nodes.definition_list()
            for each in section.value:
                name = getattr(each, "name", None) or str(each.annotation)
                definitions += nodes.definition_list_item(
                    "",
                    nodes.term("", "", nodes.literal(name, name)),
                    nodes.definition("", *self._markdown(each.description)),
                )
            yield definitions

    def _markdown(self, text: str) -> list[nodes.Node]:
        def markdown(match: re.Match[str]) -> str:
            if match["example"]:
                return f"```python\n{match[0]}\n```"
            # The theme draws an icon, which no font here has, at an address that is its own text.
            return f"[{match['address']}](<{match[0]}>)" if match["address"] else match[0]

        return self.parse_text_to_nodes(_EXTENSIONS.sub(markdown, text))

    def _link_names(self, content: nodes.Element, entry: griffe.Object) -> None:
        """Link the code that names something of the entry's module or of the package."""
        parameters = {each.name for each in parameters_of(entry)}
        for literal in [*content.findall(nodes.literal)]:
            name = literal.astext().partition("(")[0]
            if name in parameters or isinstance(literal.parent, nodes.term):
                continue
            paths = (name, f"{entry.module.path}.{name}", f"{self.api.package.path}.{name}")
            path = next(filter(None, map(self.api.find, paths)), None)
            if path and path != self.api.find(entry.path):
                link(literal, address(self.env.app, self.api, path, self.env.docname))


def _section(identifier: str, name: str, kind: str, content: Iterable[nodes.Node]) -> nodes.section:
    title = nodes.title("", "", nodes.literal(name, name))
    return nodes.section("", title, *content, ids=[identifier], classes=[kind])


def _signature(entry: griffe.Object, name: str) -> nodes.literal_block:
    text = signature_of(entry, name)
    return nodes.literal_block(text, text, language="python", classes=["polyglot-signature"])
