from __future__ import annotations

import re

import pytest

from polyglot_book.chapters import text_hash
from polyglot_book.translations import check_translations, code_in, mark, progress_table, sync
from tests.polyglot_book.tiny_book import CODE, TinyBook

KO = "chapters/ko/01-one.md"
EN = "chapters/en/01-one.md"


def messages(tiny: TinyBook) -> list[str]:
    return [str(violation) for violation in check_translations(tiny.book)]


def test_a_whole_book_has_no_violation(tiny: TinyBook) -> None:
    assert messages(tiny) == []
    assert progress_table(tiny.book).splitlines() == [
        "chapter  zh-TW      zh-CN      ko",
        "01-one   4 current  4 current  4 current",
    ]


@pytest.mark.parametrize(
    ("name", "old", "new", "cell", "what"),
    [
        (
            EN,
            "asks each key",
            "asks every key",
            "why",
            "stale: the reference has changed; bring it up to date, then `polyglot mark ko/01-one#why`",
        ),
        (EN, "A square", "A blue square", "draw", "stale"),
        (
            KO,
            f', "of": "{text_hash("# 1. Queries and keys")}"',
            "",
            "title",
            "it has no `of`",
        ),
        (KO, CODE.format(code="ko"), '+++ {"id": "setup"}\n\n글\n', "setup", "a markdown cell, code in the"),
        (KO, '"id": "why"', '"id": "extra"', "why", "missing; run `polyglot sync`"),
        (KO, '"id": "why"', '"id": "extra"', "extra", "the reference has no such cell"),
        (KO, "id: draw", "id: paint", "draw", "missing; run `polyglot sync`"),
        (KO, "x * 7", "x * 8", "draw", "the code differs"),
        (KO, "x = 6", "x = 6  # 여섯", "setup", "the code differs"),
        (KO, 'set_language("ko")', 'set_language("zh-CN")', "setup", "the code differs"),
        (EN, 'set_language("en")', 'set_language("ko")', "setup", "names another language"),
        (KO, "[hide-input]", "[hide-cell]", "draw", "tags ['hide-cell'], in the reference ['hide-input']"),
        (KO, "alt: 정사각형", "alt: ''", "draw", "no alternative text"),
        (KO, "mystnb:\n  image:\n    alt: 정사각형\n", "", "draw", "no alternative text"),
        (KO, "alt: 정사각형", "alt: A square", "draw", "the alternative text is the reference's"),
        (KO, "    alt:", "    width: 5\n    alt:", "draw", "its header is not"),
        (KO, '{"id": "why"', '{"id": "why", "script": "any"', "why", "its header is not"),
        (EN, '{"id": "why"', '{"id": "why", "of": "12345678"', "why", "the reference text has an `of`"),
        (
            KO,
            ":id: setup",
            ':id: setup\n:of: "12345678"',
            "setup",
            "`of` or alternative text that the reference lacks",
        ),
    ],
)
def test_every_difference_is_named_with_its_cell(
    tiny: TinyBook, name: str, old: str, new: str, cell: str, what: str
) -> None:
    tiny.edit(name, old, new)
    found = messages(tiny)
    # A change of the English text concerns every language, unless it is the reference's own mistake.
    files = [name] if name == KO or "reference text" in what or "another" in what else [KO]
    for file in files:
        assert any(line.startswith(f"{file}#{cell}: ") and what in line for line in found), found


def test_whole_chapters_and_folders(tiny: TinyBook) -> None:
    (tiny.root / KO).rename(tiny.root / "chapters/ko/02-two.md")
    tiny.write("chapters/fr/01-one.md", "x")
    tiny.write("chapters/zh-CN/01-one.md", "a cell without an id")
    assert messages(tiny) == [
        "chapters/zh-CN/01-one.md: line 1: markdown cell: expected a header with an id, got {}; "
        'correct its header, as in +++ {"id": "why-scale"}',
        "chapters/fr: a language unknown to _config.yml; add it to polyglot_languages or remove it",
        "chapters/ko/01-one.md: the chapter is missing; run `polyglot sync`",
        "chapters/ko/02-two.md: a chapter that the reference lacks; write chapters/en/02-two.md first, "
        "or remove this file",
    ]
    assert "4 missing" in progress_table(tiny.book)
    assert "4 extra" in progress_table(tiny.book)


def test_what_sync_adds_counts_as_untranslated(tiny: TinyBook) -> None:
    (tiny.root / "chapters/ko/01-one.md").unlink()
    sync(tiny.book)
    last = progress_table(tiny.book).splitlines()[1].split("4 current  ")[-1]
    assert re.fullmatch(r"\d current, \d untranslated", last)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("\n", "\r\n", "line ends of Windows (CRLF)"),
        (":id: setup\n\nimport", ":id: setup\nimport", "line 12: "),
        ("tags: [hide-input]", "tags:\n  - hide-input", "line 26: "),
        ("x = 6\n```\n", "x = 6\n```\n\n", "line 18: "),
        ('+++ {"id": "why"', '+++ {"id": "no-text"}\n\n+++ {"id": "why"', "line 18: "),
    ],
)
def test_a_chapter_has_one_form_and_sync_writes_it(tiny: TinyBook, old: str, new: str, what: str) -> None:
    before = tiny.read(KO)
    tiny.edit(KO, old, new)
    (found,) = messages(tiny)
    assert found.startswith(f"{KO}: {what}")
    assert found.endswith("; run `polyglot sync`")
    sync(tiny.book, lambda line: None)
    assert tiny.read(KO) == before
    assert messages(tiny) == []


def test_another_order_is_named(tiny: TinyBook) -> None:
    text = tiny.read(KO)
    code = CODE.format(code="ko")
    assert code in text
    start = text.index("+++")
    tiny.write(KO, text[:start] + code + "\n" + text[start:].replace(code + "\n", ""))
    assert [line.split(";")[0] for line in messages(tiny)] == [
        "chapters/ko/01-one.md#setup: in another order than the reference: here it has 'title'"
    ]


def test_only_the_argument_changes(tiny: TinyBook) -> None:
    source = "a.set_language('en')\nb = 'en'\nset_language( \"en\" )"
    expected = "a.set_language('zh-TW')\nb = 'en'\nset_language( \"zh-TW\" )"
    assert code_in(tiny.book, source, "zh-TW") == expected
    tiny.edit("_config.yml", "    polyglot_language_call: set_language\n", "")
    assert code_in(tiny.book, source, "zh-TW") == source


MORE = """
+++ {"id": "more", "of": "12345678"}

set_language("ko")

```{code-cell} ipython3
:id: other

set_language("ko")
```

+++ {"id": "last"}

Last
"""
OWN = """
```{code-cell} ipython3
:id: more

1
```

+++ {"id": "other", "script": "any"}

A
"""


def test_all_in_which_a_translation_differs(tiny: TinyBook) -> None:
    for code in ("zh-TW", "zh-CN"):
        (tiny.root / f"chapters/{code}/01-one.md").unlink()
    tiny.write(EN, tiny.read(EN) + MORE)
    tiny.write(KO, tiny.read(KO) + OWN)
    for old, new in (('{"id": "title"', '{"id": "titles"'), ("x * 7", "x * 8"), ("hide-input", "hide-cell")):
        tiny.edit(KO, old, new)
    tiny.edit(KO, "alt: 정사각형", "alt: ' '")
    tiny.edit(EN, "The query asks", "The query now asks")
    assert [str(each) for each in check_translations(tiny.book)] == [
        f"{EN}#more: the reference text has an `of`; remove it",
        f'{EN}#other: set_language names another language; write set_language("en")',
        "chapters/zh-TW/01-one.md: the chapter is missing; run `polyglot sync`",
        "chapters/zh-CN/01-one.md: the chapter is missing; run `polyglot sync`",
        f"{KO}#title: missing; run `polyglot sync`",
        f"{KO}#draw: the code differs from the reference; run `polyglot sync`",
        f"{KO}#draw: tags ['hide-cell'], in the reference ['hide-input']; run `polyglot sync`",
        f"{KO}#last: missing; run `polyglot sync`",
        f"{KO}#titles: the reference has no such cell; remove it, or correct its id",
        f"{KO}#why: stale: the reference has changed; "
        "bring it up to date, then `polyglot mark ko/01-one#why`",
        f"{KO}#draw: no alternative text; describe the figure under mystnb: image: alt",
        f"{KO}#more: a code cell, markdown in the reference; make it markdown",
        f"{KO}#other: a markdown cell, code in the reference; make it code",
    ]
    lines: list[str] = []
    sync(tiny.book, lines.append)
    assert lines == [
        f"{KO}#title: added, it waits for its translation",
        f"{KO}#draw: code copied",
        f"{KO}#draw: tags copied",
        f"{KO}#last: added, it waits for its translation",
        "chapters/zh-TW/01-one.md: added, it waits for its translation",
        "chapters/zh-CN/01-one.md: added, it waits for its translation",
    ]
    assert progress_table(tiny.book).splitlines()[1:] == [
        "01-one   2 current, 5 untranslated  2 current, 5 untranslated  "
        "3 current, 2 stale, 2 untranslated, 1 extra"
    ]


def test_all_in_which_headers_and_texts_differ(tiny: TinyBook) -> None:
    tiny.edit(KO, '{"id": "why", "of": ', '{"id": "why", "script": "any", "was": ')
    tiny.edit(KO, ":id: setup\n", ":id: setup\n:of: '12345678'\n")
    tiny.edit(KO, "alt: 정사각형", "alt: A square")
    tiny.edit(KO, "# 1. 쿼리와 키", "# 1. 쿼리와 키\n\nThis part is not translated yet.")
    mark = "`polyglot mark ko/01-one#{}`"
    assert [str(each).removeprefix(f"{KO}#") for each in check_translations(tiny.book)] == [
        f"title: not translated yet; translate it, remove the note, then {mark.format('title')}",
        "setup: `of` or alternative text that the reference lacks; remove it",
        "why: its header is not the reference's; make them equal, but for the words that readers see",
        "why: it has no `of`, the hash of the reference text; "
        f"bring it up to date, then {mark.format('why')}",
        "draw: the alternative text is the reference's; translate it",
    ]


def test_words_in_a_header_may_differ_and_nothing_else(tiny: TinyBook) -> None:
    for name, caption, size in ((EN, "A", 5), (KO, "가", 5)):
        tiny.edit(name, "mystnb:\n", f"mystnb:\n  figure:\n    caption: {caption}\n    width: {size}\n")
    assert [each.cell for each in check_translations(tiny.book) if each.file == KO] == []
    tiny.edit(KO, "width: 5", "width: 6")
    assert [each.cell for each in check_translations(tiny.book) if each.file == KO] == ["draw"]
    tiny.edit(KO, "width: 6", "width: wide")
    assert [each.cell for each in check_translations(tiny.book) if each.file == KO] == ["draw"]


def test_what_sync_and_mark_say(tiny: TinyBook) -> None:
    tiny.write(KO, tiny.read(KO).replace("\n", "\r\n"))
    lines: list[str] = []
    sync(tiny.book, lines.append)
    assert lines == [f"{KO}: brought into jupytext's form"]
    tiny.edit(EN, "asks each key", "asks every key")
    for target in ("book/ko/01-one.md", "chapters/ko/01-one.ipynb"):
        mark(tiny.book, target, lines.append)
    assert lines[1:] == [f"{KO}#why: marked as up to date", "chapters/ko/01-one.ipynb: up to date already"]
    tiny.edit(KO, '{"id": "title"', '{"id": "titles"')
    codes = "<zh-TW or zh-CN or ko>"
    for target, message in (
        ("", f"which cell? expected {codes}/<chapter>#<cell>"),
        ("en/01-one#why", f"en/01-one#why: expected {codes}/<chapter>#<cell>"),
        ("ko/02-two", "chapters/en/02-two.md and chapters/ko/02-two.md: no such chapter"),
        ("ko/01-one#x", "ko/01-one#x: no such cell"),
        ("ko/01-one", f"{KO}#titles: the reference has no such cell; nothing was marked"),
        (
            "ko/01-one#setup",
            "ko/01-one#setup: no alternative text in both languages, so nothing to mark",
        ),
    ):
        with pytest.raises(ValueError) as caught:
            mark(tiny.book, target, lines.append)
        assert str(caught.value) == message
    tiny.edit(KO, "쿼리는", "This part is not translated yet.\n\n쿼리는")
    tiny.edit(EN, "asks every key", "asks each key")
    with pytest.raises(ValueError) as caught:
        mark(tiny.book, "ko/01-one#why")
    assert str(caught.value) == f"{KO}#why: it waits for its translation; nothing was marked"
    assert len(lines) == 3
