"""`python -m polyhead_course.handouts [language …]`: slides and figures of the built site, for lectures."""

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

from playwright.sync_api import sync_playwright
from selectolax.lexbor import LexborHTMLParser

from polyglot_book.config import Book
from polyhead_course.handouts.archives import pack_figures
from polyhead_course.handouts.decks import deck_of
from polyhead_course.pdf.printing import BROWSERS


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the slides of each chapter, and the figures of each language; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m polyhead_course.handouts", description=__doc__)
    parser.add_argument("languages", nargs="*", metavar="language", help="as in ko; default: all")
    parser.add_argument("--root", type=Path, default=Path(), help="the folder of _config.yml")
    options = parser.parse_args(arguments)
    book = Book.load(options.root)
    site, target = book.root / "_build" / "html", book.root / "_build" / "handouts"
    if unknown := {*options.languages} - {*book.languages}:
        parser.error(f"no such language: {', '.join(sorted(unknown))}")
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    if path is None or not (site / "_static" / "site.css").is_file():
        print("it needs Chromium on the PATH, and a site that `make site` has built", file=sys.stderr)
        return 1
    style = (site / "_static" / "site.css").read_text(encoding="utf-8")
    target.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path)
        for code in options.languages or book.languages:
            folder, decks = site / book.folder / code, 0
            for page in sorted(folder.glob("*.html")):
                name = f"{book.reference.slug}-{code}-{page.stem}"
                if not (site / "notebooks" / f"{name}-student.ipynb").is_file():  # it has no exercises
                    continue
                link = LexborHTMLParser(page.read_text(encoding="utf-8")).css_first("link[rel=canonical]")
                address = link.attributes.get("href") or "" if link else ""
                deck = deck_of(page, book.languages[code], style, address)
                (target / f"{name}-slides.html").write_text(deck, encoding="utf-8")
                decks += 1
            archive = target / f"{book.reference.slug}-{code}-figures.zip"
            figures = pack_figures(book.root / book.folder / code, archive, browser)
            print(f"{target}: {code}, slides of {decks} chapters, {figures} figures", flush=True)
        browser.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
