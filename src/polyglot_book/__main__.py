"""The commands: `polyglot <command>`, or `python -m polyglot_book <command>`, run in the book's root."""

import argparse
import io
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from polyglot_book.config import Book
from polyglot_book.violations import Violation


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="polyglot", description="Tools for a book in several languages.")
    add = parser.add_argument
    add("--root", type=Path, default=Path(), help="the folder of _config.yml (default: this one)")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    init = commands.add_parser("init", help="set up a book or a language; run again, it adds missing ids")
    add = init.add_argument
    add("--new", type=Path, metavar="DIR", help="lay out a small book there, in --reference and --language")
    add("--language", metavar="CODE", help="a language to begin, as in zh-CN")
    add("--pages", type=Path, metavar="DIR", help="its translated pages, where there are some")
    add("--reference", metavar="CODE", default="en", help="the language of the book as it is (default: en)")
    add("--folder", metavar="DIR", default="book", help="the folder for the languages' pages (default: book)")
    commands.add_parser("outdated", help="list notebooks older than their chapters or the library")
    commands.add_parser("sync", help="copy the reference's code, and missing cells, to the translations")
    check = commands.add_parser("check", help="run every check")
    text = "show how many cells of each language are current, stale or missing"
    for command in (check, commands.add_parser("status", aliases=["translations"], help=text)):
        form = command.add_mutually_exclusive_group().add_argument
        form("--json", action="store_true", help="print JSON")
        form("--annotations", action="store_true", help="print annotations of GitHub's workflows")
    mark = commands.add_parser("mark", help="record that a translation is up to date")
    text = "<lang>/<chapter>#<cell>, or <lang>/<chapter> for all of its cells"
    mark.add_argument("cells", nargs="*", metavar="cell", help=text)
    for name, text in (("export", "write files for translators"), ("import", "read them again")):
        exchange = commands.add_parser(name, help=f"{text}: <folder>/<language>/<chapter>.po")
        exchange.add_argument("folder", nargs="?", type=Path, help="the folder (default: po)")
    run = commands.add_parser("run", aliases=["notebooks"], help="make the notebooks, executing what changed")
    add = run.add_argument
    add("chapters", nargs="*", metavar="chapter", help="as in ko/01-x, 01-x, or ko; default: all")
    add("--all", action="store_true", help="execute even what is up to date")
    add("--jobs", type=int, metavar="N", help="kernels at a time (default: one per CPU)")
    add("--limit", type=float, default=900, metavar="S", help="seconds a cell may take (default: 900)")
    return parser.parse_args(argv)


def _show(
    book: Book, arguments: argparse.Namespace, violations: list[Violation], text: list[str], counts: Any
) -> bool:
    """Print what a check found, in the form that the arguments name; return whether it found nothing.

    The lines of `text` come before and after what was found.
    """
    violations = [replace(each, remedy=book.in_own_words(each.remedy)) for each in violations]
    if arguments.json:
        found = [each.to_json(book.root) for each in violations]
        print(json.dumps({**counts, "violations": found}, ensure_ascii=False, indent=1))
    elif arguments.annotations:
        print(*(each.annotation(book.root) for each in violations), sep="\n", end="\n" * bool(violations))
    else:
        print(*filter(None, [text[0], *map(str, violations), text[1]]), sep="\n")
    return not violations


def _run(arguments: argparse.Namespace) -> bool:
    # Each command imports what it needs: jupytext and the kernels' client take a second.
    if arguments.command == "init":
        from polyglot_book.initialize import initialize, new_book

        if arguments.new:
            new_book(arguments.new, arguments.reference, arguments.language)
        initialize(
            arguments.new or arguments.root,
            arguments.language,
            arguments.pages,
            reference=arguments.reference,
            folder=arguments.folder,
        )
        return True
    book = Book.load(arguments.root)
    match arguments.command:
        case "run" | "notebooks":
            from polyglot_book.notebooks import make_notebooks

            return make_notebooks(
                book, arguments.chapters, everything=arguments.all, jobs=arguments.jobs, limit=arguments.limit
            )
        case "outdated":
            from polyglot_book.notebooks import outdated

            if names := outdated(book):
                line = "Notebooks older than their chapters or the library (run `polyglot run`):"
                print(book.in_own_words(line), *names)
            return not names
        case "check":
            from polyglot_book.checks import check_book, summary

            violations = check_book(book)
            line = summary(book, violations)
            return _show(book, arguments, violations, ["", line], {"summary": line})
        case "status" | "translations":
            from polyglot_book.translations import check_translations, progress, progress_table

            table = [progress_table(book), ""]
            return _show(book, arguments, check_translations(book), table, {"languages": progress(book)})
        case "sync":
            from polyglot_book.translations import sync

            sync(book)
        case "mark":
            from polyglot_book.translations import mark

            for cell in arguments.cells or [""]:
                mark(book, cell)
        case "export" | "import":
            from polyglot_book.po import export_po, import_po

            exchange = export_po if arguments.command == "export" else import_po
            exchange(book, arguments.folder or book.root / "po")
    return True


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command.

    Returns:
        The exit status: 0; 1 if a check found something, or the command could not be done, for the reason on
        stderr; 130 if it was interrupted.
    """
    for stream in (sys.stdout, sys.stderr):  # a locale such as C may have no letters but ASCII's
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        return 0 if _run(_arguments(argv)) else 1
    except (ValueError, OSError) as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
