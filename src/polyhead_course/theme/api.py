"""Reads the public names of Python packages, their signatures and docstrings, without importing them."""

import ast
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import griffe
from griffe import ParameterKind

# A longer signature has a line for each parameter; of a longer constant, the value is left out.
_SIGNATURE_WIDTH, _CONSTANT_WIDTH = 76, 228


@dataclass(frozen=True)
class Section:
    """The public names of a module.

    Attributes:
        module: The module.
        page: The page that lists them.
        entries: Their definitions, by the path under which a reader imports each: "package.name".
    """

    module: griffe.Module
    page: str
    entries: dict[str, griffe.Object] = field(default_factory=dict)


class Api:
    """The public names of packages, and the pages that list them.

    Attributes:
        roots: The packages' folders.
        packages: The packages by name, the main one first.
        sections: The modules that have public names.
        modules: The paths of these modules.
        pages: The page of each module, name and method, by path.
    """

    def __init__(self, roots: Sequence[Path], pages: Mapping[str, Collection[str]]) -> None:
        """Read the packages.

        Args:
            roots: The packages' folders, the main one first.
            pages: The modules ("package.masks") of each page. Public are the names in a module's `__all__`;
                without one, those that its package exports from it; without any, its functions and
                classes, except those with an underscore. "package.masks.align" adds a single name. What
                else a package exports is on the last page.

        Raises:
            ValueError: A folder is not a package, or there is no such module or name.
            SyntaxError: It has none because of an error in its source.
        """
        self.roots, self.packages = [*roots], _load(roots)
        paths = [
            f"{name}.{each}" for name, package in self.packages.items() for each in package.exports or ()
        ]
        exports = {path: self._definition(path) for path in paths}
        # Paths in the sources -> paths under which a reader imports.
        shortcuts = {each.path: path for path, each in exports.items() if each}
        self._paths: dict[str, str] = {}
        self.pages: dict[str, str] = {}
        sections: dict[str, Section] = {}
        last = [*pages][-1]
        names = [(page, name) for page, modules in pages.items() for name in modules]
        for page, name in [*names, *((last, name) for name, each in exports.items() if each)]:
            definition = self._definition(name)
            if definition is None:
                for file in self.files:  # griffe leaves out a file with a syntax error
                    ast.parse(file.read_text(encoding="utf-8"), file)
                raise ValueError(f"{page}: no module or name {name!r} in {', '.join(self.packages)}")
            module = definition.module
            section = sections.setdefault(module.path, Section(module, page))
            for entry in self._public(module, shortcuts) if definition is module else [definition]:
                if entry.path not in self._paths:
                    path = shortcuts.get(entry.path, f"{module.path}.{entry.name}")
                    section.entries[path] = entry
                    methods = {each.path: f"{path}.{each.name}" for each in methods_of(entry)}
                    self._add({entry.path: path, **methods}, section.page)
        self.sections = tuple(section for section in sections.values() if section.entries)
        self.modules = {section.module.path for section in self.sections}
        for section in self.sections:
            self._add({section.module.path: section.module.path}, section.page)

    @property
    def files(self) -> list[Path]:
        """Every file of the packages."""
        return sorted(file for root in self.roots for file in root.rglob("*.py"))

    @property
    def package(self) -> griffe.Module:
        """The main package."""
        return next(iter(self.packages.values()))

    def find(self, path: str) -> str | None:
        """Return the path of the entry to which a path leads; None if there is no entry.

        "package.masks.causal_mask" leads to "package.causal_mask" if the package exports it, an inherited
        method to that of the base class, and a module without a section to the package around it.
        """
        definition = self._definition(path)
        if isinstance(definition, griffe.Module) and definition.path not in self._paths:
            definition = definition.parent
        return self._paths.get(definition.path) if definition else None

    def bases(self, entry: griffe.Object) -> list[str]:
        """Return the paths of the base classes that have an entry."""
        bases = entry.resolved_bases if isinstance(entry, griffe.Class) else []
        return [self._paths[each.path] for each in bases if each.path in self._paths]

    def _add(self, paths: Mapping[str, str], page: str) -> None:
        self._paths |= paths
        self.pages |= dict.fromkeys(paths.values(), page)

    def _definition(self, path: str) -> griffe.Object | None:
        """Follow a path in the packages, and the imports on its way, to a definition."""
        package, *names = path.split(".")
        if package not in self.packages:
            return None
        definition: griffe.Object = self.packages[package]
        try:
            for name in names:
                member = definition[name]
                # In Python an import hides the submodule of its name; griffe has the submodule.
                if member.is_module and name in definition.imports:
                    member = definition.modules_collection[definition.imports[name]]
                definition = member.final_target if member.is_alias else member
            return definition
        except (KeyError, griffe.AliasResolutionError, griffe.CyclicAliasError):
            return None

    def _public(self, module: griffe.Module, shortcuts: Collection[str]) -> list[griffe.Object]:
        """Return what a module exports, else what the package exports from it, else all without `_`."""
        if module.exports is not None:
            exports = [self._definition(f"{module.path}.{name}") for name in module.exports]
            return [each for each in exports if each and not each.is_module]
        definitions = [each for each in module.members.values() if isinstance(each, griffe.Object)]
        return [each for each in definitions if each.path in shortcuts] or [
            each
            for each in definitions
            if (each.is_function or each.is_class) and not each.name.startswith("_")
        ]


def _load(roots: Sequence[Path]) -> dict[str, griffe.Module]:
    # By default griffe also replaces `**options: Unpack[Options]` by a parameter for each option.
    loader = griffe.GriffeLoader(
        extensions=griffe.Extensions(griffe.DataclassesExtension()),
        search_paths=[*dict.fromkeys(root.parent for root in roots)],
        allow_inspection=False,
    )
    for root in roots:
        # griffe would read any folder as a namespace package.
        if not (root / "__init__.py").is_file():
            raise ValueError(f"{root}: expected a package, with a file __init__.py")
    return {root.name: cast(griffe.Module, loader.load(root.name, try_relative_path=False)) for root in roots}


def methods_of(entry: griffe.Object) -> list[griffe.Object]:
    """Return the methods and properties that a class defines, if they are public and have a docstring."""
    if not entry.is_class:
        return []
    return [
        each
        for name, each in entry.members.items()
        if isinstance(each, griffe.Function | griffe.Attribute)
        and (each.is_function or "property" in each.labels)
        and each.docstring
        and not name.startswith("_")
    ]


def docstrings_of(entry: griffe.Object) -> list[griffe.Docstring]:
    """Return the docstring of a definition and, of a class, that of its `__init__`."""
    init = entry.members.get("__init__") if entry.is_class else None
    return [each.docstring for each in (entry, init) if each and each.docstring]


def signature_of(entry: griffe.Object, name: str) -> str:
    """Write how something is called or, of a property or a constant, its type and value."""
    if isinstance(entry, griffe.Attribute):
        annotation = f": {_code(entry.annotation)}" if entry.annotation else ""
        value = f" = {_code(entry.value)}" if entry.value else ""
        line = f"{name}{annotation}{value}"
        return line if len(line) <= _CONSTANT_WIDTH else f"{name}{annotation} = ..."
    parameters = parameters_of(entry)
    if entry.is_class and not parameters:
        return name
    returns = entry.returns if isinstance(entry, griffe.Function) else None
    function = griffe.Function(name, parameters=griffe.Parameters(*parameters), returns=returns)
    line = _code(function.signature())
    if len(line) <= _SIGNATURE_WIDTH or not parameters:
        return line
    inside = _code(function.signature(return_type=False))[len(f"{name}(") : -1]
    between = rf", (?=[*/]|(?:{'|'.join(each.name for each in parameters)})\b)"
    lines = [f"    {each}," for each in re.split(between, inside)]
    return "\n".join([f"{name}(", *lines, line.removeprefix(f"{name}({inside}")])


def parameters_of(entry: griffe.Object) -> list[griffe.Parameter]:
    """Return the parameters of a function, or those with which an object of a class is made."""
    if isinstance(entry, griffe.Class):
        if {str(base).rpartition(".")[2] for base in entry.bases} & {"NamedTuple", "TypedDict"}:
            kind = ParameterKind.positional_or_keyword
            return [
                griffe.Parameter(name, annotation=each.annotation, default=each.value, kind=kind)
                for name, each in entry.attributes.items()
                if each.annotation and "property" not in each.labels
            ]
        parameters = [*entry.parameters]
    else:
        parameters = [*entry.parameters] if isinstance(entry, griffe.Function) else []
    is_method = entry.is_class or (entry.parent is not None and entry.parent.is_class)
    return (
        parameters[1:] if is_method and parameters and parameters[0].name in {"self", "cls"} else parameters
    )


def _code(expression: str | griffe.Expr | None) -> str:
    """Write an expression with double quotes."""
    text = str(expression)
    return text if '"' in text else text.replace("'", '"')
