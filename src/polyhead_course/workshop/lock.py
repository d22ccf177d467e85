"""Runs one command at a time: `python -m polyhead_course.workshop.lock FILE COMMAND …` waits for FILE."""

import fcntl
import os
import sys
from pathlib import Path


def acquire(file: Path) -> None:
    """Lock a file for this process, for what it becomes by `exec`, and for the processes that it starts.

    The system frees the lock when the last of them has ended, however it ends.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT)
    os.set_inheritable(descriptor, True)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"another process holds {file}: waiting until it ends", file=sys.stderr, flush=True)
        fcntl.flock(descriptor, fcntl.LOCK_EX)


if __name__ == "__main__":
    acquire(Path(sys.argv[1]))
    os.execvp(sys.argv[2], sys.argv[2:])
