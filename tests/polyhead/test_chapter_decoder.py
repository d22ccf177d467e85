"""The figure and the exercise of the chapter about the decoder."""

from __future__ import annotations

import pytest
import torch

from polyhead import causal_mask, checks, plots, sentence, set_language
from polyhead.language import LANGUAGES, text
from tests.polyhead.bad_input import assert_named, bad


def ones(num_cached, num_new):
    return torch.ones(num_new, num_cached + num_new)


def block(num_new):
    return torch.ones(num_new, num_new).tril().bool()


WRONG = {
    "check.cache_upper_left": lambda old, new: ones(old, new).tril().bool(),
    "check.mask_inverted": lambda old, new: ~causal_mask(new, old + new),
    "check.cache_strict": lambda old, new: ones(old, new).tril(old - 1).bool(),
    "check.cache_ahead": lambda old, new: ones(old, new).tril(old + 1).bool(),
    "check.cache_open": lambda old, new: ones(old, new).bool(),
    "check.cache_hidden": lambda old, new: torch.cat((torch.zeros(new, old).bool(), block(new)), 1),
    "check.cache_order": lambda old, new: torch.cat((block(new), torch.ones(new, old).bool()), 1),
}


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("key", WRONG)
def test_known_mistake_is_named(key, code, capsys):
    set_language(code)
    checks.cached_mask(WRONG[key])
    assert capsys.readouterr().out == text(key) + "\n"


def test_right_mask(capsys):
    checks.cached_mask(lambda old, new: causal_mask(new, old + new))
    checks.cached_mask(lambda old, new: torch.arange(old + new) <= old + torch.arange(new)[:, None])
    assert capsys.readouterr().out == 2 * (text("check.agrees") + "\n")


OTHER = [
    (lambda old, new: causal_mask(old + new), "check.shape", {"expected": (3, 8), "actual": (8, 8)}),
    (lambda old, new: ones(old, new).tril(old), "check.no_mask", {"kind": torch.float32}),
    (lambda old, new: None, "check.no_mask", {"kind": "NoneType"}),
    (lambda old, new: {}[old], "check.raises", {"error": "KeyError: 5"}),
    # Right for several new tokens, and not for one.
    (lambda old, new: causal_mask(new, old + new) & (new > 1), "check.mask_inverted", {}),
    # Right with a cache, and not without.
    (lambda old, new: ones(old, new).tril(old or 1).bool(), "check.cache_ahead", {}),
]


@pytest.mark.parametrize(("candidate", "key", "words"), OTHER)
def test_other_mistake(candidate, key, words, capsys):
    checks.cached_mask(candidate)
    assert capsys.readouterr().out == text(key, **words) + "\n"


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize(("num_prompt", "computed"), [(1, 6), (3, 9), (6, 21)])
def test_every_key_is_computed_once_or_comes_from_the_cache(code, num_prompt, computed):
    set_language(code)
    drawing = plots.cache_triangle(["<s>", *sentence(), "</s>"], num_prompt)
    # One more square of each colour explains it.
    assert drawing.svg.count("fill: #e6730b") == computed + 1
    assert drawing.svg.count("fill: #3182bd") == 21 - computed + 1
    for key in ("key.computed", "key.cached"):
        assert text(key) in drawing.svg
    assert drawing.svg == plots.cache_triangle(["<s>", *sentence(), "</s>"], num_prompt).svg


NAMES = ["a", "b", "c"]
BAD = [
    bad("prompt", lambda: plots.cache_triangle(NAMES, 4), ValueError, "num_prompt = 4 to 12 labels", "3"),
    bad("many", lambda: plots.cache_triangle(["a"] * 13), ValueError, "12 labels", "13"),
    bad("no prompt", lambda: plots.cache_triangle(NAMES, 0), ValueError, "num_prompt", "0"),
    bad("float", lambda: plots.cache_triangle(NAMES, 1.0), TypeError, "num_prompt", "float"),
    bad("string", lambda: plots.cache_triangle("abc"), TypeError, "tokens", "str"),
    bad("numbers", lambda: plots.cache_triangle([1, 2]), TypeError, "tokens", "1"),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)
