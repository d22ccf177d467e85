"""Compares every language with the reference, and brings across what no translator has to write."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from polyglot_book import edits
from polyglot_book.chapters import Cell, Chapter, parse_chapter, read_all, text_hash
from polyglot_book.config import Book
from polyglot_book.violations import Violation

Chapters = Mapping[tuple[str, str], Chapter]
Say = Callable[[str], None]
_SET_LANGUAGE = re.compile(r"""(\bset_language\(\s*)(["'])([^"'\n]*)\2(\s*\))""")


def code_for(source: str, language: str) -> str:
    """Give a code cell's body as it reads in a language."""
    return _SET_LANGUAGE.sub(lambda m: f"{m[1]}{m[2]}{language}{m[2]}{m[4]}", source)


@dataclass
class Count:
    """How far one chapter of one language is."""

    current: int = 0
    stale: int = 0
    missing: int = 0
    extra: int = 0

    def __str__(self) -> str:
        """Write what is worth knowing."""
        parts = [f"{self.current} current"]
        parts += [
            f"{value} {name}" for name in ("stale", "missing", "extra") if (value := getattr(self, name))
        ]
        return ", ".join(parts)


def _every_stem(chapters: Chapters) -> list[str]:
    return sorted({stem for _, stem in chapters})


def count(chapters: Chapters, reference: str, language: str, stem: str) -> Count:
    """Count a chapter's cells in one language."""
    original, chapter = chapters.get((reference, stem)), chapters.get((language, stem))
    theirs = original.by_id if original else {}
    ours = chapter.by_id if chapter else {}
    result = Count(missing=len(theirs.keys() - ours.keys()), extra=len(ours.keys() - theirs.keys()))
    for cell_id in theirs.keys() & ours.keys():
        if _is_stale(theirs[cell_id], ours[cell_id]):
            result.stale += 1
        else:
            result.current += 1
    return result


def _is_stale(original: Cell, cell: Cell) -> bool:
    return original.live is not None and cell.of != text_hash(original.live)


def table(book: Book) -> str:
    """Write the table of languages and chapters."""
    chapters, _ = read_all(book)
    codes = [language.code for language in book.translations]
    rows = [["chapter", *codes]]
    for stem in _every_stem(chapters):
        rows.append([stem, *(str(count(chapters, book.reference.code, code, stem)) for code in codes)])

    def width(text: str) -> int:
        return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text)

    widths = [max(width(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = (
        "  ".join(text + " " * (size - width(text)) for text, size in zip(row, widths, strict=True))
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines)


def check_translations(book: Book) -> list[Violation]:
    """Report every cell of a translation that is not what the reference asks for."""
    chapters, violations = read_all(book)
    reference = book.reference.code
    unreadable = {violation.where for violation in violations}
    known = set(book.languages)
    for folder in sorted((book.root / "chapters").glob("*")):
        if folder.is_dir() and folder.name not in known and any(folder.glob("*.md")):
            what = "a language that _config.yml does not name"
            violations.append(
                Violation(book.relative(folder), "", what, "add it to polyglot_languages or remove it")
            )
    for stem in _every_stem(chapters):
        original = chapters.get((reference, stem))
        if original is not None:
            violations += _check_reference(reference, original)
        for language in book.translations:
            where = book.relative(book.chapters_dir(language.code) / f"{stem}.md")
            chapter = chapters.get((language.code, stem))
            if chapter is None and original is not None and where not in unreadable:
                violations.append(
                    Violation(where, "", "the chapter is missing", f"translate {original.where}")
                )
            elif chapter is not None and original is None:
                theirs = book.relative(book.chapters_dir(reference) / f"{stem}.md")
                if theirs not in unreadable:
                    remedy = f"write {theirs} first, or remove this file"
                    violations.append(Violation(where, "", "a chapter that the reference lacks", remedy))
            elif chapter is not None and original is not None:
                violations += _compare(language.code, original, chapter)
    return violations


def _check_reference(language: str, chapter: Chapter) -> Iterator[Violation]:
    for cell in chapter.cells:
        if cell.of is not None:
            yield Violation(chapter.where, cell.id, "the reference text has an `of`", "remove it")
        if cell.kind == "code" and cell.source != code_for(cell.source, language):
            what = "set_language names another language"
            yield Violation(chapter.where, cell.id, what, f"write set_language({json.dumps(language)})")


def _compare(language: str, original: Chapter, chapter: Chapter) -> Iterator[Violation]:
    where, theirs, ours = chapter.where, original.by_id, chapter.by_id
    for cell in original.cells:
        if cell.id not in ours:
            remedy = "run `make sync`" if cell.kind == "code" else "translate it"
            yield Violation(where, cell.id, "missing", remedy)
    for cell in chapter.cells:
        if cell.id not in theirs:
            yield Violation(where, cell.id, "the reference has no such cell", "remove it, or mend its id")
        elif cell.kind != theirs[cell.id].kind:
            kind = theirs[cell.id].kind
            yield Violation(where, cell.id, f"a {cell.kind} cell, {kind} in the reference", f"make it {kind}")
        else:
            yield from _compare_cell(where, language, theirs[cell.id], cell)
    shared = [cell.id for cell in original.cells if cell.id in ours]
    order = [cell.id for cell in chapter.cells if cell.id in theirs]
    for expected, actual in zip(shared, order, strict=True):
        if expected != actual:
            what = f"in another order than the reference: here it has {expected!r}"
            yield Violation(where, actual, what, "put the cells in the reference's order")
            break


def _compare_cell(where: str, language: str, original: Cell, cell: Cell) -> Iterator[Violation]:
    if cell.kind == "code" and cell.source != code_for(original.source, language):
        yield Violation(where, cell.id, "the code differs from the reference", "run `make sync`")
    if cell.tags != original.tags:
        yield Violation(
            where, cell.id, f"tags {cell.tags}, in the reference {original.tags}", "run `make sync`"
        )
    if _shape(cell.metadata) != _shape(original.metadata):
        what = "its header says something else than the reference's"
        yield Violation(where, cell.id, what, "make them equal, but for the words that readers see")
    if cell.kind == "code" and original.alt is not None:
        if not (cell.alt or "").strip():
            yield Violation(
                where, cell.id, "no alternative text", "describe the figure under mystnb: image: alt"
            )
            return
        if (cell.alt or "").strip() == original.alt.strip():
            yield Violation(where, cell.id, "the alternative text is the reference's", "translate it")
    elif cell.kind == "code" and (cell.alt is not None or cell.of is not None):
        yield Violation(where, cell.id, "`of` or alternative text that the reference lacks", "remove it")
    if _is_stale(original, cell):
        what = (
            "stale: the reference has changed"
            if cell.of
            else "nothing says which reference text it translates"
        )
        mark = f"`make mark CELL={language}/{where.rsplit('/', 1)[-1].removesuffix('.md')}#{cell.id}`"
        yield Violation(where, cell.id, what, f"bring it up to date, then {mark}")


def _shape(metadata: Mapping[str, Any]) -> Any:
    """Leave out of a header what another check compares, and the words below `mystnb`."""

    def without_words(value: Any) -> Any:
        if isinstance(value, Mapping):
            return {key: without_words(each) for key, each in value.items() if key != "alt"}
        return "…" if isinstance(value, str) else value

    kept = {key: value for key, value in metadata.items() if key not in ("of", "tags", "mystnb")}
    # A cell whose only words are an alternative text has the same shape without it.
    mystnb = without_words(metadata.get("mystnb") or {})
    if mystnb.get("image") == {}:
        del mystnb["image"]
    return {**kept, **({"mystnb": mystnb} if mystnb else {})}


def sync(book: Book, say: Say = print) -> int:
    """Copy the reference's code cells, bodies and tags, to the other languages.

    Returns:
        The number of cells changed.

    Raises:
        ValueError: A chapter cannot be read; nothing was changed.
    """
    chapters, violations = read_all(book)
    if violations:
        raise ValueError("\n".join(map(str, violations)))
    changed = 0
    for (code, stem), original in chapters.items():
        if code != book.reference.code:
            continue
        for language in book.translations:
            chapter = chapters.get((language.code, stem))
            if chapter is None:
                continue
            new = chapter
            for cell in original.cells:
                for done, text in _synced(new, original, cell, language.code):
                    new = parse_chapter(text, chapter.where)
                    changed += 1
                    say(f"{chapter.where}#{cell.id}: {done}")
            if new.text != chapter.text:
                edits.write_atomically(book.root / chapter.where, new.text.encode())
    return changed


def _synced(chapter: Chapter, original: Chapter, cell: Cell, language: str) -> Iterator[tuple[str, str]]:
    """Yield what was done to one cell, and the chapter's new text, one step at a time."""
    if cell.kind != "code":
        return
    source = code_for(cell.source, language)
    here = chapter.by_id.get(cell.id)
    if here is None:
        before = original.cells[: original.cells.index(cell)]
        after = next((each.id for each in reversed(before) if each.id in chapter.by_id), None)
        done = "added" + (", its alternative text is yours to write" if cell.alt is not None else "")
        yield done, edits.insert_code(chapter, after, cell, source)
    elif here.kind == "code":
        if here.source != source:
            text = edits.set_code(chapter, cell.id, source)
            yield "code copied", text
            chapter = parse_chapter(text, chapter.where)
        if here.tags != cell.tags:
            yield "tags copied", edits.set_tags(chapter, cell.id, cell.tags)


def mark(book: Book, target: str, say: Say = print) -> None:
    """Record that a translation is up to date.

    Args:
        book: The book.
        target: `ko/01-x#cell`, or `ko/01-x` for every cell of a chapter.
        say: Gets every line for the user.

    Raises:
        ValueError: There is no such cell, or nothing in it to translate.
    """
    found = re.fullmatch(r"([^/#]+)/([^/#]+?)(?:\.md)?(?:#(.+))?", target.removeprefix("chapters/"))
    if found is None:
        raise ValueError(f"{target}: expected <language>/<chapter>#<cell>")
    code, stem, wanted = found.groups()
    if code not in [language.code for language in book.translations]:
        raise ValueError(f"{target}: {code} is not a language that the book is translated into")
    chapters, violations = read_all(book)
    original, chapter = chapters.get((book.reference.code, stem)), chapters.get((code, stem))
    if original is None or chapter is None:
        reasons = [str(each) for each in violations if each.where.endswith(f"/{stem}.md")]
        raise ValueError(
            "\n".join(reasons) or f"{target}: no such chapter in both {book.reference.code} and {code}"
        )
    if wanted is not None and (wanted not in chapter.by_id or wanted not in original.by_id):
        raise ValueError(f"{target}: no such cell in both languages")
    new = chapter
    for cell in chapter.cells if wanted is None else [chapter.by_id[wanted]]:
        theirs = original.by_id.get(cell.id)
        if theirs is None or theirs.kind != cell.kind:
            raise ValueError(f"{chapter.where}#{cell.id}: the reference has no such cell; nothing was marked")
        if theirs.live is None or cell.live is None:
            if wanted is not None:
                raise ValueError(f"{target}: no alternative text in both languages, so nothing to mark")
            continue
        if _is_stale(theirs, cell):
            new = parse_chapter(edits.set_of(new, cell.id, text_hash(theirs.live)), chapter.where)
            say(f"{chapter.where}#{cell.id}: marked as up to date")
    if new.text != chapter.text:
        edits.write_atomically(book.root / chapter.where, new.text.encode())
