"""Call code that nobody has checked: report what it raises, prints or changes, and stop it if it never ends.

A candidate is anybody's code, called in the reader's own process, between two cells of a notebook. So each
call has a time limit, gets copies of its tensors, and leaves the process's settings as they were.
"""

import contextlib
import ctypes
import io
import itertools
import math
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, TypeGuard

import torch
from torch import Tensor
from torch.utils.weak import WeakIdKeyDictionary

from attention_clinic.diagnosis import Finding

SECONDS = 2.0
# How many recipes are computed in one diagnosis before it is undecided: about three seconds.
MOST_RECIPES = 5000


@dataclass(frozen=True)
class Meant:
    """What the owner of a candidate says that it is meant to be; None is left to the clinic to find out.

    Attributes:
        causal: Whether each token sees itself and those before it alone, without being given a mask.
        mask: What masks are: "keeps" if True may be seen, "hides" if True is hidden, "additive" for numbers.
        rope: How rotary positions pair numbers: "halves" or "neighbours".
        residual: Whether the input is added to the output.

    Example:
        >>> Meant(causal=True)
        Meant(causal=True, mask=None, rope=None, residual=None)
    """

    causal: bool | None = None
    mask: str | None = None
    rope: str | None = None
    residual: bool | None = None

    def said(self) -> dict[str, Any]:
        """What is not None."""
        return {name: value for name, value in vars(self).items() if value is not None}

    def __post_init__(self) -> None:
        """Refuse words that mean nothing."""
        for name, words in (("mask", ("keeps", "hides", "additive")), ("rope", ("halves", "neighbours"))):
            if getattr(self, name) not in (None, *words):
                raise ValueError(f"{name} must be one of {', '.join(words)}, got {getattr(self, name)!r}")


class CallFailed(Exception):
    """A call without a usable output; `finding` says why, `error` is what was raised, if anything was.

    Example:
        >>> try:
        ...     Trial(None).call(lambda: 1 / 0)
        ... except CallFailed as stop:
        ...     print(stop.finding)
        ✗ Your function stopped with ZeroDivisionError: division by zero.
    """

    def __init__(self, finding: Finding, error: BaseException | None = None) -> None:
        """Take the finding."""
        super().__init__(finding.name)
        self.finding, self.error = finding, error


class TimeIsUp(BaseException):
    """Raised inside code that takes too long; no Exception, so that `except Exception` there lets it pass."""


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Let PyTorch compute with one thread: for small tensors the others cost more than they give.

    On a busy machine each product waits for all of them, a hundred times as long.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


class Trial:
    """Calls of a candidate, each with a time limit, and their side effects.

    `conduct` has a finding for each side effect so far: "prints", "mutates", "reseeds", "settings". Random
    numbers, gradients, the default dtype and warnings are restored after each call. `examined`, `skipped`,
    `tried` and `question` are what the examination hands to the `Diagnosis` beside its findings. `made` is
    Python for what is called, made of `candidate`; `recorded` has the `Call` that each output came from.
    `has_run` says whether any call returned something, `failed` has the arguments of those that did not, and
    `guessed` the required arguments of which it is not known what they are for; `kind_is_guessed` says
    whether nothing but the number of arguments told the kind; `on_purpose` has the names of findings that are
    notes since the candidate says so itself. From the time `end` on nothing is called any more.

    Example:
        >>> trial = Trial(lambda x: print(x.shape))
        >>> trial.call(trial.candidate, torch.zeros(2))
        >>> print(trial.conduct["prints"])
        ✗ It prints: torch.Size([2])
    """

    def __init__(
        self, candidate: Any, seconds: float = SECONDS, quiet: bool = True, meant: Meant | None = None
    ) -> None:
        """Take the candidate and what it is meant to be; if `quiet`, what it prints is captured."""
        self.candidate, self.seconds, self.quiet = candidate, seconds, quiet
        self.meant, self.made = meant or Meant(), "candidate"
        self.examined, self.skipped, self.tried = list[str](), list[str](), list[str]()
        self.question: str | None = None
        self.recorded: Any = WeakIdKeyDictionary()
        self.conduct: dict[str, Finding] = {}
        self.has_run, self.failed = False, list[dict[Any, Any]]()
        self.guessed, self.kind_is_guessed = set[str](), False
        self.on_purpose = set[str]()
        self.calls, self.imports, self.num_recipes = 0, 0, 0
        self.began = time.process_time(), time.monotonic()
        self.end = math.inf

    @property
    def late(self) -> bool:
        """Whether half a call's time was computed: then smaller evidence is not searched for.

        It is the processor's time, so that a busy machine finds the same; who sleeps is late, too.
        """
        computed, passed = time.process_time() - self.began[0], time.monotonic() - self.began[1]
        return computed > self.seconds / 2 or passed > 1.5 * self.seconds

    @property
    def exhausted(self) -> bool:
        """Whether the clinic has computed enough: a number, so that each machine finds the same."""
        return self.num_recipes >= MOST_RECIPES

    def go_on(self) -> None:
        """Raise `TimeIsUp` from `end` on."""
        if time.monotonic() > self.end:
            raise TimeIsUp

    def call(self, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Call `function` with copies of the tensors.

        Raises:
            CallFailed: the function raises something, or takes longer than `seconds`.
            TimeIsUp: the diagnosis is at its `end`.
        """
        self.go_on()
        inputs: dict[Any, Any] = {**dict(enumerate(args)), **kwargs}
        tensors = {name: value for name, value in inputs.items() if isinstance(value, Tensor)}
        copies = {name: value.clone() for name, value in tensors.items()}  # a clone hands its gradient on
        passed = {**inputs, **copies}
        positional = [passed.pop(i) for i in range(len(args))]
        self.calls += 1
        num_modules = len(sys.modules)
        try:
            with self._watched():
                output = call_with_timeout(self.seconds, lambda: function(*positional, **passed))
            self.has_run = True
            return output
        except TimeIsUp:
            if len(sys.modules) > num_modules and self.imports < 3:  # PyTorch imports much on first use
                self.imports += 1
                return self.call(function, *args, **kwargs)
            finding = Finding("never_ends", shown(kwargs), details={"seconds": self.seconds})
            raise CallFailed(finding) from None
        except (Exception, SystemExit, GeneratorExit) as error:
            self.failed.append(inputs)
            details = {"error": f"{type(error).__name__}: {error}"}
            raise CallFailed(Finding("raises", shown(kwargs), details=details), error) from error
        finally:
            for name, tensor in tensors.items():
                if not identical(tensor, copies[name]):
                    self._note(Finding("mutates", shown(kwargs), tensor, copies[name], {"argument": name}))

    def _note(self, finding: Finding) -> None:
        self.conduct.setdefault(finding.name, finding)

    @contextlib.contextmanager
    def _watched(self) -> Iterator[None]:
        """Capture what is printed, and restore random numbers, gradients and the default dtype."""
        before = torch.is_grad_enabled(), torch.get_default_dtype()
        random = torch.get_rng_state()
        torch.default_generator.manual_seed(self.calls)  # another each time: chance shows as a difference
        printed, num_modules, began = io.StringIO(), len(sys.modules), time.monotonic()
        try:
            with contextlib.ExitStack() as stack:
                if self.quiet:
                    stack.enter_context(contextlib.redirect_stdout(printed))
                    stack.enter_context(warnings.catch_warnings())
                    warnings.simplefilter("ignore")
                yield
        finally:
            if len(sys.modules) > num_modules:  # what imports take is not the code's
                self.end += time.monotonic() - began
            if torch.initial_seed() != self.calls:
                self._note(Finding("reseeds"))
            if (torch.is_grad_enabled(), torch.get_default_dtype()) != before:
                self._note(Finding("settings"))
            if text := printed.getvalue():
                self._note(Finding("prints", details={"printed": text.strip()[:60]}))
            torch.set_grad_enabled(before[0])
            torch.set_default_dtype(before[1])
            torch.set_rng_state(random)


def call_with_timeout(seconds: float, function: Callable[[], Any]) -> Any:
    """Call a function and return its result.

    A signal interrupts loops and sleeps at once, in the main thread. Elsewhere another thread sends an
    exception, which Python raises at the next bytecode. A single call into C is stopped when it returns.

    Raises:
        TimeIsUp: the function takes longer; raised inside it.
    """
    is_main = threading.current_thread() is threading.main_thread()
    by_alarm = is_main and hasattr(signal, "setitimer")
    return (_by_alarm if by_alarm else _by_thread)(seconds, function)


def _by_alarm(seconds: float, function: Callable[[], Any]) -> Any:
    traced = sys.gettrace()
    rings = itertools.count()

    began = time.monotonic()

    def ring(_: int, frame: FrameType | None) -> None:
        if _is_importing(frame):
            return  # an interrupted import leaves half a module; the next ring is near
        if next(rings):
            # A bare `except` in a loop has swallowed the first exception and would swallow this one. A tracer
            # raises once more at the next line, which is in the handler, where nothing catches it.
            sys.settrace(_interrupt)
            while frame is not None and frame.f_code is not _by_alarm.__code__:
                frame.f_trace, frame = _interrupt, frame.f_back
        raise TimeIsUp

    handler = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, seconds, 0.2)
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


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None and frame.f_code not in (_by_alarm.__code__, _by_thread.__code__):
        if "importlib._bootstrap" in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def _interrupt(frame: FrameType, event: str, arg: Any) -> Any:
    raise TimeIsUp


def _by_thread(seconds: float, function: Callable[[], Any]) -> Any:
    """The same outside the main thread, and where the system has no alarm."""
    own, done = threading.get_ident(), threading.Event()
    target = ctypes.c_ulong(own)
    api = getattr(ctypes, "pythonapi", None)
    interrupt: Any = getattr(api, "PyThreadState_SetAsyncExc", lambda *_: None)  # other Pythons lack it

    def watch() -> None:
        wait = seconds
        while not done.wait(wait):
            if not _is_importing(sys._current_frames().get(own)):
                interrupt(target, ctypes.py_object(TimeIsUp))
            wait = 0.2

    dog = threading.Thread(target=watch, daemon=True)
    try:
        dog.start()
    except RuntimeError:  # in a browser there are no threads
        return function()
    try:
        return function()
    finally:
        # An exception that was sent just before `done` may arrive in here, and must not leave the watchdog
        # running. To recall it with `interrupt(target, None)` would leave CPython's flag of a pending
        # exception set; with a tracer, such as coverage's, Python 3.11 then never enters another function.
        while True:
            try:
                done.set()
                dog.join()
                break
            except TimeIsUp:
                continue


def first_output(output: Any) -> Any:
    """The first output of several, which come as a tuple or as a list of tensors; else the output itself."""
    is_list = isinstance(output, list) and any(isinstance(each, Tensor) for each in output[:1])
    return output[0] if is_list or (isinstance(output, tuple) and output) else output


def is_dense(thing: object) -> TypeGuard[Tensor]:
    """Whether a thing is a tensor with numbers in the usual layout."""
    return isinstance(thing, Tensor) and thing.layout == torch.strided and not thing.is_meta


def type_name(thing: object) -> str:
    """A thing's type in a few words."""
    if isinstance(thing, Tensor):
        return f"{thing.dtype} ({thing.layout}, {thing.device})"
    return type(thing).__name__


def identical(one: Tensor, other: Tensor) -> bool:
    """The same shape and dtype and the same numbers, NaN included."""
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return bool(((one == other) | ((one != one) & (other != other))).all())


def call_text(name: str, arguments: Mapping[Any, Any]) -> str:
    """A call as people read it, with the shapes of tensors; an argument by position has a number."""
    texts = {key: str(tuple(x.shape)) if isinstance(x, Tensor) else repr(x) for key, x in arguments.items()}
    named = (f"{key}={text}" if isinstance(key, str) else text for key, text in texts.items())
    return f"{name}({', '.join(named)})"


def shown(kwargs: dict[str, Any]) -> dict[str, Any]:
    """The inputs that a finding shows."""
    return {name: value for name, value in kwargs.items() if isinstance(value, Tensor | int | float)}
