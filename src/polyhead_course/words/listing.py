"""`show`: the source of a function, class, method or module, as a listing to read."""

import ast
import inspect
import io
import re
import reprlib
import tokenize
from types import ModuleType
from typing import Any

# Python's own decorators that change how an object is used; a listing without them would mislead.
_SHOWN_DECORATORS = ("property", "setter", "staticmethod", "classmethod", "contextmanager", "dataclass")
_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


class Listing:
    """Sources below their names: highlighted in Jupyter and on the site, plain text in a terminal."""

    def __init__(self, sources: list[tuple[str, str]]) -> None:
        """Take pairs of a caption and a source."""
        self.sources = sources

    def __repr__(self) -> str:
        """Python to copy, with the captions as comments."""
        return "\n\n".join(f"# {caption}\n{source}" for caption, source in self.sources)

    def _repr_markdown_(self) -> str:
        """Markdown for a notebook and the site, which colour it."""
        return "\n\n".join(_fence(caption, source) for caption, source in self.sources)


def show(*objects: Any) -> Listing:
    """Show the source of functions, classes, methods or modules, without docstrings and decorators.

    Comments and layout stay, and so do decorators such as `property` and `dataclass`. What is written in
    Python can be shown, wherever it comes from: `show(polyhead.causal_mask, torch.nn.Linear.forward)`.

    >>> import keyword
    >>> print(repr(show(keyword))[:9])
    # keyword

    Raises:
        TypeError: an object has no Python source, or there is none.
    """
    if not objects:
        raise TypeError("show must get at least one function, class, method or module, got nothing")
    return Listing([_caption_and_source(thing) for thing in objects])


def _caption_and_source(thing: Any) -> tuple[str, str]:
    source: Any = thing.fget if isinstance(thing, property) else thing
    try:
        return _caption(source), _without_docstrings(inspect.getsource(source))
    except (TypeError, OSError, SyntaxError):  # SyntaxError: a lambda amid something else
        name = _caption(thing) or reprlib.repr(thing)
        raise TypeError(
            f"show must get functions, classes, methods or modules that are written in Python, got {name}"
        ) from None


def _caption(thing: Any) -> str:
    if isinstance(thing, ModuleType):
        return thing.__name__
    name = getattr(thing, "__qualname__", "").replace("<locals>.", "")
    module = getattr(thing, "__module__", None)
    return name if not name or module in (None, "__main__") else f"{module} · {name}"


def _fence(caption: str, source: str) -> str:
    names = " · ".join(f"`{name}`" for name in caption.split(" · "))
    fence = max("```", *(f"{inside}`" for inside in re.findall("`+", source)), "", key=len)
    return f"{names}\n\n{fence}python\n{source}\n{fence}"


def _without_docstrings(source: str) -> str:
    """The source without docstrings, decorators, and the margin that it has inside a class."""
    margin = source[: len(source) - len(source.lstrip(" \t"))]
    source = f"if True:\n{source}" if margin else source
    lines = source.split("\n")
    removed = {0} if margin else set()
    for node in ast.walk(ast.parse(source)):
        for decorator in getattr(node, "decorator_list", []):
            if ast.unparse(decorator).partition("(")[0].rpartition(".")[2] not in _SHOWN_DECORATORS:
                removed |= _rows(decorator)
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            removed |= _remove_docstring(lines, *node.body)
    # Only string tokens go over several lines; the lines inside them keep their margin.
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    in_strings = {row for token in tokens for row in range(token.start[0], token.end[0])}
    for row in {*range(len(lines))} - in_strings:
        lines[row] = lines[row].removeprefix(margin) if lines[row].strip() else ""
    return "\n".join(line for row, line in enumerate(lines) if row not in removed).strip("\n")


def _rows(node: ast.expr | ast.stmt) -> set[int]:
    return set(range(node.lineno - 1, node.end_lineno or node.lineno))


def _remove_docstring(lines: list[str], docstring: ast.stmt, *rest: ast.stmt) -> set[int]:
    """Find the rows of a docstring and the empty ones below; `...` replaces it where nothing else is left."""
    first, last = docstring.lineno - 1, max(_rows(docstring))
    if not rest or rest[0].lineno - 1 == last:
        before = lines[first].encode()[: docstring.col_offset].decode()
        after = lines[last].encode()[docstring.end_col_offset :].decode()
        lines[first] = f"{before}...{after}"
        first += 1
    else:
        while not lines[last + 1].strip():
            last += 1
    return set(range(first, last + 1))
