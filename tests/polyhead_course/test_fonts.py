# ruff: noqa: E501  in the table of bad input, each case is one line
from __future__ import annotations

import re
from pathlib import Path

import pytest
from fontTools.ttLib import TTFont

import polyhead_course
from polyhead_course.fonts import FONTS, path_of, subset
from tests.polyhead_course.bad_input import assert_named, bad

FOLDER = Path(polyhead_course.__file__).parent / "fonts"
CHAPTERS = sorted(Path("chapters").glob("*/*.md"))
EVERY_FONT = pytest.mark.parametrize("language", FONTS)
CODE_CELL = re.compile(r"^```\{code-cell\}.*?^```", re.MULTILINE | re.DOTALL)
HEADER = re.compile(r"^---$.*?^---$", re.MULTILINE | re.DOTALL)  # with the alternative text


def characters_of(language: str) -> set[str]:
    with TTFont(path_of(language)) as font:
        return {chr(point) for point in font.getBestCmap()}


def test_needed_characters_are_found_where_they_stand():
    needed = subset.needed_characters()
    assert set("中和有一個个永和路列行융허로헤드√→✓✗ᵀAz09 ~") <= needed
    assert not {"\n", "\t"} & needed


def test_titles_of_chapters_are_needed_since_the_map_shows_them(tmp_path):
    (tmp_path / "ko").mkdir()
    (tmp_path / "ko" / "01.md").write_text("# 1. 뷁\n\n궯\n", encoding="utf-8")
    needed = subset.needed_characters(tmp_path)
    assert "뷁" in needed
    assert "궯" not in needed


@EVERY_FONT
def test_font_has_every_needed_character(language):
    """DejaVu has the symbols; the package's own fonts must have every character of the languages."""
    missing = {
        char for char in subset.needed_characters() - characters_of(language) if is_letter_of_cjk(char)
    }
    assert not missing, "run `make fonts`"


def is_letter_of_cjk(char: str) -> bool:
    return "ᄀ" <= char <= "ᇿ" or "⺀" <= char <= "퟿" or "豈" <= char <= "﫿" or "︰" <= char <= "￯"


@pytest.mark.usefixtures("same_start")
def test_every_needed_character_is_in_some_font():
    import matplotlib

    with TTFont(Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf") as font:
        dejavu = {chr(point) for point in font.getBestCmap()}
    for language in FONTS:
        assert subset.needed_characters() <= dejavu | characters_of(language)


def test_the_chapters_are_found():
    assert CHAPTERS


@pytest.mark.parametrize("chapter", CHAPTERS, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_font_has_every_character_of_the_code_cells(chapter):
    code = "".join(CODE_CELL.findall(chapter.read_text(encoding="utf-8")))
    shown = {char for char in HEADER.sub("", code) if is_letter_of_cjk(char)}
    for language in FONTS:
        assert shown <= characters_of(language), "run `make fonts`"


def test_licence_stands_beside_the_fonts():
    licence = (FOLDER / "OFL.txt").read_text(encoding="utf-8")
    assert "SIL OPEN FONT LICENSE Version 1.1" in licence
    assert "Copyright" in licence


@EVERY_FONT
def test_font_has_its_own_name_and_is_small(language):
    _, family = FONTS[language]
    with TTFont(path_of(language)) as font:
        names = {record.nameID: record.toUnicode() for record in font["name"].names}
        assert names == {1: family, 2: "Regular", 4: family, 6: family.replace(" ", "")}
        assert font["CFF "].cff.fontNames == [family.replace(" ", "")]
    assert path_of(language).stat().st_size < 200_000


def test_no_font_is_left_over():
    assert {path.name for path in FOLDER.glob("*.otf")} == {path_of(language).name for language in FONTS}


@pytest.mark.skipif(not subset.SOURCE.exists(), reason="needs Debian's fonts-noto-cjk")
def test_make_gives_the_same_bytes_as_are_stored(tmp_path, monkeypatch, capsys):
    stored = path_of("ko").read_bytes()
    monkeypatch.setattr(subset, "FONTS", {"ko": FONTS["ko"]})
    monkeypatch.setattr(subset, "path_of", lambda language: tmp_path / f"{language}.otf")
    subset.make()
    assert (tmp_path / "ko.otf").read_bytes() == stored, "run `make fonts`"
    assert capsys.readouterr().out.startswith("ko.otf: ")


BAD = [
    bad("no such file", lambda: subset.make(Path("/nowhere.ttc")), FileNotFoundError, "install Debian's fonts-noto-cjk", ""),
    bad("no such file, a string", lambda: subset.make("/nowhere.ttc"), FileNotFoundError, "/nowhere.ttc is missing", ""),
    bad("int", lambda: subset.make(3), TypeError, "str", "int"),
    bad("None", lambda: subset.make(None), TypeError, "str", "NoneType"),
]  # fmt: skip


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
