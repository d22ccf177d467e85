"""What every explorable shares: a figure, and beside it the same tensors for the script that moves it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polyhead_course.figures.plots import Drawing
from polyhead_course.words.language import text

MIME = "application/vnd.polyhead.live+json"


class Explorable(Drawing):
    """A figure of `polyhead_course.figures.plots`, and beside it the data of `<kind>.js`, in one output.

    A notebook and paper show the figure. The site gives the data to the module `<kind>.js` of this folder.
    """

    def __init__(
        self,
        kind: str,
        figure: Drawing,
        *,
        heights: tuple[int, int],
        labels: Sequence[str],
        **tensors: Any,
    ) -> None:
        """Take what `figure` drew, and the numbers that it drew.

        Args:
            kind: The name of the module.
            figure: What stands still.
            heights: The room that the page keeps for the module, on a phone and on a wide screen, in rem.
            labels: The keys of the words that the module writes.
            tensors: What the module reads, as JSON has it.
        """
        self.svg = figure.svg
        words = {key: text(key) for key in ("live.reset", f"live.{kind}", *labels)}
        self.data = {"kind": kind, "heights": list(heights), **tensors, "labels": words}

    def __repr__(self) -> str:
        """The same on every machine, since notebooks store it."""
        return f"<polyhead_course.figures.live.{self.data['kind']}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {"image/svg+xml": self.svg, MIME: self.data}
