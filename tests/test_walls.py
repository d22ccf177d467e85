"""Which package of `src/` imports which, and what else each of them may import."""

from __future__ import annotations

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
# Of the five packages, what each may import besides itself.
MAY = {
    "polyhead": set(),
    "attention_clinic": {"polyhead"},
    "polyglot_book": set(),
    "sphinx_polyglot": {"polyglot_book"},
    "polyhead_course": {"polyhead", "attention_clinic", "polyglot_book", "sphinx_polyglot"},
}
HEAVY = {"matplotlib", "scipy", "babel", "yaml", "numpy", "sphinx", "docutils"}
MAY_NOT = {
    "polyhead": HEAVY,
    "attention_clinic": HEAVY,
    "polyglot_book": {"torch", "sphinx", "docutils", "matplotlib", "jupyter_book", "myst_parser"},
    "sphinx_polyglot": {"torch", "matplotlib"},
    "polyhead_course": set(),
}


def imports(path: Path) -> set[str]:
    """The modules that a file imports, wherever in it, by their full names."""
    nodes = [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            names |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
    return names


def files(package: str) -> list[Path]:
    return sorted((SOURCE / package).rglob("*.py"))


@pytest.mark.parametrize("package", MAY)
def test_arrows_between_packages_point_one_way(package):
    forbidden = {*MAY} - MAY[package] - {package} | MAY_NOT[package]
    crossings = {
        (str(path.relative_to(SOURCE)), name)
        for path in files(package)
        for name in {each.partition(".")[0] for each in imports(path)} & forbidden
    }
    assert crossings == set()


@pytest.mark.parametrize("package", MAY)
def test_modules_import_one_another_without_a_circle(package):
    graph = {}
    for path in files(package):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        graph[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = imports(path)
    for name, found in graph.items():  # `from package import module` needs the module alone
        parents = {each.rpartition(".")[0] for each in found if each in graph}
        graph[name] = {each for each in found if each in graph and each not in {name, *parents}}
    TopologicalSorter(graph).prepare()


def test_every_package_has_a_wall():
    assert {path.parent.name for path in SOURCE.glob("*/__init__.py")} == {*MAY}
