from __future__ import annotations

import re
import string
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyglot_book.chapters import parse_chapter
from polyglot_book.checks import check_book
from polyglot_book.ipynb import write_atomically
from polyglot_book.translations import check_translations, mark, sync
from tests.polyglot_book.tiny_book import TinyBook, chapter_text

KO = "chapters/ko/01-one.md"
EN = "chapters/en/01-one.md"
settings.register_profile("tools", database=None, deadline=None, max_examples=60)
settings.load_profile("tools")

words = st.text("abc 가나 查詢,.$`*[]()", min_size=1, max_size=20).map(lambda text: f"w{text}")
ids = st.lists(
    st.text(string.ascii_lowercase, min_size=1, max_size=4), min_size=2, max_size=5, unique=True
).map(
    lambda each: [f"c-{word}" for word in each]  # YAML reads some words as something else
)
code = st.text("ab=():#-`\n ", max_size=30).map(lambda text: re.sub(r"\A(\s*\n)+", "", text.rstrip()))


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


@given(
    chapters(),
    code,
    st.text("0123456789abcdef", min_size=8, max_size=8),
    st.lists(st.sampled_from(["hide-input", "hide-cell", "raises-exception", "yes"]), unique=True),
    words,
)
def test_what_is_written_is_what_is_read(text: str, source: str, of: str, tags: list[str], alt: str) -> None:
    chapter = parse_chapter(text)
    assert parse_chapter(chapter.canonical()).cells == chapter.cells
    first, second, *others = chapter.cells
    first = replace(first, metadata={**first.metadata, "of": of})
    figure = {"mystnb": {"image": {"alt": alt}}}
    second = replace(second, source=source, metadata={"tags": tags, **figure, "of": of})
    new = replace(chapter, cells=(first, second, *others))
    again = parse_chapter(new.canonical())
    assert again.cells == new.cells
    assert again.canonical() == new.canonical()


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "new" / "file.md"
    write_atomically(path, b"one")
    assert path.read_bytes() == b"one"
    path.chmod(0o755)  # a notebook or a page may be executable
    write_atomically(path, b"1")
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"1", 0o755)
    monkeypatch.setattr(Path, "replace", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        write_atomically(path, b"two")
    assert [each.read_bytes() for each in path.parent.iterdir()] == [b"1"]


def messages(tiny: TinyBook) -> list[str]:
    return [str(violation) for violation in check_translations(tiny.book)]


def test_sync_copies_code_and_tags_and_nothing_else(tiny: TinyBook) -> None:
    tiny.edit(EN, "x = 6", "x = 6\n\ny = '가'")
    tiny.edit(EN, "[hide-input]", "[hide-input, hide-output]")
    before = tiny.read(KO)
    lines: list[str] = []
    sync(tiny.book, lines.append)
    assert len(lines) == 6
    assert f"{KO}#setup: code copied" in lines
    assert f"{KO}#draw: tags copied" in lines
    expected = before.replace("x = 6", "x = 6\n\ny = '가'").replace(
        "[hide-input]", "[hide-input, hide-output]"
    )
    assert tiny.read(KO) == expected
    assert messages(tiny) == []
    sync(tiny.book, lines.append)
    assert len(lines) == 6


def test_sync_adds_a_cell_and_leaves_its_words_to_the_translator(tiny: TinyBook) -> None:
    header = "id: more\nmystnb:\n  image:\n    alt: More"
    figure = f"```{{code-cell}} ipython3\n---\n{header}\n---\nset_language('en')\n```\n\n"
    tiny.edit(EN, '+++ {"id": "why"}', figure + '+++ {"id": "why"}')
    lines: list[str] = []
    sync(tiny.book, lines.append)
    assert f"{KO}#more: added, it waits for its translation" in lines
    chapter = parse_chapter(tiny.read(KO))
    assert [cell.id for cell in chapter.cells] == ["title", "setup", "more", "why", "draw"]
    assert chapter.by_id["more"].source == "set_language('ko')"
    assert chapter.by_id["more"].alt == "This part is not translated yet. More"
    assert messages(tiny) == [
        f"chapters/{code}/01-one.md#more: not translated yet; translate it, remove the note, then "
        f"`polyglot mark {code}/01-one#more`"
        for code in ("zh-TW", "zh-CN", "ko")
    ]
    with pytest.raises(ValueError, match=r"ko/01-one\.md#more: it waits for its translation"):
        mark(tiny.book, "ko/01-one")


def test_sync_adds_text_and_chapters_with_a_note_that_they_wait(tiny: TinyBook) -> None:
    tiny.edit("_config.yml", "title: 작은 책", "title: 작은 책, untranslated: 아직 번역되지 않았습니다.")
    tiny.edit(EN, '+++ {"id": "why"}', '+++ {"id": "more"}\n\n## More words\n\nSee `x`.\n\n+++ {"id": "why"}')
    tiny.write("chapters/en/02-two.md", chapter_text("en", "2"))
    lines: list[str] = []
    sync(tiny.book, lines.append)
    assert f"{KO}#more: added, it waits for its translation" in lines
    assert "chapters/ko/02-two.md: added, it waits for its translation" in lines
    note = "```{note}\n아직 번역되지 않았습니다.\n```"
    assert parse_chapter(tiny.read(KO)).by_id["more"].source == f"## More words\n\n{note}\n\nSee `x`."
    new = parse_chapter(tiny.read("chapters/ko/02-two.md"))
    assert new.by_id["title"].source == f"# 2. Queries and keys\n\n{note}"
    assert new.by_id["why"].source.startswith(f"{note}\n\nThe query asks")
    assert 'set_language("ko")' in new.by_id["setup"].source
    assert new.by_id["draw"].alt == "아직 번역되지 않았습니다. A square"
    tiny.pretend_to_execute()
    # One violation for each text, and none about its English words.
    waiting = [str(each) for each in check_book(tiny.book)]
    cells = ["01-one.md#more", *(f"02-two.md#{cell}" for cell in ("title", "why", "draw"))]
    places = {f"chapters/{code}/{cell}" for code in ("zh-TW", "zh-CN", "ko") for cell in cells}
    assert {line.partition(": not translated yet;")[0] for line in waiting} == places
    assert len(waiting) == len(places)
    sync(tiny.book, lines.append)
    assert len(lines) == 6


def test_sync_changes_nothing_where_a_chapter_cannot_be_read(tiny: TinyBook) -> None:
    tiny.edit(EN, "x = 6", "x = 5")
    tiny.edit("chapters/zh-CN/01-one.md", ":id: setup\n", "")
    before = tiny.read(KO)
    with pytest.raises(ValueError, match="a header with an id"):
        sync(tiny.book, print)
    assert tiny.read(KO) == before


def test_mark_is_what_makes_a_cell_current(tiny: TinyBook) -> None:
    tiny.edit(EN, "asks each key", "asks every key")
    tiny.edit(EN, "A square", "A blue square")
    before = tiny.read(KO)
    sync(tiny.book, lambda line: None)
    assert tiny.read(KO) == before
    lines: list[str] = []
    mark(tiny.book, "ko/01-one#why", lines.append)
    assert lines == [f"{KO}#why: marked as up to date"]
    assert {line.split(":")[0] for line in messages(tiny)} == {
        f"{KO}#draw",
        *(f"chapters/{code}/01-one.md#{cell}" for code in ("zh-TW", "zh-CN") for cell in ("why", "draw")),
    }
    for code in ("ko", "zh-TW", "zh-CN"):
        mark(tiny.book, f"{code}/01-one", lines.append)
    assert messages(tiny) == []
    assert lines[1] == f"{KO}#draw: marked as up to date"
    mark(tiny.book, "ko/01-one#draw", lines.append)
    mark(tiny.book, "ko/01-one", lines.append)
    assert lines[-2:] == ["ko/01-one#draw: up to date already", "ko/01-one: up to date already"]
    after = tiny.read(KO)
    assert len(set(before.splitlines()) - set(after.splitlines())) == 2


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("ko/01-one#nothing", "no such cell"),
        ("ko/02-two#why", "no such chapter"),
        ("ko/01-one", r"ko/01-one\.md#paint: the reference has no such cell"),
        ("en/01-one#why", "expected <zh-TW or zh-CN or ko>/"),
        ("fr/01-one#why", "expected <zh-TW or zh-CN or ko>/"),
        ("ko/01-one#setup", "nothing to mark"),
        ("", "^which cell[?] expected <"),
        ("why", "expected <zh-TW or zh-CN or ko>/"),
    ],
)
def test_mark_refuses_what_it_does_not_know(tiny: TinyBook, target: str, message: str) -> None:
    tiny.edit(EN, "asks each key", "asks every key")
    tiny.edit(KO, "id: draw", "id: paint")
    before = tiny.read(KO)
    with pytest.raises(ValueError, match=message):
        mark(tiny.book, target)
    assert tiny.read(KO) == before
