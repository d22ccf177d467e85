"""Workflows call make targets that there are, with no more rights than they need; so does the action."""

from __future__ import annotations

import os
import re
import subprocess
import sys
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


ACTION = ROOT / ".github/actions/attention-clinic"


def test_the_action_is_one_that_others_can_use() -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    assert action["name"] and action["description"]
    assert action["runs"]["using"] == "composite"
    text = str(action["runs"])
    assert set(re.findall(r"inputs\.(\w+)", text)) == set(action["inputs"])
    for given in action["inputs"].values():
        assert given["description"] and ("default" in given) != given.get("required", False)
    for step in action["runs"]["steps"]:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"], "what a user writes must not become a part of the script"
    for path in re.findall(r"\$GITHUB_ACTION_PATH/([\w./]+)", text):
        assert (ACTION / path / "pyproject.toml").is_file()


@pytest.mark.parametrize(("word", "code"), [("right", 0), ("leaking", 1)])
def test_the_action_fails_unless_the_code_is_healthy(word: str, code: int, tmp_path: Path) -> None:
    action = yaml.safe_load((ACTION / "action.yml").read_text(encoding="utf-8"))
    summary = tmp_path / "summary"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        # so GitHub runs a step whose shell is bash
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", action["runs"]["steps"][-1]["run"]],
        env=os.environ
        | {"PATH": path, "GITHUB_STEP_SUMMARY": str(summary)}
        | {"COMMAND": f"model tests/attention_clinic/ill_attention.py:{word}"},
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stderr
    assert ("✗ causality" in summary.read_text(encoding="utf-8")) == bool(code)
