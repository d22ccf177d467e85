"""Makes the package's CJK fonts: the glyphs that figures need, cut out of Noto Sans CJK.

Run `make fonts` when a text in a figure needs a character that the fonts lack; a test says so.
The source is Debian's package fonts-noto-cjk, under the SIL Open Font License (OFL.txt, beside this file).
"""

from __future__ import annotations

import ast
import re
import string
import sys
from pathlib import Path
from typing import Any

import yaml

from polyhead_course.fonts import FONTS, path_of

PRINTED = ("check.", "clinic.", "patient.", "probe.", "says.")  # labels of checks and diagnoses: no figure's
SOURCE = Path("/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc")


def needed_characters(chapters: Path = Path("chapters")) -> set[str]:
    """Every character that a figure or a card may show: labels, terms, this package's strings, titles, ASCII.

    Args:
        chapters: the folder of the chapters, where there is one; the book's settings stand beside it.
    """
    package = Path(__file__).parents[1]
    book = yaml.safe_load((package / "words" / "terms.yml").read_text(encoding="utf-8"))
    texts = [
        phrase
        for part in ("terms", "labels")
        for key, entry in book[part].items()
        if not key.startswith(PRINTED)
        for phrase in entry.values()
        if isinstance(phrase, str)
    ]
    drawing = (package / folder for folder in ("exercises", "figures", "models", "words"))
    for source in (each for folder in drawing for each in folder.rglob("*.py")):
        tree = ast.parse(source.read_text(encoding="utf-8"))
        texts += [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
    for chapter in chapters.rglob("*.md"):
        texts += re.findall(r"^# .*", chapter.read_text(encoding="utf-8"), re.MULTILINE)
    texts += [each.read_text(encoding="utf-8") for each in chapters.parent.glob("_config.yml")]
    return {char for char in "".join(texts) + string.printable if char.isprintable()}


def make(source: Path | str = SOURCE) -> None:
    """Write one font file a language, out of NotoSansCJK-Regular.ttc."""
    from fontTools import subset, ttLib

    source = Path(source)
    if not source.exists():
        raise FileNotFoundError(f"{source} is missing: install Debian's fonts-noto-cjk, or pass its path")
    for language, (number, family) in FONTS.items():
        font = ttLib.TTFont(source, fontNumber=number, recalcTimestamp=False)
        options = subset.Options(
            layout_features=[], hinting=False, notdef_outline=True, name_IDs=[1, 2, 4, 6]
        )
        cutter = subset.Subsetter(options)
        cutter.populate(text="".join(sorted(needed_characters())))
        cutter.subset(font)
        _rename(font["name"], family)
        font["CFF "].cff.fontNames = [family.replace(" ", "")]
        font.save(path_of(language))
        print(f"{path_of(language).name}: {path_of(language).stat().st_size // 1024} kB")


def _rename(names: Any, family: str) -> None:
    """A subset is not the original, and a system's Noto must not be taken for it: it gets its own name."""
    values = {1: family, 2: "Regular", 4: family, 6: family.replace(" ", "")}
    for record in list(names.names):
        names.setName(
            values[record.nameID], record.nameID, record.platformID, record.platEncID, record.langID
        )


if __name__ == "__main__":
    make(*(Path(argument) for argument in sys.argv[1:2]))
