"""Packs the figures of a language's notebooks into one archive, each as SVG and as PNG."""

import zipfile
from pathlib import Path

from playwright.sync_api import Browser

from polyglot_book.ipynb import figures, read_notebook

_SCALE = 3  # pixels of the PNG for each of CSS


def pack_figures(notebooks: Path, archive: Path, browser: Browser) -> int:
    """Write all figures of a folder's notebooks as `<stem>/<cell>.svg` and `.png`; return their number."""
    page = browser.new_page(java_script_enabled=False, color_scheme="light", device_scale_factor=_SCALE)
    number = 0
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for notebook in sorted(notebooks.glob("*.ipynb")):
            for cell, svg in figures(read_notebook(notebook, check=False)).items():
                picture = svg[svg.index("<svg") :]
                page.set_content(f'<body style="margin: 0; background: #fff">{picture}</body>')
                for ending, data in (("svg", svg), ("png", page.locator("svg").first.screenshot())):
                    # A fixed date: the same figures give the same bytes.
                    packed.writestr(zipfile.ZipInfo(f"{notebook.stem}/{cell}.{ending}"), data)
                number += 1
    page.close()
    return number
