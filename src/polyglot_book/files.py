"""Reads files without changing their line ends, and writes them completely or not at all."""

from __future__ import annotations

import os
from pathlib import Path


def read_text(path: Path) -> str:
    """Read a file without changing its line ends."""
    return path.read_bytes().decode("utf-8")


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file so that no reader ever sees a part of it.

    Raises:
        OSError: The file cannot be written; the error names `path`, and the file is as it was.
    """
    half = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            half.write_bytes(data)
            half.replace(path)
        finally:
            half.unlink(missing_ok=True)
    except OSError as error:
        # Write errors name no file, and the others name the temporary one.
        raise OSError(error.errno, error.strerror or str(error), str(path)) from None
