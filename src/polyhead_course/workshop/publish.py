"""Replaces a site in one step: `python -m polyhead_course.workshop.publish BUILT FILE ... SITE`."""

import ctypes
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

_HERE = -100  # AT_FDCWD: relative paths begin at the working directory
_EXCHANGE = 2  # RENAME_EXCHANGE of Linux, and RENAME_SWAP of macOS


def publish(built: Path, files: Sequence[Path], site: Path) -> None:
    """Replace a site by a copy of a built folder and of further files.

    `site` is always the complete last site or the complete new one, even if the process is killed.

    Args:
        built: The folder to copy.
        files: Files that are copied into it; their times stay.
        site: The folder to replace.
    """
    copy, last = (site.with_name(f".{site.name}.{word}") for word in ("new", "last"))
    for folder in (copy, last):
        shutil.rmtree(folder, ignore_errors=True)
    try:
        # That file is for Sphinx's next build, and differs from folder to folder.
        shutil.copytree(built, copy, ignore=shutil.ignore_patterns(".buildinfo"))
        for file in files:
            shutil.copy2(file, copy)
    except OSError:  # a full disk
        shutil.rmtree(copy, ignore_errors=True)
        raise
    if not site.exists():
        copy.rename(site)
    elif exchange(copy, site):
        shutil.rmtree(copy)
    else:
        site.rename(last)
        copy.rename(site)
        shutil.rmtree(last)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step.

    Returns:
        Whether that was possible: some systems and disks cannot.
    """
    # rename() replaces only an empty folder; Python has no function for the system calls that exchange two.
    library = ctypes.CDLL(None)
    paths = os.fsencode(one), os.fsencode(other)
    if hasattr(library, "renameat2"):
        return bool(library.renameat2(_HERE, paths[0], _HERE, paths[1], _EXCHANGE) == 0)
    return hasattr(library, "renamex_np") and bool(library.renamex_np(*paths, _EXCHANGE) == 0)


if __name__ == "__main__":
    first, *others, target = map(Path, sys.argv[1:])
    try:
        publish(first, others, target)
    except OSError as error:
        sys.exit(f"{target} could not be replaced; the last site is as it was: {error!s:.200}")
