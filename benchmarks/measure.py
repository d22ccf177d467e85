"""Measurement of the forms: interleaved calls for time, the profiler's record of allocations for memory."""

from __future__ import annotations

import contextlib
import gc
import json
import os
import random
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from benchmarks.forms import Form, check_agreement

PASSES = ("forward", "forward and backward")


@dataclass(frozen=True)
class Result:
    """One form at one length in one kind of pass."""

    seconds: list[float]  # one for each round
    peak_bytes: int

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def ratio(self, other: Result) -> float:
        """The median of the ratios within a round: what slows a whole round down cancels."""
        return statistics.median(a / b for a, b in zip(self.seconds, other.seconds, strict=True))


Results = dict[str, dict[int, dict[str, Result]]]  # by pass, length and form


def measure(forms: dict[str, Form], length: int, embed_dim: int, rounds: int) -> dict[str, dict[str, Result]]:
    """Time and memory of each form, for each of `PASSES`, with one sequence of `length` tokens.

    Forward is inference: evaluation mode, no gradients. Forward and backward is training: the output's
    gradient goes back to the input and to all parameters.
    """
    x = torch.randn(1, length, embed_dim)
    check_agreement(forms, x)
    results = {}
    for kind in PASSES:
        gradient = None if kind == PASSES[0] else torch.randn_like(x)
        for module, _ in forms.values():
            module.train(gradient is not None)
        x.requires_grad_(gradient is not None)
        seconds = _times(forms, x, gradient, rounds)
        results[kind] = {
            name: Result(seconds[name], _peak_bytes(form, x, gradient)) for name, form in forms.items()
        }
    return results


def _times(forms: dict[str, Form], x: Tensor, gradient: Tensor | None, rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in forms}
    order = list(forms)
    shuffle = random.Random(0).shuffle  # no form always runs after the same one, with its caches
    with no_garbage_collection():
        for turn in range(-2, rounds):  # two to warm up
            shuffle(order)
            for name in order:
                started = time.perf_counter()
                _run(forms[name], x, gradient)
                elapsed = time.perf_counter() - started
                _clear_gradients(forms[name], x)
                if turn >= 0:
                    seconds[name].append(elapsed)
    return seconds


def _peak_bytes(form: Form, x: Tensor, gradient: Tensor | None) -> int:
    try:
        return peak_bytes(lambda: _run(form, x, gradient))
    finally:
        _clear_gradients(form, x)


def _run(form: Form, x: Tensor, gradient: Tensor | None) -> None:
    module, call = form
    with torch.set_grad_enabled(gradient is not None):
        output = call(module, x)
        if gradient is not None:
            output.backward(gradient)


def _clear_gradients(form: Form, x: Tensor) -> None:
    form[0].zero_grad(set_to_none=True)
    x.grad = None


def peak_bytes(run: Callable[[], None]) -> int:
    """The most memory that tensors, and buffers inside kernels, hold at one time during `run`."""
    cpu = torch.profiler.ProfilerActivity.CPU
    with _quiet_stderr(), torch.profiler.profile(activities=[cpu], profile_memory=True) as profile:
        run()
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profile.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text(encoding="utf-8"))["traceEvents"]
    changes = [(event["ts"], event["args"]["Bytes"]) for event in events if event["name"] == "[memory]"]
    total = peak = 0
    for _, change in sorted(changes, key=lambda pair: pair[0]):  # stable: two at one moment remain in order
        total += change
        peak = max(peak, total)
    return peak


@contextlib.contextmanager
def no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@contextlib.contextmanager
def _quiet_stderr() -> Iterator[None]:
    """The profiler's library reports each start and stop there, and no setting of it prevents that."""
    stderr = os.dup(2)
    null = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(null, 2)
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(stderr)
        os.close(null)
