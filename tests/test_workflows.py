"""The workflows call make targets that there are, and ask for no more rights than they need."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
EVERY = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)


def jobs(path: Path) -> dict[str, Any]:
    return dict(yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"])


@EVERY
def test_each_target_exists(path: Path) -> None:
    called = re.findall(r"make ([a-z]+)", re.sub(r"#.*", "", path.read_text(encoding="utf-8")))
    assert called
    assert set(called) <= TARGETS


@EVERY
def test_each_step_runs_something_of_a_fixed_version(path: Path) -> None:
    for name, job in jobs(path).items():
        assert job["runs-on"], name
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step), step
            if "uses" in step:
                assert re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]), step


@EVERY
def test_rights_are_named(path: Path) -> None:
    whole = yaml.safe_load(path.read_text(encoding="utf-8"))
    for job in whole["jobs"].values():
        rights = job.get("permissions", whole.get("permissions"))
        assert rights, "without a list a job has every right that the repository's settings give"
        assert "write-all" not in rights


def test_everything_is_published() -> None:
    text = (ROOT / ".github/workflows/publish.yml").read_text(encoding="utf-8")
    for needed in ("make pages", "POLYGLOT_BASEURL", "POLYGLOT_REPOSITORY", "_build/html", "-b notebooks"):
        assert needed in text
