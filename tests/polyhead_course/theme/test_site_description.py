"""A page is described by its front matter, or by what it says first, in whole sentences."""

from __future__ import annotations

import pytest
from docutils.core import publish_doctree

from polyhead_course.theme.description import LONGEST, description_of, outcomes_of

DESCRIBED = {
    "A sentence. Another one.": "A sentence. Another one.",
    "句子。又一句。": "句子。又一句。",
    "First.\n\nSecond.": "First.",
    "You can\n\n- do one;\n- do two.": "You can do one; do two.",
    "你能夠\n\n- 做一件事；\n- 做另一件事。": "你能夠做一件事；做另一件事。",
    "다음을 할 수 있습니다.\n\n- 하나 하기\n- 둘 하기": "다음을 할 수 있습니다. 하나 하기, 둘 하기.",
    "Only introduces:\n\nSays something.": "Says something.",
    "A link_\n\nSays something.\n\n.. _link: https://example.org": "Says something.",
    f"Short. {'Long ' * 40}end.": "Short.",
    f"You can\n\n- do one;\n- {'much ' * 40}.": "You can do one.",
    f"Can\n\n- {'much ' * 40}.\n\nSays something.": "Says something.",
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


def test_the_outcomes_are_the_list_that_a_page_begins_with() -> None:
    assert outcomes_of(publish_doctree("You can\n\n- do one;\n- do two.")) == ["do one", "do two"]
    assert outcomes_of(publish_doctree("A sentence.\n\nYou can\n\n- do one.")) == []
