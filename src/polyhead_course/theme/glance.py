"""The picture that moves on a language's first page: a date is translated, lines lead to what is looked at.

It is drawn from the data of the page's live translator, and moves by its style sheet alone.
"""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any

from docutils import nodes
from jinja2 import Environment, PackageLoader
from nbformat import NotebookNode
from sphinx.transforms.post_transforms import SphinxPostTransform

from polyglot_book.ipynb import code_cells
from sphinx_polyglot import internals
from sphinx_polyglot.pages import Pages
from sphinx_polyglot.strings import translate

_WIDTH, _LETTER, _PADDING, _GAP = 360, 7.4, 8, 4
_KIND = "translator"
_FAINT = 0.04  # a smaller weight has no line
_LABEL = "A date is translated, one character at a time. Lines lead from each character to what it looks at."
_TEMPLATES = Environment(
    loader=PackageLoader("polyhead_course", "theme/templates"), trim_blocks=True, lstrip_blocks=True
)


def glance(data: Mapping[str, Any]) -> str:
    """Write the picture of a translation, from its two lists of tokens and its rows of weights."""
    words, written = data["source_tokens"], data["target_tokens"]
    widths = [len(word) * _LETTER + _PADDING for word in words]
    left = (_WIDTH - sum(widths) - _GAP * (len(words) - 1)) / 2
    starts = list(accumulate((each + _GAP for each in widths), initial=left))
    sources = [
        {"text": word, "x": round(x, 1), "width": round(width, 1), "middle": round(x + width / 2, 1)}
        for word, x, width in zip(words, starts, widths, strict=False)
    ]
    step = _WIDTH / len(written)
    steps = [
        {
            "text": "␣" if each == " " else each,
            "middle": round((number + 0.5) * step, 1),
            "seen": [(source, w) for source, w in zip(sources, row, strict=True) if w >= _FAINT],
        }
        for number, (each, row) in enumerate(zip(written, data["weights"], strict=True))
    ]
    language = data["targets"][data["to"]]["code"]
    return _TEMPLATES.get_template("glance.svg").render(
        width=_WIDTH, step=step, sources=sources, steps=steps, language=language, label=translate(_LABEL)
    )


def live_data(notebook: NotebookNode, cell: str) -> Mapping[str, Any] | None:
    """Return the data of the live translator in a cell's output, None where there is none."""
    outputs = [output for each in code_cells(notebook) if each.id == cell for output in each.outputs]
    values = [value for output in outputs for value in output.get("data", {}).values()]
    return next((each for each in values if isinstance(each, Mapping) and each.get("kind") == _KIND), None)


class FirstGlance(SphinxPostTransform):
    """Put the picture before the first list of a language's first page, where that has a translator."""

    default_priority = 500
    formats = ("html",)

    def run(self, **kwargs: Any) -> None:
        """Draw the picture from the data of the translator."""
        pages = Pages.from_config(self.config)
        language = pages.language_of(self.env.docname)
        if language is None or self.env.docname != pages.home(language):
            return
        for _, metadata in internals.code_cells(self.document):
            data = metadata.get("polyglot_live", {})  # where `figures` puts it
            place = next(self.document.findall(nodes.bullet_list), None)
            if data.get("kind") == _KIND and place is not None:
                picture = nodes.raw("", glance(data), format="html")
                place.parent.insert(place.parent.index(place), picture)
                return
