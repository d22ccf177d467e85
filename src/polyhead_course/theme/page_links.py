"""The links of a page: downloads in its header, in its footer licences, citation and reports of errors.

The downloads are the page's notebook, a copy for students, its exercises on a sheet of paper, links to Colab
and Binder, on the published site also the slides of the chapter, all figures, and the PDF. This module writes
the copies, into a folder of the site. `make pages` publishes this folder also as the branch of the same name,
since Colab opens notebooks only from a repository; Binder runs the repository itself.
"""

import json
import re
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ConfigError
from sphinx.transforms.post_transforms import SphinxPostTransform

from polyglot_book.config import Language, problems
from polyglot_book.contents import overview
from polyglot_book.ipynb import read_notebook, write_notebook
from polyhead_course.handouts.copies import LAB, has_solutions, install_code, reader_copy, student_copy
from sphinx_polyglot.pages import Pages, site_address, source_file
from sphinx_polyglot.strings import translate

_FOLDER = "notebooks"
_GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
# Where the wheels are if the site does not know its address; in a browser, `notebook.js` writes it there.
_BESIDE = 'Path.cwd().as_uri() + "/"'
_ABOUT = (
    "The first cell installs the course's packages where they are missing: from the website, if you "
    "downloaded this notebook there; else from files beside the notebook, which the website and "
    "`make wheels` have: %s."
)
_SCHEMA = json.loads(Path(__file__).with_name("rights.json").read_bytes())


# Sphinx event: config-inited
def check_rights(app: Sphinx, config: Config) -> None:
    """Raise a `ConfigError` for wrong licences before anything is read."""
    if wrong := problems(config.polyglot_rights, _SCHEMA):
        raise ConfigError(f"polyglot_rights: {wrong[0]}")


class Entry(NamedTuple):
    """An entry of the menu: a file to download, or a link if it has no filename."""

    label: str
    href: str
    filename: str = ""


def downloads_of(app: Sphinx, pagename: str) -> list[Entry]:
    """Write the copies of a page's notebook, and return the entries of its menu.

    A language's first page has no copies: its code reads the notebooks beside it.
    """
    entries: list[Entry] = []
    pages = Pages.from_config(app.config)
    own = pages.language_of(pagename)
    if own is None or pagename not in app.env.found_docs:
        return entries
    path, root = Path(app.env.doc2path(pagename)), "../" * pagename.count("/")
    published = bool(github_name(app.config) and site_address(app.config))
    if path.suffix == ".ipynb" and pagename != pages.home(own):
        names = _write_copies(app, pages, own, path)
        entries += [Entry(label, f"{root}{_FOLDER}/{name}", name) for label, name in names.items()]
        if len(names) > 1:  # it has exercises
            entries.append(Entry(translate("Exercises to print"), "?sheet"))
        if published:
            entries += _launch_links(app.config, own, path.stem, entries[0].filename)
    has_slides = any(entry.filename.endswith("-student.ipynb") for entry in entries)
    return entries + made_of_site(app.config, own, root, path.stem if has_slides else "")


def made_of_site(config: Config, language: Language, root: str, stem: str = "") -> list[Entry]:
    """Return links to what `make pages` makes of the site: a chapter's slides, all figures, the PDF."""
    if not (github_name(config) and site_address(config)):
        return []
    book = f"{Pages.from_config(config).reference.slug}-{language.code}"
    files = [
        ("handouts", "All figures (SVG, PNG)", f"{book}-figures.zip"),
        ("pdf", "All chapters (PDF)", f"{book}.pdf"),
    ]
    if stem:
        files.insert(0, ("handouts", "Slides", f"{book}-{stem}-slides.html"))
    return [Entry(translate(label), f"{root}{folder}/{name}", name) for folder, label, name in files]


class ChapterFiles(SphinxPostTransform):
    """In an admonition of the class `chapter-files` list each chapter's exercises to print and slides."""

    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Put the list in place of the text, which is for readers of the notebook."""
        docname, pages = self.env.docname, Pages.from_config(self.config)
        language, root = pages.language_of(docname) or pages.reference, "../" * docname.count("/")
        for box in self.document.findall(nodes.admonition):
            if "chapter-files" not in box["classes"]:
                continue
            items = []
            for stem, chapter in overview(Path(self.env.srcdir, pages.folder, language.code)).items():
                if chapter.exercises:
                    slides = made_of_site(self.config, language, root, stem)[:1]
                    links = [Entry(translate("Exercises to print"), f"{stem}.html?sheet"), *slides]
                    items.append(" · ".join([escape(chapter.title), *map(_link, links)]))
            items += map(_link, made_of_site(self.config, language, root))
            html = f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"
            box[1:] = [nodes.raw("", html, format="html")]


def _link(entry: Entry) -> str:
    download = f' download="{escape(entry.filename)}"' if entry.filename else ""
    return f'<a href="{escape(entry.href)}"{download}>{escape(entry.label)}</a>'


def _write_copies(app: Sphinx, pages: Pages, language: Language, path: Path) -> dict[str, str]:
    """Write the copies; return the files by their labels in the menu."""
    config, notebook = app.config, read_notebook(path, check=False)
    site, folder = site_address(config), Path(app.outdir) / _FOLDER
    prefix = f"{pages.reference.slug}-{language.code}-"

    def address(stem: str, anchor: str) -> str:
        page = f"{pages.folder}/{language.code}/{stem}.html"
        if not site and page == f"{pages.home(language)}.html":
            return f"../{page}"  # there is no copy
        return f"{site}{page}{anchor}" if site else f"{prefix}{stem}.ipynb"

    settings = config.polyglot_install
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    pip = [line.format(site=site or "{wheels}") for line in settings.get("pip", [])]
    missing = {settings["import"]: pip} if pip else {}
    for word, packages in settings.get("pip_where", {}).items():
        missing |= {name: [line] for name, line in packages.items() if word in code}
    install = install_code(missing, "" if site else _BESIDE) if missing else ""
    files = ", ".join(f"`{each}`" for each in re.findall(r"{wheels}(\S+?\.whl)", " ".join(pip)))
    about = translate(_ABOUT) % files if files else ""
    copies = [("Notebook", "", notebook, about)]
    if has_solutions(notebook):
        note = translate("For students: this copy has neither solutions nor outputs.")
        note = f"*{note}*\n\n{about}".strip()
        copies.append(("Notebook without solutions", "-student", student_copy(notebook), note))
    names = {}
    for label, ending, content, note in copies:
        name = names[translate(label)] = f"{prefix}{path.stem}{ending}.ipynb"
        copy = reader_copy(content, address, note=note, install=install)
        write_notebook(copy, folder / name, check=False)
    return names


def github_name(config: Config) -> str:
    """Return the repository's name on GitHub, `owner/name`; "" if it is elsewhere, or if there is none."""
    match = _GITHUB.fullmatch(str(config.polyglot_repository))
    return match[1] if match else ""


def _launch_links(config: Config, language: Language, stem: str, name: str) -> list[Entry]:
    """Return the links that open a notebook in Colab and in Binder."""
    project = github_name(config)
    colab = f"https://colab.research.google.com/github/{project}/blob/{_FOLDER}/{name}"
    inside = quote(f"{LAB}/{language.code}/{stem}.ipynb", safe="")
    binder = f"https://mybinder.org/v2/gh/{project}/HEAD?labpath={inside}"
    return [Entry(translate("Open in Colab"), colab), Entry(translate("Open in Binder"), binder)]


def rights_of(app: Sphinx, pagename: str) -> dict[str, Any]:
    """Return the licences and the links of a page's footer for its context."""
    rights = app.config.polyglot_rights
    context = {"polyglot_rights": rights, "polyglot_author": app.config.author}
    pages = Pages.from_config(app.config)
    language = pages.language_of(pagename) or pages.reference
    cite, _, anchor = rights.get("cite", "").partition("#")
    docname = f"{pages.folder}/{language.code}/{cite}"
    if cite and docname in app.env.found_docs:
        address = app.builder.get_relative_uri(pagename, docname)
        context["polyglot_cite"] = f"{address}#{anchor}" if anchor else address
    if (project := github_name(app.config)) and pagename in app.env.found_docs:
        repository = f"https://github.com/{project}"
        context["polyglot_project"] = repository
        context["polyglot_report"] = f"{repository}/issues/new?title={quote(pagename, safe='')}"
        context["polyglot_source"] = f"{repository}/blob/HEAD/{quote(source_file(app, pagename))}"
    return context
