"""Gives each language its own inventory: labels, equations, citations, terms, index entries, numbers.

Sphinx has one inventory for a build, and a label that two pages have is an error. Here each language has its
own data of every domain, which is in use while a page of the language is read, resolved or written. In
between, the data of the reference language are in use: these are what Sphinx merges, checks and publishes.
"""

import copy
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.adapters.indexentries import IndexEntries
from sphinx.locale import _

from sphinx_polyglot.pages import Pages
from sphinx_polyglot.strings import in_language

# The attributes of the environment with the data of the languages not in use, and the code of the one in use.
_STORED, _IN_USE = "polyglot_inventories", "polyglot_inventory"


# Sphinx event: env-before-read-docs
def prepare(app: Sphinx, env: BuildEnvironment, docnames: list[str]) -> None:
    """Make empty inventories for the languages that have none."""
    pages = Pages.from_config(app.config)
    setattr(env, _IN_USE, pages.reference.code)
    stored = vars(env).setdefault(_STORED, {})
    for language in pages.languages.values():
        data = env.domaindata if language == pages.reference else stored.setdefault(language.code, {})
        for domain in env.domains.values():
            if domain.name not in data:
                data[domain.name] = {**copy.deepcopy(domain.initial_data), "version": domain.data_version}
        if "cite" in env.domaindata:  # sphinxcontrib-bibtex reads its files when the builder is made
            data["cite"]["bibdata"] = env.domaindata["cite"]["bibdata"]
        index = pages.page(language, "genindex"), ""
        with in_language(language):
            data["std"]["labels"]["genindex"] = (*index, _("Index"))
        data["std"]["anonlabels"]["genindex"] = index


def use(env: BuildEnvironment, docname: str = "") -> None:
    """Let all domains use the inventory of a page's language; without a page, that of the reference."""
    pages, stored = Pages.from_config(env.config), vars(env).get(_STORED)
    if stored is None:
        return
    code = (pages.language_of(docname) or pages.reference).code
    old = getattr(env, _IN_USE)
    if code == old:
        return
    names = env.config.polyglot_registries
    stored[old] = {**env.domaindata, **{name: vars(env).pop(name) for name in names if name in vars(env)}}
    new = stored[code]
    env.domaindata.update({name: new[name] for name in env.domaindata})
    domains: Any = env.domains or {}  # another process sends none
    for domain in domains.values():
        domain.data = new[domain.name]
    vars(env).update({name: new[name] for name in names if name in new})
    setattr(env, _IN_USE, code)


@contextmanager
def using(env: BuildEnvironment, docname: str = "") -> Iterator[None]:
    """Use the inventory of a page's language during a `with` statement, then the one before."""
    pages = Pages.from_config(env.config)
    before = vars(env).get(_IN_USE)
    use(env, docname)
    try:
        yield
    finally:
        if before:
            use(env, pages.home(pages.languages[before]))


# Sphinx event: env-purge-doc
def forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    """Remove what a page has entered into the inventory of its language."""
    with using(env, docname):
        for domain in env.domains.values():
            domain.clear_doc(docname)
        for name in app.config.polyglot_registries:
            entries = vars(env).get(name, {})
            for key in [key for key, entry in entries.items() if entry.get("docname") == docname]:
                del entries[key]


# Sphinx event: env-updated
def update(app: Sphinx, env: BuildEnvironment) -> None:
    """Let the domain of sphinxcontrib-bibtex number the citations of the other languages, too."""
    pages = Pages.from_config(app.config)
    for language in list(pages.languages.values())[1:] if "cite" in env.domains else ():
        with using(env, pages.home(language)):
            env.domains["cite"].env_updated()  # type: ignore[attr-defined]


# Sphinx event: missing-reference
def resolve_in_reference(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: nodes.TextElement
) -> nodes.Element | None:
    """Resolve a reference that its language lacks in the reference language."""
    pages, domain = Pages.from_config(app.config), env.domains.get(node.get("refdomain", ""))
    if domain is None or vars(env).get(_IN_USE, pages.reference.code) == pages.reference.code:
        return None
    with using(env):
        target = node["reftarget"]
        docname = node.get("refdoc", env.docname)
        return domain.resolve_xref(env, docname, app.builder, node["reftype"], target, node, contnode)


# Sphinx event: html-collect-pages
def index_pages(app: Sphinx) -> Iterable[tuple[str, dict[str, Any], str]]:
    """Return the index of each language."""
    pages, env = Pages.from_config(app.config), app.env
    for language in pages.languages.values() if app.config.html_use_index else ():
        name = pages.page(language, "genindex")
        # The links of an index are relative to the page that Sphinx would write.
        uri = partial(app.builder.get_relative_uri, name)
        builder: Any = SimpleNamespace(get_relative_uri=lambda _root, to, uri=uri: uri(to))
        with using(env, name), in_language(language):
            entries = IndexEntries(env).create_index(builder)
        counts = [sum(1 + len(subitems) for _, (_, subitems, _) in each) for _, each in entries]
        context = {"genindexentries": entries, "genindexcounts": counts, "split_index": False}
        yield name, context, "genindex.html"
