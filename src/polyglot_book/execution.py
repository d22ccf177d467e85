"""Executes one notebook in a fresh kernel of this very Python, so that two runs give equal bytes."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbformat import NotebookNode

_new_node: Any = NotebookNode  # its methods carry no types
# One thread, because sums of floats differ with the number of threads.
ENVIRONMENT = {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "PYDEVD_DISABLE_FILE_VALIDATION": "1"}
# Otherwise every kernel warns on stderr that it talks to this process unencrypted.
_KERNEL_OPTIONS = ["--HistoryManager.enabled=False", "--IPKernelApp.log_level=ERROR"]
_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PATH = re.compile(r"(?:~|[A-Za-z]:)?(?:[/\\][^/\\\s:'\"<>\x1b]+)*[/\\]([^/\\\s:'\"<>\x1b]+\.py)")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}")


class CellFailure(Exception):
    """A cell that raised, or that ended the kernel.

    Attributes:
        cell: Its id.
        traceback: What Python said, in plain text.
    """

    def __init__(self, cell: str, traceback: str) -> None:
        """Name the cell and keep the traceback."""
        super().__init__(f"{cell}: {traceback}")
        self.cell, self.traceback = cell, traceback


class _ThisPython(KernelSpecManager):
    """Knows one kernel: the running interpreter's, whatever kernelspecs are installed."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        # -Xfrozen_modules=off keeps the debugger from warning on stderr.
        return KernelSpec(**get_kernel_dict(_KERNEL_OPTIONS, ["-Xfrozen_modules=off"]))


class Execution:
    """One notebook on its way through a kernel, which another thread may stop."""

    def __init__(self, notebook: NotebookNode, folder: Path, environment: Mapping[str, str]) -> None:
        """Prepare it: `folder` is where cells run, `environment` what the kernel sees beside the usual."""
        self._notebook, self._folder = notebook, folder
        self._environment = {**os.environ, **ENVIRONMENT, **environment}
        # Figures must go where a reader's go: into the cell, by the kernel's own default.
        if "MPLBACKEND" not in environment:
            self._environment.pop("MPLBACKEND", None)
        self._environment.pop("PYTHONWARNINGS", None)
        self._manager = AsyncKernelManager(kernel_name="python3", kernel_spec_manager=_ThisPython())
        self._current = ""
        self._stopped = False

    def stop(self) -> None:
        """Kill the kernel."""
        self._stopped = True
        process = getattr(self._manager.provisioner, "process", None)
        if process is not None:
            process.kill()

    def run(self) -> NotebookNode:
        """Execute every code cell.

        Returns:
            The notebook with its outputs, which is the one given.

        Raises:
            CellFailure: A cell raised that is not tagged `raises-exception`, or the kernel died.
        """

        def remember(cell: NotebookNode, cell_index: int) -> None:
            if self._stopped:  # before there was a kernel to kill
                raise CellFailure(cell.id, "stopped")
            self._current = cell.id

        client = NotebookClient(
            self._notebook,
            km=self._manager,
            timeout=None,
            record_timing=False,
            shutdown_kernel="immediate",  # asking the kernel to leave sometimes takes seconds
            store_widget_state=False,
            resources={"metadata": {"path": str(self._folder)}},
            on_cell_start=remember,
        )
        # An IPython profile of the user's own must not change what cells do.
        with tempfile.TemporaryDirectory(prefix="polyglot-ipython-") as profile:
            try:
                environment = {**self._environment, "IPYTHONDIR": profile}
                asyncio.run(client.async_execute(cleanup_kc=True, env=environment))
            except CellExecutionError as error:
                raise CellFailure(self._current, _ANSI.sub("", error.traceback).strip()) from None
            except DeadKernelError:
                raise CellFailure(self._current, "the kernel died (out of memory?)") from None
        for cell in self._notebook.cells:
            if cell.cell_type == "code":
                cell.outputs = [_clean(output) for output in _merged(cell.outputs)]
        return self._notebook


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
    """Take machine paths and addresses out of a traceback."""
    if output.output_type == "error":

        def scrub(text: Any) -> str:
            return _ADDRESS.sub("0x…", _PATH.sub(r"\1", str(text)))

        output.evalue = scrub(output.evalue)
        output.traceback = [scrub(line) for line in output.traceback]
    return output
