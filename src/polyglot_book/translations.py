"""Compares every language with the reference, cell by cell, and brings its chapters up to it.

A translated cell has in its header, as `of`, the hash of the reference's text that it was translated from;
`mark` writes it. The cell is stale when the reference's present text has another hash, or the cell no `of`.
A cell with the language's `untranslated` note waits for its translation, and cannot be marked.
"""

import io
import re
import tokenize
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import zip_longest
from typing import Any

from polyglot_book.chapters import Cell, Chapter, read_all, read_chapter, text_hash
from polyglot_book.config import Book, Language
from polyglot_book.ipynb import write_atomically
from polyglot_book.violations import Report, Violation

_RUN_SYNC = "run `polyglot sync`"
_STATES = ("current", "stale", "untranslated", "missing", "extra")


def code_in(book: Book, source: str, language: str) -> str:
    """Return the source of a code cell as it is in a language: the argument of `language_call` differs.

    >>> book = Book(".", {}, language_call="set_language")
    >>> code_in(book, 'set_language("en")', "ko")
    'set_language("ko")'
    """
    if not book.language_call:
        return source
    # Groups: 1 the name and the bracket, 2 the quote, which also ends the argument, 3 the closing bracket.
    call = rf"""(\b{re.escape(book.language_call)}\(\s*)(["'])[^"'\n]*\2(\s*\))"""
    return re.sub(call, rf"\g<1>\g<2>{language}\2\3", source)


def same_code(book: Book, one: str, other: str) -> bool:
    """Whether two code cells are the same, but for comments and strings where the book lets these differ.

    >>> same_code(Book(".", {}, free_words=True), "f('Lohn')  # Euro", "f('wage')")
    True
    """
    return one == other or (book.free_words and _without_words(one) == _without_words(other))


def _without_words(source: str) -> list[str]:
    """List the tokens of a code cell without comments, line breaks and the content of strings."""
    skipped = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER}
    tokens: list[str] = []
    try:
        for each in tokenize.generate_tokens(io.StringIO(source).readline):
            if each.type not in skipped:
                words = "STRING" in tokenize.tok_name[each.type]  # of which several in a row are one
                tokens += [each.string] if not words else ['""'] if tokens[-1:] != ['""'] else []
    except (tokenize.TokenError, SyntaxError):  # not Python, or not whole
        return [source]
    return tokens


def is_stale(original: Cell, cell: Cell) -> bool:
    """Whether the reference has changed since a cell was translated from it.

    >>> translation = Cell("title", "markdown", "# 마스크", {"of": text_hash("# Masks")})
    >>> is_stale(Cell("title", "markdown", "# Masks", {}), translation)
    False
    >>> is_stale(Cell("title", "markdown", "# Causal masks", {}), translation)
    True
    """
    return original.translatable is not None and cell.of != text_hash(original.translatable)


def is_untranslated(cell: Cell, language: Language) -> bool:
    r"""Whether a cell has the note of a text that is not translated yet.

    >>> korean = Language("ko", "ko", "한국어", "책", untranslated="아직 번역되지 않았습니다.")
    >>> is_untranslated(Cell("title", "markdown", "# Masks\n\n아직 번역되지 않았습니다.", {}), korean)
    True
    >>> is_untranslated(Cell("title", "markdown", "# 마스크", {}), korean)
    False
    """
    text = cell.translatable or ""
    # A text may have been begun before the language had a note of its own.
    return language.untranslated in text or Language.untranslated in text.splitlines()


def finished_cells(book: Book) -> Iterator[tuple[str, Chapter, Cell, Cell | None]]:
    """Iterate over the cells of all languages, the reference included, that do not wait for a translation.

    Yields:
        The language, the chapter, the cell, and the reference's cell of the same id.
    """
    chapters, _ = read_all(book)
    for (code, stem), chapter in chapters.items():
        original = chapters.get((book.reference.code, stem))
        others = original.by_id if original else {}
        for cell in chapter.cells:
            if not is_untranslated(cell, book.languages[code]):
                yield code, chapter, cell, others.get(cell.id)


def _state(original: Cell | None, cell: Cell | None, language: Language) -> str:
    if original is None or cell is None:
        return "missing" if cell is None else "extra"
    if is_untranslated(cell, language):
        return "untranslated"
    return "stale" if is_stale(original, cell) else "current"


def progress(book: Book) -> dict[str, dict[str, dict[str, list[str]]]]:
    """List the ids of the cells that are current, stale, untranslated, missing or extra.

    Returns:
        The lists by language, chapter and state; only those that have a cell.
    """
    chapters, _ = read_all(book)
    result: dict[str, dict[str, dict[str, list[str]]]] = {each.code: {} for each in book.translations}
    for language in book.translations:
        for stem in sorted({stem for _, stem in chapters}):
            both = (chapters.get((code, stem)) for code in (book.reference.code, language.code))
            expected, actual = (each.by_id if each else {} for each in both)
            states = result[language.code][stem] = {}
            for each in {**expected, **actual}:
                states.setdefault(_state(expected.get(each), actual.get(each), language), []).append(each)
    return result


def progress_table(book: Book) -> str:
    """Format a table of how many cells of each chapter are current, stale, …, by language."""
    states = progress(book)
    rows = [["chapter", *states]]
    for stem in next(iter(states.values()), ()):
        row = [stem]
        for found in (each[stem] for each in states.values()):
            counts = [f"{len(found.get(each, ()))} {each}" for each in _STATES if each in {"current", *found}]
            row.append(", ".join(counts))
        rows.append(row)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ("  ".join(text.ljust(size) for text, size in zip(row, widths, strict=True)) for row in rows)
    return "\n".join(line.rstrip() for line in lines)


def check_translations(book: Book) -> list[Violation]:
    """Report each chapter that is not in jupytext's form, and each cell that differs from the reference's."""
    chapters, violations = read_all(book)
    unreadable = {violation.file for violation in violations}
    chapters_dir = book.chapters_dir(book.reference.code).parent
    for folder in sorted(chapters_dir.glob("*")) if not book.in_place else ():
        if folder.name not in book.languages and any(folder.glob("*.md")):
            remedy = "add it to polyglot_languages or remove it"
            problem = "a language unknown to _config.yml"
            violations.append(Violation(book.relative(folder), "", problem, remedy))
    for stem in sorted({stem for _, stem in chapters}):
        reference = book.relative(book.chapter_file(book.reference.code, stem))
        original = chapters.get((book.reference.code, stem))
        for code, language in book.languages.items():
            file, chapter = book.relative(book.chapter_file(code, stem)), chapters.get((code, stem))
            if chapter is None:
                if original is not None and not language.partial and file not in unreadable:
                    violations.append(Violation(file, "", "the chapter is missing", _RUN_SYNC))
                continue
            if not book.in_place:
                violations += _check_form(chapter)
            if chapter is original:
                violations += _check_reference(book, chapter)
            elif original is not None:
                violations += _compare(book, language, original, chapter, stem)
            elif reference not in unreadable:
                remedy = f"write {reference} first, or remove this file"
                violations.append(Violation(file, "", "a chapter that the reference lacks", remedy))
    return violations


def _check_form(chapter: Chapter) -> Iterator[Violation]:
    """Compare a chapter's text with its canonical form."""
    if "\r\n" in chapter.text:
        yield Violation(chapter.file, "", "line ends of Windows (CRLF)", _RUN_SYNC)
    pairs = zip_longest(chapter.text.splitlines(), chapter.canonical().splitlines())
    for number, (line, expected) in enumerate(pairs, start=1):
        if line != expected:
            problem = f"line {number}: not as jupytext writes it, which is {expected!r}"
            yield Violation(chapter.file, "", problem, _RUN_SYNC)
            break


def _check_reference(book: Book, chapter: Chapter) -> Iterator[Violation]:
    for cell in chapter.cells:
        if cell.of is not None:
            yield Violation(chapter.file, cell.id, "the reference text has an `of`", "remove it")
        if cell.kind == "code" and cell.source != code_in(book, cell.source, book.reference.code):
            problem = f"{book.language_call} names another language"
            remedy = f'write {book.language_call}("{book.reference.code}")'
            yield Violation(chapter.file, cell.id, problem, remedy)


def _compare(
    book: Book, language: Language, original: Chapter, chapter: Chapter, stem: str
) -> Iterator[Violation]:
    for change in sync_cells(book, language, original, chapter)[1]:
        yield replace(change, remedy=_RUN_SYNC)
    file, expected, actual = chapter.file, original.by_id, chapter.by_id
    for cell in chapter.cells:
        other = expected.get(cell.id)
        if other is None:
            yield Violation(file, cell.id, "the reference has no such cell", "remove it, or correct its id")
        elif cell.kind != other.kind:
            problem = f"a {cell.kind} cell, {other.kind} in the reference"
            yield Violation(file, cell.id, problem, f"make it {other.kind}")
        else:
            yield from (
                Violation(file, cell.id, *each) for each in _compare_texts(language, stem, other, cell)
            )
    order = [cell_id for cell_id in actual if cell_id in expected]
    for first, second in zip((each for each in expected if each in actual), order, strict=True):
        if first != second:
            problem = f"in another order than the reference: here it has {first!r}"
            yield Violation(file, second, problem, "put the cells in the reference's order")
            break


def _compare_texts(language: Language, stem: str, original: Cell, cell: Cell) -> Iterator[tuple[str, str]]:
    """Compare the headers and texts of two cells; yield each problem and its remedy."""
    if _compared_metadata(cell.metadata) != _compared_metadata(original.metadata):
        yield "its header is not the reference's", "make them equal, but for the words that readers see"
    if original.translatable is None:
        if cell.alt is not None or cell.of is not None:
            yield "`of` or alternative text that the reference lacks", "remove it"
        return
    words = (cell.translatable or "").strip()
    if not words:
        yield "no alternative text", "describe the figure under mystnb: image: alt"
        return
    if cell.kind == "code" and words == original.translatable.strip():
        yield "the alternative text is the reference's", "translate it"
    mark = f"`polyglot mark {language.code}/{stem}#{cell.id}`"
    if is_untranslated(cell, language):
        yield "not translated yet", f"translate it, remove the note, then {mark}"
    elif is_stale(original, cell):
        unmarked = "it has no `of`, the hash of the reference text"
        yield "stale: the reference has changed" if cell.of else unmarked, f"bring it up to date, then {mark}"


def _compared_metadata(metadata: Mapping[str, Any]) -> Any:
    """Return a header without what another check compares, and without the words below `mystnb`."""

    def without_words(value: Any) -> Any:
        if isinstance(value, Mapping):
            others = {key: without_words(each) for key, each in value.items() if key != "alt"}
            return {key: each for key, each in others.items() if each != {}}
        return "…" if isinstance(value, str) else value

    others = {key: value for key, value in metadata.items() if key not in ("of", "tags", "mystnb")}
    return others, without_words(metadata.get("mystnb") or {})


def sync(book: Book, report: Report = print) -> None:
    """Bring every chapter into jupytext's form, and translations up to the reference's cells, code and tags.

    A chapter or cell that a translation lacks is added in the reference's language, with a note that it waits
    for its translation.

    Args:
        book: The book.
        report: Called with a line for each change.

    Raises:
        ValueError: A chapter cannot be read. Nothing is written then.
    """
    chapters, violations = read_all(book)
    if violations:
        raise ValueError("\n".join(map(str, violations)))
    for (code, stem), original in list(chapters.items()):
        complete = (each for each in book.translations if not each.partial)
        for language in complete if code == book.reference.code else ():
            file = book.relative(book.chapter_file(language.code, stem))
            chapters.setdefault((language.code, stem), Chapter(file, "", (), original.metadata))
    for (code, stem), chapter in chapters.items():
        cells: Sequence[Cell] = chapter.cells
        changes: list[Violation] = []
        reference = chapters.get((book.reference.code, stem), chapter)
        if chapter is not reference:
            cells, changes = sync_cells(book, book.languages[code], reference, chapter)
        done = [f"#{change.cell}: {change.remedy}" for change in changes]
        if not chapter.text:
            done = [": added, it waits for its translation"]
        if write_cells(book, chapter, cells, reference):
            for each in done or [": brought into jupytext's form"]:
                report(f"{chapter.file}{each}")


def write_cells(book: Book, chapter: Chapter, cells: Sequence[Cell], reference: Chapter) -> bool:
    """Write a chapter with these cells; return whether that changed its file."""
    if book.in_place:
        unchanged = chapter.text and tuple(cells) == chapter.cells
        text = chapter.text if unchanged else chapter.with_cells(cells, reference)
    else:
        text = replace(chapter, cells=tuple(cells)).canonical()
    if text != chapter.text:
        write_atomically(book.root / chapter.file, text.encode())
    return text != chapter.text


def sync_cells(
    book: Book, language: Language, original: Chapter, chapter: Chapter
) -> tuple[list[Cell], list[Violation]]:
    """Return a translation's cells with the reference's code and tags, and what that changes."""
    cells, after = list(chapter.cells), 0
    changes: list[Violation] = []
    for source in original.cells:
        cell = chapter.by_id.get(source.id)
        if cell is None:
            cells.insert(after, _waiting_cell(book, source, language))
            after += 1
            waits = ", it waits for its translation" if source.translatable else ""
            changes.append(Violation(chapter.file, source.id, "missing", f"added{waits}"))
            continue
        at = cells.index(cell)
        after = at + 1
        code = code_in(book, source.source, language.code)
        if cell.kind == source.kind == "code" and not same_code(book, cell.source, code):
            cells[at] = replace(cell, source=code)
            problem = "the code differs from the reference"
            changes.append(Violation(chapter.file, cell.id, problem, "code copied"))
        if cell.kind == source.kind and cell.tags != source.tags:
            metadata = {key: value for key, value in {**cell.metadata, "tags": source.tags}.items() if value}
            cells[at] = replace(cells[at], metadata=metadata)
            problem = f"tags {cell.tags}, in the reference {source.tags}"
            changes.append(Violation(chapter.file, cell.id, problem, "tags copied"))
    return cells, changes


def _waiting_cell(book: Book, cell: Cell, language: Language) -> Cell:
    """Return a cell of the reference for a translation, with a note where there is something to translate."""
    note = language.untranslated
    if cell.kind == "code":
        cell = replace(cell, source=code_in(book, cell.source, language.code))
        return cell.with_text(f"{note} {cell.alt}") if cell.alt else cell
    box = f"```{{note}}\n{note}\n```"  # not every book has the fences of colons
    if cell.source.startswith(":::"):  # an exercise is the first thing in its cell
        return cell.with_text(f"{cell.source}\n\n{box}")
    heading = re.match(r"(\(.+\)=\s*)*#.*", cell.source)  # perhaps with labels before it
    head = heading[0] if heading else ""
    parts = head, box, cell.source[len(head) :].strip("\n")
    return cell.with_text("\n\n".join(filter(None, parts)))


def mark(book: Book, target: str, report: Report = print) -> None:
    """Record that a translation is up to date.

    Args:
        book: The book.
        target: `ko/01-x#cell`, or `ko/01-x` for every cell of a chapter.
        report: Called with every line for the user.

    Raises:
        ValueError: The target names no cell that can be marked. Nothing is marked then.
    """
    short = target.removeprefix("chapters/").removeprefix(f"{book.folder}/")
    parts = re.fullmatch(r"([^/#]+)/([^#]+?)(?:\.md|\.ipynb)?(?:#(.+))?", short)
    codes = [language.code for language in book.translations]
    if parts is None or parts[1] not in codes:
        example = f"expected <{' or '.join(codes)}>/<chapter>#<cell>"
        raise ValueError(f"{target}: {example}" if target else f"which cell? {example}")
    code, stem, cell_id = parts.groups()
    paths = [book.chapter_file(each, stem) for each in (book.reference.code, code)]
    if missing := [book.relative(path) for path in paths if not path.is_file()]:
        raise ValueError(f"{' and '.join(missing)}: no such chapter")
    original, chapter = (read_chapter(book, path) for path in paths)
    if cell_id and cell_id not in chapter.by_id:
        raise ValueError(f"{target}: no such cell")
    cells = list(chapter.cells)
    marked = []
    for number, cell in enumerate(cells):
        if cell_id not in (None, cell.id):
            continue
        place, source = f"{chapter.file}#{cell.id}", original.by_id.get(cell.id)
        if source is None or source.kind != cell.kind:
            raise ValueError(f"{place}: the reference has no such cell; nothing was marked")
        if not source.translatable or not cell.translatable:
            if cell_id:
                raise ValueError(f"{target}: no alternative text in both languages, so nothing to mark")
        elif is_stale(source, cell):
            if is_untranslated(cell, book.languages[code]):
                raise ValueError(f"{place}: it waits for its translation; nothing was marked")
            cells[number] = cell.marked(source.translatable)
            marked.append(f"{place}: marked as up to date")
    if marked:
        write_cells(book, chapter, cells, original)
    for line in marked or [f"{target}: up to date already"]:
        report(line)
