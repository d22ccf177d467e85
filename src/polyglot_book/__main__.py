"""The commands: `python -m polyglot_book <command>`, run in the book's root."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from polyglot_book.config import Book


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m polyglot_book", description="Tools for a book in several languages."
    )
    parser.add_argument(
        "--root", type=Path, default=Path(), help="the folder of _config.yml (default: this one)"
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    notebooks = commands.add_parser("notebooks", help="make the notebooks, executing what changed")
    notebooks.add_argument(
        "chapters", nargs="*", metavar="chapter", help="as in ko/01-x, 01-x, or ko; default: all"
    )
    notebooks.add_argument("--all", action="store_true", help="execute even what is up to date")
    notebooks.add_argument("--jobs", type=int, metavar="N", help="kernels at a time (default: one per CPU)")
    notebooks.add_argument(
        "--limit", type=float, default=900, metavar="S", help="seconds a cell may take (default: 900)"
    )
    commands.add_parser("lab", help="write copies of the notebooks to work in; those that are there stay")
    commands.add_parser("pending", help="say which notebooks are not what their chapters and library make")
    commands.add_parser("translations", help="show how far each language is")
    commands.add_parser(
        "sync", help="copy the reference's code cells, and what other languages lack, to them"
    )
    mark = commands.add_parser("mark", help="record that a translation is up to date")
    mark.add_argument("cell", help="<lang>/<chapter>#<cell>, or <lang>/<chapter> for all of its cells")
    commands.add_parser("check", help="run every check")
    return parser.parse_args(argv)


def _run(arguments: argparse.Namespace) -> bool:
    # Each command imports what it needs: jupytext and the kernels' client take a second.
    book = Book.load(arguments.root)
    if arguments.command == "notebooks":
        from polyglot_book.notebooks import make_notebooks

        return make_notebooks(
            book, arguments.chapters, everything=arguments.all, jobs=arguments.jobs, limit=arguments.limit
        )
    if arguments.command == "lab":
        from polyglot_book.take_along import WORKSHOP, fill_workshop

        if names := fill_workshop(book):
            print(f"{len(names)} notebooks copied to {WORKSHOP}/, where you can change them")
        return True
    if arguments.command == "pending":
        from polyglot_book.notebooks import COMMAND, pending

        if names := pending(book):
            few = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
            print(f"Notebooks older than their chapters or the library (run `{COMMAND}`): {few}")
        return not names
    if arguments.command == "check":
        from polyglot_book.checks import check_book, summary

        violations = check_book(book)
        print("\n".join([*map(str, violations), summary(book, violations)]))
        return not violations
    if arguments.command == "translations":
        from polyglot_book.translations import check_translations, table

        violations = check_translations(book)
        print("\n".join([table(book), *map(str, violations)]))
        return not violations
    from polyglot_book import edits

    if arguments.command == "sync":
        edits.sync(book)
    else:
        edits.mark(book, arguments.cell)
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit status: 0, or 1 where something is wrong with the book.
    """
    try:
        return 0 if _run(_arguments(argv)) else 1
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
