"""The kernels in which nbval executes the notebooks: new processes, that end when they should."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

KERNELS = Path(__file__).parent / "kernels"


@pytest.fixture(scope="module")
def nursery(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    address = str(tmp_path_factory.mktemp("kernels") / "socket")
    process = subprocess.Popen([sys.executable, KERNELS / "nursery.py", address], stdin=subprocess.PIPE)
    while not Path(address).exists():
        time.sleep(0.05)
    yield address
    assert process.stdin
    process.stdin.close()
    assert process.wait(10) == 0


@pytest.fixture
def kernel(nursery: str, tmp_path: Path) -> Iterator[KernelManager]:
    manager = KernelManager(kernel_name="python3")
    assert manager.kernel_spec
    manager.kernel_spec.argv[1:] = ["-I", "-S", str(KERNELS / "client.py"), "-f", "{connection_file}"]
    manager.start_kernel(env={**os.environ, "POLYHEAD_KERNELS": nursery, "MARK": "7"}, cwd=str(tmp_path))
    yield manager
    manager.shutdown_kernel(now=True)


def said(manager: KernelManager, code: str) -> str:
    """What a cell prints, or the name of what it raises."""
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=60)
    found: list[str] = []

    def take(message: dict) -> None:
        content = message["content"]
        found.append(content.get("text") or content.get("ename") or "")

    if code == "sleep":
        client.execute("import time; print('now', flush=True); time.sleep(60)")
        while "now" not in "".join(found):
            take(client.get_iopub_msg(timeout=60))
        manager.interrupt_kernel()
        while not found[-1].endswith("Interrupt"):
            take(client.get_shell_msg(timeout=30))
    else:
        client.execute_interactive(code, timeout=60, output_hook=take)
    client.stop_channels()
    return "".join(found)


def test_a_kernel_has_its_own_folder_and_environment(kernel: KernelManager, tmp_path: Path) -> None:
    code = "import os; print(os.getcwd(), os.environ['MARK'], 'torch' in __import__('sys').modules)"
    assert said(kernel, code).split() == [str(tmp_path), "7", "True"]


def test_a_kernel_is_interrupted(kernel: KernelManager) -> None:
    assert "KeyboardInterrupt" in said(kernel, "sleep")


def test_a_kernel_ends_with_its_client(kernel: KernelManager) -> None:
    number = int(said(kernel, "import os; print(os.getpid())"))
    kernel.shutdown_kernel(now=True)
    until = time.monotonic() + 10
    while Path(f"/proc/{number}").exists():
        assert time.monotonic() < until
        time.sleep(0.05)
