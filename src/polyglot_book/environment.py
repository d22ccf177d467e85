"""Makes or updates `.venv`, and does nothing where it is up to date.

Run as `python3 src/polyglot_book/environment.py`, before anything is installed: it keeps to the standard
library, and to the syntax of Python 3.8, so that an old Python can say which one is needed.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

OLDEST, NEWEST = (3, 11), (3, 14)
FREE_BYTES = 4 * 10**9
REQUIREMENTS = ("requirements.txt", "requirements-no-deps.txt")


class EnvironmentProblem(Exception):
    """Something that the user has to do first, in one line."""


def _say(line: str) -> None:
    print(line, flush=True)


def _python_in(venv: Path) -> Path:
    return venv / "Scripts" / "python.exe" if os.name == "nt" else venv / "bin" / "python"


def state(root: Path) -> str:
    """Describe what the environment depends on, and on which interpreter it stands.

    The interpreter's real path changes when the system's Python does, and the root when the folder was moved:
    both break an environment.
    """
    digest = hashlib.sha256()
    for name in (*REQUIREMENTS, "pyproject.toml"):
        path = root / name
        data = path.read_bytes() if path.is_file() else b""
        digest.update(f"{name}\0{len(data)}\0".encode() + data)
    venv = root / ".venv"
    version = ""
    if (venv / "pyvenv.cfg").is_file():
        lines = (venv / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
        version = next((line.split("=")[1].strip() for line in lines if line.startswith("version")), "")
    python = os.path.realpath(str(_python_in(venv)))
    return json.dumps({"files": digest.hexdigest(), "python": python, "root": str(root), "version": version})


def is_current(root: Path) -> bool:
    """Say whether the environment is complete and up to date."""
    try:
        stamp = (root / ".venv" / "polyglot-installed").read_text(encoding="utf-8")
    except OSError:
        return False
    return _python_in(root / ".venv").exists() and stamp == state(root)


def _version_of(python: str) -> tuple[int, int] | None:
    """Ask an interpreter for its version; None where it does not run."""
    code = "import sys; print(*sys.version_info[:2])"
    try:
        done = subprocess.run(
            [python, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True
        )
        major, minor = done.stdout.decode().split()
    except (OSError, ValueError, subprocess.CalledProcessError):
        return None
    return int(major), int(minor)


def find_python(venv: Path) -> str:
    """Find an interpreter that the course runs on: this one, or another on PATH.

    Raises:
        EnvironmentProblem: There is none.
    """
    running = sys.executable
    if Path(sys.prefix) == venv:
        # The environment must not be rebuilt by the interpreter inside it.
        running = getattr(sys, "_base_executable", sys.executable)
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return running
    names = [f"python3.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)]
    for name in [*names, "python3"]:
        found = shutil.which(name)
        version = _version_of(found) if found else None
        if found and version is not None and OLDEST <= version <= NEWEST:
            return found
    raise EnvironmentProblem(
        "Python {}.{} to {}.{} is needed, and this is {}.{}; install one, e.g. "
        "apt-get install python3 python3-venv".format(*OLDEST, *NEWEST, *sys.version_info[:2])
    )


def check_machine(root: Path, python: str) -> None:
    """Check what would otherwise fail halfway, with a long message.

    Raises:
        EnvironmentProblem: The venv module or disk space is missing.
    """
    command = [python, "-c", "import venv, ensurepip"]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode != 0:
        raise EnvironmentProblem(
            f"{python} cannot make virtual environments; install its venv module, e.g. "
            "apt-get install python3-venv"
        )
    free = shutil.disk_usage(str(root)).free
    if free < FREE_BYTES:
        raise EnvironmentProblem(
            f"{free / 1e9:.1f} GB are free in {root}, "
            f"and {FREE_BYTES / 1e9:.0f} GB are needed; make room there"
        )


def _run(what: str, *command: str) -> None:
    _say(what)
    if subprocess.run(command).returncode:
        raise EnvironmentProblem(f"{what}: failed, as said above; mend that and run it again")


def _usable(venv: Path) -> bool:
    """Say whether a half-made environment can be completed rather than made anew."""
    python = _python_in(venv)
    version = _version_of(str(python)) if python.exists() else None
    if version is None or not OLDEST <= version <= NEWEST:
        return False
    done = subprocess.run([str(python), "-c", "import pip"], stderr=subprocess.DEVNULL)
    config = venv / "pyvenv.cfg"
    return done.returncode == 0 and config.is_file()


def _was_moved(root: Path) -> bool:
    """Say whether the stamp names another folder: the scripts in the environment then do too."""
    try:
        stamp = json.loads((root / ".venv" / "polyglot-installed").read_text(encoding="utf-8"))
        return bool(stamp["root"] != str(root))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def install(root: Path) -> None:
    """Make the environment, or bring it up to date.

    Raises:
        EnvironmentProblem: Something has to be done first, or a step failed.
    """
    venv = root / ".venv"
    stamp = venv / "polyglot-installed"
    complete = stamp.is_file()
    rebuild = _was_moved(root) or not _usable(venv)
    if rebuild or not complete:
        python = find_python(venv)
        check_machine(root, python)
        if rebuild:
            _run(f"making .venv with {python}", python, "-m", "venv", "--clear", str(venv))
    if stamp.is_file():
        stamp.unlink()
    pip = (str(_python_in(venv)), "-m", "pip", "--disable-pip-version-check", "install", "-q")
    for name, options in zip(REQUIREMENTS, ((), ("--no-deps",))):  # noqa: B905  (strict is 3.10's)
        if (root / name).is_file():
            step = "installing {} (minutes, the first time)" if not complete else "updating to {}"
            _run(step.format(name), *pip, *options, "-r", str(root / name))
    _run("installing the course itself", *pip, "--no-deps", "--no-build-isolation", "-e", str(root))
    stamp.write_text(state(root), encoding="utf-8")
    _say("the environment is ready")


def main(root: Path | None = None) -> int:
    """Bring the environment up to date; returns the exit status."""
    root = (root or Path(__file__).resolve().parents[2]).resolve()
    try:
        if not is_current(root):
            install(root)
    except EnvironmentProblem as problem:
        print(problem, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the next run goes on", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
