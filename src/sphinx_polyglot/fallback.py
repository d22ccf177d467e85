"""Fills the gaps of a language: a page that it lacks is made from the source of the reference language.

Such a page has its language's address, sidebar and interface, a note above the text, and the labels that
other pages refer to. Files that it names, such as images, are those of the reference language.
"""

import os
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.environment import BuildEnvironment
from sphinx.environment.collectors.toctree import TocTreeCollector

from polyglot_book.config import Language
from sphinx_polyglot.internals import replace_doctree
from sphinx_polyglot.inventories import using
from sphinx_polyglot.pages import Pages

_CLASS = "polyglot-untranslated"


class Environment(BuildEnvironment):
    """An environment of several languages, in which a page may have the source of another page."""

    polyglot_fallbacks: frozenset[str] = frozenset()
    polyglot_changed: frozenset[str] = frozenset()

    def find_files(self, config: Config, builder: Any) -> None:
        """Find all pages, then add those that languages lack."""
        super().find_files(config, builder)
        pages, project = Pages.from_config(config), self.project
        translations = list(pages.languages.values())[1:] if config.polyglot_fallback else []
        sources = {
            pages.page(language, docname.removeprefix(pages.page(pages.reference, ""))): docname
            for docname in sorted(self.found_docs - {*pages.shared})
            if pages.language_of(docname) == pages.reference
            for language in translations
        }
        fallbacks = frozenset(sources.keys() - self.found_docs)
        for docname in fallbacks:
            project.docnames.add(docname)
            project._docname_to_path[docname] = project._docname_to_path[sources[docname]]
        # A page that has become translated may be older than the last build.
        self.polyglot_changed = fallbacks ^ self.polyglot_fallbacks
        self.polyglot_fallbacks = fallbacks

    def relfn2path(self, filename: str, docname: str | None = None) -> tuple[str, str]:
        """Return the path of a file; if a translated page's folder lacks it, of the reference language's."""
        relative, absolute = super().relfn2path(filename, docname)
        pages = Pages.from_config(self.config)
        language = pages.language_of(str(relative))
        if language in (None, pages.reference) or os.path.exists(absolute):
            return relative, absolute
        other = str(relative).replace(pages.page(language, ""), pages.page(pages.reference, ""), 1)
        exists = os.path.exists(os.path.join(self.srcdir, other))
        return super().relfn2path(f"/{other}") if exists else (relative, absolute)

    def path2doc(self, filename: str | os.PathLike[str]) -> str | None:
        """Return the page of a file: for a file of the reference language, that of the page's language."""
        docname = super().path2doc(filename)
        pages, current = Pages.from_config(self.config), self.temp_data.get("docname")
        language = pages.language_of(current) if current else None
        if docname and language and pages.language_of(docname) == pages.reference != language:
            counterpart = pages.counterpart(docname, language, self.found_docs)
            if counterpart and {current, counterpart} & self.polyglot_fallbacks:
                return counterpart
        return docname

    def merge_info_from(self, docnames: list[str], other: BuildEnvironment, app: Sphinx) -> None:
        """Add what another process has read, one language after the other."""
        pages = Pages.from_config(app.config)
        for language in pages.languages.values():
            home = pages.home(language)
            own = [each for each in docnames if (pages.language_of(each) or pages.reference) == language]
            with using(self, home), using(other, home):
                super().merge_info_from(own, other, app)

    def collect_relations(self) -> dict[str, list[str | None]]:
        """Find the neighbours of all pages, also where the first page of all leads to one language only."""
        pages, relations = Pages.from_config(self.config), super().collect_relations()
        for start in map(pages.home, pages.languages.values()):
            if start in self.found_docs and start not in relations:
                self.config.root_doc = start
                relations = super().collect_relations() | relations
        self.config.root_doc = pages.root
        return relations


# Sphinx event: builder-inited
def install(app: Sphinx) -> None:
    """Let the environment add pages.

    Not public: the attribute `_docname_to_path` of the project, which tells the source of a page.
    """
    app.env.__class__ = Environment


# Sphinx event: env-get-outdated
def outdated(
    app: Sphinx, env: Environment, added: set[str], changed: set[str], removed: set[str]
) -> list[str]:
    """Return the pages that have become translated, and those whose contents list a removed page.

    First pages that share their contents are read together.
    """
    pages = Pages.from_config(app.config)
    parents = {parent for parent, children in env.toctree_includes.items() if removed & {*children}}
    firsts = {pages.home(each) for each in pages.languages.values()}
    shared = firsts if pages.root in firsts and firsts & {*added, *changed, *parents} else set()
    return [*(env.polyglot_changed | parents | shared) & env.found_docs]


# Sphinx event: env-updated
def share_contents(app: Sphinx, env: Environment) -> list[str]:
    """Move what the first page of a book lists of other languages to the first pages of these.

    Without a page above all languages, Sphinx begins at the first page of the reference language.
    """
    pages, changed = Pages.from_config(app.config), []
    if pages.root != pages.home(pages.reference):
        return []
    first = env.get_doctree(pages.root)
    toctrees = list(first.findall(addnodes.toctree))
    for language in list(pages.languages.values())[1:]:
        home = pages.home(language)
        moved = [_taken_from(toctree, home, pages, language) for toctree in toctrees]
        if home in env.found_docs and any(each["entries"] for each in moved):
            doctree = env.get_doctree(home)
            for toctree in moved:
                if toctree["entries"]:
                    _append(doctree, toctree)
            _store(app, home, doctree)
            env.metadata[home]["orphan"] = True  # the switcher leads to it
            changed.append(home)
    if changed:
        for toctree in toctrees:
            if not toctree["entries"]:
                toctree.parent.remove(toctree)
        _store(app, pages.root, first)
        changed.append(pages.root)
    return changed


def _taken_from(toctree: nodes.Element, home: str, pages: Pages, language: Language) -> nodes.Element:
    """Take a language's pages out of a part of the contents; return them as a part of their first page."""
    own = [each for each in toctree["entries"] if pages.language_of(str(each[1])) == language]
    moved = toctree.deepcopy()
    moved["parent"], moved["entries"] = home, [each for each in own if each[1] != home]
    toctree["entries"] = [each for each in toctree["entries"] if each not in own]
    for part in (toctree, moved):
        names = {name for _, name in part["entries"]}
        part["includefiles"] = [each for each in part["includefiles"] if each in names]
    return moved


def _append(doctree: nodes.document, toctree: nodes.Element) -> None:
    """Add a part of the contents at the end of a page."""
    section = doctree[-1] if isinstance(doctree[-1], nodes.section) else doctree
    section.append(nodes.compound("", toctree, classes=["toctree-wrapper"]))


# Sphinx event: env-updated
def complete_contents(app: Sphinx, env: Environment) -> list[str]:
    """Mark the pages that fall back in all contents; add those that no contents of their language list."""
    pages, changed = Pages.from_config(app.config), []
    for docname in env.polyglot_fallbacks:
        for number, reference in enumerate(env.tocs[docname].findall(nodes.reference)):
            mark = [] if number else [_CLASS]  # the title, not the headings below it
            reference["classes"] = [*mark, f"language-{pages.reference.code}"]
    listed = {child for children in env.toctree_includes.values() for child in children}
    missing = env.polyglot_fallbacks - listed
    for parent in [*env.toctree_includes] if missing else ():
        if pages.language_of(parent) != pages.reference:
            continue
        for language in list(pages.languages.values())[1:]:
            own = pages.counterpart(parent, language, env.found_docs)
            children = [pages.counterpart(each, language, missing) for each in env.toctree_includes[parent]]
            if own and any(children):
                _add_entries(app, parent, own, missing)
                changed.append(own)
    return changed


def _add_entries(app: Sphinx, parent: str, own: str, missing: frozenset[str]) -> None:
    """Add missing pages to the contents of a page, each after the page that it follows in the reference."""
    pages, env, doctree = Pages.from_config(app.config), app.env, app.env.get_doctree(own)
    language = pages.language_of(own) or pages.reference
    targets = list(doctree.findall(addnodes.toctree))
    for number, toctree in enumerate(env.get_doctree(parent).findall(addnodes.toctree)):
        if number < len(targets):
            target = targets[number]
        else:
            target = toctree.deepcopy()
            target["parent"], target["entries"] = own, []
            _append(doctree, target)
        position = 0
        for title, docname in toctree["entries"]:
            counterpart = pages.counterpart(str(docname), language, env.found_docs)
            names = [each for _, each in target["entries"]]
            if counterpart in missing and counterpart not in names:
                target["entries"].insert(position, (title, counterpart))
                position += 1
            elif counterpart in names:
                position = names.index(counterpart) + 1
        target["includefiles"] = [each for _, each in target["entries"] if each in env.found_docs]
    _store(app, own, doctree)


def _store(app: Sphinx, docname: str, doctree: nodes.document) -> None:
    """Store a page whose contents have changed."""
    collector = TocTreeCollector()
    collector.clear_doc(app, app.env, docname)
    app.env.prepare_settings(docname)
    collector.process_doc(app, doctree)
    app.env.temp_data.clear()
    replace_doctree(app, docname, doctree)
