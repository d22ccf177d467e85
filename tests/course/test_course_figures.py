"""Figures as notebooks store them: their texts are large enough on a phone, their colours fit the dark."""

from __future__ import annotations

import pytest

from polyglot_book.config import Book
from polyglot_book.ipynb import read_notebook
from polyhead_course.theme.dark import on_dark
from tests.polyhead_course.figures import PHONE, PHONE_FOLDED, least_text


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, as WCAG defines it."""

    def luminance(colour: str) -> float:
        parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
        red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_no_text_of_a_stored_figure_is_under_10_pixels_on_a_phone(book: Book) -> None:
    small, figures = [], 0
    for path in sorted((book.root / book.folder).glob("*/*.ipynb")):
        for cell in read_notebook(path, check=False).cells:
            folded = {"hide-output", "hide-cell"} & {*cell.metadata.get("tags", [])}
            for output in cell.get("outputs", []):
                if svg := output.get("data", {}).get("image/svg+xml"):
                    figures += 1
                    if (size := least_text(svg, PHONE_FOLDED if folded else PHONE)) < 10:
                        small.append(f"{path.parent.name}/{path.stem}#{cell.id}: {size} px")
    assert figures > 200
    assert not small


# Heat maps (0, a quarter, all), numbers below and above 0, boxes: words on them are black or nearly white.
CELLS = ["#f7fbff", "#c9ddf0", "#1764ab", "#f7f6f6", "#7c6daa", "#ce7313", "#c6dbef", "#fdd0a2", "#9ecae1"]


@pytest.mark.parametrize("cell", CELLS)
def test_in_the_dark_a_cell_is_as_far_from_the_page_as_in_the_light_and_its_number_is_read(cell: str) -> None:
    ink = max("#141414", "#fdfdfd", key=lambda each: contrast(each, cell))
    assert contrast(on_dark(ink), on_dark(cell)) >= 3.4
    light, dark = contrast(cell, "#ffffff"), contrast(on_dark(cell), "#12171d")
    assert dark < 2.2 if light < 1.8 else dark > 2.2
