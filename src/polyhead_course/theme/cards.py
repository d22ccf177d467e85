"""Draws a card for each page, the picture that messengers show: its title, its book and an icon."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from fontTools.ttLib import TTFont
from PIL import Image, ImageDraw, ImageFont
from PIL.PngImagePlugin import PngInfo
from sphinx.application import Sphinx
from sphinx.util import logging

from polyglot_book.config import Language
from polyhead_course.theme.doctree import text_of
from polyhead_course.theme.head import icons_of
from sphinx_polyglot.addresses import site_address
from sphinx_polyglot.languages import Pages

LOGGER = logging.getLogger(__name__)

FOLDER = "cards"
SIZE = (1200, 630)
_MARGIN = 80
_TITLE_SIZES = (92, 80, 70, 60, 52, 46)
_LEADING = 1.25
_PAPER, _INK, _MUTED, _COLOR = "#ffffff", "#14181e", "#48566b", "#0a7d91"
# Where a line may break: between words, and beside a Chinese character, but not before a closing sign.
_PIECES = re.compile(
    r"[\u3400-\u9fff][\u3001-\u303f\uff00-\uff65]*|[^\s\u3400-\u9fff]+[\u3001-\u303f\uff00-\uff65]*|\s+"
)
_KEY = "made-from"  # of the text in a PNG file that identifies what it is drawn from


def font_of(app: Sphinx, language: Language) -> Path | None:
    """Return the font of a language's cards, or None where the language has no cards."""
    path = app.config.polyglot_fonts.get(language.code)
    return Path(app.srcdir, path) if path else None


def _name(pages: Pages, docname: str) -> str:
    return f"{FOLDER}/{docname.removeprefix(f'{pages.folder}/')}.png"


def address_of(app: Sphinx, docname: str) -> str:
    """Return the public address of a page's card, or "" where the site has no address or the page no card."""
    pages, site = Pages.from_config(app.config), site_address(app.config)
    language = pages.language_of(docname) or pages.reference
    return f"{site}{_name(pages, docname)}" if site and font_of(app, language) else ""


# Sphinx event: build-finished
def write_cards(app: Sphinx, exception: Exception | None) -> None:
    """Draw the cards that are missing or out of date, and remove those without a page."""
    if exception is not None or app.builder.format != "html":
        return
    pages, paths = Pages.from_config(app.config), set()
    _, icon = icons_of(app).get("apple-touch-icon", ("", None))
    for docname in sorted(app.env.found_docs):
        if not address_of(app, docname):
            continue
        language = pages.language_of(docname)
        # The page where a reader chooses a language shows the taglines of all.
        languages = [language] if language else [*pages.languages.values()]
        fonts = [(each, font) for each in languages if (font := font_of(app, each))]
        taglines = tuple((each.tagline, font) for each, font in fonts)
        card = Card(text_of(app.env.titles[docname]), fonts[0][0].title, taglines, fonts[0][1], icon)
        for text, font in [(card.title + card.book, card.font), *taglines]:
            if missing := "".join(sorted(set(text) - _characters(font))):
                message = "%s lacks %r, which the page's card shows"
                LOGGER.warning(message, font.name, missing, location=docname, type="polyglot", subtype="card")
        path = Path(app.outdir, _name(pages, docname))
        paths.add(path)
        _write(path, card)
    for path in set(Path(app.outdir, FOLDER).rglob("*.png")) - paths:
        path.unlink()


@cache
def _characters(font: Path) -> set[str]:
    return {chr(code) for code in TTFont(font).getBestCmap()}


@dataclass(frozen=True)
class Card:
    """What a card shows.

    Attributes:
        title: The page's title.
        book: The book's title.
        taglines: The taglines of the book, each with its font.
        font: The font of the titles.
        icon: The book's icon.
    """

    title: str
    book: str
    taglines: tuple[tuple[str, Path], ...]
    font: Path
    icon: Path | None

    def digest(self) -> str:
        """Return a digest of everything that the picture depends on."""
        texts = self.title, self.book, [text for text, _ in self.taglines]
        files = [Path(__file__), self.font, *(font for _, font in self.taglines)]
        files += [self.icon] if self.icon else []
        return hashlib.sha256(b"".join(map(Path.read_bytes, files)) + repr(texts).encode()).hexdigest()


def _write(path: Path, card: Card) -> None:
    """Draw a card into a file, unless the file has it already."""
    key = card.digest()
    if path.is_file():
        with Image.open(path) as before:
            if before.info.get(_KEY) == key:
                return
    info = PngInfo()
    info.add_text(_KEY, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(card).save(path, pnginfo=info, compress_level=9)


def draw(card: Card) -> Image.Image:
    """Draw a card: icon and book above, the page's title in the middle, the taglines below."""
    image = Image.new("RGB", SIZE, _PAPER)
    canvas = ImageDraw.Draw(image)
    canvas.rectangle((0, 0, 24, SIZE[1]), fill=_COLOR)
    left, above, below = _MARGIN, 180, SIZE[1] - 55 - 48 * len(card.taglines)
    if card.icon:
        with Image.open(card.icon) as picture:
            image.paste(picture.convert("RGB").resize((100, 100)), (left, 50))
        left += 120
    if card.title != card.book:
        face = ImageFont.truetype(card.font, 44)
        canvas.text((left, 70), card.book, _COLOR, face, stroke_width=1, stroke_fill=_COLOR)
    lines, size = _fit(card.title, card.font, below - above)
    face, step = ImageFont.truetype(card.font, size), round(size * _LEADING)
    start = (above + below - step * len(lines)) // 2 - 10
    for number, line in enumerate(lines):
        canvas.text((_MARGIN, start + number * step), line, _INK, face, stroke_width=1, stroke_fill=_INK)
    for number, (text, font) in enumerate(card.taglines):
        canvas.text((_MARGIN, below + number * 48), text, _MUTED, ImageFont.truetype(font, 34))
    return image.quantize(16, method=Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)


def _fit(title: str, font: Path, room: int) -> tuple[list[str], int]:
    """Break a title into lines, in the largest size in which they have room."""
    for size in _TITLE_SIZES:
        lines = _lines(title, ImageFont.truetype(font, size))
        if round(size * _LEADING) * len(lines) <= room:
            break
    return lines, size


def _lines(text: str, face: ImageFont.FreeTypeFont) -> list[str]:
    lines = [""]
    for piece in _PIECES.findall(text):
        if lines[-1] and face.getlength(lines[-1] + piece.rstrip()) > SIZE[0] - 2 * _MARGIN:
            lines.append("")
        lines[-1] += piece
    return [line.strip() for line in lines]
