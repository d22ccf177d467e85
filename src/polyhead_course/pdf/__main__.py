"""`python -m polyhead_course.pdf [language …]`: print the built site, one PDF for each language."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from polyglot_book.config import Book
from polyhead_course.pdf.printing import print_book


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the given languages, by default all; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m polyhead_course.pdf", description=__doc__)
    parser.add_argument("languages", nargs="*", metavar="language", help="as in ko; default: all")
    parser.add_argument("--root", type=Path, default=Path(), help="the folder of _config.yml")
    options = parser.parse_args(arguments)
    try:
        book = Book.load(options.root)
        print_book(book, book.root / "_build" / "html", book.root / "_build" / "pdf", options.languages)
    except (OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
