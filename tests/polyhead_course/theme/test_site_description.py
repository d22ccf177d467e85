"""A page is described by its front matter, or by what it says first, in whole sentences."""

from __future__ import annotations

import pytest
from docutils.core import publish_doctree

from polyhead_course.theme.description import LONGEST, description_of

DESCRIBED = {
    "A sentence. Another one.": "A sentence. Another one.",
    "句子。又一句。": "句子。又一句。",
    "First.\n\nSecond.": "First.",
    "Only introduces:\n\nSays something.": "Says something.",
    "A link_\n\nSays something.\n\n.. _link: https://example.org": "Says something.",
    f"Short. {'Long ' * 40}end.": "Short.",
    "Divided by :math:`\\sqrt{d_k}`.": "Divided by √d_k.",
    "Is :math:`\\operatorname{softmax}(QK^\\top)V`.\n\nSays something.": "Says something.",
    "": "",
}


@pytest.mark.parametrize("text", DESCRIBED)
def test_a_page_is_described_in_whole_sentences(text: str) -> None:
    assert description_of(publish_doctree(text), {}) == DESCRIBED[text]


def test_a_sentence_that_is_too_long_is_cut_between_words() -> None:
    found = description_of(publish_doctree(f"{'word ' * 60}end."), {})
    assert found.endswith("word…") and LONGEST - 6 < len(found) <= LONGEST


def test_front_matter_has_the_first_word() -> None:
    assert description_of(publish_doctree("A sentence."), {"description": "Mine."}) == "Mine."
