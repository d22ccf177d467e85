"""Run examinations in a process of their own, which can be stopped whatever the code in it does.

Within one process neither a loop with a bare `except` nor a long call into C can be stopped for certain.
"""

from __future__ import annotations

import contextlib
import faulthandler
import json
import multiprocessing
import os
import signal
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

LIMIT = 60.0
MEMORY = 8.0


class Stopped(Exception):
    """A process ended without a result, for a reason; `seconds` is the time limit, if it was reached."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        """Say why."""
        super().__init__(reason)
        self.seconds = seconds


def isolated(
    function: Callable[..., Any],
    *args: Any,
    limit: float = LIMIT,
    memory: float = MEMORY,
    **options: Any,
) -> Any:
    """Call a function in another process, with nothing to read and nowhere to print to.

    Args:
        function: returns what JSON can hold. Where processes cannot be forked, it and its arguments are
            pickled.
        *args: are passed on.
        limit: after so many seconds the process is killed, with all processes that it has started.
        memory: how many GiB it may take, where the system has such a limit.
        **options: are passed on.

    Raises:
        Stopped: the process was killed, or ended by itself, or the function raised an error.

    Example:
        >>> isolated(divmod, 7, 2)
        [3, 1]
        >>> isolated(os._exit, 5)
        Traceback (most recent call last):
        attention_clinic.isolation.Stopped: exit code 5
    """
    context: Any = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with tempfile.TemporaryDirectory() as folder:
        result = Path(folder) / "result"
        process = context.Process(target=_child, args=(function, args, options, limit, memory, str(result)))
        with warnings.catch_warnings():  # later Pythons warn of threads, which the child does without
            warnings.simplefilter("ignore")
            process.start()
        end = time.monotonic() + limit
        try:  # not one long wait, which processes that it started would prolong
            while process.is_alive() and not result.exists() and time.monotonic() < end:
                process.join(0.05)
        finally:
            late = process.is_alive()
            _kill(process)
        told = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
        if "result" in told:
            return told["result"]
        if late:
            raise Stopped(f"{limit:g} seconds were not enough", limit)
        raise Stopped(told.get("error", f"exit code {process.exitcode}"))


def _child(
    function: Callable[..., Any], args: Any, options: Any, limit: float, memory: float, path: str
) -> None:
    """Write the result as a whole, and end at once, so that no thread or handler of the function goes on."""
    try:
        if hasattr(os, "setsid"):
            os.setsid()
        nowhere = os.open(os.devnull, os.O_RDWR)
        for descriptor in range(3):
            os.dup2(nowhere, descriptor)
        sys.stdout = sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        faulthandler.disable()
        faulthandler.dump_traceback_later(limit + 1.0, exit=True)  # should nobody be left to kill it
        torch.set_num_threads(1)  # a pool of threads does not survive the fork
        _bound(memory)
        try:
            text = json.dumps({"result": function(*args, **options)})
        except Exception as error:
            text = json.dumps({"error": f"{type(error).__name__}: {error}"})
        Path(f"{path}.part").write_text(text, encoding="utf-8")
        os.replace(f"{path}.part", path)
    finally:
        os._exit(1)


def _bound(memory: float) -> None:
    if sys.platform == "linux":
        import resource

        hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
        most = int(memory * 2**30)
        resource.setrlimit(resource.RLIMIT_DATA, (most if hard < 0 else min(most, hard), hard))


def _kill(process: Any) -> None:
    """Kill a process and its group, and wait for it."""
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):  # it has ended, or has no group yet
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()
