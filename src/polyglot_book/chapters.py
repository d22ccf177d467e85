"""Reads a chapter's text into a notebook whose cell ids are the chapter's own, and writes it back."""

import copy
import functools
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import nbformat
import yaml
from jupytext import myst
from markdown_it.token import Token
from nbformat import NotebookNode

from polyglot_book.config import Book, load_schema, problems
from polyglot_book.ipynb import NotebookError, parse_notebook, to_bytes
from polyglot_book.violations import Violation

_nbformat: Any = nbformat  # its functions carry no types
KERNELSPEC = {"display_name": "Python 3", "language": "python", "name": "python3"}
LEXER = "ipython3"
LANGUAGE_INFO = {"name": "python", "pygments_lexer": LEXER}
# splitlines() breaks lines at these, Markdown does not: cells would be cut at the wrong place. And NUL.
_ODD_CHARACTERS = re.compile("\\A\ufeff|[\x00\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029]|\r")
# The next cell, inside a code cell whose closing fence is missing.
_NEXT_CELL = re.compile(r"^(`{3,}\{code-cell\}|\+\+\+ )", re.MULTILINE)
_HEADER = load_schema("cell")
_NOT_RAW = "only Markdown and code cells can be translated"


class ChapterError(ValueError):
    """A chapter whose text cannot be read.

    Attributes:
        violation: The file, the line, from 1, what is wrong with it, and what to do.
    """

    def __init__(self, file: str, line: int, problem: str, remedy: str) -> None:
        self.violation = Violation(file, "", f"line {line}: {problem}", remedy)
        super().__init__(str(self.violation))


def text_hash(text: str) -> str:
    """Return the hash of a text, which a translation of it has as its `of`.

    >>> text_hash("# Masks")
    '9d3cb5c3'
    """
    return hashlib.sha256(text.strip().encode()).hexdigest()[:8]


@dataclass(frozen=True)
class Cell:
    """One cell of a chapter.

    Attributes:
        id: The chapter's own id.
        kind: "markdown" or "code".
        source: Its text, as jupytext reads it.
        metadata: Its metadata without the id.
    """

    id: str
    kind: str
    source: str
    metadata: Mapping[str, Any] = field(hash=False)

    @property
    def tags(self) -> list[str]:
        """Its tags."""
        return list(self.metadata.get("tags", []))

    @property
    def alt(self) -> str | None:
        """The alternative text of its figure."""
        image = (self.metadata.get("mystnb") or {}).get("image") or {}
        return image.get("alt")

    @property
    def of(self) -> str | None:
        """The hash of the reference text that it was translated from."""
        return self.metadata.get("of")

    @property
    def translatable(self) -> str | None:
        """The text to translate: the prose, or the alternative text of a figure."""
        return self.source if self.kind == "markdown" else self.alt

    def with_text(self, text: str) -> "Cell":
        """Return the cell with another text where it has one to translate."""
        if self.kind == "markdown":
            return replace(self, source=text)
        metadata = copy.deepcopy(dict(self.metadata))
        metadata["mystnb"]["image"]["alt"] = text
        return replace(self, metadata=metadata)

    def marked(self, original: str) -> "Cell":
        """Return the cell as translated from this text of the reference."""
        return replace(self, metadata={**self.metadata, "of": text_hash(original)})


@dataclass(frozen=True)
class Chapter:
    """A chapter's text, read.

    Attributes:
        file: Its file, relative to the book's root.
        text: The whole text, as it was read.
        cells: Its cells, in order.
        metadata: Its front matter.
        blocks: The front matter as it is written, and each cell with its header; none of a notebook file.
    """

    file: str
    text: str
    cells: tuple[Cell, ...]
    metadata: Mapping[str, Any] = field(hash=False)
    blocks: tuple[str, ...] = ()

    @property
    def by_id(self) -> dict[str, Cell]:
        """Its cells by id."""
        return {cell.id: cell for cell in self.cells}

    def notebook(self) -> NotebookNode:
        """Return the notebook without outputs."""
        front = {key: value for key, value in self.metadata.items() if key != "jupytext"}
        metadata = {"kernelspec": KERNELSPEC, **front, "language_info": LANGUAGE_INFO}
        notebook: NotebookNode = _nbformat.v4.new_notebook(metadata=_nbformat.from_dict(metadata))
        notebook.cells = [*map(_node, self.cells)]
        return notebook

    def canonical(self) -> str:
        """Return the text as jupytext writes it, which is the one form that chapters have."""
        return _to_myst(self.notebook(), self.metadata, LEXER)

    def with_cells(self, cells: Iterable[Cell], reference: "Chapter") -> str:
        """Return the text with other cells; those of before or of the reference stay as written."""
        if self.file.endswith(".ipynb"):
            return _notebook_with(cells, self.text or reference.text)
        written = {
            (cell.id, number): (cell, block)
            for number, chapter in enumerate((self, reference))
            for cell, block in zip(chapter.cells, chapter.blocks[1:], strict=True)
        }
        lexer = re.search(r"\{code-cell\} *(\S+)", reference.text)
        parts = [(self.blocks or reference.blocks)[0]]
        for cell in cells:
            blocks = [written[cell.id, each] for each in (0, 1) if (cell.id, each) in written]
            block = next((block for same, block in blocks if same == cell), None)
            if block is None:
                alone = replace(self, cells=(cell,)).notebook()
                text = blocks[0][1] if blocks else "\n\n"
                end = text[len(text.rstrip("\n")) :]
                block = _to_myst(alone, {}, lexer[1] if lexer else LEXER).strip("\n") + end
            last = block in (*self.blocks[-1:], *reference.blocks[-1:])
            parts.append(f"{block.rstrip()}\n\n" if last else block)
        return f"{''.join(parts).rstrip()}\n"


def _node(cell: Cell) -> NotebookNode:
    """Return a notebook's cell; those that nbformat makes are validated one by one, which takes longest."""
    outputs: dict[str, Any] = {"outputs": [], "execution_count": None} if cell.kind == "code" else {}
    parts = {"id": cell.id, "cell_type": cell.kind, "metadata": dict(cell.metadata), "source": cell.source}
    node: NotebookNode = _nbformat.from_dict(parts | outputs)
    return node


def _to_myst(notebook: NotebookNode, metadata: Mapping[str, Any], lexer: str) -> str:
    notebook.metadata = dict(metadata)
    for cell in notebook.cells:
        of = {"of": cell.metadata["of"]} if "of" in cell.metadata else {}
        cell.metadata = {"id": cell.id, **of, **cell.metadata}
    return str(myst.notebook_to_myst(notebook, default_lexer=lexer))


def _notebook_with(cells: Iterable[Cell], text: str) -> str:
    """Return a notebook file with other cells; outputs of code that has changed are removed."""
    notebook = parse_notebook(text)
    before = {cell.id: cell for cell in notebook.cells}
    notebook.cells = []
    for cell in cells:
        node = before.get(cell.id) or _node(cell)
        if node.source != cell.source and cell.kind == "code":
            node.outputs, node.execution_count = [], None
        node.source, node.metadata = cell.source, _nbformat.from_dict(dict(cell.metadata))
        notebook.cells.append(node)
    return to_bytes(notebook).decode()


def _parse_notebook(text: str, file: str) -> Chapter:
    """Read a notebook file as a chapter."""
    try:
        notebook = parse_notebook(text, file)
    except NotebookError as error:
        problem, remedy = str(error).partition(": ")[2], "save it with ids, or run `polyglot init`"
        raise ChapterError(file, 1, problem, remedy) from None
    cells = []
    for node in notebook.cells:
        if node.cell_type == "raw":
            raise ChapterError(file, 1, f"a raw cell, {node.id}", _NOT_RAW)
        cells.append(Cell(node.id, node.cell_type, node.source, _plain(node.metadata)))
    return Chapter(file, text, tuple(cells), _plain(notebook.metadata))


@functools.lru_cache(maxsize=1024)
def parse_chapter(text: str, file: str = "chapter.md") -> Chapter:
    r"""Read a chapter's text as jupytext does.

    Args:
        text: The text, with its line ends as they are in the file.
        file: The file's name for messages.

    Raises:
        ChapterError: The text would be misread, or a cell's header is wrong.

    Example:
        >>> chapter = parse_chapter('+++ {"id": "title"}\n# Masks')
        >>> chapter.by_id["title"].source
        '# Masks'
    """
    if file.endswith(".ipynb"):
        return _parse_notebook(text, file)
    unix = text.replace("\r\n", "\n")
    if odd := _ODD_CHARACTERS.search(unix):
        line = unix[: odd.start()].count("\n") + 1
        remedy = "remove it; save the file as UTF-8 without a byte order mark, its line ends \\n alone"
        raise ChapterError(file, line, f"the character {odd.group()!r}", remedy)
    tokens = myst.get_parser().parse(f"{unix}\n")
    front: Any = {}
    begin = 0
    cells: list[Cell] = []
    lines: dict[str, int] = {}
    starts: list[int] = []
    try:
        if tokens and tokens[0].type == "front_matter":
            front, begin = yaml.safe_load(tokens[0].content) or {}, tokens[0].map[1]
        for start, line, kind, source, header in split(unix.splitlines(), tokens, begin):
            starts.append(start)
            _check_cell(file, line, kind, source, header)
            cell_id = header.pop("id")
            if cell_id in lines:
                problem = f"id {cell_id!r} again, first in line {lines[cell_id]}"
                raise ChapterError(file, line, problem, "rename one")
            lines[cell_id] = line
            # jupytext drops one blank line after a header, so that a second one would not last.
            cells.append(Cell(cell_id, kind, re.sub(r"\A(\s*\n)+", "", source), _plain(header)))
    except ChapterError:
        raise
    except Exception as error:  # YAML's errors, and jupytext's own, which are plain Exceptions
        message = " ".join(str(error).split())
        number = re.search(r"cell \d+ at line (\d+)", message)
        raise ChapterError(file, int(number[1]) if number else 1, message, "correct the header") from None
    if not isinstance(front, dict):
        raise ChapterError(file, 1, f"front matter {front!r}", "write key: value")
    if not cells:
        remedy = 'begin with +++ {"id": "title"} and a heading'
        raise ChapterError(file, 1, "a chapter without cells", remedy)
    all_lines = unix.splitlines(keepends=True)
    edges = zip([0, *starts], [*starts, len(all_lines)], strict=True)
    blocks = tuple("".join(all_lines[start:end]) for start, end in edges)
    return Chapter(file, text, tuple(cells), _plain(front), blocks)


def _plain(header: dict[str, Any]) -> dict[str, Any]:
    """Turn the dates that YAML makes of some texts back into texts."""
    return dict(json.loads(json.dumps(header, default=str)))


def split(
    lines: list[str], tokens: list[Token], begin: int
) -> Iterator[tuple[int, int, str, str, dict[str, Any]]]:
    """Cut a text at its code cells and +++ lines.

    Yields:
        The index of a cell's first line, its line's number in messages, its kind, text and header.
    """
    header: dict[str, Any] = {}
    first = begin
    for token in [*tokens, None]:
        name = token.info.partition("}")[0] if token and token.type == "fence" else ""
        fenced = name in ("{code-cell", "{raw-cell")
        if token and (token.level or not (fenced or token.type == "myst_block_break")):
            continue
        start, end = token.map if token and token.map else (len(lines), len(lines))
        if source := myst.strip_blank_lines("\n".join(lines[begin:start])):
            yield first, max(1, begin), "markdown", source, header
        header, begin, first = {}, end, start
        if token and fenced:
            options, body = myst.read_fenced_cell(token, 0, "Code")
            yield start, start + 1, name[1:].removesuffix("-cell"), "\n".join(body), options
            first = end
        elif token:
            header = myst.read_cell_metadata(token, 0)


def _check_cell(file: str, line: int, kind: str, source: str, header: dict[str, Any]) -> None:
    """Raise an error where a cell cannot be translated or its header is wrong."""
    if kind == "raw":
        raise ChapterError(file, line, "a raw cell", _NOT_RAW)
    if kind == "code" and _NEXT_CELL.search(source):
        raise ChapterError(file, line, "a code cell's fence is not closed", "close it")
    if wrong := problems(header, _HEADER):
        remedy = 'as in +++ {"id": "why-scale"}' if kind == "markdown" else "as in :id: why-scale"
        raise ChapterError(file, line, f"{kind} cell: {wrong[0]}", f"correct its header, {remedy}")


def read_chapter(book: Book, path: Path) -> Chapter:
    """Read a chapter's file."""
    file = book.relative(path)
    try:
        return parse_chapter(path.read_bytes().decode(), file)
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ChapterError(file, line, f"not UTF-8: {error}", "save it as UTF-8") from None


def stems(book: Book, code: str) -> list[str]:
    """List the chapters of a language by their files' paths in its folder, without suffix, in order."""
    folder = book.chapters_dir(code)
    endings = {".md", ".ipynb"} if book.in_place else {".md"}
    paths = (path.relative_to(folder) for path in folder.rglob("*") if path.suffix in endings)
    shown = (path for path in paths if not any(part.startswith((".", "_")) for part in path.parts))
    return sorted({path.with_suffix("").as_posix() for path in shown})


def read_all(book: Book) -> tuple[dict[tuple[str, str], Chapter], list[Violation]]:
    """Read every chapter that can be read.

    Returns:
        The chapters by language and stem, and a violation for each that cannot be read.
    """
    chapters: dict[tuple[str, str], Chapter] = {}
    violations = []
    for code in book.languages:
        for stem in stems(book, code):
            try:
                chapters[code, stem] = read_chapter(book, book.chapter_file(code, stem))
            except ChapterError as error:
                violations.append(error.violation)
    return chapters, violations
