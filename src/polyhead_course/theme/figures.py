"""Takes the figures of code cells into the page, as SVG elements; a script brings some of them to life.

The page's fonts and colours apply to an SVG element.

An output that has, beside its SVG, data of a type that ends in `.live+json` is such a figure, and the data
have its `kind`. In the folder `polyglot_live`, the template `<kind>.html` makes controls and pictures of the
data, and the module `<kind>.js` has a function `render({model, el})`, which makes them work. The page lays
them out from the beginning, hidden behind the figure: nothing moves when they take its place. A module may
load a file beside that folder, `new URL("../numbers/of.bin", import.meta.url)`, or files of a folder,
`new URL("../numbers/", import.meta.url)`: they are found there on the site too. Without scripts, and in
print, the page shows the figure alone.

Each of them has a page of its own besides, `embed/<page>/<cell>.html`, which other sites may show in a frame.
"""

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from selectolax.lexbor import LexborHTMLParser
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from polyhead_course.theme.stylesheet import COMMENT, EMBED, style_of_figures
from polyhead_course.theme.svg import SvgError, inline
from sphinx_polyglot.internals import code_cells

LOGGER = logging.getLogger(__name__)

_ENDING = ".live+json"
# Where the modules are on the site, so that what they load lies where it lies in the package.
_PLACE = Path("figures", "live")
_SOURCES = {".css", ".html", ".js"}  # pages and the style sheet are made from them
_URL = re.compile(r"""new URL\(\s*["']([^"'`]+)["'],\s*import\.meta\.url\s*\)""")
_METADATA = "polyglot_live"


class InlineFigures(SphinxPostTransform):
    """Replace the SVG images of code cells by inline SVG elements."""

    # After myst-nb has chosen one form of each output (4), before images are collected for copying.
    default_priority = 6
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Inline every figure, and warn about every image without alternative text."""
        images = list(self.document.findall(nodes.image))
        for image in images:
            if not image.get("alt", "").strip():
                LOGGER.warning(
                    "an image has no alternative text: set mystnb: image: alt in a code cell, "
                    "or write the text between the brackets of Markdown",
                    location=image if image.line else (self.env.docname, None),
                    type="polyglot",
                    subtype="alt",
                )
        for cell, metadata in list(code_cells(self.document)):
            for image in list(cell.findall(nodes.image)):
                if image["uri"].endswith(".svg"):
                    number = images.index(image) + 1
                    self._inline(image, f"figure-{number}", metadata.get(_METADATA))

    def _inline(self, image: nodes.image, prefix: str, data: Mapping[str, Any] | None) -> None:
        # MyST-NB writes the path with a leading slash; Sphinx reads that as relative to the source folder.
        path = Path(self.env.srcdir, image["uri"].lstrip("/"))
        try:
            text = inline(
                path.read_text(encoding="utf-8"),
                prefix=prefix,
                label=" ".join(image.get("alt", "").split()),
            )
        except SvgError as error:
            LOGGER.warning(
                "cannot inline the figure: %s", error, location=image, type="polyglot", subtype="figure"
            )
            return
        if data is not None:
            try:
                text = live_figure(text, data, Path(self.env.srcdir, self.config.polyglot_live))
            except FileNotFoundError as error:
                what = "no module and template bring this figure to life: there is no %s"
                LOGGER.warning(what, error, location=image, type="polyglot", subtype="live")
        image.replace_self(nodes.raw("", text, format="html"))


# Sphinx event: polyglot-notebook-read
def carry_data(app: Sphinx, notebook: dict[str, Any]) -> None:
    """Move the data of each cell to its metadata: the notebook's parser does not know this type of output."""
    is_live = False
    for cell in notebook.get("cells", []):
        for output in cell.get("outputs", []):
            for kind in [each for each in output.get("data", {}) if each.endswith(_ENDING)]:
                cell.setdefault("metadata", {})[_METADATA] = output["data"].pop(kind)
                is_live = True
    for path in Path(app.srcdir, app.config.polyglot_live).glob("*") if is_live else ():
        if path.suffix in _SOURCES:
            app.env.note_dependency(str(path))


def live_figure(figure: str, data: Mapping[str, Any], folder: Path) -> str:
    """Write the HTML of a figure with its data, and with what its template makes of them.

    Raises:
        FileNotFoundError: The figure's kind has no module, or no template.
    """
    kind = data.get("kind")
    for path in (folder / f"{kind}.js", folder / f"{kind}.html"):
        if not path.is_file():
            raise FileNotFoundError(path)
    templates = Environment(
        loader=FileSystemLoader(folder),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    body = templates.get_template(f"{kind}.html").render(data)
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<div class="polyglot-live" data-live="{kind}">{figure}'
        f'<div class="polyglot-live-body">{body}</div>'
        f'<script type="application/json">{text}</script></div>'
    )


def write_embeds(app: Sphinx, pagename: str, context: dict[str, Any]) -> None:
    """Write the pages that show one live figure of a page each; add the figures' style to the context."""
    folder, modules = Path(app.outdir, EMBED, pagename), Path(app.srcdir, app.config.polyglot_live)
    context["polyglot_live_style"] = style_of_figures(modules, context["body"])
    shutil.rmtree(folder, ignore_errors=True)
    for figure in LexborHTMLParser(context["body"]).css("[data-live]"):
        cell, section = figure.parent, figure.parent
        while cell is not None and not cell.id:
            cell = cell.parent
        while section is not None and section.tag != "section":
            section = section.parent
        heading = section.css_first("h1, h2, h3, h4") if section else None
        if cell is None or heading is None:
            continue
        if link := heading.css_first(".headerlink"):
            link.decompose()
        root = "../" * (pagename.count("/") + 2)
        for link in figure.css("a[href]"):  # to other pages of the language
            link.attrs["href"] = f"{root}{pagename.rpartition('/')[0]}/{link.attrs['href']}"
            link.attrs["target"] = "_blank"
        page = {
            **context,
            "root": root,
            "href": app.builder.get_target_uri(pagename),
            "cell": cell.id,
            "section": heading.text(strip=True),
            "figure": figure.html,
            "polyglot_live_style": style_of_figures(modules, figure.html or ""),
        }
        folder.mkdir(parents=True, exist_ok=True)
        text = app.builder.templates.render("embed.html", page)
        (folder / f"{cell.id}.html").write_text(text, encoding="utf-8")


def copy_modules(folder: Path, static: Path) -> None:
    """Copy the modules of a folder, and the files that they load, to where pages load them from."""
    target = static / _PLACE
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in sorted(folder.glob("*.js")):
        script = path.read_text(encoding="utf-8")
        (target / path.name).write_text(COMMENT.sub("", script), encoding="utf-8")
        for name in _URL.findall(script):
            file, place = (folder / name).resolve(), (target / name).resolve()
            if not file.exists() or not place.is_relative_to(static.resolve()):
                raise ExtensionError(f"{path} loads {name}, which is no file beside it")
            place.parent.mkdir(parents=True, exist_ok=True)
            if file.is_dir():
                shutil.copytree(file, place, dirs_exist_ok=True)
            else:
                shutil.copy2(file, place)
