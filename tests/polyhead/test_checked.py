# ruff: noqa: E501  in the table of bad input, each case is one line
"""The rules of `@checked`, each once: who is refused, with which error, and what the message says."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import numpy as np
import pytest
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

import polyhead
from polyhead import Llama3Scaling
from polyhead.checked import (
    Count,
    Mask,
    NotNegative,
    Positive,
    Probability,
    Size,
    check_range,
    checked,
    divide_exactly,
)

pytestmark = pytest.mark.usefixtures("unchecked")


Thing = TypeVar("Thing")


class Options(TypedDict, total=False):
    ratio: Probability
    name: str


@checked
def takes(
    query: Float[Tensor, "*batch num_queries head_dim"],
    key: Float[Tensor, "*batch num_keys head_dim"] | None = None,
    mask: Mask | None = None,
    lens: Int[Tensor, " batch"] | Int[Tensor, "batch num_queries"] | None = None,
    pair: Bool[Tensor, "2 _any"] | None = None,
    other_mask: Mask | None = None,
    size: Size = 1,
    count: Count = 0,
    positive: Positive = 1.0,
    not_negative: NotNegative = 0.0,
    flag: bool = False,
    kind: Literal["post", "pre"] = "post",
    words: Sequence[str] = (),
    mixed: Sequence[int | str] = (),
    things: list[Any] | None = None,
    made: list[Thing] | None = None,
    table: Mapping[str, object] | None = None,
    anything: object = None,
    **options: Unpack[Options],
) -> Tensor:
    return query


class Module(nn.Module):
    @checked
    def __init__(self, embed_dim: Size) -> None:
        super().__init__()
        self.embed_dim = embed_dim
        self.linear = nn.Linear(embed_dim, 2)

    @checked
    def forward(
        self, x: Float[Tensor, "batch {self.embed_dim}"], y: Float[Tensor, "batch _"] | None = None
    ) -> Tensor:
        return self.linear(x)


Q, K = torch.ones(2, 3, 7), torch.ones(2, 5, 7)


def test_what_is_right_passes():
    takes(Q)
    takes(Q, K, torch.ones(3, 5).bool(), torch.tensor([1, 2]), torch.ones(2, 11).bool())
    takes(torch.ones(3, 7), lens=torch.ones(13, 3).long())
    takes(Q.half(), K.half(), size=11, count=0, positive=2, not_negative=0, flag=True, kind="pre")
    takes(
        query=Q,
        words=["a", "b"],
        mixed=[1, "a"],
        things=[1, None],
        made=[()],
        table={},
        anything=takes,
        ratio=1,
        name="x",
    )
    takes(Q, None, None)
    takes(Q, mask=torch.ones(3, 5).bool(), other_mask=torch.ones(11).bool())  # of any shape, each


# The call, the error, and what its message says: the argument, what was expected, what came.
REFUSED = {
    "no tensor": (lambda: takes([1.0]), TypeError, "query", "head_dim", "list [1.0]"),
    "None": (lambda: takes(None), TypeError, "query", "Float", "None"),
    "too few dimensions": (lambda: takes(Q[0, 0]), ValueError, "query", "num_queries, head_dim", "(7,)"),
    "another batch": (lambda: takes(Q, K[:1]), ValueError, "key", "*batch = (2,)", "(1, 5, 7)"),
    "a batch too much": (lambda: takes(Q[0], K), ValueError, "key", "*batch = ()", "(2, 5, 7)"),
    "by keyword": (lambda: takes(query=Q, key=7), TypeError, "key", "or None", "int 7"),
    "neither of two shapes": (lambda: takes(Q, lens=torch.ones(5, 11).long()), ValueError, "lens", "or Int", "(5, 11)"),
    "mask of 0 and -inf": (lambda: takes(Q, mask=torch.zeros(3, 5)), TypeError, "mask", "Bool", "mask == 0"),
    "mask a bool": (lambda: takes(Q, mask=True), TypeError, "mask", "Bool", "bool True"),
    "other dtypes": (lambda: takes(Q, K.double()), TypeError, "key", "dtype of query, torch.float32", "torch.float64"),
    "other devices": (lambda: takes(Q, K.to("meta")), ValueError, "key", "device of query, cpu", "meta"),
    "mask elsewhere": (lambda: takes(Q, mask=torch.ones(1, device="meta").bool()), ValueError, "mask", "cpu", "meta"),
    "size 0": (lambda: takes(Q, size=0), ValueError, "size", "at least 1", "0"),
    "size a bool": (lambda: takes(Q, size=True), TypeError, "size", "an int", "bool True"),
    "size a float": (lambda: takes(Q, size=2.0), TypeError, "size", "an int", "float 2.0"),
    "count -1": (lambda: takes(Q, count=-1), ValueError, "count", "at least 0", "-1"),
    "positive 0": (lambda: takes(Q, positive=0), ValueError, "positive", "above 0", "0"),
    "positive infinite": (lambda: takes(Q, positive=float("inf")), ValueError, "positive", "finite", "inf"),
    "negative": (lambda: takes(Q, not_negative=-0.1), ValueError, "not_negative", "at least 0", "-0.1"),
    "not a number": (lambda: takes(Q, not_negative=float("nan")), ValueError, "not_negative", "at least 0", "nan"),
    "probability 2": (lambda: takes(Q, ratio=2), ValueError, "ratio", "from 0 to 1", "2"),
    "option a number": (lambda: takes(Q, name=3), TypeError, "name", "str", "int 3"),
    "kind a number": (lambda: takes(Q, kind=1), TypeError, "kind", "'post', 'pre'", "int 1"),
    "one string": (lambda: takes(Q, words="ab"), TypeError, "words", "str", "'ab'"),
    "module's dtype": (lambda: Module(7)(torch.ones(2, 7).double()), TypeError, "x", "parameters", "torch.float64"),
    "made with 0": (lambda: Module(0), ValueError, "embed_dim", "at least 1", "0"),
    "does not divide": (lambda: divide_exactly("embed_dim", 20, "num_heads", 3), ValueError, "num_heads", "embed_dim = 20", "3"),
    "negative id": (lambda: check_range("ids", torch.tensor([3, -2]), 5, "vocab_size"), ValueError, "ids", "= 5", "-2"),
    "id too large": (lambda: check_range("ids", torch.tensor([0, 5]), 5, "vocab_size"), ValueError, "ids", "= 5", "5"),
}  # fmt: skip


@pytest.mark.parametrize(("call", "error", "name", "expected", "got"), REFUSED.values(), ids=REFUSED.keys())
def test_refused(call, error, name, expected, got):
    message = rf"(?s)^{re.escape(name)} .*{re.escape(expected)}.*got .*{re.escape(got)}"
    with pytest.raises(error, match=message) as caught:
        call()
    assert caught.type is error


EXACTLY = {
    "query must be Float (*batch, num_queries, head_dim), got int64 (2, 3, 7)": (lambda: takes(Q.long()), TypeError),
    "key must be Float (*batch = (2,), num_keys, head_dim = 7) or None, got float32 (2, 5, 5)": (lambda: takes(Q, K[..., :5]), ValueError),
    "pair must be Bool (2, any) or None, got bool (3, 7)": (lambda: takes(Q, pair=torch.ones(3, 7).bool()), ValueError),
    "mask must be Bool (...) or None, got float32 (3,) (for 0 and 1 write mask.bool(), for 0 and -inf mask == 0; True = may attend)": (lambda: takes(Q, mask=torch.ones(3)), TypeError),
    "x must be Float (batch, embed_dim = 7), got float32 (2, 5)": (lambda: Module(7)(torch.ones(2, 5)), ValueError),
    "words must be a sequence, each of it a str, got list ['a', 1]": (lambda: takes(Q, words=["a", 1]), TypeError),
    "mixed must be a sequence, each of it an int or a str, got list [2.5]": (lambda: takes(Q, mixed=[2.5]), TypeError),
    "things must be a list, each of it anything or None, got int 5": (lambda: takes(Q, things=5), TypeError),
    "made must be a list, each of it anything or None, got int 5": (lambda: takes(Q, made=5), TypeError),
    "kind must be one of 'post', 'pre', got str 'both'": (lambda: takes(Q, kind="both"), ValueError),
    "table must be a Mapping or None, got list []": (lambda: takes(Q, table=[]), TypeError),
    "ratio must be a number from 0 to 1, got str '0.1'": (lambda: takes(Q, ratio="0.1"), TypeError),
    "flag must be True or False, got int 1": (lambda: takes(Q, flag=1), TypeError),
}  # fmt: skip


@pytest.mark.parametrize("message", EXACTLY, ids=[each.split()[0] for each in EXACTLY])
def test_the_whole_message(message):
    call, error = EXACTLY[message]
    with pytest.raises(error, match=f"^{re.escape(message)}$") as caught:
        call()
    assert caught.type is error


def test_what_is_missing_or_too_much_is_named():
    with pytest.raises(TypeError, match="query"):
        takes()
    with pytest.raises(TypeError, match=r"takes\(\) got an unexpected keyword argument 'no_such'"):
        takes(Q, no_such=1)


def test_under_autocast_dtypes_may_differ():
    with torch.autocast("cpu", torch.bfloat16):
        takes(Q, K.bfloat16())
        assert Module(7)(torch.ones(2, 7).bfloat16()).dtype == torch.bfloat16


def test_what_a_checked_function_calls_is_not_checked_again_but_what_it_makes_is():
    @checked
    def outer(x: Tensor, make: bool = False) -> object:
        return Module(0) if make else takes(x)

    @checked
    def maker(embed_dim: int) -> Module:
        return Module(embed_dim)

    assert outer(torch.ones(7).long()).shape == (7,)
    with pytest.raises(TypeError):
        takes(torch.ones(7).long())

    class Whole(nn.Module):
        @checked
        def __init__(self, embed_dim: int) -> None:
            super().__init__()
            self.part = Module(embed_dim)

    with pytest.raises(ValueError, match="embed_dim"):
        Whole(0)


def test_a_failed_call_leaves_checks_on():
    @checked
    def fails(x: Tensor) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails(Q)
    with pytest.raises(TypeError):
        takes(1)


def test_every_public_function_and_forward_is_checked():
    """Those that take a tensor by an annotation; a helper that only checked ones call need not be."""
    helpers = {
        "polyhead.functional.attend",
        "polyhead.functional.hide_unseen",
        "polyhead.masks.broadcast_mask",
    }
    missing = set()
    for info in pkgutil.walk_packages(polyhead.__path__, "polyhead."):
        if info.name.split(".")[1] in ("plots", "checks", "fonts", "checked"):
            continue
        module = importlib.import_module(info.name)
        for name, thing in vars(module).items():
            if getattr(thing, "__module__", None) != info.name or name.startswith("_"):
                continue
            functions = {name: thing}
            if inspect.isclass(thing):
                functions = {f"{name}.{each}": vars(thing).get(each) for each in ("__init__", "forward")}
            for path, function in functions.items():
                takes_arguments = (
                    inspect.isfunction(function) and len(inspect.signature(function).parameters) > 1
                )
                if takes_arguments and "[" in str(inspect.signature(function)) and not _is_checked(function):
                    missing.add(f"{info.name}.{path}")
    assert missing <= helpers


def _is_checked(function) -> bool:
    while function is not None:
        if function.__code__.co_filename == checked.__code__.co_filename:
            return True
        function = getattr(function, "__wrapped__", None)
    return False


def test_only_sizes_that_an_annotation_names_are_the_modules():
    class Longer(Module):
        def __init__(self) -> None:
            super().__init__(7)
            self.batch = 512

    assert Longer()(torch.ones(3, 7)).shape == (3, 2)
    with pytest.raises(ValueError, match="embed_dim = 7"):
        Longer()(torch.ones(3, 5))


def test_numpy_numbers_become_pythons():
    @checked
    def types(size: Size, ratio: Probability = 0.0, words: Sequence[int] = ()) -> tuple[type, type]:
        return type(size), type(ratio)

    assert types(np.int64(3), np.float32(0.5), [np.int8(1)]) == (int, float)
    assert types(ratio=np.int16(1), size=np.uint8(3)) == (int, int)
    for wrong, error in ((np.int64(0), ValueError), (np.float64(3), TypeError), (np.bool_(True), TypeError)):
        with pytest.raises(error, match="size must be an int of at least 1"):
            types(wrong)
    assert Llama3Scaling(np.float32(8), original_length=np.int64(64)).factor == 8
