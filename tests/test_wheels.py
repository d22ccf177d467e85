"""Each wheel needs only what it declares: all its modules import, and the examples of its README run."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from zipfile import ZipFile

import pytest
from hatchling.builders.wheel import WheelBuilder
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

SOURCES = Path(__file__).parents[1] / "src"
LIBRARIES = sysconfig.get_path("purelib")
PACKAGES = sorted(path.parent.name for path in SOURCES.glob("*/pyproject.toml"))
# Imports all modules, and runs the examples, in a Python for which some libraries are not there.
PROGRAM = """
import doctest, importlib, json, pkgutil, re, sys
from importlib.machinery import PathFinder
folder, libraries, package, refused, skipped, readme = json.load(sys.stdin)
sys.path[:0], sys.path[len(sys.path):] = [folder], [libraries]

class Declared(PathFinder):
    def find_spec(name, path=None, target=None):
        return None if name.partition(".")[0] in refused else PathFinder.find_spec(name, path, target)

sys.meta_path[sys.meta_path.index(PathFinder)] = Declared
root = importlib.import_module(package)
for module in pkgutil.walk_packages(root.__path__, f"{package}."):
    if not module.name.endswith("__main__") and not module.name.startswith(tuple(skipped)):
        importlib.import_module(module.name)
examples = re.sub("^```.*$", "", readme, flags=re.MULTILINE)  # a closing fence is no part of an output
test = doctest.DocTestParser().get_doctest(examples, {}, f"README of {package}", None, 0)
if doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test).failed:
    sys.exit(1)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the content of all wheels."""
    folder = tmp_path_factory.mktemp("wheels")
    for package in PACKAGES:
        for wheel in WheelBuilder(str(SOURCES / package)).build(directory=str(folder / "wheels")):
            ZipFile(wheel).extractall(folder / "installed")
    return folder / "installed"


@pytest.fixture(scope="module")
def owners(folder: Path) -> dict[str, set[str]]:
    """The distributions that each top-level module belongs to."""
    owners: dict[str, set[str]] = {}
    for distribution in metadata.distributions(path=[str(folder), LIBRARIES]):
        name = canonicalize_name(distribution.metadata["Name"])
        for line in (distribution.read_text("RECORD") or "").splitlines():
            owners.setdefault(re.split("[/.,]", line)[0], set()).add(name)
    return owners


def requirements(names: Iterable[tuple[str, str]], path: list[str]) -> set[str]:
    """Collect the names of distributions, each with an extra or "", and of all that they require."""
    seen, waiting = set[tuple[str, str]](), list(names)
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        distribution = next(iter(metadata.distributions(name=name, path=path)), None)
        for needed in map(Requirement, (distribution and distribution.requires) or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                waiting += [(canonicalize_name(needed.name), each) for each in ("", *needed.extras)]
    return {name for name, _ in seen}


def test_the_wheels_hold_every_file(folder: Path) -> None:
    files = {path.relative_to(SOURCES).as_posix() for path in SOURCES.glob("*/**/*") if path.is_file()}
    apart = {f"{package}/{name}" for package in PACKAGES for name in ("pyproject.toml", "README.md")}
    files = {name for name in files - apart if "__pycache__" not in name and ".egg-info" not in name}
    assert files <= {path.relative_to(folder).as_posix() for path in folder.rglob("*")}


def test_commands_and_plugins_are_there(folder: Path) -> None:
    found = [each for one in metadata.distributions(path=[str(folder)]) for each in one.entry_points]
    assert {"attention-clinic", "attention_clinic"} <= {each.name for each in found}
    assert all(each.load() for each in found)
    files = [folder / each.module.replace(".", "/") for each in found]
    assert all(file.is_dir() or file.with_suffix(".py").is_file() for file in files)


def test_what_is_heavy_is_needed_by_few(folder: Path) -> None:
    path = [str(folder), LIBRARIES]
    needs = {package: requirements([(canonicalize_name(package), "")], path) for package in PACKAGES}
    for library, packages in {
        "torch": {"polyhead", "attention-clinic", "polyhead-course"},
        "sphinx": {"sphinx-polyglot"},
        "matplotlib": {"polyhead-course"},
        "scipy": {"polyhead-course"},
        "babel": {"polyglot-book", "sphinx-polyglot", "polyhead-course"},
    }.items():
        assert {canonicalize_name(each) for each in PACKAGES if library in needs[each]} == packages, library


@pytest.mark.parametrize(
    ("package", "extra", "skipped"),
    [
        ("polyhead", "", []),
        ("polyhead", "pretrained", []),
        ("attention_clinic", "", []),
        ("polyglot_book", "", []),
        ("sphinx_polyglot", "", []),
        (
            "polyhead_course",
            "",
            [
                "polyhead_course.theme",
                "polyhead_course.pdf",
                "polyhead_course.fonts.subset",
                "polyhead_course.handouts",
                "polyhead_course.workshop.browser",
            ],
        ),
        ("polyhead_course", "site", []),
    ],
)
def test_a_wheel_needs_only_what_it_declares(
    folder: Path, owners: dict[str, set[str]], package: str, extra: str, skipped: list[str], tmp_path: Path
) -> None:
    name = canonicalize_name(package)
    declared = requirements([(name, ""), (name, extra)], [str(folder), LIBRARIES])
    readme = metadata.Distribution.at(next(folder.glob(f"{package}-*.dist-info"))).metadata.get_payload()
    if (package, extra) == ("polyhead", ""):  # its README also loads a model of the extra
        readme = ""
    refused = [module for module, names in owners.items() if not names & declared]
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PROGRAM],
        input=json.dumps([str(folder), LIBRARIES, package, refused, skipped, readme]),
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr
