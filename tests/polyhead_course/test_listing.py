"""`show`: what a listing keeps, what it leaves out, and how it looks in each place."""

from __future__ import annotations

import importlib
import sys

import pytest
import torch
from IPython.core.compilerop import CachingCompiler
from markdown_it import MarkdownIt
from torch import nn

import polyhead
from polyhead_course import peers
from polyhead_course.words.listing import show

TINY = '''"""What the module is for."""

import functools
from dataclasses import dataclass


def loud(function):
    """Wraps."""
    @functools.wraps(function)
    def call(*args):
        """Calls."""
        return function(*args)

    return call


@loud
@functools.lru_cache(
    maxsize=None,
)  # kept for long
# Above the name.
def area(
    width, height=3,  # a default
):
    """Width times height.

    Over several lines, größer.
    """

    # Why: a comment.
    scale = "\\"\\"\\" no docstring"

    return (width *
            height)  # as written


def nothing():
    """Only this,

    over some lines.
    """


def größe(): "größer"; return 5


def fences():
    return """
````
"""


@dataclass(frozen=True)
class Point:
    """A place."""

    x: int = 7

    @property
    def twice(self):
        """Two times."""
        return 2 * self.x

    @staticmethod
    @loud
    def words():
        """Text."""
        return """a
  b
        c"""

    @loud
    def empty(self):
        """Nothing."""

    class Inner:
        """Inside."""


def outer():
    def inner(x):
        """Inside."""
        return x
    return inner


pair = [len,
        lambda x: x]
'''
AREA = """\
# Above the name.
def area(
    width, height=3,  # a default
):
    # Why: a comment.
    scale = "\\"\\"\\" no docstring"

    return (width *
            height)  # as written"""
POINT = '''\
@dataclass(frozen=True)
class Point:
    x: int = 7

    @property
    def twice(self):
        return 2 * self.x

    @staticmethod
    def words():
        return """a
  b
        c"""

    def empty(self):
        ...

    class Inner:
        ...'''


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tiny")
    (folder / "tiny.py").write_text(TINY, encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        yield importlib.import_module("tiny")
    del sys.modules["tiny"]


def code(*objects):
    """What stands below the caption of the first."""
    return repr(show(*objects)).partition("\n")[2]


def test_the_source_without_docstring_and_decorators(tiny):
    assert code(tiny.area) == AREA
    assert code(tiny.Point) == POINT
    assert code(tiny.nothing) == "def nothing():\n    ..."


def test_what_is_shown_computes_the_same(tiny):
    names = {"dataclass": tiny.dataclass, "functools": tiny.functools}
    exec(code(tiny.area), names)
    exec(code(tiny.Point), names)
    exec(code(tiny.größe), names)
    assert names["area"](5, 11) == tiny.area(5, 11) == 55
    assert names["Point"](13).twice == tiny.Point(13).twice == 26
    assert names["Point"].words() == tiny.Point.words()
    assert names["größe"]() == 5
    assert "What the module is for" not in code(tiny)


def test_a_method_stands_at_the_margin_and_its_strings_stay(tiny):
    assert code(tiny.Point.words) == '@staticmethod\ndef words():\n    return """a\n  b\n        c"""'
    assert code(tiny.Point.twice) == "@property\ndef twice(self):\n    return 2 * self.x"
    assert code(tiny.Point().empty) == "def empty(self):\n    ..."


@pytest.mark.parametrize(
    ("thing", "caption"),
    [
        ("area", "tiny · area"),
        ("Point.empty", "tiny · Point.empty"),
        ("Point.twice", "tiny · Point.twice"),
        ("outer()", "tiny · outer.inner"),
        ("functools.wraps", "functools · wraps"),
    ],
)
def test_a_caption_names_module_and_object(tiny, thing, caption):
    assert repr(show(eval(f"tiny.{thing}"))).splitlines()[0] == f"# {caption}"
    assert repr(show(tiny)).splitlines()[0] == "# tiny"
    assert repr(show(torch.backends)).splitlines()[0] == "# torch.backends"  # an object in a module's place


def test_markdown_has_a_caption_and_a_fence_for_each(tiny):
    tokens = MarkdownIt().parse(show(tiny.nothing, tiny.fences)._repr_markdown_())
    assert [token.type for token in tokens] == [*("paragraph_open", "inline", "paragraph_close", "fence") * 2]
    captions = [["tiny", "nothing"], ["tiny", "fences"]]
    assert [
        [child.content for child in token.children if child.type == "code_inline"]
        for token in tokens
        if token.type == "inline"
    ] == captions
    fences = [token for token in tokens if token.type == "fence"]
    assert [fence.info for fence in fences] == ["python", "python"]
    assert fences[1].content == 'def fences():\n    return """\n````\n"""\n'


def test_every_public_thing_of_polyhead_can_be_shown_without_its_checks():
    for name in polyhead.__all__:
        listed = code(getattr(polyhead, name))
        assert "@checked" not in listed
        assert listed.startswith(("def ", "class ", "@"))
        compile(listed, name, "exec")


def test_other_peoples_functions():
    assert code(nn.Linear.forward).splitlines()[0].startswith("def forward(self")
    assert "W_q" in code(peers.d2l().MultiHeadAttention)


def test_a_function_of_a_notebook_cell():
    cell = 'def in_a_cell(x):\n    """Doubles."""\n    return 2 * x\n'
    names = {"__name__": "__main__"}
    exec(compile(cell, CachingCompiler().cache(cell), "exec"), names)
    assert repr(show(names["in_a_cell"])) == "# in_a_cell\ndef in_a_cell(x):\n    return 2 * x"


@pytest.mark.parametrize(
    ("thing", "named"),
    [
        (torch.softmax, "softmax"),
        (len, "len"),
        (nn.Linear(3, 5), "Linear"),
        (torch.ones(7), "tensor"),
        ("polyhead", "'polyhead'"),
        (None, "None"),
        (eval("lambda x: 11"), "<lambda>"),
    ],
)
def test_what_has_no_python_source_is_refused_by_name(thing, named):
    with pytest.raises(TypeError, match=f"functions, classes, methods or modules.*got .*{named}"):
        show(polyhead.causal_mask, thing)


def test_part_of_a_statement_and_nothing_are_refused(tiny):
    with pytest.raises(TypeError, match="got tiny · <lambda>"):
        show(tiny.pair[1])
    with pytest.raises(TypeError, match="got nothing"):
        show()
