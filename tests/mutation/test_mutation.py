"""Mutation testing: what it changes, what it calls noticed, and that its list of exceptions is in order."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mutation.__main__ import GROUPS
from mutation.equivalent import read_equivalent
from mutation.mutants import mutants

ROOT = Path(__file__).parents[2]
MODULE = '''
"""A tiny module."""
from functools import cache

LIMIT = 10


def cut(x: int, step: int = 3) -> int:
    """At most the limit."""
    if x > LIMIT:
        raise ValueError(f"more than {LIMIT}")
    return x + step


@cache
def more(x: int) -> int:
    return x + 4


def far(x: int) -> int:
    return x * 4


def never() -> int:
    return 7
'''
STRONG = """
import multiprocessing
import pytest
from tiny.module import cut, far, more

def elsewhere():
    assert far(2) == 8

def test_far():
    process = multiprocessing.get_context("forkserver").Process(target=elsewhere)
    process.start()
    process.join()
    assert process.exitcode == 0

def test_more_says_little():
    assert more(1)

def test_more_after_it_was_cached():
    assert more(1) == 5

def test_cut(tmp_path):
    assert [cut(1), cut(10), cut(2, step=5)] == [4, 13, 7]
    with pytest.raises(ValueError):
        cut(11)
"""
WEAK = """
from tiny.module import cut

def test_cut():
    assert cut(1)
"""


def changes(source: str) -> list[str]:
    return [each.change for each in mutants(source.encode())]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("def f(a, b): return a <= b", ["`a <= b` → `a < b`"]),
        ("def f(a, b): return a is b and a", ["`a is b and a` → `a is b or a`", "`a is b` → `a is not b`"]),
        ("def f(a): return -a", ["`-a` → `a`"]),
        ("def f(a, b): return a @ b", []),
        ("def f(a, b): return g(a, b)", ["`g(a, b)` → `g(b, a)`"]),
        ("def f(a): return g(a, a, key=a)", ["`g(a, a, key=a)` → `g(a, a)`"]),
        ("def f(a):\n    if a: g()", ["`a` → `not a`", "without `g()`"]),
        ("def f(a):\n    if not a: a.x = a", ["`not a` → `a`", "without `a.x = a`"]),
        (
            "def f(a):\n    if a == a: a += a",
            ["`a == a` → `a != a`", "`a += a` → `a -= a`", "without `a += a`"],
        ),
        ("def f(a):\n    for b in a: break", ["`break` → `continue`"]),
        ("def f(a): return [b for b in a if b]", ["`b` → `not b`"]),
        ("def f(a): return a['é']", ["`'é'` → `'XXé'`"]),
        ("def f(a): raise ValueError('no' + a)", ["without `raise ValueError('no' + a)`"]),
        ('def f(a: "int", b: int = True) -> 3:\n    "text"\n    return f"{a + 1}"', ["`True` → `False`"]),
        ("class A:\n    def __repr__(self): return 'A'", []),
        ("__all__ = ['f']\nA = B['text']", []),
    ],
)
def test_changes(source: str, expected: list[str]) -> None:
    assert changes(source) == expected


def test_a_changed_module_keeps_its_lines() -> None:
    source = b"def f(a):\n    return (a +\n            '\xc3\xa9')  # sum\n\n\ndef g(): return 2\n"
    for mutant in mutants(source):
        changed = mutant.applied(source)
        assert changed != source
        assert changed.splitlines()[5].startswith(b"def g()")
        compile(changed, "changed", "exec")


def test_the_same_change_twice_in_a_line_has_two_names() -> None:
    assert changes("def f(a): return a[0] + a[0]") == [
        "`a[0] + a[0]` → `a[0] - a[0]`",
        "`0` → `1`",
        "`0` → `1` (2)",
    ]


@pytest.mark.parametrize("entry", read_equivalent(), ids=lambda entry: f"{entry.path}: {entry.change}")
def test_what_counts_as_equivalent_is_still_there(entry) -> None:
    assert (entry.line, entry.change) in {
        (each.line, each.change) for each in mutants((ROOT / entry.path).read_bytes())
    }
    assert entry.reason


def test_the_groups_exist() -> None:
    for group in GROUPS.values():
        assert (ROOT / group.source).is_dir() and (ROOT / group.tests).is_dir()


def test_no_group_leaves_out_all_tests_of_a_module_of_its_own() -> None:
    """Nothing else calls the probes of the exercises."""
    group = GROUPS["exercises"]
    assert not "test_clinic_probes".startswith(group.left_out)
    assert (ROOT / group.tests / "test_clinic_probes.py").is_file()
    assert (ROOT / group.source / "checks/probes.py").is_file()


@pytest.fixture(scope="module")
def printed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, subprocess.CompletedProcess[str]]:
    """What the command says of the module with the strong and with the weak test."""
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "src/tiny").mkdir(parents=True)
    (folder / "src/tiny/module.py").write_text(MODULE)
    done = {}
    for name, test in {"strong": STRONG, "weak": WEAK}.items():
        (folder / name).mkdir()
        (folder / name / "conftest.py").touch()
        (folder / name / "test_it.py").write_text(test)
        command = [sys.executable, "-m", "mutation", f"src/tiny:{name}:{60 if name == 'strong' else 20}"]
        done[name] = subprocess.run(
            command,
            cwd=folder,
            env={"PYTHONPATH": str(ROOT), "MUTATION_PRELOAD": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
            capture_output=True,
            text=True,
        )
    assert (folder / "src/tiny/module.py").read_text() == MODULE
    return done


def test_a_strong_test_notices_all_but_what_it_does_not_execute(printed) -> None:
    done = printed["strong"]
    # Noticed: LIMIT, step, 4 and 4 plus one, `>` negated and with equality, no error, three other operators.
    assert "10 of    11 =  90.9%  src/tiny/module.py" in done.stdout, done.stdout + done.stderr
    assert "no test executes it" in done.stdout and "`7` → `8`" in done.stdout
    assert done.returncode == 0


def test_a_weak_test_notices_little_and_the_command_fails(printed) -> None:
    done = printed["weak"]
    assert "1 of    11 =   9.1%  src/tiny/module.py" in done.stdout, done.stdout + done.stderr
    assert "return x + step\n    `x + step` → `x - step`\n    survived 1 tests" in done.stdout
    assert done.returncode == 1
