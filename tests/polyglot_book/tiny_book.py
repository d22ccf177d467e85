"""A book of two chapters in four languages that passes every check, for tests to break."""

from __future__ import annotations

from pathlib import Path
from string import Template

from polyglot_book.chapters import read_all, text_hash
from polyglot_book.config import Book
from polyglot_book.freshness import Inputs, Run, Runs, result_hash
from polyglot_book.ipynb import write_notebook
from polyglot_book.notebooks import make_notebook

CONFIG = """\
title: Tiny
parse:
  myst_enable_extensions: [amsmath, colon_fence, deflist, dollarmath]
sphinx:
  config:
    polyglot_folder: book
    polyglot_terms: terms.yml
    polyglot_library: [src/tinylib]
    polyglot_language_call: set_language
    polyglot_vector_figures: true
    polyglot_languages:
      en: {locale: en, name: English, title: Tiny}
      zh-TW: {locale: zh_TW, name: 繁體中文, title: 小書, tagline: 一本小書}
      zh-CN: {locale: zh_CN, name: 简体中文, title: 小书}
      ko: {locale: ko, name: 한국어, title: 작은 책}
"""
TERMS = """\
terms:
  query:
    en: query
    zh-TW: 查詢
    zh-CN: 查询
    ko: 쿼리
    avoid: {zh-TW: [詢問], ko: [질의]}
    note: {ko: 질의는 쓰지 않는다}
labels:
  position: {en: position, zh-TW: 位置, zh-CN: 位置, ko: 위치}
"""
PROSE = {
    "en": (
        "Queries and keys",
        "The query asks each key, and $q_i$ is one row; see `x` and [why](#why).",
        "A square",
    ),
    "zh-TW": ("查詢與鍵", "查詢問每個鍵，$q_i$ 是一列；見 `x` 與[為什麼](#why)。", "正方形"),
    "zh-CN": ("查询与键", "查询问每个键，$q_i$ 是一行；见 `x` 与[为什么](#why)。", "正方形图"),
    "ko": ("쿼리와 키", "쿼리는 키마다 묻고 $q_i$ 는 한 행이다. `x` 와 [이유](#why)를 보라.", "정사각형"),
}
CODE = """\
```{{code-cell}} ipython3
:id: setup

import tinylib
tinylib.set_language("{code}")
x = 6
```
"""
CHAPTER = Template("""\
---
html_meta:
  description: tiny
---

+++ {"id": "title"$of_title}

# $number. $title

$code
+++ {"id": "why"$of_why}

$why

```{code-cell} ipython3
---
id: draw
${of_alt}tags: [hide-input]
mystnb:
  image:
    alt: $alt
---
tinylib.square(x * 7)
```
""")
LIBRARY = """\
language = "en"


def set_language(code):
    global language
    language = code


class Drawing:
    def __init__(self, side):
        self.side = side

    def _repr_svg_(self):
        return f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.side}" height="{self.side}"></svg>'

    def __repr__(self):
        return f"square of {self.side} in {language}"


def square(side):
    return Drawing(side)
"""


def chapter_text(code: str, number: str = "1") -> str:
    """Write one chapter in one language."""
    texts = dict(zip(("title", "why", "alt"), PROSE[code], strict=True))
    hashes = dict.fromkeys(("of_title", "of_why", "of_alt"), "")
    if code != "en":
        title, why, alt = map(text_hash, (f"# {number}. {PROSE['en'][0]}", *PROSE["en"][1:]))
        hashes = {"of_title": f', "of": "{title}"', "of_why": f', "of": "{why}"', "of_alt": f"of: {alt}\n"}
    return CHAPTER.substitute(texts, **hashes, number=number, code=CODE.format(code=code))


class TinyBook:
    """The book in a folder, with shorthands for breaking it."""

    def __init__(self, root: Path, stems: tuple[str, ...] = ("01-one",)) -> None:
        self.root = root
        self.write("_config.yml", CONFIG)
        self.write("terms.yml", TERMS)
        self.write("src/tinylib/__init__.py", LIBRARY)
        for code in PROSE:
            for number, stem in enumerate(stems, start=1):
                self.write(f"chapters/{code}/{stem}.md", chapter_text(code, str(number)))

    @property
    def book(self) -> Book:
        return Book.load(self.root)

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())

    def read(self, name: str) -> str:
        return (self.root / name).read_bytes().decode()

    def edit(self, name: str, old: str, new: str) -> None:
        text = self.read(name)
        assert old in text
        self.write(name, text.replace(old, new))

    def pretend_to_execute(self) -> None:
        """Store notebooks as if they had been executed, without starting a kernel."""
        book = self.book
        runs, names, inputs = Runs(book), set(), Inputs(book)
        for (code, stem), chapter in read_all(book)[0].items():
            notebook = make_notebook(chapter)
            number = 0
            for cell in notebook.cells:
                if cell.cell_type == "code":
                    number += 1
                    cell.execution_count = number
            write_notebook(notebook, book.notebooks_dir(code) / f"{stem}.ipynb")
            before = inputs.hash(inputs.lists(code, chapter.text), None)
            runs.add(Run(f"{code}/{stem}", before, result_hash(notebook)))
            names.add(f"{code}/{stem}")
        runs.write(names)
