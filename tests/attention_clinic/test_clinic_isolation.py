"""Whatever code does in a process of its own, it is told in time, and nothing of it stays behind."""

from __future__ import annotations

import inspect
import os
import time
from pathlib import Path

import pytest

from attention_clinic.command import build_lines, examined
from attention_clinic.isolation import Stopped, isolated
from tests.attention_clinic import hostile

LIMIT, SECONDS = 2.0, 0.2
FUNCTIONS = [name for name, each in vars(hostile).items() if inspect.isfunction(each)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_hostile_code_is_told_in_time(name, capfd):
    began = time.monotonic()
    build = build_lines([f"{hostile.__file__}:{name}"])
    found = examined(build, "", {"kind": "attention", "seconds": SECONDS}, LIMIT, 2.0)
    assert time.monotonic() - began < LIMIT + 3
    assert found["verdict"] in ("ill", "undecided"), found["text"]
    printed = capfd.readouterr()
    assert len(printed.out) + len(printed.err) == 0


def test_there_are_twenty():
    assert len(FUNCTIONS) >= 20


def test_the_reason_is_told():
    with pytest.raises(Stopped, match="exit code 5"):
        isolated(os._exit, 5)
    with pytest.raises(Stopped, match=r"ValueError: .*seven"):
        isolated(int, "seven")
    with pytest.raises(Stopped, match=r"0\.2 seconds") as stopped:
        isolated(time.sleep, 60, limit=0.2)
    assert stopped.value.seconds == 0.2


def test_what_it_started_ends_with_it():
    def start():
        if child := os.fork():
            return child
        time.sleep(1000)

    began = time.monotonic()
    status = Path(f"/proc/{isolated(start)}/status")
    while status.exists() and "State:\tZ" not in status.read_text():  # killed, and not yet gone
        assert time.monotonic() - began < 5


def test_it_has_nothing_of_the_caller_but_its_arguments():
    kept = []
    assert isolated(lambda x: kept.append(x) or len(kept), 3) == 1
    assert kept == []
