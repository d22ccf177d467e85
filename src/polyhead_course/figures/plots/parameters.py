"""How many parameters each part of a model has."""

from __future__ import annotations

from collections.abc import Mapping

from matplotlib.figure import Figure

from polyhead_course.figures.plots.charts import horizontal_bars
from polyhead_course.figures.plots.drawing import plot
from polyhead_course.words.language import text


@plot
def parameter_bars(counts: Mapping[str, int]) -> Figure:
    """Draw a bar for the number of parameters of each part, and write their sum above.

    The names are those of the labels "part.…", such as "attention", "norms" or "embeddings".

    >>> parameter_bars({"attention": 65_536, "norms": 512})
    <polyhead_course.figures.plots.Drawing>
    """
    figure = Figure(figsize=(3.6, 0.55 + 0.42 * len(counts)))
    axes = figure.subplots()
    words, names = [f"{count:,}" for count in counts.values()], [text(f"part.{name}") for name in counts]
    horizontal_bars(axes, list(counts.values()), words, names, room=1.4)
    axes.set_title(text("title.parameters", total=f"{sum(counts.values()):,}"), loc="left")
    return figure
