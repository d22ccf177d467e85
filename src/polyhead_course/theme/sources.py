"""Reads a module's source: what it defines, imports and exports, and the comments at its definitions."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = Function | ast.ClassDef

_FOR_TOOLS = re.compile(r"#\s*(fmt|noqa|type|ruff|mypy|pragma)\b")


@dataclass
class Module:
    """A module's source, as far as it is asked for here.

    Attributes:
        path: Its name, with those of the packages around it.
        file: Where its source lies.
        definitions: The statements that define its names.
        imports: Its other names: the module that each is from, and its name there.
        exported: What its `__all__` lists, if it has one.
    """

    path: str
    file: Path
    definitions: dict[str, ast.stmt] = field(init=False, default_factory=dict)
    imports: dict[str, tuple[str, str]] = field(init=False, default_factory=dict)
    exported: list[str] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.text = self.file.read_text(encoding="utf-8")
        self.tree = ast.parse(self.text)
        for node in self.tree.body:
            if isinstance(node, Definition):
                self.definitions[node.name] = node
            elif isinstance(node, ast.ImportFrom):
                home = self._from(node)
                self.imports |= {each.asname or each.name: (home, each.name) for each in node.names}
            elif isinstance(node, ast.Import):
                self.imports |= {each.asname: (each.name, "") for each in node.names if each.asname}
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names = [each.id for each in targets if isinstance(each, ast.Name)]
                if names == ["__all__"] and isinstance(node.value, ast.List | ast.Tuple):
                    self.exported = ast.literal_eval(node.value)
                self.definitions |= dict.fromkeys(names, node)

    def _from(self, node: ast.ImportFrom) -> str:
        """Name the module that something is imported from."""
        if not node.level:
            return node.module or ""
        package = self.path.split(".") if self.file.name == "__init__.py" else self.path.split(".")[:-1]
        return ".".join([*package[: len(package) - node.level + 1], *filter(None, [node.module])])

    @cached_property
    def comments(self) -> dict[int, tuple[str, bool]]:
        """The comments by line, and whether each stands there alone."""
        tokens = tokenize.generate_tokens(io.StringIO(self.text).readline)
        return {
            each.start[0]: (each.string.lstrip("# "), not each.line[: each.start[1]].strip())
            for each in tokens
            if each.type == tokenize.COMMENT and not _FOR_TOOLS.match(each.string)
        }

    def comment_at(self, node: ast.stmt) -> str:
        """Give the comment behind a statement, or those in the lines above it."""
        text, alone = self.comments.get(node.end_lineno or node.lineno, ("", True))
        if text and not alone:
            return text
        above: list[str] = []
        line = node.lineno - 1
        while line in self.comments and self.comments[line][1]:
            above.insert(0, self.comments[line][0])
            line -= 1
        return " ".join(above)
