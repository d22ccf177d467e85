from __future__ import annotations

import string

from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot_book import edits
from polyglot_book.chapters import Chapter, parse_chapter

settings.register_profile("tools", database=None, deadline=None, max_examples=60)
settings.load_profile("tools")

words = st.text("abc 가나 查詢,.$`*[]()", min_size=1, max_size=20).map(lambda text: f"w{text}")
ids = st.lists(
    st.text(string.ascii_lowercase, min_size=1, max_size=4), min_size=2, max_size=5, unique=True
).map(
    lambda each: [f"c-{word}" for word in each]  # YAML reads some words as something else
)
code = st.text("ab=():#-`\n ", max_size=30).map(lambda text: text.rstrip())


def _code_cell(cell_id: str, source: str, header: str) -> str:
    if header == "block":
        return f"````{{code-cell}} ipython3\n---\nid: {cell_id}\ntags:\n  - one-tag\n---\n\n{source}\n````\n"
    return f"````{{code-cell}} ipython3\n:id: {cell_id}\n{header}\n{source}\n````\n"


@st.composite
def chapters(draw: st.DrawFn) -> str:
    parts = ["---\nkernelspec: {name: python3, display_name: Python 3, language: python}\n---\n"]
    for number, cell_id in enumerate(draw(ids)):
        if number % 2:
            header = draw(st.sampled_from(["", ":tags: [one-tag]\n", "block"]))
            parts.append(_code_cell(cell_id, draw(code), header))
        else:
            parts.append(f'+++ {{"id": "{cell_id}"}}\n\n{draw(words)}\n')
    return "\n".join(parts).replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


def others(chapter: Chapter, cell_id: str) -> list[tuple[object, ...]]:
    return [(c.id, c.kind, c.source, dict(c.metadata)) for c in chapter.cells if c.id != cell_id]


def same_line_ends(old: str, new: str) -> bool:
    return new.count("\n") == new.count("\r\n") if "\r\n" in old else "\r" not in new


def unchanged_around(old: Chapter, new: str, cell_id: str) -> bool:
    """Say whether every byte before and after the cell's lines is as before."""
    cell, lines = old.by_id[cell_id], old.text.split("\n")
    before, after = "\n".join(lines[: cell.start]), "\n".join(lines[cell.end :])
    return new.startswith(before) and new.endswith(after)


@given(chapters(), st.integers(0, 10), st.text("0123456789abcdef", min_size=8, max_size=8))
def test_of_changes_one_line(text: str, number: int, value: str) -> None:
    chapter = parse_chapter(text)
    cell = chapter.cells[number % len(chapter.cells)]
    new = edits.set_of(chapter, cell.id, value)
    assert same_line_ends(text, new)
    again = parse_chapter(new)
    assert again.by_id[cell.id].of == value
    assert again.by_id[cell.id].source == cell.source
    assert others(again, cell.id) == others(chapter, cell.id)
    assert unchanged_around(chapter, new, cell.id)
    old_lines, new_lines = text.split("\n"), new.split("\n")
    assert len(set(enumerate(old_lines)) - set(enumerate(new_lines))) <= 1 or len(new_lines) > len(old_lines)
    assert edits.set_of(again, cell.id, value) == new


@given(chapters(), code)
def test_code_is_replaced_and_its_header_kept(text: str, source: str) -> None:
    chapter = parse_chapter(text)
    cell = chapter.code[-1]
    new = edits.set_code(chapter, cell.id, source)
    assert same_line_ends(text, new)
    again = parse_chapter(new)
    assert again.by_id[cell.id].source == source
    assert again.by_id[cell.id].metadata == cell.metadata
    assert others(again, cell.id) == others(chapter, cell.id)
    assert unchanged_around(chapter, new, cell.id)


@given(
    chapters(), st.lists(st.sampled_from(["hide-input", "hide-cell", "raises-exception", "yes"]), unique=True)
)
def test_tags_are_replaced_and_nothing_else(text: str, tags: list[str]) -> None:
    chapter = parse_chapter(text)
    cell = chapter.code[-1]
    new = edits.set_tags(chapter, cell.id, tags)
    assert same_line_ends(text, new)
    again = parse_chapter(new)
    assert again.by_id[cell.id].tags == tags
    assert again.by_id[cell.id].source == cell.source
    assert others(again, cell.id) == others(chapter, cell.id)
    assert unchanged_around(chapter, new, cell.id)


@given(chapters(), st.integers(-1, 10), code)
def test_a_cell_is_inserted_after_another(text: str, number: int, source: str) -> None:
    chapter = parse_chapter(text)
    after = None if number < 0 else chapter.cells[number % len(chapter.cells)].id
    cell = parse_chapter(_code_cell("new-one", "x", "block")).cells[0]
    new = edits.insert_code(chapter, after, cell, source)
    assert same_line_ends(text, new)
    again = parse_chapter(new)
    order = [each.id for each in again.cells]
    assert order[0 if after is None else order.index(after) + 1] == "new-one"
    assert others(again, "new-one") == others(chapter, "new-one")
    assert again.by_id["new-one"].source == source
    assert again.by_id["new-one"].tags == ["one-tag"]


def test_an_inserted_cell_leaves_the_words_to_the_translator() -> None:
    header = 'id: a\nof: "12345678"\nmystnb:\n  image:\n    alt: A\n    width: 5'
    text = f"```{{code-cell}} ipython3\n---\n{header}\n---\nx\n```\n"
    cell = parse_chapter(text).cells[0]
    new = parse_chapter(edits.insert_code(parse_chapter('+++ {"id": "b"}\n\nb'), "b", cell, "x"))
    assert new.by_id["a"].metadata == {"mystnb": {"image": {"width": 5}}}


def test_a_hash_of_digits_is_written_so_that_yaml_keeps_it() -> None:
    chapter = parse_chapter("```{code-cell} ipython3\n:id: a\nx\n```\n")
    assert parse_chapter(edits.set_of(chapter, "a", "01234567")).by_id["a"].of == "01234567"
