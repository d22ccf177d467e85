"""Places the figures that code cells draw inside their page, where its fonts and colours reach them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from polyhead_course.theme.live import METADATA, enlivened, module_of
from polyhead_course.theme.svg import SvgError, inline
from sphinx_polyglot.private import code_cells

LOGGER = logging.getLogger(__name__)

COLORS = {"#000000": "currentColor", "#ffffff": "var(--pst-color-background)"}


class InlineFigures(SphinxPostTransform):
    """Replace the SVG images of a page's code cells by their own text."""

    # After myst-nb has chosen one form of each output (4), before images are collected for copying.
    default_priority = 6
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Warn of every picture without alternative text, and inline every figure."""
        images = list(self.document.findall(nodes.image))
        for image in images:
            if not image.get("alt", "").strip():
                LOGGER.warning(
                    "a picture without alternative text: in a code cell set mystnb: image: alt, "
                    "elsewhere write it between the brackets",
                    location=image if image.line else (self.env.docname, None),
                    type="polyglot",
                    subtype="alt",
                )
        for cell, metadata in list(code_cells(self.document)):
            for image in list(cell.findall(nodes.image)):
                if image["uri"].endswith(".svg"):
                    number = images.index(image) + 1
                    self._inline(image, f"figure-{number}", metadata.get(METADATA))

    def _inline(self, image: nodes.image, prefix: str, data: Mapping[str, Any] | None) -> None:
        # Sphinx has made the path relative to the sources, where MyST-NB wrote it with a slash before.
        path = Path(self.env.srcdir, image["uri"].lstrip("/"))
        try:
            text = inline(
                path.read_text(encoding="utf-8"),
                prefix=prefix,
                label=" ".join(image.get("alt", "").split()),
                colors=COLORS,
            )
        except SvgError as error:
            LOGGER.warning(
                "a figure cannot be shown: %s", error, location=image, type="polyglot", subtype="figure"
            )
            return
        if data is not None:
            if (module := module_of(self.config, Path(self.env.srcdir), data)).is_file():
                text = enlivened(text, data)
            else:
                what = "no module brings this figure to life: %s"
                LOGGER.warning(what, module, location=image, type="polyglot", subtype="live")
        image.replace_self(nodes.raw("", text, format="html"))
