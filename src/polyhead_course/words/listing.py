"""`show`: the source of a function, class, method or module, as a listing to read."""

from __future__ import annotations

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
        """What a notebook and the site show, in the colours of their theme."""
        return "\n\n".join(_fenced(caption, source) for caption, source in self.sources)


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
    return Listing([_listed(thing) for thing in objects])


def _listed(thing: Any) -> tuple[str, str]:
    source: Any = thing.fget if isinstance(thing, property) else thing
    try:
        return _caption(source), _tidy(inspect.getsource(source))
    except (TypeError, OSError, SyntaxError):  # SyntaxError: a lambda amid something else
        came = _caption(thing) or reprlib.repr(thing)
        raise TypeError(
            f"show must get functions, classes, methods or modules that are written in Python, got {came}"
        ) from None


def _caption(thing: Any) -> str:
    if isinstance(thing, ModuleType):
        return thing.__name__
    name = getattr(thing, "__qualname__", "").replace("<locals>.", "")
    module = getattr(thing, "__module__", None)
    return name if not name or module in (None, "__main__") else f"{module} · {name}"


def _fenced(caption: str, source: str) -> str:
    names = " · ".join(f"`{name}`" for name in caption.split(" · "))
    fence = max("```", *(f"{inside}`" for inside in re.findall("`+", source)), "", key=len)
    return f"{names}\n\n{fence}python\n{source}\n{fence}"


def _tidy(source: str) -> str:
    """The source without docstrings, decorators, and the margin that it has inside a class."""
    margin = source[: len(source) - len(source.lstrip(" \t"))]
    source = f"if True:\n{source}" if margin else source
    lines = source.split("\n")
    gone = {0} if margin else set()
    for node in ast.walk(ast.parse(source)):
        for decorator in getattr(node, "decorator_list", []):
            if ast.unparse(decorator).partition("(")[0].rpartition(".")[2] not in _SHOWN_DECORATORS:
                gone |= _rows(decorator)
        if isinstance(node, _DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            gone |= _emptied(lines, *node.body)
    # No token but a string goes over several lines; what it holds has no margin to lose.
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    held = {row for token in tokens for row in range(token.start[0], token.end[0])}
    for row in {*range(len(lines))} - held:
        lines[row] = lines[row].removeprefix(margin) if lines[row].strip() else ""
    return "\n".join(line for row, line in enumerate(lines) if row not in gone).strip("\n")


def _rows(node: ast.expr | ast.stmt) -> set[int]:
    return set(range(node.lineno - 1, node.end_lineno or node.lineno))


def _emptied(lines: list[str], docstring: ast.stmt, *rest: ast.stmt) -> set[int]:
    """The rows of a docstring, and the empty ones below it; a body needs at least `...` in its place."""
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
