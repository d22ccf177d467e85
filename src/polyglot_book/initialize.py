"""Makes a book in several languages of a book in one, and begins further languages: `polyglot init`."""

import contextlib
import json
import os
import re
import shutil
import textwrap
import unicodedata
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from babel import Locale, UnknownLocaleError
from jupytext.myst import get_parser
from mdit_py_plugins.colon_fence import colon_fence_plugin

from polyglot_book.chapters import Cell, parse_chapter, read_chapter, split, stems, text_hash
from polyglot_book.checks import toc_file, toc_pages
from polyglot_book.config import SETTINGS, Book, ConfigError, Language, languages_from, read_yaml
from polyglot_book.ipynb import write_atomically
from polyglot_book.translations import sync
from polyglot_book.violations import Report

_HEADING = re.compile(r"(?:\s*\([^)\n]+\)=\s*\n)*\s*(#+)\s*(.+)")  # perhaps with labels before it
# Definitions of links and footnotes are known in their own cell only, so a text with some stays one cell.
_DEFINITION = re.compile(r"^ {0,3}\[[^\]\n]+\]:", re.MULTILINE)
_NAMES = re.compile(r"\\?[A-Za-z0-9_]+|[-+=<>^]")
_TOC_ENTRY = re.compile(
    r"""^(\s*(?:- +)?(?:root|file|glob): +(?:[>|]-?\s+)?["']?)([^"'#\s]+)""", re.MULTILINE
)
_SHOWN = re.compile(r"(?!\.|_build$|_toc|_config|polyglot\.yml|README|CHANGELOG|LICENSE)")


class Unit(NamedTuple):
    """A part of a page that is, or becomes, a cell: its first line, kind, text and header."""

    first: int
    kind: str
    source: str
    header: dict[str, Any]


def units(text: str, suffix: str = ".md") -> list[Unit]:
    r"""Cut a page into its cells, and Markdown without an id at its headings.

    >>> [unit.source for unit in units("# One\n\n:::{note}\n# no\n:::\n\n(two)=\n## Two\n")]
    ['# One\n\n:::{note}\n# no\n:::', '(two)=\n## Two']
    """
    if suffix == ".ipynb":
        cells = json.loads(text)["cells"]
        headers = [{"id": each["id"]} if "id" in each else {} for each in cells]
        sources = ["".join(each["source"]) for each in cells]
        kinds = [each["cell_type"] for each in cells]
        return [Unit(0, *each) for each in zip(kinds, sources, headers, strict=True)]
    lines = text.splitlines()
    tokens = get_parser().use(colon_fence_plugin).parse(f"{text}\n")
    begin = tokens[0].map[1] if tokens and tokens[0].type == "front_matter" and tokens[0].map else 0
    headings, label = [], -1
    for token in tokens:
        if token.type == "myst_target" and token.map:
            label = token.map[0] if label < 0 else label
        elif token.level == 0 and token.nesting >= 0 and token.map:
            headings += [token.map[0] if label < 0 else label] * (token.type == "heading_open")
            label = -1
    result: list[Unit] = []
    parts = [*split(lines, tokens, begin)]
    ends = [*(each[0] for each in parts[1:]), len(lines)]
    for (first, _, kind, source, header), end in zip(parts, ends, strict=True):
        if kind != "markdown" or "id" in header or _DEFINITION.search(source):
            result.append(Unit(first, kind, source, header))
            continue
        start = first + lines[first].startswith("+++")
        start = next(number for number in range(start, end) if lines[number].strip())
        for here, stop in pairwise([start, *(each for each in headings if start < each < end), end]):
            where, own = (first, header) if here == start else (here, {})
            result.append(Unit(where, kind, "\n".join(lines[here:stop]).rstrip(), own))
    return result


def with_ids(text: str, ids: Sequence[str], hashes: Sequence[str | None], suffix: str = ".md") -> str:
    r"""Write ids, and hashes of the texts that cells are translated from, into a page's `units`.

    >>> with_ids("# One\n", ["one"], ["9d3cb5c3"])
    '+++ {"id": "one", "of": "9d3cb5c3"}\n\n# One\n'
    """
    if suffix == ".ipynb":
        notebook = json.loads(text)
        for cell, cell_id, of in zip(notebook["cells"], ids, hashes, strict=True):
            cell["id"] = cell_id
            cell["metadata"] |= {"of": of} if of else {}
        notebook["nbformat_minor"] = max(5, notebook["nbformat_minor"])
        return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"
    lines = text.splitlines()
    for unit, cell_id, of in reversed([*zip(units(text), ids, hashes, strict=True)]):
        at, new = unit.first, {"id": cell_id} | ({"of": of} if of else {})
        if unit.kind == "markdown":
            headed = lines[at].startswith("+++")
            at = at if headed else next(each for each in range(at, len(lines)) if lines[each].strip())
            blank = [""] if at and lines[at - 1].strip() and not headed else []
            head = f"+++ {json.dumps({**new, **unit.header}, ensure_ascii=False)}"
            lines[at : at + headed] = [head] if headed else [*blank, head, ""]
        else:
            block = lines[at + 1].startswith("---")
            new = {key: each for key, each in new.items() if key not in unit.header}
            words = [f"{key}: {json.dumps(each) if key == 'of' else each}" for key, each in new.items()]
            lines[at + 1 + block : at + 1 + block] = words if block else [f":{each}" for each in words]
    return "\n".join(lines) + "\n"


def new_ids(cells: Sequence[Unit]) -> list[str]:
    """Return for each unit its id, or one that is made of the heading of its section."""
    ids = [str(cell.header.get("id", "")) for cell in cells]
    section = "start"
    for at, cell in enumerate(cells):
        base = f"{section}-{'text' if cell.kind == 'markdown' else 'code'}"
        if cell.kind == "markdown" and (heading := _HEADING.match(cell.source)):
            letters = unicodedata.normalize("NFKD", heading[2]).encode("ascii", "ignore").decode().lower()
            section = re.sub(r"[^a-z0-9]+", "-", letters)[:48].strip("-")
            base = section = section if section[:1].isalpha() else f"section-{section}".strip("-")
        number = 1
        while not ids[at]:
            name = base if number == 1 else f"{base}-{number}"
            ids[at] = "" if name in ids else name
            number += 1
    return ids


def pair(originals: Sequence[Cell], cells: Sequence[Unit]) -> list[Cell | None]:
    """Find the original of each cell of a translation: in order, of its kind and level, with its names."""

    def features(cell: Cell | Unit) -> tuple[str, int, set[str]]:
        heading = _HEADING.match(cell.source)
        return cell.kind, len(heading[1]) if heading else 0, {*_NAMES.findall(cell.source)}

    first, second = [features(each) for each in originals], [features(each) for each in cells]
    # best[i][j]: the greatest sum of likenesses of the first i and the first j.
    best = [[0.0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, (kind, level, names) in enumerate(first):
        for j, (other, depth, words) in enumerate(second):
            like = 0.3 + 0.4 * (level == depth) + 2 * len(names & words) / (len(names | words) or 1)
            paired = best[i][j] + like if kind == other else 0.0
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j], paired)
    found: list[Cell | None] = [None] * len(second)
    i, j = len(first), len(second)
    while i and j:
        if best[i][j] == best[i - 1][j]:
            i -= 1
        elif best[i][j] == best[i][j - 1]:
            j -= 1
        else:
            i, j = i - 1, j - 1
            found[j] = originals[i]
    return found


def new_book(root: Path, reference: str, language: str | None) -> None:
    """Lay out a small book, in one language, to which `initialize` adds the other.

    Raises:
        ValueError: The folder has files, or these are not two languages.
    """
    if language in (None, reference):
        raise ValueError(f"--new: expected a --language other than {reference}, got {language}")
    for code in (reference, language):
        language_entry(str(code), root.name)
    if root.exists() and any(root.iterdir()):
        raise ValueError(f"--new {root}: expected an empty folder, or none; it has files")
    shutil.copytree(Path(__file__).parent / "template", root, dirs_exist_ok=True)


def language_entry(code: str, title: str) -> dict[str, str]:
    """Return the settings of a language, with the name that its readers give it.

    >>> language_entry("pt-BR", "Ondas")
    {'locale': 'pt_BR', 'name': 'português (Brasil)', 'title': 'Ondas'}

    Raises:
        ValueError: The code is not one of a language, or of a language that CLDR knows.
    """
    try:
        name = Locale.parse(code, sep="-").get_display_name()
    except (UnknownLocaleError, ValueError):
        name = Locale("en").languages.get(code)
    if not name:
        raise ValueError(f"expected the code of a language, such as de or zh-TW, got {code!r}")
    entry = {"locale": code.replace("-", "_"), "name": name, "title": title}
    languages_from({code: entry})
    return entry


def initialize(
    root: Path,
    language: str | None = None,
    pages: Path | None = None,
    *,
    reference: str = "en",
    folder: str = "book",
    report: Report = print,
) -> None:
    """Make a book in several languages of a book in one; add the ids that are missing; begin a language.

    Args:
        root: The folder of `_config.yml`, or of `myst.yml`.
        language: The code of a language to begin.
        pages: A folder with its pages, named as the reference's, where there are some.
        reference: The code of the language that the book is in.
        folder: The folder for the languages' folders.
        report: Called with a line for each thing that was done.

    Raises:
        ValueError: The book cannot be read, or is not of a form that this can change.
    """
    root = root.resolve()
    try:
        book = Book.load(root)
    except ConfigError as error:
        if not re.search("no such file|'(sphinx|config|polyglot_languages)' is a required", str(error)):
            raise
        _adopt(root, reference, folder, report)
        book = Book.load(root)
    if pages and (language is None or language in book.languages):
        raise ValueError(f"--pages {pages}: expected a new --language for them, got {language}")
    for stem in stems(book, book.reference.code):
        path = book.chapter_file(book.reference.code, stem)
        text = path.read_bytes().decode()
        parts = units(text, path.suffix)
        if added := sum("id" not in each.header for each in parts):
            text = with_ids(text, new_ids(parts), [None] * len(parts), path.suffix)
            parse_chapter(text, book.relative(path))
            write_atomically(path, text.encode())
            report(f"{book.relative(path)}: ids for {added} of {len(parts)} cells")
    if language and not (language in book.languages and stems(book, language)):
        _begin(book, language, pages, report)


def _write_language(root: Path, code: str, title: str, others: dict[str, str], report: Report) -> None:
    """Add a language to the settings."""
    entry = {code: language_entry(code, title)}
    config, own = root / "_config.yml", root / SETTINGS
    if config.is_file():
        settings = {f"polyglot_{key}": each for key, each in others.items()}
        _insert(config, ("sphinx", "config", "polyglot_languages"), entry, settings)
    elif own.is_file():
        _insert(own, ("languages",), entry, others)
    else:
        text = yaml.safe_dump({**others, "languages": entry}, allow_unicode=True, sort_keys=False)
        write_atomically(own, text.encode())
    file = config if config.is_file() else own
    report(f"{file.name}: {entry[code]['name']} ({code}); write the book's title in it there")


def _adopt(root: Path, code: str, folder: str, report: Report) -> None:
    """Move the pages into the folder of their language, and write this language into the settings."""
    toc, home = toc_file(root), root / folder / code
    names = [f"{each}{end}" for each in (toc_pages(toc) if toc else ["**/*"]) for end in (".md", ".ipynb")]
    files = (path for name in names for path in sorted(root.glob(name)))
    pages = [path for path in files if toc or all(map(_SHOWN.match, path.relative_to(root).parts))]
    if not pages:
        raise ValueError(f"{root}: expected pages, .md or .ipynb, that _toc.yml or myst.yml names; got none")
    about = read_yaml(root / "_config.yml") if (root / "_config.yml").is_file() else {}
    about = about or (read_yaml(toc).get("project") or {} if toc else {})
    settings = {"folder": folder} if folder != "book" else {}
    _write_language(root, code, str(about.get("title") or root.name), settings, report)
    texts = "\n".join(map(_text, pages))
    moved = [path for path in dict.fromkeys(pages) if not path.is_relative_to(home)]
    for path in moved:
        (home / path.relative_to(root)).parent.mkdir(parents=True, exist_ok=True)
        path.rename(home / path.relative_to(root))
    report(f"{len(moved)} pages moved to {home.relative_to(root).as_posix()}/")
    for above in sorted({above for path in moved for above in path.parents if above.is_relative_to(root)}):
        # Figures, data and other files that pages name by relative paths.
        for path in sorted(above.iterdir()):
            link, name = home / path.relative_to(root), re.escape(path.name.removesuffix(".py"))
            name += "/" if path.is_dir() else r"\b"
            used = _SHOWN.match(path.name) and re.search(rf"(?<![\w.-]){name}", texts)
            if used and not link.exists() and not home.is_relative_to(path):
                link.symlink_to(os.path.relpath(path, link.parent))
                report(f"{link.relative_to(root).as_posix()}: a link to {path.relative_to(root).as_posix()}")
        with contextlib.suppress(OSError):
            above.rmdir()  # where it is empty now
    if toc:
        stems = {path.relative_to(root).with_suffix("").as_posix() for path in moved}

        def prefixed(match: re.Match[str]) -> str:
            is_page = re.sub(r"\.(md|ipynb)$", "", match[2]) in stems or "glob:" in match[1]
            return f"{match[1]}{home.relative_to(root).as_posix()}/{match[2]}" if is_page else match[0]

        write_atomically(toc, _TOC_ENTRY.sub(prefixed, toc.read_text(encoding="utf-8")).encode())
        report(f"{toc.name}: the new paths of the pages")


def _text(page: Path) -> str:
    """Return what may name other files: a whole text, or the cells of a notebook without its metadata."""
    text = page.read_text(encoding="utf-8")
    return text if page.suffix == ".md" else "\n".join(each.source for each in units(text, page.suffix))


def _last_line(node: Any) -> int:
    """Return the number of lines up to the end of a value from YAML, without the comments after it."""
    if isinstance(node, yaml.ScalarNode) or node.flow_style or not node.value:
        return int(node.end_mark.line + (node.end_mark.column > 0))
    last = node.value[-1]
    return _last_line(last[1] if isinstance(last, tuple) else last)


def _insert(path: Path, keys: Sequence[str], value: Any, others: Any = None) -> None:
    """Add entries to a mapping or a list of a YAML file, whose other lines stay."""
    text = path.read_text(encoding="utf-8")
    node: Any = yaml.compose(text)
    rest = [*keys]
    while rest and (found := [each for key, each in node.value if key.value == rest[0]]):
        node = found[0]
        rest.pop(0)
        if isinstance(node, yaml.ScalarNode) or node.flow_style:
            got = text[node.start_mark.index :][:40]
            raise ValueError(f"{path}: expected {': '.join(keys)}: a line for each entry, got {got!r}")
    for key in reversed(rest):
        value = {key: value} | ((others or {}) if key == keys[-1] else {})
    lines, at = text.splitlines(), _last_line(node)
    block = yaml.safe_dump(value, allow_unicode=True, sort_keys=False)
    lines[at:at] = textwrap.indent(block, " " * node.start_mark.column).splitlines()
    write_atomically(path, ("\n".join(lines) + "\n").encode())


def _begin(book: Book, code: str, pages: Path | None, report: Report) -> None:
    """Add a language to the settings and the table of contents, with its pages or with texts that wait."""
    if code not in book.languages:
        _write_language(book.root, code, book.reference.title, {}, report)
    book, toc = Book.load(book.root), toc_file(book.root)
    home, source = book.chapters_dir(code), book.chapters_dir(book.reference.code)
    for link in (each for each in source.rglob("*") if each.is_symlink()):
        copy = home / link.relative_to(source)
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.exists():
            copy.symlink_to(os.readlink(link))
    for stem in stems(book, book.reference.code) if pages else ():
        original = book.chapter_file(book.reference.code, stem)
        path = (pages or home) / f"{stem}{original.suffix}"
        if not path.is_file():
            report(f"{path}: no such page; the book has {stem} in {book.reference.code} only")
            continue
        text, cells = path.read_bytes().decode().replace("\r\n", "\n"), read_chapter(book, original).cells
        parts = units(text, path.suffix)
        found = pair(cells, parts)
        headers = [{"id": each.id} if each else {} for each in found]
        named = [part._replace(header=header) for part, header in zip(parts, headers, strict=True)]
        hashes = [text_hash(each.translatable) if each and each.translatable else None for each in found]
        target = home / path.relative_to(pages or home)
        write_atomically(target, with_ids(text, new_ids(named), hashes, path.suffix).encode())
        more = found.count(None)
        report(f"{book.relative(target)}: {len(found) - more} of {len(cells)} cells, {more} more")
    if not pages:
        sync(book, report)
    if toc and book.in_place:
        _extend_toc(book, toc, book.languages[code])
        report(f"{toc.name}: the pages in {code}; translate the captions there")


def _extend_toc(book: Book, toc: Path, language: Language) -> None:
    """Add the pages of a language to the table of contents, in the order and form of the reference's."""
    prefix, new = (f"{book.relative(book.notebooks_dir(each.code))}/" for each in (book.reference, language))

    def translated(value: Any) -> Any:
        if isinstance(value, list):
            return [each for each in map(translated, value) if each]
        if not isinstance(value, dict):
            return value
        result = {key: translated(each) for key, each in value.items()}
        page = str(value.get("file") or value.get("glob") or "")
        if page:  # of this language, if it is of the reference and there
            result["file" if "file" in value else "glob"] = page.replace(prefix, new)
            there = [*book.root.glob(page.replace(prefix, new) + "*")]
            return result if page.startswith(prefix) and there else None
        return None if any(each == [] for each in result.values()) else result

    document = read_yaml(toc)
    if toc.name == "myst.yml":
        pages = translated(document["project"]["toc"])
        return _insert(toc, ("project", "toc"), [{"title": language.name, "children": pages}])
    key = next((each for each in ("parts", "chapters", "sections") if each in document), "chapters")
    pages, first = translated(document.get(key, [])), translated({"file": document["root"]})
    if first and key == "parts":
        pages = [{"caption": language.name, "chapters": [first]}, *pages]
    elif first:
        pages = [first | ({"sections": pages} if pages else {})]
    return _insert(toc, [key], pages)
