"""The fonts of the figures have the characters that the figures need, and are what `make fonts` writes."""

from __future__ import annotations

import re
from pathlib import Path

import matplotlib
import pytest
from fontTools.pens.recordingPen import RecordingPen
from fontTools.ttLib import TTFont

from experiments import fonts
from polyhead_course.fonts import FONTS, path_of

EVERY_FONT = pytest.mark.parametrize("language", FONTS)
CODE_CELL = re.compile(r"^```\{code-cell\}.*?^```", re.MULTILINE | re.DOTALL)
HEADER = re.compile(r"^---$.*?^---$", re.MULTILINE | re.DOTALL)  # with the alternative text


def characters_of(path: Path) -> set[str]:
    with TTFont(path) as font:
        return {chr(point) for point in font.getBestCmap()}


def test_the_characters_of_labels_figures_and_titles_are_needed(tmp_path):
    assert set("中和有一個个永和路列行융허로헤드√→✓✗ᵀAz09 ~") <= fonts.needed_characters()
    assert not {"\n", "\t"} & fonts.needed_characters()
    (tmp_path / "01.md").write_text("# 1. 뷁\n\n궯\n", encoding="utf-8")
    assert {"뷁", "궯"} & fonts.needed_characters(tmp_path) == {"뷁"}


@EVERY_FONT
def test_a_font_has_every_character_of_the_figures_and_of_the_code_cells(language):
    """DejaVu has the symbols; the package's own fonts must have every character of the languages."""
    cells = [
        HEADER.sub("", cell) for path in Path("chapters").glob("*/*.md")
        for cell in CODE_CELL.findall(path.read_text(encoding="utf-8"))
    ]  # fmt: skip
    assert cells
    needed, font = fonts.needed_characters(), characters_of(path_of(language))
    missing = {char for char in {*needed, *"".join(cells)} - font if is_letter_of_cjk(char)}
    assert not missing, "run `make fonts`"
    assert needed <= font | characters_of(
        Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf"
    )


def is_letter_of_cjk(char: str) -> bool:
    return "ᄀ" <= char <= "ᇿ" or "⺀" <= char <= "퟿" or "豈" <= char <= "﫿" or "︰" <= char <= "￯"


@EVERY_FONT
def test_a_font_has_a_name_of_its_own_and_is_small(language):
    _, family = FONTS[language]
    with TTFont(path_of(language)) as font:
        names = {record.nameID: record.toUnicode() for record in font["name"].names}
        assert names == {1: family, 2: "Regular", 4: family, 6: family.replace(" ", "")}
        assert font["CFF "].cff.fontNames == [family.replace(" ", "")]
    assert path_of(language).stat().st_size < 200_000


def test_the_licence_is_beside_the_fonts_and_no_font_is_left_over():
    folder = path_of("ko").parent
    licence = (folder / "OFL.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert "Copyright" in licence
    assert {path.name for path in folder.glob("*.otf")} == {path_of(language).name for language in FONTS}


def outlines_of(path: Path) -> dict[str, list[tuple]]:
    """What is drawn for each character: other releases of fontTools may write other bytes for the same."""
    drawn = {}
    with TTFont(path) as font:
        glyphs = font.getGlyphSet()
        for point, name in font.getBestCmap().items():
            pen = RecordingPen()
            glyphs[name].draw(pen)
            drawn[chr(point)] = [("width", glyphs[name].width), *pen.value]
    return drawn


@pytest.mark.skipif(not fonts.SOURCE.exists(), reason="needs Debian's fonts-noto-cjk")
def test_make_fonts_writes_the_characters_and_outlines_that_are_stored(tmp_path, monkeypatch, capsys):
    stored = outlines_of(path_of("ko"))
    monkeypatch.setattr(fonts, "FONTS", {"ko": FONTS["ko"]})
    monkeypatch.setattr(fonts, "path_of", lambda language: tmp_path / f"{language}.otf")
    fonts.make_fonts()
    assert outlines_of(tmp_path / "ko.otf") == stored, "run `make fonts`"
    assert capsys.readouterr().out.startswith("ko.otf: ")


def test_a_missing_source_is_named():
    with pytest.raises(FileNotFoundError, match=r"/nowhere\.ttc is missing: install Debian's fonts-noto-cjk"):
        fonts.make_fonts(Path("/nowhere.ttc"))
