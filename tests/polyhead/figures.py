"""Every figure of `polyhead.plots` with numbers like the book's, and what reads pictures from their SVG."""

from __future__ import annotations

import itertools
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from typing import NamedTuple

import torch

from polyhead import (
    SinusoidalPositions,
    causal_mask,
    padding_mask,
    plots,
    scaled_dot_product_attention,
    sentence,
)
from polyhead.language import text

X = torch.tensor([[1.0, 0, 0], [0, 1, 0], [0, 1, 1], [1, 0, 1]])
Q = torch.tensor([[2.0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 2], [2, 0, 0, 2]])
K = torch.tensor([[1.0, 0, 0, 2], [0, 2, 0, 0], [0, 2, 2, 0], [1, 0, 2, 2]])
V = torch.tensor([[2.0, 0], [0, 2], [2, 3], [4, 1]])
DOTS = Q @ K.T
OUTPUT, WEIGHTS = scaled_dot_product_attention(Q, K, V)
HEAD_DIMS = [4, 16, 64, 256, 1024]
FALLING = {"scaled": [3.0, 3.0, 3.0, 3.0, 3.0], "unscaled": [2.3, 1.2, 0.5, 0.2, 0.1]}
STEPS = {
    "embeddings": X,
    "queries": Q,
    "keys": K,
    "values": V,
    "dot_products": DOTS,
    "scores": DOTS / 2,
    "weights": WEIGHTS,
    "output": OUTPUT,
}

PADDING = padding_mask(torch.tensor([4]), 5)[0].expand(5, 5)
MASKS = {"padding": PADDING, "causal": causal_mask(5), "both": PADDING & causal_mask(5)}
USES = {"encoder": PADDING, "decoder": causal_mask(4), "cross": PADDING[:4]}
COURSE = {  # two ways from the first chapter to the last, of which one is longer
    "first": ("attention", []),
    "left": ("encoder", ["first"]),
    "right": ("decoder", ["first"]),
    "right again": ("cross_attention", ["right"]),
    "last": ("sequence", ["left", "right again", "first"]),
}
FIGURES = {
    "cache_triangle": lambda: plots.cache_triangle([*sentence(), "</s>"], 2),
    "course_map": lambda: plots.course_map(
        {name: (text(key), needs) for name, (key, needs) in COURSE.items()}
    ),
    "gradient_by_layer": lambda: plots.gradient_by_layer(
        {"post_norm": [0.5, 0.6], "pre_norm": [0.6, 0.2], "no_residual": [1e-10, 0.1]}
    ),
    "five_steps": lambda: plots.five_steps(**STEPS, tokens=sentence()),
    "head_weights": lambda: plots.head_weights(
        torch.stack([WEIGHTS, WEIGHTS.mT, WEIGHTS]).clamp(0, 1), sentence()
    ),
    "heatmap": lambda: plots.heatmap(WEIGHTS, sentence(), highest=1),
    "heatmap of negative numbers": lambda: plots.heatmap(
        V - 2, sentence(), ["x", "y"], title="V", decimals=1
    ),
    "layer_sublayers": plots.layer_sublayers,
    "masks": lambda: plots.masks(MASKS, [*sentence(), "[PAD]"]),
    "position_waves": lambda: plots.position_waves(SinusoidalPositions(16)(torch.zeros(1, 24, 16))[0]),
    "scaling_curves": lambda: plots.scaling_curves(HEAD_DIMS, FALLING, FALLING, num_keys=32),
    "three_uses": lambda: plots.three_uses(**USES, source=list("hed._"), target=list(">deh")),
    "transpose_path": lambda: plots.transpose_path(STEPS["queries"][None], 2),
    "weighted_sums": lambda: plots.weighted_sums(V, OUTPUT, sentence()),
}


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

    def holds(self, point: Point, slack: float = 0) -> bool:
        return all(
            min(corners) - slack <= place <= max(corners) + slack
            for place, corners in zip(point, zip(*self.corners, strict=True), strict=True)
        )


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
        corners = [Point(float(x), float(y)) for x, y in PAIR.findall(path.get("d", ""))]
        fill = FILL.search(path.get("style", ""))
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
    words: list[list[str]]
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


def marks(
    axes: ET.Element, x: Callable[[float], float], y: Callable[[float], float]
) -> dict[str, list[Point]]:
    """The marked points of every curve or cloud, in the numbers of the axes, by its label in the legend."""
    names = legend(axes)
    found: dict[str, list[Point]] = {name: [] for name in names.values()}
    for group in [*parts(axes, "line2d"), *parts(axes, "PathCollection")]:
        for mark in group.iter(f"{SVG}use"):
            place = Point(x(float(mark.get("x", "nan"))), y(float(mark.get("y", "nan"))))
            found[names[FILL.findall(mark.get("style", ""))[0]]].append(place)
    return found


def boxes(drawing: plots.Drawing) -> dict[str, Shape]:
    """The rounded boxes, by the words in each."""
    (axes,) = axes_of(drawing)
    rounded = [shape for shape in shapes(axes) if len(shape.corners) == 13 and shape.fill != "none"]
    return {" ".join(word for word, point in texts(axes) if box.holds(point)): box for box in rounded}


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
