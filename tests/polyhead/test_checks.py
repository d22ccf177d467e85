from __future__ import annotations

import math

import pytest
import torch
import torch.nn.functional as F

import polyhead
from polyhead import checks, language, set_language
from polyhead.language import LANGUAGES, text


def right(query, key, value):
    return (query @ key.mT / math.sqrt(query.shape[-1])).softmax(-1) @ value


def fail(query, key, value):
    raise RuntimeError("mat1 and mat2 {shapes}")


def forget_return(query, key, value):
    right(query, key, value)


def spoil_inputs(query, key, value):
    result = right(query, key, value)
    for tensor in (query, key, value):
        tensor.zero_()
    return result


def dots(query, key):
    return query @ key.mT


ROOT = math.sqrt(7)
RIGHT = {
    "by hand": right,
    "polyhead's own, a tuple": polyhead.scaled_dot_product_attention,
    "torch's": F.scaled_dot_product_attention,
    "a tuple of one": lambda q, k, v: (right(q, k, v),),
    "scaled before": lambda q, k, v: (q / ROOT @ k.mT).softmax(-1) @ v,
    "float64": lambda q, k, v: right(q.double(), k.double(), v.double()),
    "with a gradient": lambda q, k, v: right(q.requires_grad_(), k, v),
    "changes its arguments": spoil_inputs,
}
WRONG = {
    "unscaled": ("check.unscaled", lambda q, k, v: dots(q, k).softmax(-1) @ v),
    "divided by head_dim": ("check.no_root", lambda q, k, v: (dots(q, k) / 7).softmax(-1) @ v),
    "softmax over queries": ("check.wrong_axis", lambda q, k, v: (dots(q, k) / ROOT).softmax(-2) @ v),
    "softmax over dim 1": ("check.wrong_axis", lambda q, k, v: (dots(q, k) / ROOT).softmax(1) @ v),
    "no softmax": ("check.no_softmax", lambda q, k, v: dots(q, k) / ROOT @ v),
    "unscaled, in a tuple": ("check.unscaled", lambda q, k, v: (dots(q, k).softmax(-1) @ v, None)),
}


@pytest.mark.parametrize("name", RIGHT)
def test_right_function(name, capsys):
    assert checks.attention(RIGHT[name]) is None
    assert capsys.readouterr().out == text("check.agrees") + "\n"


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("name", WRONG)
def test_known_mistake_is_named_in_the_language_of_the_reader(name, code, capsys):
    set_language(code)
    key, candidate = WRONG[name]
    checks.attention(candidate)
    assert capsys.readouterr().out == text(key) + "\n"


def test_every_known_mistake_is_tested_and_distinct():
    assert {f"check.{name}" for name in checks._MISTAKES} == {key for key, _ in WRONG.values()}
    for code in LANGUAGES:
        messages = [
            label[code] for key, label in language.terminology()["labels"].items() if key.startswith("check.")
        ]
        assert len(set(messages)) == len(messages)


ODD = {
    "raises": (fail, "✗ Your function stopped with RuntimeError: mat1 and mat2 {shapes}."),
    "takes too few": (lambda query: query, "✗ Your function stopped with TypeError: "),
    "is no function": (3, "✗ Your function stopped with TypeError: 'int' object is not callable."),
    "is None": (None, "✗ Your function stopped with TypeError: 'NoneType' object is not callable."),
    "product of wrong shapes": (lambda q, k, v: q @ k @ v, "✗ Your function stopped with RuntimeError: "),
    "forgets return": (forget_return, "✗ Your function must return a tensor; it returned NoneType."),
    "returns a list": (
        lambda q, k, v: [right(q, k, v)],
        "✗ Your function must return a tensor; it returned list.",
    ),
    "returns nothing in a tuple": (
        lambda q, k, v: (),
        "✗ Your function must return a tensor; it returned tuple.",
    ),
    "returns an array": (
        lambda q, k, v: right(q, k, v).numpy(),
        "must return a tensor; it returned ndarray.",
    ),
    "returns weights": (
        lambda q, k, v: (dots(q, k) / ROOT).softmax(-1),
        "✗ The output must have shape (2, 3, 11); yours has (2, 3, 5).",
    ),
    "returns weights first": (
        lambda q, k, v: polyhead.scaled_dot_product_attention(q, k, v)[::-1],
        "✗ The output must have shape (2, 3, 11); yours has (2, 3, 5).",
    ),
    "returns a number": (lambda q, k, v: right(q, k, v).sum(), "(2, 3, 11); yours has ()."),
    "returns a transposed output": (lambda q, k, v: right(q, k, v).mT, "(2, 3, 11); yours has (2, 11, 3)."),
    "returns ints": (lambda q, k, v: right(q, k, v).long(), "must return a tensor; it returned torch.int64"),
    "returns complex": (
        lambda q, k, v: right(q, k, v) + 0j,
        "must return a tensor; it returned torch.complex64",
    ),
    "returns a sparse tensor": (
        lambda q, k, v: right(q, k, v).to_sparse(),
        "must return a tensor; it returned",
    ),
    "returns a meta tensor": (lambda q, k, v: right(q, k, v).to("meta"), "must return a tensor; it returned"),
    "returns zeros": (
        lambda q, k, v: right(q, k, v) * 0,
        "✗ The shape is right, but the numbers differ by up to ",
    ),
    "returns one more": (lambda q, k, v: right(q, k, v) + 1, "but the numbers differ by up to 1."),
    "returns NaN": (lambda q, k, v: right(q, k, v) * math.nan, "but the numbers differ by up to nan."),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ODD)
def test_anything_else_is_survived_and_told(name, capsys):
    candidate, expected = ODD[name]
    checks.attention(candidate)
    output = capsys.readouterr().out
    assert output.startswith("✗")
    assert expected in output


def test_an_interrupt_goes_through():
    def interrupted(query, key, value):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        checks.attention(interrupted)


def test_the_random_numbers_of_a_chapter_are_left_alone(capsys):
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    checks.attention(right)
    assert torch.equal(torch.rand(3), expected)
