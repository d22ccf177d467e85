"""What all tests share: kernels that begin where their libraries are loaded, and one browser a file."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.books.fixtures import four, four_copy, full
from tests.browser import Browser, chromium
from tests.typechecked import typechecked

__all__ = ["four", "four_copy", "full", "typechecked"]  # jaxtyping finds the last one by its name

KERNELS = Path(__file__).parent / "kernels"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Put our kernel before Jupyter's own one, for the notebooks of this run; the workers inherit it."""
    if not config.option.nbval or hasattr(config, "workerinput"):
        return
    folder = tempfile.TemporaryDirectory(prefix="kernels-")
    spec = Path(folder.name) / "kernels" / "python3" / "kernel.json"
    spec.parent.mkdir(parents=True)
    argv = [sys.executable, "-I", "-S", str(KERNELS / "client.py"), "-f", "{connection_file}"]
    spec.write_text(json.dumps({"argv": argv, "display_name": "Python 3", "language": "python"}))
    address = str(Path(folder.name) / "socket")
    os.environ |= {"JUPYTER_PATH": folder.name, "POLYHEAD_KERNELS": address}
    nursery = subprocess.Popen([sys.executable, KERNELS / "nursery.py", address], stdin=subprocess.PIPE)

    def end() -> None:
        assert nursery.stdin
        nursery.stdin.close()
        nursery.wait()
        folder.cleanup()

    config.add_cleanup(end)


@pytest.fixture(scope="module")
def window() -> Iterator[Browser]:
    """A browser; without one the test is skipped, or fails where `CI=true`."""
    with chromium() as browser:
        yield browser
