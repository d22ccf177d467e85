"""Places the figures that code cells draw inside their page, where its fonts and colours reach them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util import logging

from polyglot_book.site.private import cell_metadata_of
from polyglot_book.site.svg import SvgError, inline

LOGGER = logging.getLogger(__name__)

COLORS = {"#000000": "currentColor", "#ffffff": "var(--pst-color-background)"}


class InlineFigures(SphinxPostTransform):
    """Replace the SVG images of a page's code cells by their own text."""

    # After myst-nb has chosen one form of each output (4), before images are collected for copying.
    default_priority = 6
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Warn of every picture without alternative text, and inline every figure."""
        for number, image in enumerate(list(self.document.findall(nodes.image)), start=1):
            if not image.get("alt", "").strip():
                LOGGER.warning(
                    "a picture without alternative text: in a code cell set mystnb: image: alt, "
                    "elsewhere write it between the brackets",
                    location=image if image.line else (self.env.docname, None),
                    type="polyglot",
                    subtype="alt",
                )
            cell = _cell_of(image)
            if cell is not None and image["uri"].endswith(".svg"):
                self._inline(
                    image, f"figure-{cell_metadata_of(cell).get('polyglot_cell') or number}-{number}"
                )

    def _inline(self, image: nodes.image, prefix: str) -> None:
        # Sphinx has made the path relative to the sources, where MyST-NB wrote it with a slash before.
        path = Path(self.env.srcdir, image["uri"].lstrip("/"))
        try:
            text = inline(
                path.read_text(encoding="utf-8"),
                prefix=prefix,
                label=" ".join(image.get("alt", "").split()),
                colors=self.config.polyglot_figure_colors,
            )
        except SvgError as error:
            LOGGER.warning(
                "a figure cannot be shown: %s", error, location=image, type="polyglot", subtype="figure"
            )
            return
        image.replace_self(nodes.raw("", text, format="html"))


def _cell_of(image: nodes.image) -> nodes.container | None:
    """Give the code cell whose output an image is."""
    parent: nodes.Element | None = image.parent
    while parent is not None:
        if isinstance(parent, nodes.container) and parent.get("nb_element") == "cell_code":
            return parent
        parent = parent.parent
    return None
