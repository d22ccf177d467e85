"""`make fonts`: cut the glyphs that figures need out of Noto Sans CJK, one font for each language.

Run it when a text in a figure needs a character that the fonts lack; a test says so.
The source is Debian's package fonts-noto-cjk, under the SIL Open Font License (OFL.txt, beside the fonts).
"""

from __future__ import annotations

import ast
import re
import string
import sys
from pathlib import Path
from typing import Any

import yaml

import polyhead_course
from polyhead_course.fonts import FONTS, path_of

# Labels of checks and diagnoses, not of figures.
PRINTED = ("check.", "clinic.", "examined.", "patient.", "probe.", "quiz.", "says.", "solved.")
CODE = re.compile(r"^```\{code-cell\}[^\n]*\n(?:---\n.*?^---\n)?(.*?)^```", re.MULTILINE | re.DOTALL)
SOURCE = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")


def needed_characters(chapters: Path = Path("chapters")) -> set[str]:
    """Collect the characters that a figure or a card may show: labels, terms, strings, titles, code, ASCII.

    Args:
        chapters: the folder of the chapters; the book's settings are beside it.
    """
    package = Path(polyhead_course.__file__).parent
    book = yaml.safe_load((package / "words" / "terms.yml").read_text(encoding="utf-8"))
    texts = [
        phrase
        for part in ("terms", "labels")
        for key, entry in book[part].items()
        if not key.startswith(PRINTED)
        for phrase in entry.values()
        if isinstance(phrase, str)
    ]
    folders = (package / name for name in ("exercises", "figures", "models", "words"))
    for module in (module for folder in folders for module in folder.rglob("*.py")):
        tree = ast.parse(module.read_text(encoding="utf-8"))
        texts += [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for chapter in chapters.rglob("*.md"):
        source = chapter.read_text(encoding="utf-8")
        texts += re.findall(r"^# .*", source, re.MULTILINE)
        texts += CODE.findall(source)
    texts += [settings.read_text(encoding="utf-8") for settings in chapters.parent.glob("_config.yml")]
    return {char for char in "".join(texts) + string.printable if char.isprintable()}


def make_fonts(source: Path = SOURCE) -> None:
    """Write one font file for each language, out of NotoSansCJK-Regular.ttc."""
    from fontTools import subset, ttLib

    if not source.exists():
        raise FileNotFoundError(f"{source} is missing: install Debian's fonts-noto-cjk, or pass its path")
    for language, (number, family) in FONTS.items():
        font = ttLib.TTFont(source, fontNumber=number, recalcTimestamp=False)
        options = subset.Options(
            layout_features=[], hinting=False, notdef_outline=True, name_IDs=[1, 2, 4, 6]
        )
        subsetter = subset.Subsetter(options)
        subsetter.populate(text="".join(sorted(needed_characters())))
        subsetter.subset(font)
        _rename(font["name"], family)
        font["CFF "].cff.fontNames = [family.replace(" ", "")]
        font.save(path_of(language))
        print(f"{path_of(language).name}: {path_of(language).stat().st_size // 1024} kB")


def _rename(names: Any, family: str) -> None:
    """Rename a font: a subset is not the original, and a system's Noto must not be taken for it."""
    values = {1: family, 2: "Regular", 4: family, 6: family.replace(" ", "")}
    for record in list(names.names):
        names.setName(
            values[record.nameID], record.nameID, record.platformID, record.platEncID, record.langID
        )


if __name__ == "__main__":
    make_fonts(*(Path(argument) for argument in sys.argv[1:2]))
