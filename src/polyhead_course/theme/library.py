"""Reads a Python package as its readers meet it: public names, signatures and docstrings.

The source is read, not imported: it takes no time, runs nothing, and annotations stay as they were written.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from polyhead_course.theme.signatures import (
    definition,
    field_of,
    is_parameter,
    names_of,
    parameters_of,
    signature,
    written,
)
from polyhead_course.theme.sources import Definition, Function, Module


class Field(NamedTuple):
    """A field of a class whose fields are its parameters, and what the comment at it says."""

    name: str
    comment: str


@dataclass(frozen=True)
class Entry:
    """A public name, or a public method of a class.

    Attributes:
        path: How a reader reaches it: "package.module.name".
        module: The module that defines it.
        signature: How it is called; of a constant, how it is defined.
        docs: Its docstring, then that of its `__init__`; of a constant, the comment at it.
        bases: The classes of the package that it is made from, as paths.
        fields: Its fields, where they are its parameters.
        parameters: The names of its parameters.
        methods: Its own public methods and properties.
    """

    path: str
    module: str
    signature: str
    docs: tuple[str, ...] = ()
    bases: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()
    parameters: frozenset[str] = frozenset()
    methods: tuple[Entry, ...] = ()

    @property
    def name(self) -> str:
        """Its name alone."""
        return self.path.rpartition(".")[2]


@dataclass(frozen=True)
class Section:
    """The public names of a module.

    Attributes:
        path: The module.
        doc: Its docstring.
        entries: Its names.
    """

    path: str
    doc: str
    entries: tuple[Entry, ...]


class Library:
    """The public names of a package.

    Attributes:
        name: The package's name.
        roots: The packages' folders by their names.
        sections: Its modules with their public names, in the order asked for.
        doc: Its docstring.
    """

    def __init__(self, roots: Sequence[Path], modules: Iterable[str] = ()) -> None:
        """Read a package.

        Args:
            roots: The packages' folders, the most important first.
            modules: Modules ("package.masks") in the order of the sections. Of each are public the names in
                its `__all__`, else those that the package exports from it, else all without an underscore.
                "package.masks.aligned" makes one more name public. What does not exist is left out.
        """
        self.roots, self.name = {root.name: root for root in roots}, roots[0].name
        self._modules: dict[str, Module | None] = {}
        # Definition -> the path by which a reader reaches it.
        self._paths: dict[tuple[str, str], str] = {}
        for package, root in self.roots.items():
            top = self._module(package)
            if top is None:
                raise ValueError(f"{root}: expected a package, with a file __init__.py")
            for name in top.exported or ():
                if found := self._defined(package, name):
                    self._paths[found] = f"{package}.{name}"
        first = self._module(self.name)
        self.doc = (first and ast.get_docstring(first.tree)) or ""
        self._entries: dict[str, Entry] = {}
        self._found: dict[str, str | None] = {}
        # Path -> the section in which its entry stands.
        self._homes: dict[str, str] = {}
        self.sections = tuple(self._sections(list(modules)))

    @property
    def files(self) -> list[Path]:
        """Every file that decides what is read."""
        return sorted(file for root in self.roots.values() for file in root.rglob("*.py"))

    @property
    def paths(self) -> set[str]:
        """The paths of all modules, names and methods that have an entry."""
        return {*self._entries, *(each.path for each in self.sections)}

    def section_of(self, path: str) -> str:
        """Give the path of the section in which an entry stands, or that it is.

        Raises:
            KeyError: There is no such entry.
        """
        return self._homes[path]

    def find(self, path: str) -> str | None:
        """Give the path of the entry that something has, by whichever way it is reached; None without one.

        "package.masks.causal_mask" is the same as "package.causal_mask" where the package exports it.
        """
        if path not in self._found:
            self._found[path] = self._find(path)
        return self._found[path]

    def _find(self, path: str) -> str | None:
        head, *rest = path.split(".")
        if head not in self.roots:
            return None
        module = head
        while rest:
            name, *others = rest
            if found := self._defined(module, name):
                return self._place(found, others)
            module, rest = f"{module}.{name}", others
            if self._module(module) is None:
                return None
        # A part of a package stands with the package.
        shown = {each.path for each in self.sections}
        return next((each for each in (module, module.rpartition(".")[0]) if each in shown), None)

    def _place(self, definition: tuple[str, str], rest: list[str]) -> str | None:
        path = self._paths.get(definition)
        if not rest or path is None:
            return path if path in self._entries else None
        if len(rest) > 1:
            return None
        own = f"{path}.{rest[0]}"
        entry = self._entries.get(path)
        if own in self._entries or entry is None:
            return own if entry else None
        # What a class does not define itself it has from another.
        return next(filter(None, (self.find(f"{base}.{rest[0]}") for base in entry.bases)), None)

    def _module(self, path: str) -> Module | None:
        if path not in self._modules:
            package, *parts = path.split(".")
            stem = self.roots[package].joinpath(*parts) if package in self.roots else Path()
            files = (stem / "__init__.py", stem.with_suffix(".py")) if package in self.roots else ()
            file = next((each for each in files if each.is_file()), None)
            self._modules[path] = Module(path, file) if file else None
        return self._modules[path]

    def _defined(self, module: str, name: str) -> tuple[str, str] | None:
        """Say which module defines a name that can be imported from another, and as what."""
        seen: set[tuple[str, str]] = set()
        while (module, name) not in seen:
            seen.add((module, name))
            source = self._module(module)
            if source is None:
                return None
            if name in source.definitions:
                return module, name
            if name not in source.imports:
                return None
            module, name = source.imports[name]
        return None

    def _sections(self, modules: list[str]) -> Iterator[Section]:
        wanted: dict[str, list[str]] = {}
        for each in modules:
            path = each
            if self._module(path) is not None:
                wanted.setdefault(path, []).extend(self._public(path))
            else:
                wanted.setdefault(path.rpartition(".")[0], []).append(path.rpartition(".")[2])
        # What the package exports is on the page, wherever it comes from.
        shown = {self._defined(path, name) for path, names in wanted.items() for name in names}
        for module, name in self._paths:
            if (module, name) not in shown:
                wanted.setdefault(module, []).append(name)
        taken: set[tuple[str, str]] = set()
        for path, names in wanted.items():
            found = [self._defined(path, name) for name in dict.fromkeys(names)]
            own = [each for each in found if each and each not in taken]
            taken.update(own)
            for home, name in own:
                self._paths.setdefault((home, name), f"{path}.{name}")
            entries = tuple(self._entry(home, name) for home, name in own)
            source = self._module(path)
            if entries and source:
                here = [path, *(each.path for entry in entries for each in (entry, *entry.methods))]
                self._homes |= dict.fromkeys(here, path)
                yield Section(path, ast.get_docstring(source.tree) or "", entries)

    def _public(self, path: str) -> list[str]:
        module = self._module(path)
        if module is None:
            return []
        if module.exported is not None:
            return module.exported
        exported = [name for home, name in self._paths if home == path]
        return [name for name in module.definitions if name in exported] or [
            name
            for name, node in module.definitions.items()
            if isinstance(node, Definition) and not name.startswith("_")
        ]

    # ---- one entry

    def _entry(self, home: str, name: str) -> Entry:
        module = self._module(home)
        assert module is not None
        node, path = module.definitions[name], self._paths[home, name]
        if isinstance(node, ast.ClassDef):
            entry = self._class(module, node, path)
        elif isinstance(node, Function):
            entry = _function(module, node, path)
        else:
            entry = Entry(path, home, definition(node), (module.comment_at(node),))
        self._entries[path] = entry
        self._entries |= {each.path: each for each in entry.methods}
        return entry

    def _class(self, module: Module, node: ast.ClassDef, path: str) -> Entry:
        methods = {each.name: each for each in node.body if isinstance(each, Function)}
        bases = [found for base in node.bases if (found := self._base(module, base))]
        docs, fields = [ast.get_docstring(node) or ""], tuple(_fields(module, node))
        parameters: list[str] = []
        names = frozenset(each.name for each in fields)
        if fields:
            parameters = [field_of(each) for each in node.body if is_parameter(each)]
        elif init := self._init(module, node):
            parameters, names = parameters_of(init.args, bound=True), names_of(init.args)
            docs += [ast.get_docstring(init) or ""] if methods.get("__init__") is init else []
        return Entry(
            path,
            module.path,
            signature(path, parameters) if parameters else path,
            tuple(filter(None, docs)),
            tuple(self._paths[each] for each in bases if each in self._paths),
            fields,
            names,
            tuple(
                _function(module, each, f"{path}.{name}", method=True)
                for name, each in methods.items()
                if not name.startswith("_") and ast.get_docstring(each)
            ),
        )

    def _base(self, module: Module, node: ast.expr) -> tuple[str, str] | None:
        return self._defined(module.path, node.id) if isinstance(node, ast.Name) else None

    def _init(self, module: Module, node: ast.ClassDef) -> ast.FunctionDef | None:
        """Find what makes a class: its own method, or that of a class of the package that it is made from."""
        for each in node.body:
            if isinstance(each, ast.FunctionDef) and each.name == "__init__":
                return each
        for base in node.bases:
            found = self._base(module, base)
            home = self._module(found[0]) if found else None
            if found and home and isinstance(parent := home.definitions[found[1]], ast.ClassDef):
                return self._init(home, parent)
        return None


def _fields(module: Module, node: ast.ClassDef) -> Iterator[Field]:
    """Give the fields of a NamedTuple, a TypedDict or a dataclass."""
    if _last_names([*node.bases, *node.decorator_list]) & {"NamedTuple", "TypedDict", "dataclass"}:
        for each in node.body:
            if is_parameter(each):
                yield Field(ast.unparse(each.target), module.comment_at(each))


def _function(module: Module, node: Function, path: str, *, method: bool = False) -> Entry:
    decorators, name = _last_names(node.decorator_list), node.name if method else path
    if decorators & {"property", "cached_property"}:
        shown = f"{name}: {written(node.returns)}" if node.returns else name
    else:
        bound = method and "staticmethod" not in decorators
        shown = signature(name, parameters_of(node.args, bound=bound), node.returns)
    return Entry(path, module.path, shown, (ast.get_docstring(node) or "",), parameters=names_of(node.args))


def _last_names(nodes: list[ast.expr]) -> set[str]:
    """Give the last part of names, without what they are called with."""
    return {ast.unparse(each).partition("(")[0].rpartition(".")[2] for each in nodes}
