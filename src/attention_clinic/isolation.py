"""Run examinations in a process of their own, which can be stopped whatever the code in it does.

Within one process neither a loop with a bare `except` nor a long call into C can be stopped for certain.
"""

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

LIMIT, MEMORY = 60.0, 8.0


class Stopped(Exception):
    """A process ended without a result, for a reason; `seconds` is the time limit, if it was reached."""

    def __init__(self, reason: str, seconds: float | None = None) -> None:
        """Say why."""
        super().__init__(reason)
        self.seconds = seconds


def isolated(function: Callable[..., Any], *args: Any, limit: float = LIMIT, memory: float = MEMORY) -> Any:
    """Call a function in another process, with nothing to read and nowhere to print to.

    Args:
        function: returns what JSON can hold. Where processes cannot be forked, it and its arguments are
            pickled.
        *args: are passed on.
        limit: after so many seconds the process is killed, with all processes that it has started.
        memory: how many GiB it may take, where the system has such a limit.

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
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # later Pythons warn of threads, which the child does without
        result = Path(folder) / "result"
        process = context.Process(target=_run, args=(function, args, limit, memory, result))
        process.start()
        end = time.monotonic() + limit
        try:  # not one long wait, which processes that it started would prolong
            while process.is_alive() and not result.exists() and time.monotonic() < end:
                process.join(0.05)
        finally:
            late = process.is_alive()
            with contextlib.suppress(AttributeError, OSError):  # it has no group, or has ended
                os.killpg(process.pid, signal.SIGKILL)
            process.kill()
            process.join()
        answer = json.loads(result.read_text(encoding="utf-8")) if result.exists() else {}
    if "result" in answer:
        return answer["result"]
    if late and not answer:
        raise Stopped(f"{limit:g} seconds were not enough", limit)
    raise Stopped(answer.get("error", f"exit code {process.exitcode}"))


def _run(function: Callable[..., Any], args: Any, limit: float, memory: float, path: Path) -> None:
    """Write the result as a whole, and end at once, so that no thread or handler of the function goes on."""
    try:
        with contextlib.suppress(AttributeError, ImportError, OSError, ValueError):  # not every system has it
            os.setsid()
            import resource

            _, most = resource.getrlimit(resource.RLIMIT_DATA)
            resource.setrlimit(resource.RLIMIT_DATA, (int(memory * 2**30), most))
        sys.stdin, sys.stdout = open(os.devnull), open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        sys.stderr = sys.stdout
        for descriptor in range(3):
            os.dup2((sys.stdout if descriptor else sys.stdin).fileno(), descriptor)
        faulthandler.disable()
        faulthandler.dump_traceback_later(limit + 1.0, exit=True)  # should nobody be left to kill it
        torch.set_num_threads(1)  # a pool of threads does not survive the fork
        try:
            answer = json.dumps({"result": function(*args)})
        except Exception as error:
            answer = json.dumps({"error": f"{type(error).__name__}: {error}"})
        part = path.with_suffix(".part")
        part.write_text(answer, encoding="utf-8")
        part.replace(path)
    finally:
        os._exit(1)
