"""`python -m polyhead_course.pdf [language …]`: print the built site, one PDF for each language."""

import sys
from collections.abc import Sequence

from polyhead_course.pdf.printing import print_book
from polyhead_course.workshop.browser import run_program


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the given languages, by default all; return the exit status."""
    return run_program("pdf", __doc__, print_book, arguments)


if __name__ == "__main__":
    sys.exit(main())
