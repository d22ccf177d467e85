"""Every figure of `polyhead_course.figures.plots`, and a reader of their SVG."""

from __future__ import annotations

import doctest
import itertools
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from attention_clinic.planted import BUGS, PROBES
from polyhead import causal_mask, padding_mask, scaled_dot_product_attention
from polyhead_course.figures import plots
from polyhead_course.figures.plots.drawing import BLUE, INK
from polyhead_course.figures.plots.matrices import HEAD_KINDS
from polyhead_course.words import sentence

X = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]])
Q = torch.tensor([[2.0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 2], [2, 0, 0, 2]])
K = torch.tensor([[1.0, 0, 0, 2], [0, 2, 0, 0], [0, 2, 2, 0], [1, 0, 2, 2]])
V = torch.tensor([[2.0, 0], [0, 2], [2, 3], [4, 1]])
DOTS = Q @ K.T
OUTPUT, WEIGHTS = scaled_dot_product_attention(Q, K, V)
STEPS = {
    "embeddings": X, "queries": Q, "keys": K, "values": V, "dot_products": DOTS, "scores": DOTS / 2,
    "weights": WEIGHTS, "output": OUTPUT,
}  # fmt: skip

PADDING = padding_mask(torch.tensor([4]), 5)[0].expand(5, 5)
MASKS = {"padding": PADDING, "causal": causal_mask(5), "both": PADDING & causal_mask(5)}
STRIP = ["padding", "causal", "both", "window", "packed"]
STACKS = ["neither", "norm_only", "residual_only", "post_norm", "pre_norm"]
MODELS = ["causal", "unmasked", "one_ahead", "d2l", "whole_mean", "running_mean"]
CROSS_TERMS = ("content_position", "position_content", "position_position")


def example(name: str) -> Callable[[], plots.Drawing]:
    """What the example in a figure's docstring draws."""
    function = getattr(plots, name)
    *before, call = doctest.DocTestParser().get_examples(function.__doc__)

    def draw() -> plots.Drawing:
        names = dict(vars(sys.modules[function.__module__]))
        for line in before:
            exec(line.source, names)
        return eval(call.source, names)

    return draw


# By its example, or else with labels that are of the book, and in the reader's language.
FIGURES = {name: example(name) for name in plots.__all__ if name != "Drawing"} | {
    "bug_matrix": lambda: plots.bug_matrix({bug: dict.fromkeys(PROBES, 0.0) for bug in ("none", *BUGS)}),
    "blind_rows": lambda: plots.blind_rows({"MHA": torch.full((4,), torch.nan), "d2l": WEIGHTS[0], "SDPA":
        torch.zeros(4)}, sentence()),
    "cache_triangle": lambda: plots.cache_triangle([*sentence(), "</s>"], 2),
    "beam_tree": lambda: plots.beam_tree("<s>", [[(0, word, 0.25, True) for word in sentence()]]),
    "decode_timeline": lambda: plots.decode_timeline([*sentence(), "</s>"], 2),
    "future_grids": lambda: plots.future_grids({name: dict.fromkeys(("train", "eval"), WEIGHTS) for name in
        MODELS}),
    "leak_losses": lambda: plots.leak_losses({name: [2.0, 1.0] for name in MODELS[:2]}, {name: {0: 2.0, 1:
        1.1} for name in MODELS[:2]}, 2.1),
    "shifted_tokens": lambda: plots.shifted_tokens([*sentence(), "</s>"]),
    "layer_curves": lambda: plots.layer_curves({name: [10.0**power, 0.3] for power, name in
        zip((-10, -1, 7, 0, -2), STACKS, strict=True)}, {name: [0.9, 0.1] for name in STACKS}),
    "residual_stream": plots.residual_stream,
    "five_steps": lambda: plots.five_steps(**STEPS, tokens=sentence()),
    "attention_lines": lambda: plots.attention_lines(torch.stack([WEIGHTS, WEIGHTS.mT]).clamp(0, 1),
        sentence(), ["0.2", "5.11"]),
    "keys_and_query": lambda: plots.keys_and_query([[1, 0], [0, 1], [-1, 0], [0, -1]], [-20, 0], sentence()),
    "head_atlas": lambda: plots.head_atlas([list(HEAD_KINDS)]),
    "loss_of_runs": lambda: [plots.loss_of_runs({1: [[1.0, 0.5]], 2: [[1.0, 0.0]]}), plots.loss_of_runs(
        {"two layers": [[3.0, 0.5], [3.1, 0.4]], "one layer": [[3.0, 2.0], [3.1, 2.1]]}, 10, 1.9),
        plots.loss_of_runs({"encoder and decoder": [[3.0, 0.5]], "decoder alone": [[3.0, 2.0]]})][-1],
    "removal_draws": lambda: plots.removal_draws({0.0: [[0.1, 0.6], [0.2, 0.3]], 0.1: [[0.9, 1.0],
        [0.8, 0.7]]}, 5, 24),
    "head_weights": lambda: plots.head_weights(torch.stack([WEIGHTS, WEIGHTS.mT]).clamp(0, 1), sentence()),
    "wish_and_hull": lambda: plots.wish_and_hull(V, [3.0, 4.0], sentence()),
    "heatmap": lambda: plots.heatmap(WEIGHTS, sentence(), highest=1),
    "masked_row": lambda: plots.masked_row([0.24, 0.03, 0.09, 0.64], [0.67, 0.09, 0.24, 0], [0.24, 0.03,
        0.09, 0], sentence()),
    "masks": lambda: plots.masks(MASKS, [*sentence(), "[PAD]"]),
    "masks_strip": lambda: plots.masks(dict.fromkeys(STRIP, causal_mask(6)), list("123456")),
    "next_token_bars": lambda: plots.next_token_bars({"T = 1": [0.5, 0.25, 0.25, 0], "top-k 1": [1, 0, 0,
        0]}, sentence()),
    "echoes": lambda: plots.echoes({name: [[1.0, 0.5]] for name in ("learned", "sinusoidal", "rotary",
        "ALiBi")}, every=5, trained=5),
    "rotary_arrows": lambda: plots.rotary_arrows([[1.0, 0.0]], [[0.6, 0.8]], [(3, 1)], [60]),
    "score_terms": lambda: plots.score_terms({name: DOTS + i for i, name in enumerate(["content_content",
        *CROSS_TERMS, "sum", "rotary"])}),
    "shuffled_outputs": lambda: plots.shuffled_outputs(OUTPUT, OUTPUT[[3, 1, 2, 0]], sentence(), [3, 1, 2,
        0]),
    "one_query": lambda: plots.one_query([0.75, 0.0, 0.0, 0.25], sentence()),
    "temperatures": lambda: plots.temperatures([3.0, 0.0, -1.0, 2.0], sentence(), [0.25, 1, 4]),
    "weighted_sums": lambda: plots.weighted_sums(V, OUTPUT, sentence()),
}  # fmt: skip


# ---- reading a picture

SVG = "{http://www.w3.org/2000/svg}"
NUMBER = re.compile(r"-?[\d.]+")
PAIR = re.compile(r"(-?[\d.]+) (-?[\d.]+)")
FILL = re.compile(r"fill: (#\w+|none)")


class Point(NamedTuple):
    x: float
    y: float


class Shape(NamedTuple):
    """A path with its corners, and the colour in it."""

    corners: list[Point]
    fill: str

    @property
    def size(self) -> Point:
        return Point(*(max(side) - min(side) for side in zip(*self.corners, strict=True)))

    @property
    def middle(self) -> Point:
        return Point(*(round((max(side) + min(side)) / 2, 1) for side in zip(*self.corners, strict=True)))

    def holds(self, point: Point, slack: float = 0) -> bool:
        return all(
            min(corners) - slack <= place <= max(corners) + slack
            for place, corners in zip(point, zip(*self.corners, strict=True), strict=True)
        )


# Pixels that a figure has on a phone 390 pixels wide, and where a box folds it away.
PHONE, PHONE_FOLDED = 378.0, 360.0


def least_text(svg: str, room: float = PHONE) -> float:
    """The size in pixels of the smallest text, where the figure has so much room; a point is 4/3 pixels."""
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg)[1])
    sizes = [float(size) for size in re.findall(r"font(?:-size)?: (?:\w+ )*([\d.]+)px", svg)]
    return round(min(sizes, default=99.0) * min(4 / 3, room / width), 2)


def words(drawing: plots.Drawing) -> list[str]:
    """Every text, in the order of the file."""
    return [word for word, _ in texts(ET.fromstring(drawing.svg))]


def texts(element: ET.Element) -> list[tuple[str, Point]]:
    """Every text with the place where it begins, or where its middle is if it is centred."""
    # x="…" y="…" transform="rotate(0 x y)" for one line, transform="translate(x y)" for one of several.
    return [
        ("".join(each.itertext()).strip(), Point(*map(float, NUMBER.findall(each.get("transform", ""))[-2:])))
        for each in element.iter(f"{SVG}text")
    ]


def inks(drawing: plots.Drawing, word: str) -> list[str]:
    """The colour of each text that reads so."""
    written = [each for each in ET.fromstring(drawing.svg).iter(f"{SVG}text") if each.text == word]
    return [FILL.findall(each.get("style", ""))[0] for each in written]


def style(element: ET.Element) -> str:
    """All that is said of how an element and what is in it look."""
    return " ".join(each.get("style", "") for each in element.iter())


def shapes(element: ET.Element) -> list[Shape]:
    found = []
    for path in element.iter(f"{SVG}path"):
        fill = FILL.search(path.get("style", ""))
        for outline in path.get("d", "").split("M")[1:]:
            corners = [Point(float(x), float(y)) for x, y in PAIR.findall(outline)]
            found.append(Shape(corners, fill[1] if fill else "#000000"))
    return found


def parts(element: ET.Element, name: str) -> list[ET.Element]:
    """The groups that are called patch_1, patch_2 … right below an element."""
    return [each for each in element if re.fullmatch(rf"{name}_\d+", each.get("id", ""))]


def axes_of(drawing: plots.Drawing) -> list[ET.Element]:
    return parts(ET.fromstring(drawing.svg)[1], "axes")


def ticks(axes: ET.Element, side: str) -> Iterator[ET.Element]:
    return (each for each in axes.iter() if re.fullmatch(rf"{side}tick_\d+", each.get("id", "")))


def tick_mark(tick: ET.Element) -> Point:
    mark = next(tick.iter(f"{SVG}use"))
    return Point(float(mark.get("x", "nan")), float(mark.get("y", "nan")))


class Grid(NamedTuple):
    """Cells as they are seen, row by row from the upper left corner, with the labels beside and above."""

    faces: list[list[str]]
    cell_texts: list[list[str]]
    rows: list[str]
    columns: list[str]
    title: str


def grids(drawing: plots.Drawing) -> list[Grid]:
    """Every grid of cells, in the order of the file."""
    return [grid(axes) for axes in axes_of(drawing)]


def grid(axes: ET.Element) -> Grid:
    _, *cells = [
        shape for group in parts(axes, "patch") for shape in shapes(group)
    ]  # the first is the ground
    cells.sort(key=lambda cell: [round(place, 2) for place in reversed(cell.corners[0])])
    lines = [list(line) for _, line in itertools.groupby(cells, lambda cell: round(cell.corners[0].y, 2))]
    inside = [each for group in parts(axes, "text") for each in texts(group)]

    def beside(side: str, cells: list[Shape]) -> list[str]:
        labels = [each for tick in ticks(axes, side) for each in texts(tick)]
        axis = "xy".index(side)
        return [
            "".join(
                word
                for word, point in labels
                if min(corner[axis] for corner in cell.corners) < point[axis]
                and point[axis] < max(corner[axis] for corner in cell.corners)
            )
            for cell in cells
        ]

    return Grid(
        [[cell.fill for cell in line] for line in lines],
        [["".join(word for word, point in inside if cell.holds(point)) for cell in line] for line in lines],
        beside("y", [line[0] for line in lines]),
        beside("x", lines[0]),
        "".join(word for word, point in inside if not any(cell.holds(point) for cell in cells)),
    )


def legend(axes: ET.Element) -> dict[str, str]:
    """Colour: what stands beside it."""
    (key,) = parts(axes, "legend")
    fills = [FILL.findall(style(each)) for each in key]
    return dict(zip([fill[-1] for fill in fills if fill], [word for word, _ in texts(key)], strict=True))


def scale(axes: ET.Element, side: str, number: Callable[[str], float] = float) -> Callable[[float], float]:
    """What turns a place in the SVG into the number there, by the first and the last label of an axis."""
    known = [
        (getattr(tick_mark(tick), side), number(texts(tick)[0][0].replace("−", "-")))
        for tick in ticks(axes, side)
    ]
    (start, low), (end, high) = known[0], known[-1]
    return lambda place: low + (place - start) * (high - low) / (end - start)


Curve = list[tuple[float, float]]


def curves(
    axes: ET.Element, x: Callable[[float], float], y: Callable[[float], float]
) -> list[tuple[str, Curve]]:
    """The colour of every line and its corners, or else its marks, in the numbers of the axes."""
    found = []
    for group in parts(axes, "line2d"):
        colour = re.search(r"(?:stroke|fill): (#\w+)", style(group))
        corners = marks(group) if group.find(f"{SVG}path") is None else shapes(group)[0].corners
        found.append((colour[1] if colour else INK, [(x(place.x), y(place.y)) for place in corners]))
    return found


def marks(group: ET.Element) -> list[Point]:
    return [Point(float(use.get("x", "nan")), float(use.get("y", "nan"))) for use in group.iter(f"{SVG}use")]


def clouds(axes: ET.Element, x: Callable[[float], float], y: Callable[[float], float]) -> dict[str, Curve]:
    """The points of every scatter plot in the numbers of the axes, by its label in the legend."""
    (key,) = parts(axes, "legend")
    groups = [[(x(mark.x), y(mark.y)) for mark in marks(group)] for group in parts(axes, "PathCollection")]
    return dict(zip([word for word, _ in texts(key)], groups, strict=True))


def bars(axes: ET.Element) -> list[Shape]:
    """The blue rectangles."""
    return [
        shape for group in parts(axes, "patch") for shape in shapes(group)
        if shape.fill == BLUE and len(shape.corners) == 4
    ]  # fmt: skip


def all_boxes(axes: ET.Element) -> list[tuple[str, Shape]]:
    """The rounded boxes with the words in each, from the top; several may have the same words."""
    rounded = [shape for shape in shapes(axes) if len(shape.corners) == 13 and shape.fill != "none"]
    rounded.sort(key=lambda shape: (round(shape.corners[0].y), shape.corners[0].x))
    return [(" ".join(word for word, point in texts(axes) if box.holds(point)), box) for box in rounded]


def boxes(drawing: plots.Drawing) -> dict[str, Shape]:
    """The rounded boxes, by the words in each."""
    return dict(all_boxes(axes_of(drawing)[0]))


def arrows(drawing: plots.Drawing) -> list[tuple[str, str]]:
    """For each arrow the words of the box that it leaves, and of the one that its head touches."""
    (axes,) = axes_of(drawing)
    found = []
    for line, head in [pair for group in parts(axes, "patch") if len(pair := shapes(group)) == 2]:
        ends = line.corners[0], head.corners[1]
        found.append(
            tuple(next(word for word, box in boxes(drawing).items() if box.holds(end, 2)) for end in ends)
        )
    return found
