"""PO files: what other programs read in them, and that nothing is lost on the way there and back."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyglot_book.chapters import text_hash
from polyglot_book.config import Language
from polyglot_book.po import Entry, export_po, format_po, import_po, parse_po
from polyglot_book.translations import check_translations
from tests.polyglot_book.tiny_book import TinyBook

KOREAN = Language("ko", "ko", "한국어", "작은 책")
KO, EN, PO = "chapters/ko/01-one.md", "chapters/en/01-one.md", "po/ko/01-one.po"
texts = st.text('ab\\n"\t\n\r #{$`é가ع', min_size=1, max_size=40).map(lambda text: f"x{text}x")
entries = st.lists(
    st.builds(Entry, texts, texts, texts | st.just(""), st.booleans()),
    max_size=5,
    unique_by=lambda each: each[0],
)


def exported(tiny: TinyBook) -> list[str]:
    lines: list[str] = []
    export_po(tiny.book, tiny.root / "po", lines.append)
    return lines


def imported(tiny: TinyBook) -> list[str]:
    lines: list[str] = []
    import_po(tiny.book, tiny.root / "po", lines.append)
    return lines


@given(entries)
def test_what_is_written_is_what_is_read(entries: list[Entry]) -> None:
    text = format_po(entries, KOREAN, 'A "book"')
    assert text == format_po(entries, KOREAN, 'A "book"')
    assert '"Language: ko\\n"\n' in text
    assert sorted(parse_po(text, "a.po")) == sorted(entries)


def test_a_file_has_the_form_that_others_know() -> None:
    text = format_po([Entry("01-one#why", 'Why "so"?\n', "왜?\n", fuzzy=True)], KOREAN, "A book")
    assert text.partition("\n\n")[2].strip() == (
        '#, fuzzy\nmsgctxt "01-one#why"\nmsgid "Why \\"so\\"?\\n"\nmsgstr "왜?\\n"'
    )


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="gettext is not installed")
def test_gettext_reads_it(tiny: TinyBook) -> None:
    tiny.edit(EN, "alt: A square", "alt: |\n      A square.\n      Another.\n")
    exported(tiny)
    for code in ("zh-TW", "ko"):
        command = ["msgfmt", "--check", "--output-file=/dev/null", tiny.root / "po" / code / "01-one.po"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def test_there_and_back_changes_no_byte(tiny: TinyBook) -> None:
    tiny.edit(EN, "asks each key", "asks every key")
    tiny.edit(KO, '+++ {"id": "title"', '+++ {"id": "other"')
    before = {path: path.read_bytes() for path in (tiny.root / "chapters").rglob("*.md")}
    assert exported(tiny) == [
        "zh-TW/01-one.po: 2 of 3 texts are translated",
        "zh-CN/01-one.po: 2 of 3 texts are translated",
        "ko/01-one.po: 1 of 3 texts are translated",
    ]
    assert imported(tiny) == []
    assert {path: path.read_bytes() for path in before} == before


def test_a_translator_s_work_comes_back_with_the_hash_of_its_original(tiny: TinyBook) -> None:
    tiny.edit(EN, "asks each key", "asks every key")
    tiny.edit(EN, "A square", "A blue square")
    tiny.edit(EN, '+++ {"id": "why"}', '+++ {"id": "more"}\n\n## More\n\n+++ {"id": "why"}')
    exported(tiny)
    po = tiny.read(PO)
    assert po.count("#, fuzzy") == 2
    assert 'msgctxt "01-one#more"\nmsgid "## More"\nmsgstr ""' in po
    po = po.replace('msgid "## More"\nmsgstr ""', 'msgid "## More"\nmsgstr "## 더"')
    po = po.replace("쿼리는 키마다 묻고", "쿼리는 모든 키에 묻고").replace("#, fuzzy\n", "", 1)
    po = po.replace('msgstr "정사각형"', 'msgstr "파란 정사각형"')  # and still fuzzy
    tiny.write(PO, po.replace("\n", "\r\n"))
    tiny.edit(EN, "## More", "## More words")
    assert imported(tiny) == [f"{KO}: 3 texts"]
    korean = tiny.read(KO)
    assert f'"of": "{text_hash("## More")}"' in korean
    assert "쿼리는 모든 키에 묻고" in korean
    assert "alt: 파란 정사각형" in korean
    problems = [each for each in check_translations(tiny.book) if each.file == KO]
    assert [(each.cell, each.problem) for each in problems] == [
        ("more", "stale: the reference has changed"), ("draw", "stale: the reference has changed"),
    ]  # fmt: skip


def test_a_text_that_waits_is_not_translated(tiny: TinyBook) -> None:
    tiny.edit(KO, "쿼리는 키마다", "This part is not translated yet. 쿼리는 키마다")
    exported(tiny)
    assert {each.context: each.translation for each in parse_po(tiny.read(PO), PO)}["01-one#why"] == ""


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("ko/02-two.po", "", "expected the name of a chapter, got 02-two"),
        (
            "ko/01-one.po",
            'msgctxt "01-one#x"\nmsgid "a"\nmsgstr "b"',
            "id of a cell of chapters/en/01-one.md, got",
        ),
        (
            "ko/01-one.po",
            'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\n',
            "expected no plural forms, got 'a'",
        ),
        ("ko/01-one.po", 'msgid "a"\nmsgstr "b"\n*', "Unknown or misformatted keyword on 2"),
        ("fr/01-one.po", "", "expected files such as"),
    ],
)
def test_what_it_cannot_read_is_said(tiny: TinyBook, name: str, text: str, message: str) -> None:
    tiny.write(f"po/{name}", text)
    before = Path(tiny.root / KO).read_bytes()
    with pytest.raises(ValueError, match=r"\.po: |po: ") as caught:
        imported(tiny)
    assert message in str(caught.value)
    assert Path(tiny.root / KO).read_bytes() == before


def test_a_chapter_that_the_language_lacks_is_begun(tiny: TinyBook) -> None:
    before = tiny.read(KO)
    assert exported(tiny)[-1] == "ko/01-one.po: 3 of 3 texts are translated"
    (tiny.root / KO).unlink()
    assert imported(tiny) == [f"{KO}: 3 texts"]
    assert tiny.read(KO) == before
    (tiny.root / KO).unlink()
    why = 'msgctxt "01-one#why"'
    tiny.write(
        PO, f'{why}\nmsgid "The query"\nmsgstr "쿼리"\n\nmsgctxt "01-one#title"\nmsgid "x"\nmsgstr ""\n'
    )
    assert imported(tiny) == [f"{KO}: 1 texts"]
    exported(tiny)
    assert [(each.context, each.translation, each.fuzzy) for each in parse_po(tiny.read(PO), PO)] == [
        ("01-one#title", "", False), ("01-one#why", "쿼리", True), ("01-one#draw", "", False),
    ]  # fmt: skip


def test_the_whole_of_a_file() -> None:
    text = format_po([Entry("a", "One", "하나"), Entry("b", "x" * 90, "", True)], KOREAN, "A book")
    assert text == (
        'msgid ""\nmsgstr ""\n"Project-Id-Version: A book\\n"\n"Language: ko\\n"\n"MIME-Version: 1.0\\n"\n'
        '"Content-Type: text/plain; charset=UTF-8\\n"\n"Content-Transfer-Encoding: 8bit\\n"\n\n'
        'msgctxt "a"\nmsgid "One"\nmsgstr "하나"\n\n'
        f'#, fuzzy\nmsgctxt "b"\nmsgid "{"x" * 90}"\nmsgstr ""\n\n'
    )
    assert parse_po(text, "a.po") == [Entry("a", "One", "하나", False), Entry("b", "x" * 90, "", True)]
    assert parse_po('msgid "One"\nmsgstr "하나"\n', "a.po") == [Entry("", "One", "하나", False)]


def test_what_a_file_lacks_is_said_whole(tiny: TinyBook) -> None:
    folder = tiny.root / "po"
    with pytest.raises(ValueError) as caught:
        imported(tiny)
    example = f"{folder}/zh-TW/….po"
    assert str(caught.value) == f"{folder}: expected files such as {example}; there are none"
    for text, message in (
        ('msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\n', "expected no plural forms, got 'a'"),
        (
            'msgctxt "01-one#x"\nmsgid "a"\nmsgstr "b"\n',
            f"expected the id of a cell of {EN}, got '01-one#x'",
        ),
    ):
        tiny.write(PO, text)
        with pytest.raises(ValueError) as caught:
            imported(tiny)
        assert str(caught.value) == f"{folder}/ko/01-one.po: {message}"
