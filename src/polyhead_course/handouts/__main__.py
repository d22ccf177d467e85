"""`python -m polyhead_course.handouts [language …]`: slides and figures of the built site, for lectures."""

import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from selectolax.lexbor import LexborHTMLParser

from polyglot_book.config import Book
from polyhead_course.handouts.archives import pack_figures
from polyhead_course.handouts.decks import deck_of
from polyhead_course.workshop.browser import PrintError, chromium, run_program


def write_handouts(book: Book, site: Path, folder: Path, codes: Iterable[str]) -> Iterator[Path]:
    """Write the slides of each chapter with exercises, and an archive of the figures of each language.

    Args:
        book: The book.
        site: The built site.
        folder: The folder of the files.
        codes: The languages.

    Yields:
        Each file, when it is written.
    """
    if not (style := site / "_static" / "site.css").is_file():
        raise PrintError(f"{site}: no built site; `make site` builds it")
    look = style.read_text(encoding="utf-8")
    with chromium() as browser:
        for code in codes:
            decks = 0
            for page in sorted((site / book.folder / code).glob("*.html")):
                name = f"{book.reference.slug}-{code}-{page.stem}"
                if not (site / "notebooks" / f"{name}-student.ipynb").is_file():  # it has no exercises
                    continue
                link = LexborHTMLParser(page.read_text(encoding="utf-8")).css_first("link[rel=canonical]")
                address = link.attributes.get("href") or "" if link else ""
                slides = folder / f"{name}-slides.html"
                slides.write_text(deck_of(page, book.languages[code], look, address), encoding="utf-8")
                yield slides
                decks += 1
            archive = folder / f"{book.reference.slug}-{code}-figures.zip"
            figures = pack_figures(book.root / book.folder / code, archive, browser)
            print(f"{folder}: {code}, slides of {decks} chapters, {figures} figures", flush=True)
            yield archive


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the handouts of the given languages, by default all; return the exit status."""
    return run_program("handouts", __doc__, write_handouts, arguments)


if __name__ == "__main__":
    sys.exit(main())
