"""How many parameters each part of a model has."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from polyhead_course.figures.plots.drawing import BLUE, drawn
from polyhead_course.words.language import terminology, text

_PARTS = "part."


@drawn
def parameter_bars(counts: Mapping[str, int]) -> Figure:
    """A bar for each part with its number of parameters, from the top; above them, their sum.

    The names are those of the labels "part.…", such as "attention", "norms" or "embeddings".
    """
    known = [key.removeprefix(_PARTS) for key in terminology()["labels"] if key.startswith(_PARTS)]
    if not counts or set(counts) - set(known):
        raise ValueError(f"counts must be some of {', '.join(known)}, got {list(counts)}")
    for name, count in counts.items():
        if count < 1:
            raise ValueError(f"counts[{name!r}] must be at least 1, got {count}")
    figure = Figure(figsize=(3.6, 0.55 + 0.42 * len(counts)))
    axes = figure.subplots()
    largest = max(counts.values())
    for place, count in enumerate(counts.values()):
        axes.barh(place, count, height=0.62, color=BLUE)
        axes.text(count + 0.02 * largest, place, f"{count:,}", va="center", fontsize=9.5)
    axes.set_yticks(range(len(counts)), [text(_PARTS + name) for name in counts])
    axes.set(ylim=(len(counts) - 0.5, -0.5), xlim=(0, 1.4 * largest), xticks=[])
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(left=False)
    axes.set_title(text("title.parameters", total=f"{sum(counts.values()):,}"), loc="left")
    return figure
