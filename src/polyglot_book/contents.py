"""Reads titles, prerequisites, minutes and exercises of a language's chapters, for pages that list them."""

import re
from pathlib import Path
from typing import Any, NamedTuple

# How a chapter's text marks an exercise.
EXERCISE_CLASS = "exercise"  # of the admonition
EXERCISE_PREFIX = "exercise-"  # of the id of its cell
_FRONT_MATTER = re.compile(r"---\n(.*?\n)---\n(.*)", re.DOTALL)
_HEADING = re.compile(r"^# +(.+?) *$", re.MULTILINE)
# An admonition of the class `exercise` at the beginning of a cell, and what follows up to the next text:
#     +++ {"id": "exercise-scale"}
#
#     :::{admonition} Exercise 3
#     :class: exercise
_EXERCISE = re.compile(
    r'^\+\+\+ \{"id": "([^"]+)".*\}\n\n:::+\{admonition\} +(.+)\n'
    rf":class: {EXERCISE_CLASS}\n((?:(?!\+\+\+ ).*\n?)*)",
    re.MULTILINE,
)


class Exercise(NamedTuple):
    """An exercise of a chapter.

    Attributes:
        anchor: The id of its cell.
        title: Its title.
        text: The rest of it, with the code that it begins with.
    """

    anchor: str
    title: str
    text: str


class Contents(NamedTuple):
    """The title, prerequisites, length and exercises of a chapter.

    Attributes:
        title: Its first heading.
        needs: The stems of the chapters it builds on.
        minutes: The time to read it, 0 if it is not given.
        exercises: Its exercises.
    """

    title: str
    needs: list[str]
    minutes: int
    exercises: list[Exercise]


def overview(folder: str | Path = ".") -> dict[str, Contents]:
    r"""Read the contents of each chapter, in their order.

    The source is the chapters' text if the book has it, else the notebooks. A page without `needs`
    in its front matter, such as an index, is not a chapter.

    Args:
        folder: A language's folder of notebooks, `<book>/<language>`; a running notebook's own by default.
            The book's root is the nearest folder above with settings, or else the one above `<book>`.

    Returns:
        The contents by the chapters' stems.

    Raises:
        ValueError: A chapter's front matter is not valid YAML, its `needs` or `minutes` are not of the right
            type, or it has no title.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as root:
        ...     chapters = Path(root, "chapters/en")
        ...     chapters.mkdir(parents=True)
        ...     _ = Path(chapters, "01-sums.md").write_text("---\nneeds: []\nminutes: 5\n---\n\n# Sums")
        ...     overview(Path(root, "book/en"))
        {'01-sums': Contents(title='Sums', needs=[], minutes=5, exercises=[])}
    """
    here = Path(folder).resolve()
    settings = (each / name for each in here.parents for name in ("_config.yml", "polyglot.yml"))
    root = next((each.parent for each in settings if each.is_file()), here.parent.parent)
    texts = root / "chapters" / here.name
    chapters, of_texts = {}, texts.is_dir()
    source, pages, read = (texts, "*.md", _read_chapter) if of_texts else (here, "*.ipynb", _read_notebook)
    for path in sorted(source.rglob(pages)):
        metadata, text = read(path)
        if "needs" not in metadata:
            continue
        needs, minutes, heading = metadata["needs"], metadata.get("minutes", 0), _HEADING.search(text)
        if not isinstance(needs, list) or not all(isinstance(each, str) for each in needs):
            raise ValueError(f"{path}: needs must be a list of chapters, such as [01-first], got {needs!r}")
        if type(minutes) is not int:  # true is no number of minutes
            raise ValueError(f"{path}: minutes must be a whole number, got {minutes!r}")
        if heading is None:
            raise ValueError(f"{path}: expected a title, a line that begins with '# '; there is none")
        exercises = [Exercise(*groups) for groups in _EXERCISE.findall(text)]
        stem = path.relative_to(source).with_suffix("").as_posix()
        chapters[stem] = Contents(heading[1], needs, minutes, exercises)
    return chapters


def _read_chapter(path: Path) -> tuple[dict[str, Any], str]:
    import yaml

    parts = _FRONT_MATTER.match(path.read_text(encoding="utf-8"))
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # not every PyYAML has the fast one
    try:
        return (yaml.load(parts[1], loader) or {}, parts[2]) if parts else ({}, "")
    except yaml.YAMLError as error:
        raise ValueError(f"{path}: the front matter is not valid YAML: {error}") from None


def _read_notebook(path: Path) -> tuple[dict[str, Any], str]:
    """Return a notebook's metadata, and its cells in the form of a chapter, as far as it is read here."""
    from polyglot_book.ipynb import read_notebook

    notebook = read_notebook(path, check=False)
    texts = []
    for cell in notebook.cells:
        header = f'+++ {{"id": "{cell.get("id")}"}}\n\n' if cell.cell_type == "markdown" else ""
        texts.append(f"{header}{cell.source}\n")
    return notebook.metadata, "\n".join(texts)
