"""Run tests against mutants, each in a fork of one process that has collected the tests once."""

from __future__ import annotations

import ast
import gc
import importlib.machinery
import mmap
import os
import resource
import signal
import sys
import types
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from multiprocessing import util
from multiprocessing.context import ForkProcess, ForkServerContext
from pathlib import Path
from typing import Any

import pytest

from mutation.mutants import Mutant

MEMORY = 12 << 30  # bytes that a mutant may have
Key = tuple[str, int]
ALL, IMPORT = "all of them", "its import"


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """Return this code and all within it."""
    yield code
    for each in code.co_consts:
        if isinstance(each, types.CodeType):
            yield from codes(each)


def compiled(path: str, source: bytes) -> types.CodeType:
    """Compile a module the way its import did, import hooks included."""
    modules = [each for each in [*sys.modules.values()] if getattr(each, "__file__", None) == path]
    loader = modules[0].__spec__.loader if modules and modules[0].__spec__ else None
    if isinstance(loader, importlib.machinery.SourceFileLoader):
        return loader.source_to_code(source, path)
    return compile(source, path, "exec", dont_inherit=True)


class Functions:
    """The function objects of a source folder: to change the code of one changes it under all its names."""

    def __init__(self, source: Path) -> None:
        self.of: dict[str, list[types.FunctionType]] = defaultdict(list)
        self.caches = []
        for each in gc.get_objects():
            if type(each) is types.FunctionType and each.__code__.co_filename.startswith(str(source)):
                self.of[each.__code__.co_filename].append(each)
            elif type(each) is _lru_cache_wrapper:
                self.caches.append(each)

    def fits(self, path: str, mutant: Mutant, changed: bytes) -> bool:
        """Tell whether `change` can put this mutant into the running process."""
        if mutant.place == "top":
            return False
        known = {key(each.__code__): each.__code__ for each in self.of[path]}
        try:
            new = {key(each): each for each in codes(compiled(path, changed))}
        except SyntaxError:
            return False
        if mutant.place == "default":
            return mutant.function in known
        return all(new[name].co_freevars == code.co_freevars for name, code in known.items() if name in new)

    def change(self, path: str, mutant: Mutant, changed: bytes) -> None:
        """Put the mutant into this process."""
        if mutant.place == "default":
            self.change_default(path, mutant, changed)
        else:
            new: dict[Key, list[types.CodeType]] = defaultdict(list)
            for code in codes(compiled(path, changed)):
                new[key(code)].append(code)
            for each in self.of[path]:
                for code in new[key(each.__code__)][:1]:
                    each.__code__ = code
        for cache in self.caches:
            cache.cache_clear()

    def change_default(self, path: str, mutant: Mutant, changed: bytes) -> None:
        (node,) = (
            each
            for each in ast.walk(ast.parse(changed))
            if isinstance(each, ast.FunctionDef)
            and each.name == mutant.function[0].split(".")[-1]
            and min([each.lineno, *(one.lineno for one in each.decorator_list)]) == mutant.function[1]
        )
        if isinstance(mutant.argument, int):
            default: Any = node.args.defaults[mutant.argument]
        else:
            names = [each.arg for each in node.args.kwonlyargs]
            default = node.args.kw_defaults[names.index(mutant.argument)]
        for each in self.of[path]:
            if key(each.__code__) == mutant.function:
                value = eval(ast.unparse(default), each.__globals__)
                if isinstance(mutant.argument, int):
                    before = each.__defaults__ or ()
                    each.__defaults__ = (*before[: mutant.argument], value, *before[mutant.argument + 1 :])
                else:
                    each.__kwdefaults__ = {**(each.__kwdefaults__ or {}), mutant.argument: value}


def key(code: types.CodeType) -> Key:
    return code.co_qualname, code.co_firstlineno


class Steady:
    """A plugin with which Hypothesis tries the same examples each time, however long they take.

    Processes of tests are forks of this one, so that they have the mutant and the recorder.
    """

    def pytest_collection(self) -> None:
        ForkServerContext.Process = ForkProcess  # type: ignore[assignment]
        util.register_after_fork(self, Steady.as_new)
        with suppress(ImportError):
            from hypothesis import settings

            settings.register_profile("mutation", derandomize=True, database=None, deadline=None)
            settings.load_profile("mutation")

    def as_new(self) -> None:
        """Let no warning be an error in such a process, as pytest's settings have it in this one."""
        warnings.resetwarnings()
        for kind in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
            warnings.simplefilter("ignore", kind)


@dataclass(eq=False)  # pytest puts plugins into a set
class FirstFailure:
    """A plugin that runs the chosen tests in their order, and ends the process with the first failure."""

    seconds: dict[str, float]
    chosen: list[str] = field(default_factory=list)
    note: mmap.mmap | None = None

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        if session.testsfailed:  # a file of tests cannot be imported
            os._exit(1)
        items = {item.nodeid: item for item in session.items}
        self.run([items[each] for each in self.chosen if each in items])
        return True

    def run(self, items: list[pytest.Item]) -> None:
        for item, following in zip(items, [*items[1:], None], strict=False):
            self.write(item.nodeid)
            most = 5 + 10 * self.seconds.get(item.nodeid, 0)
            signal.setitimer(signal.ITIMER_PROF, most)  # of this process's work; it ends the process
            signal.alarm(int(300 + 10 * most))  # of time, for one that waits
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        self.write(ALL)
        os._exit(0)

    def write(self, last: str) -> None:
        assert self.note is not None
        self.note[:] = last.encode().ljust(len(self.note), b"\0")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            os._exit(1)


def forked(work: Callable[[mmap.mmap], None]) -> str | None:
    """Do this work in a child, which notes the test that it begins, and at the end that it ran all."""
    note = mmap.mmap(-1, 4096)
    child = os.fork()
    if not child:
        try:
            os.setpgid(0, 0)
            resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
            for number in (signal.SIGALRM, signal.SIGPROF):
                signal.signal(number, signal.SIG_DFL)
            work(note)
        finally:
            os._exit(1)
    os.waitpid(child, 0)
    with suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it may have started
    last = note[:].rstrip(b"\0").decode()
    return None if last == ALL else last or IMPORT


@dataclass(eq=False)
class Bench:
    """A plugin that, in the place of running the tests, gives the collected ones to `work`."""

    source: Path
    seconds: dict[str, float]
    work: Callable[[Bench], None]

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        self.order = {nodeid: number for number, nodeid in enumerate(self.items)}
        self.first = FirstFailure(self.seconds)
        session.config.pluginmanager.register(self.first)
        session.config.pluginmanager.unregister(self)
        self.functions = Functions(self.source)
        self.unreliable: dict[str, bool] = {}
        gc.collect()
        gc.freeze()
        self.work(self)
        return True

    def arranged(self, chosen: list[str]) -> list[pytest.Item]:
        """Return the tests, quick ones first, and those of one file together: they share fixtures."""
        files: dict[str, int] = {}
        for each in chosen:
            files.setdefault(each.split("::")[0], len(files))
        known = [each for each in chosen if each in self.items]
        known.sort(key=lambda each: (self.seconds[each] > 0.2, files[each.split("::")[0]], self.order[each]))
        return [self.items[each] for each in known]

    def against(self, chosen: list[str], change: Callable[[], None]) -> str | None:
        """Run tests in a fork after `change`; a failure that comes without it too does not count."""
        while True:
            name = self.killer([each for each in chosen if not self.unreliable.get(each)], change)
            if name is None or name == IMPORT:
                return name
            if name not in self.unreliable:
                self.unreliable[name] = self.killer([name]) is not None
            if not self.unreliable[name]:
                return name

    def killer(self, chosen: list[str], change: Callable[[], None] = lambda: None) -> str | None:
        """Run tests in a fork after `change`; return the one that failed, None if none did."""

        def work(note: mmap.mmap) -> None:
            self.first.note = note
            change()
            self.first.run(self.arranged(chosen))

        return forked(work)


def fresh(chosen: list[str], seconds: dict[str, float], options: list[str], log: Path) -> str | None:
    """Run tests in a fork that imports the changed module itself."""
    if not chosen:
        return None

    def work(note: mmap.mmap) -> None:
        signal.setitimer(signal.ITIMER_PROF, 120)
        quiet(log)
        plugin = FirstFailure(seconds, chosen, note)
        pytest.main([*options, *{each.split("::")[0]: None for each in chosen}], plugins=[Steady(), plugin])

    return forked(work)


def quiet(log: Path) -> None:
    """Let what this process prints go to a file."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
