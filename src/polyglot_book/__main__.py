"""The commands: `python -m polyglot_book <command>`, run in the book's root."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from polyglot_book.config import Book, ConfigError


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
    commands.add_parser("translations", help="show how far each language is")
    commands.add_parser("sync", help="copy the reference's code cells to the other languages")
    mark = commands.add_parser("mark", help="record that a translation is up to date")
    mark.add_argument("cell", help="<lang>/<chapter>#<cell>, or <lang>/<chapter> for all of its cells")
    commands.add_parser("check", help="run every check")
    serve = commands.add_parser("serve", help="show the built site to this computer's browser")
    serve.add_argument("--port", type=int, default=8000)
    return parser.parse_args(argv)


def _run(arguments: argparse.Namespace) -> bool:
    if arguments.command == "serve":
        from polyglot_book.serve import serve

        serve(arguments.root / "_build" / "html", arguments.port)
        return True
    book = Book.load(arguments.root)
    if arguments.command == "notebooks":
        from polyglot_book.notebooks import make_notebooks

        return make_notebooks(book, arguments.chapters, everything=arguments.all, jobs=arguments.jobs)
    if arguments.command == "check":
        from polyglot_book.checks import check_book, summary

        violations = check_book(book)
        print("\n".join([*map(str, violations), summary(book, violations)]))
        return not violations
    from polyglot_book import translations

    if arguments.command == "sync":
        translations.sync(book)
    elif arguments.command == "mark":
        translations.mark(book, arguments.cell)
    else:
        print(translations.table(book))
        violations = translations.check_translations(book)
        for violation in violations:
            print(violation)
        return not violations
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit status: 0, or 1 where something is wrong with the book.
    """
    from polyglot_book.serve import SiteError

    try:
        return 0 if _run(_arguments(argv)) else 1
    except (ConfigError, SiteError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
