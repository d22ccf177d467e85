"""Runs a candidate under watch: what it raises, prints, changes or never finishes is told, not suffered."""

from __future__ import annotations

import contextlib
import ctypes
import io
import itertools
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import torch
from torch import Tensor

from attention_clinic.diagnosis import Finding

SECONDS = 2.0


class Stopped(Exception):
    """A call that gave nothing to look at; `finding` says why, `error` what was raised, if anything was."""

    def __init__(self, finding: Finding, error: BaseException | None = None) -> None:
        """Take the finding."""
        super().__init__(finding.name)
        self.finding, self.error = finding, error


class TimeIsUp(BaseException):
    """Raised inside what takes too long; no Exception, so that a candidate's own handlers let it pass."""


class Trial:
    """Calls a candidate, each time with `seconds` at most, and keeps what it does besides.

    `conduct` holds what was seen so far, by name: "prints", "mutates", "reseeds", "settings". The reader's
    random numbers, gradients and warnings are left as they were.
    """

    def __init__(self, candidate: Any, seconds: float = SECONDS, quiet: bool = True) -> None:
        """Take the candidate; unless `quiet`, what it prints goes where it would."""
        self.candidate, self.seconds, self.quiet = candidate, seconds, quiet
        self.conduct: dict[str, Finding] = {}
        self.printed = io.StringIO()
        self.calls = 0
        self.began = time.monotonic()

    @property
    def late(self) -> bool:
        """Whether half of the time is gone, so that what is not needed may be left out."""
        return time.monotonic() - self.began > self.seconds / 2

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """What `function` gives; tensors are passed as copies.

        Raises:
            Stopped: the function raised something, or took longer than `seconds`.
        """
        given: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        tensors = {name: value for name, value in given.items() if isinstance(value, Tensor)}
        copies = {name: _copied(value) for name, value in tensors.items()}
        passed = {**given, **copies}
        self.calls += 1
        try:
            with self._watched():
                return within(
                    self.seconds,
                    lambda: function(
                        *(passed[i] for i in range(len(args))), **{name: passed[name] for name in kwargs}
                    ),
                )
        except TimeIsUp:
            raise Stopped(Finding("never_ends", _named(kwargs), details={"seconds": self.seconds})) from None
        except (Exception, SystemExit, GeneratorExit) as error:
            said = f"{type(error).__name__}: {error}"
            raise Stopped(Finding("raises", _named(kwargs), details={"error": said}), error) from error
        finally:
            for name, tensor in tensors.items():
                if not _unchanged(tensor, copies[name]):
                    self._note("mutates", _named(kwargs), tensor, copies[name], argument=name)

    def tensor(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Tensor:
        """The same, where a tensor must come, alone or as the first of a tuple.

        Raises:
            Stopped: also where anything else comes.
        """
        output = self.call(function, *args, **kwargs)
        output = output[0] if isinstance(output, tuple | list) and len(output) else output
        if not isinstance(output, Tensor) or output.layout != torch.strided or output.is_meta:
            raise Stopped(Finding("no_tensor", _named(kwargs), details={"kind": kind_of(output)}))
        return output

    def _note(
        self, name: str, given: Any = None, expected: Any = None, actual: Any = None, **details: Any
    ) -> None:
        self.conduct.setdefault(name, Finding(name, given or {}, expected, actual, details))

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Catch what is printed; afterwards random numbers, gradients and dtype are as they were."""
        before = torch.is_grad_enabled(), torch.get_default_dtype()
        random = torch.get_rng_state()
        torch.default_generator.manual_seed(self.calls)
        printed = io.StringIO()
        try:
            with contextlib.ExitStack() as stack:
                if self.quiet:
                    stack.enter_context(contextlib.redirect_stdout(printed))
                    stack.enter_context(warnings.catch_warnings())
                    warnings.simplefilter("ignore")
                yield
        finally:
            if torch.initial_seed() != self.calls:
                self._note("reseeds")
            if (torch.is_grad_enabled(), torch.get_default_dtype()) != before:
                self._note("settings")
            torch.set_grad_enabled(before[0])
            torch.set_default_dtype(before[1])
            torch.set_rng_state(random)
            self.printed.write(printed.getvalue())
            if printed.getvalue():
                self._note("prints", printed=printed.getvalue().strip()[:60])


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """What the function gives, unless it takes longer: then TimeIsUp is raised inside it.

    Endless loops stop, and so does what sleeps; a single call into C is stopped when it returns.
    """
    main = threading.current_thread() is threading.main_thread()
    if main and hasattr(signal, "setitimer"):
        return _by_alarm(seconds, function)
    return _by_thread(seconds, function)


def _by_alarm(seconds: float, function: Callable[[], Any]) -> Any:
    traced = sys.gettrace()
    rings = itertools.count()

    def ring(_: int, frame: FrameType | None) -> None:
        if next(rings):  # the first was swallowed by a bare `except`; in its block it comes once more
            sys.settrace(_interrupt)
            while frame is not None and frame.f_code is not _by_alarm.__code__:
                frame.f_trace, frame = _interrupt, frame.f_back
        raise TimeIsUp

    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
    began = time.monotonic()
    try:
        try:
            return function()
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            sys.settrace(traced)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, handler)
        if left:
            signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 1e-3), interval)


def _interrupt(frame: FrameType, event: str, arg: Any) -> Any:
    raise TimeIsUp


def _by_thread(seconds: float, function: Callable[[], Any]) -> Any:
    """The same outside the main thread, and where the system has no alarm."""
    target, done = ctypes.c_ulong(threading.get_ident()), threading.Event()
    interrupt: Any = getattr(getattr(ctypes, "pythonapi", None), "PyThreadState_SetAsyncExc", None)

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            interrupt(target, ctypes.py_object(TimeIsUp))
            wait = 0.2

    dog = threading.Thread(target=watch, daemon=True)
    try:
        if interrupt is None:
            return function()
        dog.start()
    except RuntimeError:  # in a browser there are no threads
        return function()
    try:
        return function()
    finally:
        done.set()
        dog.join()
        interrupt(target, None)


def kind_of(thing: object) -> str:
    """What a thing is, in a few words."""
    if isinstance(thing, Tensor):
        return f"{thing.dtype} ({thing.layout}, {thing.device})"
    return type(thing).__name__


def _copied(tensor: Tensor) -> Tensor:
    """The same numbers; what requires a gradient still hands it on."""
    return tensor.clone()


def _unchanged(before: Tensor, after: Tensor) -> bool:
    if before.shape != after.shape or before.dtype != after.dtype:
        return False
    same = before.detach() == after.detach()
    if before.is_floating_point():
        same = same | (before.detach().isnan() & after.detach().isnan())
    return bool(same.all())


def _named(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if isinstance(value, Tensor | int | float | bool)}
