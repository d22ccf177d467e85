"""The figure of the three uses of attention, and the exercise about which tensor goes where."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
import torch

from polyhead import causal_mask, checks, padding_mask, plots, set_language
from polyhead.language import LANGUAGES, text
from tests.polyhead.bad_input import assert_named, bad

SEEN = padding_mask(torch.tensor([4]), 5)[0]
MASKS = {"encoder": SEEN.expand(5, 5), "decoder": causal_mask(4), "cross": SEEN.expand(4, 5)}
NAMES = {"source": list("bad._"), "target": list(">dab")}
BLUE = "fill: #3182bd"

WRONG = {
    "check.cross_exchanged": lambda x, m, seen, a: a(m, x),
    "check.cross_keys": lambda x, m, seen, a: a(x, x, m, mask=seen[:, None]),
    "check.cross_values": lambda x, m, seen, a: a(x, m, x, mask=seen[:, None]),
    "check.cross_self": lambda x, m, seen, a: a(x),
    "check.cross_unmasked": lambda x, m, seen, a: a(x, m),
    "check.cross_causal": lambda x, m, seen, a: a(x, m, mask=seen[:, None], is_causal=True),
    "check.mask_inverted": lambda x, m, seen, a: a(x, m, mask=~seen[:, None]),
}
ALSO_WRONG = {
    "check.cross_exchanged": lambda x, m, seen, a: a(m, x, mask=seen[:, None])[0],
    "check.cross_keys": lambda x, m, seen, a: a(x, x, m)[0],
    "check.cross_values": lambda x, m, seen, a: a(x, m, x)[0],
    "check.cross_self": lambda x, m, seen, a: a(x, mask=seen[:, None])[0],
    "check.cross_causal": lambda x, m, seen, a: a(x, m, is_causal=True)[0],
}


def label(key: str, **values: object) -> str:
    """What stands in the figure, with its lines joined."""
    return text(key, **values).replace("\n", "")


@pytest.mark.parametrize("code", LANGUAGES)
def test_figure_shows_who_asks_who_answers_and_which_mask(code):
    set_language(code)
    svg = plots.three_uses(**MASKS, **NAMES).svg
    assert svg == plots.three_uses(**MASKS, **NAMES).svg
    shown = ["".join(each.itertext()) for each in ET.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    everything = "".join(shown).replace("\n", "")
    for key in ("use.encoder", "use.decoder", "use.cross", "use.source_asks", "use.target_answers"):
        assert label(key) in everything
    assert everything.count(label("use.source_answers")) == everything.count(label("use.target_asks")) == 2
    assert everything.count(label("use.mask", name=text("mask.padding"))) == 2
    assert label("use.mask", name=text("mask.causal")) in everything
    assert svg.count(BLUE) == sum(int(mask.sum()) for mask in MASKS.values())
    width = re.search(r'width="([\d.]+)pt"', svg)
    assert width is not None
    assert float(width[1]) <= 4.8 * 72


def test_figure_names_both_masks_where_the_target_has_padding():
    decoder = causal_mask(4) & padding_mask(torch.tensor([3]), 4)[0]
    svg = plots.three_uses(**{**MASKS, "decoder": decoder}, **NAMES).svg
    assert text("use.mask", name=text("mask.both")) in svg
    assert text("use.mask", name=text("mask.causal")) not in svg


def drawn(**changes: object) -> object:
    return plots.three_uses(**{**MASKS, **NAMES, **changes})


BAD = [
    bad("shape", lambda: drawn(cross=SEEN.expand(5, 5)), ValueError, "cross must have shape (4, 5)", "5, 5"),
    bad("floats", lambda: drawn(encoder=torch.ones(5, 5)), TypeError, "encoder", "float32"),
    bad("rows", lambda: drawn(encoder=causal_mask(5)), ValueError, "same keys in every row", "differ"),
    bad("future", lambda: drawn(decoder=SEEN[:, :4].expand(4, 4)), ValueError, "every later key", "seen"),
    bad("string", lambda: drawn(target=">dab"), TypeError, "target must be a sequence", "str"),
    bad("none", lambda: drawn(target=[], decoder=SEEN[:0, :0]), ValueError, "decoder must have", "(0, 0)"),
]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("call", "error", "message"), BAD)
def test_bad_input(call, error, message):
    assert_named(call, error, message)


@pytest.mark.parametrize("code", LANGUAGES)
@pytest.mark.parametrize("key", WRONG)
def test_known_mistake_is_named(key, code, capsys):
    set_language(code)
    checks.cross_attention(WRONG[key])
    assert capsys.readouterr().out == text(key) + "\n"


@pytest.mark.parametrize("key", ALSO_WRONG)
def test_known_mistake_is_named_with_and_without_mask(key, capsys):
    checks.cross_attention(ALSO_WRONG[key])
    assert capsys.readouterr().out == text(key) + "\n"


def test_right_function(capsys):
    checks.cross_attention(lambda x, m, seen, a: a(x, m, mask=seen[:, None]))
    checks.cross_attention(lambda x, m, seen, a: a(x, m, m, seen[:, None, :].expand(-1, x.shape[1], -1))[0])
    assert capsys.readouterr().out == 2 * (text("check.agrees") + "\n")


def test_what_fits_equal_lengths_alone_is_found(capsys):
    checks.cross_attention(lambda x, m, seen, a: a(x, m[:, : x.shape[1]], mask=seen[:, None, : x.shape[1]]))
    assert text("check.differs", difference="").split("{")[0][:20] in capsys.readouterr().out


def test_mask_without_the_dimension_of_the_queries(capsys):
    checks.cross_attention(lambda x, m, seen, a: a(x, m, mask=seen))
    assert "ValueError: mask must broadcast" in capsys.readouterr().out
