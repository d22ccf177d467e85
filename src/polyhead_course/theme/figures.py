"""Inlines the SVG figures of code cells, so that the page's fonts and colours apply to them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from polyhead_course.theme.live import METADATA, folder_of, live_figure
from polyhead_course.theme.svg import SvgError, inline
from sphinx_polyglot.private import code_cells

LOGGER = logging.getLogger(__name__)


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
                    self._inline(image, f"figure-{number}", metadata.get(METADATA))

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
                text = live_figure(text, data, folder_of(self.config, Path(self.env.srcdir)))
            except FileNotFoundError as error:
                what = "no module and template bring this figure to life: there is no %s"
                LOGGER.warning(what, error, location=image, type="polyglot", subtype="live")
        image.replace_self(nodes.raw("", text, format="html"))
