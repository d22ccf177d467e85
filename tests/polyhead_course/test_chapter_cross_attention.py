"""The figure of the three uses of attention."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
import torch

from polyhead import causal_mask, padding_mask
from polyhead_course.figures import plots
from polyhead_course.words import set_language
from polyhead_course.words.language import LANGUAGES, text

SEEN = padding_mask(torch.tensor([4]), 5)[0]
MASKS = {"encoder": SEEN.expand(5, 5), "decoder": causal_mask(4), "cross": SEEN.expand(4, 5)}
NAMES = {"source": list("bad._"), "target": list(">dab")}
BLUE = "fill: #3182bd"


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
