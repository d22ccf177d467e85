"""Which tests execute which lines, recorded once: of a mutant only these can notice it, the fastest first."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import signal
import warnings
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from multiprocessing import util
from pathlib import Path
from typing import Any

import coverage
import pytest

from mutation.trial import Steady


@dataclass(eq=False)  # pytest puts plugins into a set
class Recorder:
    """A plugin of pytest that notes the lines and the seconds of each test, file by file.

    Of a test with many parameters it runs as many as take `most` seconds; none may take ten times that. The
    lines of a process that a test makes with `multiprocessing` are the test's too.
    """

    source: Path
    kept: Path
    most: float
    found: dict[str, dict[str, Any]] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=lambda: defaultdict(float))

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.context, self.root = "", Path.cwd()
        caches = [each for each in gc.get_objects() if type(each) is _lru_cache_wrapper]
        codes = [getattr(each.__wrapped__, "__code__", None) for each in caches]
        self.caches = [
            each
            for each, code in zip(caches, codes, strict=True)
            if code and code.co_filename.startswith(str(self.source))
        ]
        signal.signal(signal.SIGPROF, too_long)
        util.register_after_fork(self, Recorder.in_child)
        self.children = self.kept / "children"
        self.children.mkdir(parents=True, exist_ok=True)
        self.begin()

    def begin(self) -> None:
        self.coverage = coverage.Coverage(data_file=None, source=[str(self.source)], config_file=False)
        self.coverage.start()

    def in_child(self) -> None:
        """Note, when this process of a test ends, which lines it has executed."""

        def note() -> None:
            file = self.children / f"{os.getpid()}.json"
            lines = {path: sorted(numbers) for path, numbers in self.lines()[self.context].items()}
            file.write_text(json.dumps({self.context: lines}), encoding="utf-8")

        util.Finalize(None, note, exitpriority=0)

    def switch(self, context: str) -> str:
        before, self.context = self.context, context
        self.coverage.switch_context(context or "none")
        return before

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any, request: Any) -> Iterator[None]:
        """What a shared fixture executes counts for each test that uses it, not only for the first."""
        before = self.switch(f"fixture {fixturedef.argname}") if fixturedef.scope != "function" else None
        try:
            return (yield)
        finally:
            if before is not None:
                self.switch(before)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Iterator[None]:
        name = item.nodeid.split("[")[0]
        if self.spent[name] > self.most:
            item.add_marker(pytest.mark.skip("enough of these"))
        self.found[item.nodeid] = {
            "seconds": 0.0,
            "fixtures": [*getattr(item, "fixturenames", ())],
            "good": True,
        }
        for cache in self.caches:  # what one test has cached the next one would not execute
            cache.cache_clear()
        self.switch(item.nodeid)
        begun = sum(os.times()[:4])  # of this process and of its children
        try:
            return (yield)
        finally:
            self.found[item.nodeid]["seconds"] = seconds = sum(os.times()[:4]) - begun
            self.spent[name] += seconds
            self.switch("")
            if nextitem is None or nextitem.path != item.path:
                self.keep(item.path.relative_to(self.root))

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Iterator[None]:
        signal.setitimer(signal.ITIMER_PROF, 10 * self.most)
        try:
            return (yield)
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.found[report.nodeid]["good"] &= report.passed

    def lines(self) -> dict[str, dict[str, set[int]]]:
        """Return the executed lines of each context, by file."""
        self.coverage.stop()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", coverage.exceptions.CoverageWarning)  # a file may execute nothing
            data = self.coverage.get_data()
        lines: dict[str, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
        for path in data.measured_files():
            for number, contexts in data.contexts_by_lineno(path).items():
                for context in contexts:
                    lines[context][str(Path(path).relative_to(self.root))].add(number)
        return lines

    def keep(self, test: Path) -> None:
        """Write what was found of this file of tests."""
        lines = self.lines()
        for child in self.children.glob("*.json"):
            for context, of_child in json.loads(child.read_text(encoding="utf-8")).items():
                for path, numbers in of_child.items():
                    lines[context][path].update(numbers)
            child.unlink()
        for nodeid, each in self.found.items():
            of_test: dict[str, set[int]] = defaultdict(set)
            for context in (nodeid, *(f"fixture {name}" for name in each.pop("fixtures"))):
                for path, numbers in lines[context].items():
                    of_test[path] |= numbers
            each["lines"] = {path: sorted(numbers) for path, numbers in of_test.items()}
        whole = {"key": key(self.source, test), "tests": self.found}
        self.kept.mkdir(parents=True, exist_ok=True)
        (self.kept / f"{'.'.join(test.parts)}.json").write_text(json.dumps(whole), encoding="utf-8")
        self.found = {}
        self.begin()


def too_long(number: int, frame: object) -> None:
    raise TimeoutError("longer than a test of a mutant may take")


def key(source: Path, test: Path) -> str:
    """Return what a record of this file of tests depends on."""
    files = [*sorted(source.rglob("*.py")), test]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()


def outdated(source: Path, tests: list[Path], kept: Path) -> list[Path]:
    """Return the files of tests of which `kept` has no record, or that of another source."""
    return [test for test in tests if read(kept, test).get("key") != key(source, test)]


def read(kept: Path, test: Path) -> dict[str, Any]:
    path = kept / f"{'.'.join(test.parts)}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def record(source: Path, tests: list[Path], kept: Path, most: float, options: list[str]) -> None:
    """Run the tests and keep the record of each file of them; to be called in a process of its own."""
    plugins = [Steady(), Recorder(source.resolve(), kept, most)]
    if (code := pytest.main([*options, *map(str, tests)], plugins=plugins)) > pytest.ExitCode.TESTS_FAILED:
        raise RuntimeError(f"pytest has failed: {code!r}")


class Nearest:
    """The recorded tests of a group, by line."""

    def __init__(self, tests: list[Path], kept: Path) -> None:
        self.seconds: dict[str, float] = {}
        self.by_line: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
        for test in tests:
            for nodeid, each in read(kept, test).get("tests", {}).items():
                if each["good"]:
                    self.seconds[nodeid] = each["seconds"]
                    for path, numbers in each["lines"].items():
                        for number in numbers:
                            self.by_line[path][number].append(nodeid)

    def tests(self, path: str, lines: tuple[int, int], budget: float) -> list[str]:
        """Return the tests that execute one of the lines: the fastest, as many as take `budget` seconds.

        Half of the time is for the files of tests that have the module's name.
        """
        found = {each for line in range(lines[0], lines[1] + 1) for each in self.by_line[path].get(line, ())}
        fastest = sorted(found, key=lambda each: (self.seconds[each], each))
        own = [each for each in fastest if Path(path).stem in each.split("::")[0]]
        chosen: dict[str, None] = {}
        total = 0.0
        for tests, limit in ((own, budget / 2), (fastest, budget)):
            for nodeid in tests:
                seconds = self.seconds[nodeid]
                if nodeid not in chosen and (not chosen or total + seconds <= limit):
                    chosen[nodeid] = None
                    total += seconds
        return [*chosen]
