"""`python -m mutation polyhead`: change the code in small ways, and see whether a test notices."""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from mutation import nearest, trial
from mutation.equivalent import read_equivalent
from mutation.mutants import Mutant, mutants

KEPT = Path("_build/mutation")
OPTIONS = [
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-q",
    "--tb=native",  # the quickest, and it can tell of an exception that a timer raised
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]
LEFT = (".git", ".venv", "_build", "node_modules", "lab", "__pycache__", ".*_cache", ".hypothesis")


@dataclass(frozen=True)
class Group:
    """A folder of sources, the folder of its tests, and the percentage of mutants that they must notice."""

    source: Path
    tests: Path
    bar: float
    left_out: tuple[str, ...] = ()


COURSE = Path("tests/polyhead_course")
SLOW = ("test_site_", "test_handouts")
GROUPS = {
    "polyhead": Group(Path("src/polyhead"), Path("tests/polyhead"), 95),
    "attention_clinic": Group(Path("src/attention_clinic"), Path("tests/attention_clinic"), 95),
    "figures": Group(Path("src/polyhead_course/figures"), COURSE, 90, (*SLOW, "test_clinic_probes")),
    "exercises": Group(Path("src/polyhead_course/exercises"), COURSE, 90, SLOW),
    "polyglot_book": Group(Path("src/polyglot_book"), Path("tests/polyglot_book"), 85),
    "sphinx_polyglot": Group(Path("src/sphinx_polyglot"), Path("tests/sphinx_polyglot"), 85),
}


@dataclass(frozen=True)
class Case:
    """A mutant of one of the files."""

    path: Path
    mutant: Mutant

    @property
    def name(self) -> tuple[str, str, str]:
        return str(self.path), self.mutant.line, self.mutant.change


def cases(source: Path, only: str) -> list[Case]:
    """Return the mutants of all modules with `only` in their path, but those that are known as equivalent."""
    files = [each for each in sorted(source.rglob("*.py")) if only in str(each)]
    known = {entry.name for entry in read_equivalent()}
    found = [Case(path, mutant) for path in files for mutant in mutants(path.read_bytes())]
    return [each for each in found if each.name not in known]


def in_child(work: Callable[[], None], log: Path) -> None:
    """Call this in a fork whose prints go to the log; end if it fails."""
    child = os.fork()
    if not child:
        try:
            trial.quiet(log)
            work()
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    if os.waitpid(child, 0)[1]:
        sys.exit(f"stopped: see {log}")


@contextmanager
def written(case: Case) -> Iterator[bytes]:
    """Let the file have the change for a while: for an import, and for processes that a test starts."""
    before = case.path.read_bytes()
    changed = case.mutant.applied(before)
    case.path.write_bytes(changed)
    try:
        yield changed
    finally:
        case.path.write_bytes(before)


@dataclass
class Run:
    """A run of one group, in a copy of the folder."""

    name: str
    group: Group
    options: argparse.Namespace

    def __post_init__(self) -> None:
        self.root = Path.cwd()
        self.kept = self.root / KEPT / self.name
        self.results, self.log = self.kept / "results.jsonl", self.kept / "log"

    def enter(self) -> None:
        """Copy the folder and go there."""
        tree = self.kept / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        shutil.copytree(self.root, tree, ignore=shutil.ignore_patterns(*LEFT), symlinks=True)
        if (self.root / ".venv").exists():
            (tree / ".venv").symlink_to((self.root / ".venv").resolve())
        os.chdir(tree)
        os.environ |= {"PYTHONPATH": f"{tree / 'src'}", "PYTHONDONTWRITEBYTECODE": "1"}
        sys.dont_write_bytecode = True
        sys.path[:0] = [str(tree / "src"), str(tree)]
        self.log.write_text("")

    def record(self) -> None:
        """Find out which tests execute which lines, where that is not known yet."""
        files = sorted(self.group.tests.rglob("test_*.py"))
        files = [each for each in files if self.options.tests in str(each)]
        self.files = [each for each in files if not each.name.startswith(self.group.left_out)]
        folder = self.kept / "tests"
        if missing := nearest.outdated(self.group.source, self.files, folder):
            print(f"{self.name}: recording which lines the tests in {len(missing)} files execute", flush=True)
            most = self.options.budget / 10
            in_child(lambda: nearest.record(self.group.source, missing, folder, most, OPTIONS), self.log)
        self.near = nearest.Nearest(self.files, folder)
        self.seconds = self.near.seconds
        print(f"{self.name}: {len(self.seconds)} tests in {sum(self.seconds.values()):.0f} s", flush=True)

    def choose(self) -> None:
        """Decide which mutants to try."""
        self.cases = cases(self.group.source, self.options.only)
        if self.options.survivors:
            last = [json.loads(line) for line in self.results.read_text(encoding="utf-8").splitlines()]
            survived = {(each["path"], each["line"], each["change"]) for each in last if not each["killer"]}
            self.cases = [each for each in self.cases if each.name in survived]
        if self.options.sample and self.options.sample < len(self.cases):
            picked = random.Random(self.options.seed).sample(range(len(self.cases)), self.options.sample)
            self.cases = [self.cases[index] for index in sorted(picked)]

    def tests(self, case: Case) -> list[str]:
        return self.near.tests(str(case.path), case.mutant.lines, self.options.budget)

    def tell(self, case: Case, killer: str | None) -> None:
        """Write what became of a mutant, and print it if it survived."""
        path, line, change = case.name
        told = {"path": path, "number": case.mutant.number, "line": line, "change": change}
        with self.results.open("a", encoding="utf-8") as file:
            file.write(json.dumps({**told, "killer": killer}, ensure_ascii=False) + "\n")
        if killer is None:
            count = len(self.tests(case))
            of = f"survived {count} tests" if count else "no test executes it"
            os.write(self.terminal, f"{path}:{case.mutant.number}: {line}\n    {change}\n    {of}\n".encode())

    def try_in_place(self, bench: trial.Bench) -> None:
        """Try those that can be put into a process that has imported everything; note the others."""
        for number, case in enumerate(self.cases):
            path, chosen = str(case.path.resolve()), self.tests(case)
            if not chosen:
                self.tell(case, None)
            elif bench.functions.fits(path, case.mutant, case.mutant.applied(case.path.read_bytes())):
                with written(case) as changed:
                    change = partial(bench.functions.change, path, case.mutant, changed)
                    killer = bench.against(chosen, change)
                self.tell(case, killer)
            else:
                with self.late.open("a") as file:
                    file.write(f"{number}\n")

    def try_all(self) -> None:
        """Try all the mutants."""
        self.terminal = os.dup(1)
        self.late = self.kept / "late"
        for each in (self.results, self.late):
            each.write_text("")

        def work() -> None:
            bench = trial.Bench(self.group.source.resolve(), self.seconds, self.try_in_place)
            if pytest.main([*OPTIONS, *map(str, self.files)], plugins=[trial.Steady(), bench]):
                raise RuntimeError("pytest has failed")

        in_child(work, self.log)
        good: dict[str, bool] = {}
        for case in [self.cases[int(line)] for line in self.late.read_text().split()]:
            chosen = [each for each in self.tests(case) if good.get(each, True)]
            with written(case):
                killer = trial.fresh(chosen, self.seconds, OPTIONS, self.log)
            if killer in self.seconds and killer not in good:
                good[killer] = trial.fresh([killer], self.seconds, OPTIONS, self.log) is None
            self.tell(case, killer if good.get(killer or "", True) else None)

    def __call__(self) -> bool:
        """Return whether enough of the mutants were noticed."""
        self.enter()
        self.record()
        self.choose()
        self.try_all()
        os.chdir(self.root)
        return report(self.name, self.results, self.group.bar)


def report(name: str, results: Path, bar: float) -> bool:
    """Print how many mutants of each module were noticed; return whether it is enough of the group's."""
    total, killed = Counter[str](), Counter[str]()
    for line in results.read_text(encoding="utf-8").splitlines():
        each = json.loads(line)
        for key in (each["path"], name):
            total[key] += 1
            killed[key] += each["killer"] is not None
    for key in [*sorted({*total} - {name}), name]:
        print(f"{killed[key]:5} of {total[key]:5} = {100 * killed[key] / max(total[key], 1):5.1f}%  {key}")
    enough = 100 * killed[name] >= bar * total[name]
    print(f"{name}: {'at least' if enough else 'LESS THAN'} {bar:g}%", flush=True)
    return enough


def main() -> int:
    """Run the groups that the command names."""
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__)
    parser.add_argument(
        "groups", nargs="*", help=f"of {', '.join(GROUPS)}, or SOURCE:TESTS:PERCENT; default: all"
    )
    parser.add_argument("--sample", type=int, help="as many mutants of each group, by chance")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--only", default="", help="only modules with this in their path")
    parser.add_argument("--tests", default="", help="only files of tests with this in their path")
    parser.add_argument("--survivors", action="store_true", help="only those that survived the last time")
    parser.add_argument("--budget", type=float, default=20.0, help="seconds of tests for each mutant")
    options = parser.parse_args()
    for name in os.environ.get("MUTATION_PRELOAD", "torch transformers jupyter_book.cli.main").split():
        with suppress(ImportError):
            __import__(name)
    if options.sample:
        print(f"--sample {options.sample} --seed {options.seed}", flush=True)
    enough = True
    for name in options.groups or GROUPS:
        source, *rest = name.split(":")
        group = Group(Path(source), Path(rest[0]), float(rest[1])) if rest else GROUPS[name]
        enough &= Run(Path(source).name, group, options)()
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
