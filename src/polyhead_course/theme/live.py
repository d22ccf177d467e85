"""Figures that a script brings to life: takes their data from the notebook's outputs into the page.

An output that has, beside its SVG, data of a type that ends in `.live+json` is such a figure. The data say
which `kind` it is, and the module `<kind>.js` in the folder `polyglot_live` has a function
`render({model, el})`. A module may ask for a file beside that folder, `new URL("../numbers/of.bin",
import.meta.url)`: it is found there on the site too. Without scripts, and in print, the figure is what it is.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.config import Config
from sphinx.errors import ExtensionError

from polyglot_book.ipynb import NotebookError, parse_notebook

_ENDING = ".live+json"
# Where the modules are on the site, so that what they ask for lies where it lies in the package.
LIVE = Path("figures", "live")
_SERVED = {".js", ".css"}
_ASKED = re.compile(r"""new URL\(\s*["']([^"'`]+)["'],\s*import\.meta\.url\s*\)""")
METADATA = "polyglot_live"


# Sphinx event: source-read
def carry_data(app: Sphinx, docname: str, source: list[str]) -> None:
    """Move the data of each cell to its metadata: the notebook's parser knows no such output."""
    if _ENDING not in source[0] or Path(app.env.doc2path(docname)).suffix != ".ipynb":
        return
    try:
        notebook = parse_notebook(source[0], docname, check=False)
    except NotebookError:
        return  # The notebook's parser says what is wrong with it.
    for cell in notebook.get("cells", []):
        for output in cell.get("outputs", []):
            for kind in [each for each in output.get("data", {}) if each.endswith(_ENDING)]:
                cell.setdefault("metadata", {})[METADATA] = output["data"].pop(kind)
    source[0] = json.dumps(notebook, ensure_ascii=False)


def module_of(config: Config, source: Path, data: Mapping[str, Any]) -> Path:
    """Where the module must be that brings a figure to life."""
    return source / (config.polyglot_live or "") / f"{data.get('kind')}.js"


def enlivened(figure: str, data: Mapping[str, Any]) -> str:
    """Give a figure its data, and the room that its module will take."""
    narrow, wide = data.get("heights", (0, 0))
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<div class="polyglot-live" data-live="{data["kind"]}"'
        f' style="--polyglot-live-narrow: {narrow:g}rem; --polyglot-live-wide: {wide:g}rem">'
        f'{figure}<script type="application/json">{text}</script></div>'
    )


# Sphinx event: build-finished (after the style sheet, which removes what it does not know)
def copy_modules(app: Sphinx, exception: Exception | None) -> None:
    """Put the modules, and what they ask for, where the pages' script looks for them."""
    if exception is not None or app.builder.format != "html" or not app.config.polyglot_live:
        return
    static = Path(app.outdir) / "_static"
    shutil.rmtree(static / LIVE, ignore_errors=True)
    copy_folder(Path(app.srcdir, app.config.polyglot_live), static / LIVE, static)


def copy_folder(folder: Path, target: Path, static: Path) -> None:
    """Copy modules and style sheets of a folder, and the files that the modules ask for, below `static`."""
    target.mkdir(parents=True)
    for path in sorted(folder.iterdir()):
        if path.suffix not in _SERVED:
            continue
        shutil.copy2(path, target)
        asked = _ASKED.findall(path.read_text(encoding="utf-8")) if path.suffix == ".js" else []
        for name in asked:
            file, place = (folder / name).resolve(), (target / name).resolve()
            if not file.is_file() or not place.is_relative_to(static.resolve()):
                raise ExtensionError(f"{path} asks for {name}, which is no file beside it")
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, place)
