"""Figures that a script brings to life: takes their data from the notebook's outputs into the page.

An output that has, beside its SVG, data of a type that ends in `.live+json` is such a figure, and the data
have its `kind`. In the folder `polyglot_live`, the template `<kind>.html` makes controls and pictures of the
data, and the module `<kind>.js` has a function `render({model, el})`, which makes them work. The page lays
them out from the beginning, hidden behind the figure: nothing moves when they take its place. A module may
load a file beside that folder, `new URL("../numbers/of.bin", import.meta.url)`: it is found there on the site
too. Without scripts, and in print, the page shows the figure alone.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

_ENDING = ".live+json"
# Where the modules are on the site, so that what they load lies where it lies in the package.
LIVE = Path("figures", "live")
_SOURCES = {".css", ".html", ".js"}  # pages and the style sheet are made from them
_URL = re.compile(r"""new URL\(\s*["']([^"'`]+)["'],\s*import\.meta\.url\s*\)""")
METADATA = "polyglot_live"


# Sphinx event: polyglot-notebook-read
def carry_data(app: Sphinx, notebook: dict[str, Any]) -> None:
    """Move the data of each cell to its metadata: the notebook's parser does not know this type of output."""
    is_live = False
    for cell in notebook.get("cells", []):
        for output in cell.get("outputs", []):
            for kind in [each for each in output.get("data", {}) if each.endswith(_ENDING)]:
                cell.setdefault("metadata", {})[METADATA] = output["data"].pop(kind)
                is_live = True
    for path in folder_of(app.config, Path(app.srcdir)).glob("*") if is_live else ():
        if path.suffix in _SOURCES:
            app.env.note_dependency(str(path))


def folder_of(config: Config, source: Path) -> Path:
    """Give the folder of the modules and templates."""
    return source / (config.polyglot_live or "")


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


# Sphinx event: build-finished (after the style sheet, which removes other files)
def copy_modules(app: Sphinx, exception: Exception | None) -> None:
    """Copy the modules, and the files that they load, to where the pages' script loads them from."""
    if exception is not None or app.builder.format != "html" or not app.config.polyglot_live:
        return
    static = Path(app.outdir) / "_static"
    shutil.rmtree(static / LIVE, ignore_errors=True)
    copy_folder(folder_of(app.config, Path(app.srcdir)), static / LIVE, static)


def copy_folder(folder: Path, target: Path, static: Path) -> None:
    """Copy the modules of a folder, and the files that they load, below `static`."""
    target.mkdir(parents=True)
    for path in sorted(folder.glob("*.js")):
        shutil.copy2(path, target)
        for name in _URL.findall(path.read_text(encoding="utf-8")):
            file, place = (folder / name).resolve(), (target / name).resolve()
            if not file.is_file() or not place.is_relative_to(static.resolve()):
                raise ExtensionError(f"{path} loads {name}, which is no file beside it")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)
