"""Executes one notebook in a new kernel of the running Python, so that two runs give equal bytes."""

import asyncio
import os
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode

from polyglot_book.ipynb import is_starter

_new_node: Any = NotebookNode  # its methods carry no types
PROFILES = "_build/ipython"  # the folder of IPython's profiles, each as long as its notebook runs
PATIENCE = 60.0  # seconds after which a cell counts as slow
TERMS_VARIABLE = "POLYGLOT_TERMS"
# One thread, because sums of floats differ with the number of threads.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
# A reader's figures have none of the settings in the matplotlibrc of whoever executes them.
ENVIRONMENT |= {"MATPLOTLIBRC": os.devnull}
# Figures must go where a reader's go, into the cell; warnings must come as a reader sees them.
_REMOVED = ("MPLBACKEND", "PYTHONWARNINGS")
# Otherwise every kernel warns on stderr that it talks to this process unencrypted.
_KERNEL_OPTIONS = ["--HistoryManager.enabled=False", "--IPKernelApp.log_level=ERROR"]
# A port is chosen before the kernel takes it, and another may be faster; a socket has a name of its own.
_TRANSPORT = "ipc" if os.name == "posix" else "tcp"
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PATH = re.compile(r"(?:~|[A-Za-z]:)?(?:[/\\][^/\\\s:'\"<>\x1b]+)*[/\\]([^/\\\s:'\"<>\x1b]+\.py)")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")


class CellFailure(Exception):
    """A cell that raised, took too long, or ended the kernel.

    Attributes:
        cell: Its id.
        traceback: Its traceback, or what happened otherwise, in plain text.
    """

    def __init__(self, cell: str, traceback: str) -> None:
        super().__init__(f"{cell}: {traceback}")
        self.cell, self.traceback = cell, traceback


class _ThisPython(KernelSpecManager):
    """The kernel of the running interpreter, whatever kernelspecs are installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        # -Xfrozen_modules=off keeps the debugger from warning on stderr.
        return KernelSpec(**get_kernel_dict(_KERNEL_OPTIONS, ["-Xfrozen_modules=off"]))


async def execute(
    notebook: NotebookNode, folder: Path, profile: Path, limit: float, warn: Callable[[str], None]
) -> tuple[str, ...] | None:
    """Execute every code cell of a notebook in a folder, and put the outputs into the notebook.

    Args:
        notebook: The notebook.
        folder: The working directory of the kernel.
        profile: A folder for the kernel's settings, which is removed before and afterwards.
        limit: The seconds that a cell may take.
        warn: Called with the id of a cell that has taken a minute.

    Returns:
        The entries of the terminology that the library read, if it writes them, one a line as in
        `labels/key/ko`, into the file that the environment variable `POLYGLOT_TERMS` names; else None.

    Raises:
        CellFailure: A cell raised that is not tagged `raises-exception`, took too long, or ended the kernel.
    """
    # The path of a socket has at most a hundred characters: that of a temporary folder is short.
    sockets = tempfile.TemporaryDirectory(prefix="kernel-")
    manager = AsyncKernelManager(
        kernel_name="python3", kernel_spec_manager=_ThisPython(), transport=_TRANSPORT,
        connection_file=f"{sockets.name}/kernel.json",
    )  # fmt: skip
    client = NotebookClient(notebook, km=manager, timeout=None, record_timing=False)
    loop = asyncio.get_running_loop()
    environment = {name: value for name, value in os.environ.items() if name not in _REMOVED} | ENVIRONMENT
    # The user's IPython profile must not change what cells do. The next run removes what a killed one left.
    shutil.rmtree(profile, ignore_errors=True)
    profile.mkdir(parents=True)
    terms = profile / "terms"
    environment |= {"IPYTHONDIR": str(profile), TERMS_VARIABLE: str(terms)}
    try:
        await client.async_start_new_kernel(cwd=str(folder), env=environment)
        await client.async_start_new_kernel_client()
        for number, cell in enumerate(notebook.cells):
            timer = loop.call_later(PATIENCE, warn, cell.id)
            try:
                async with asyncio.timeout(limit):
                    await _execute_cell(client, cell, number)
            except TimeoutError:
                raise CellFailure(cell.id, f"not finished after {limit:g} s") from None
            finally:
                timer.cancel()
        return tuple(sorted(set(terms.read_text(encoding="utf-8").splitlines()))) if terms.exists() else None
    finally:
        if client.kc is not None:
            client.kc.stop_channels()
        await manager.shutdown_kernel(now=True)  # a request to shut down may take seconds
        sockets.cleanup()
        shutil.rmtree(profile, ignore_errors=True)


async def _execute_cell(client: NotebookClient, cell: NotebookNode, number: int) -> None:
    try:
        await client.async_execute_cell(cell, number, execution_count=client.code_cells_executed + 1)
    except CellExecutionError as error:
        raise CellFailure(cell.id, _ANSI.sub("", error.traceback).strip()) from None
    except DeadKernelError:
        task = asyncio.current_task()
        if task and task.cancelling():  # the client takes Ctrl-C and the limit for a death
            raise asyncio.CancelledError from None
        raise CellFailure(cell.id, "the kernel died (out of memory?)") from None
    if cell.cell_type == "code":
        cell.outputs = [] if is_starter(cell) else [_clean(output) for output in _merged(cell.outputs)]


def _merged(outputs: list[NotebookNode]) -> list[NotebookNode]:
    """Join neighbouring texts of one stream: where they are split depends on timing."""
    merged: list[NotebookNode] = []
    for output in outputs:
        last = merged[-1] if merged else None
        if last and output.output_type == last.output_type == "stream" and output.name == last.name:
            last.text += output.text
        else:
            merged.append(_new_node(output))
    return merged


def _clean(output: NotebookNode) -> NotebookNode:
    """Remove the machine's paths and addresses from a traceback."""
    if output.output_type == "error":

        def scrub(text: Any) -> str:
            return _ADDRESS.sub("0x…", _PATH.sub(r"\1", str(text)))

        output.evalue = scrub(output.evalue)
        output.traceback = [scrub(line) for line in output.traceback]
    return output
