"""What the checks of a whole book say, word for word."""

from __future__ import annotations

import json
from typing import Any

from polyglot_book.checks import check_notebooks, check_parity, check_toc
from tests.polyglot_book.tiny_book import PROSE, TinyBook

KO, EN, NOTEBOOK = "chapters/ko/01-one.md", "chapters/en/01-one.md", "book/ko/01-one.ipynb"
AGAIN, EDIT = "run `polyglot run`", "edit the chapter, then run `polyglot run`"


def one_notebook(tiny: TinyBook, cells: list[dict[str, Any]]) -> list[str]:
    notebook = json.loads(tiny.read(NOTEBOOK))
    notebook["cells"] = cells
    tiny.write(NOTEBOOK, json.dumps(notebook))
    return [str(each).removeprefix(NOTEBOOK) for each in check_notebooks(tiny.book)]


def test_all_that_a_notebook_must_not_hold(tiny: TinyBook) -> None:
    tiny.edit(
        "_config.yml", "polyglot_folder", "polyglot_verdicts: {right: ✓, wrong: ✗}\n    polyglot_folder"
    )
    tiny.edit(KO, ":id: setup\n", ":id: solution-one\n:tags: [starter]\n")
    tiny.pretend_to_execute()
    title, setup, why, draw = cells = json.loads(tiny.read(NOTEBOOK))["cells"]
    assert one_notebook(tiny, cells) == []
    bitmaps = {f"image/{kind}": "a" for kind in ("png", "jpeg", "gif")}
    figure = {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>", **bitmaps}, "metadata": {}}
    error = {
        "output_type": "error",
        "ename": "KeyError",
        "evalue": "in /home/me",
        "traceback": ["at 0x0123456789"],
    }
    printed = {"output_type": "stream", "name": "stderr", "text": f"No:\n {'x' * 90}\n✓ yes\n✗ no\n?"}
    setup |= {"execution_count": None, "outputs": [figure, error, printed]}
    draw |= {"execution_count": 1, "outputs": [figure]}
    draw["metadata"]["execution"] = {}
    assert one_notebook(tiny, [title, setup, why, draw]) == [
        f"#draw: it differs from the chapter's cell; {EDIT}",
        f"#solution-one: never executed; {AGAIN}",
        f"#solution-one: the output of a starter; {AGAIN}",
        *(
            f"#solution-one: a bitmap (image/{kind}), which nbval does not compare; draw it as SVG"
            for kind in ("png", "jpeg", "gif")
        ),
        "#solution-one: a figure without alternative text; describe it under mystnb: image: alt",
        "#solution-one: stored error KeyError; correct the code, or tag it raises-exception",
        "#solution-one: a path of one machine in its output: /home/me; print what every machine prints",
        "#solution-one: a memory address in its output: at 0x0123456789; print what every machine prints",
        f"#solution-one: output on stderr: No: {'x' * 76}; remove the cause of the warning",
        "#solution-one: its check calls the solution wrong: ✗ no; correct one of them",
        f"#draw: execution timestamps; {AGAIN}",
        f"#draw: executed as number 1, expected 2; {AGAIN}",
        *(
            f"#draw: a bitmap (image/{kind}), which nbval does not compare; draw it as SVG"
            for kind in ("png", "jpeg", "gif")
        ),
    ]
    tiny.edit("_config.yml", "polyglot_vector_figures: true", "polyglot_vector_figures: false")
    draw["metadata"].pop("execution")
    draw["metadata"]["tags"] += ["raises-exception"]
    draw |= {"execution_count": 2, "outputs": [figure, error | {"evalue": "", "traceback": []}]}
    assert one_notebook(tiny, [title, {**setup, "outputs": []}, why, draw]) == [
        f"#draw: it differs from the chapter's cell; {EDIT}", f"#solution-one: never executed; {AGAIN}"
    ]  # fmt: skip


def test_a_notebook_of_other_cells(tiny: TinyBook) -> None:
    tiny.pretend_to_execute()
    title, setup, why, draw = json.loads(tiny.read(NOTEBOOK))["cells"]
    assert one_notebook(tiny, [title, why, setup, draw]) == [
        f": its cells are in another order than the chapter's; {AGAIN}"
    ]
    assert one_notebook(tiny, [title, setup, {**why, "source": "?"}, {**draw, "metadata": {}}]) == [
        f": 2 cells differ from the chapter's: why, draw; {EDIT}"
    ]
    assert one_notebook(tiny, [title, setup, draw]) == [f"#why: it differs from the chapter's cell; {EDIT}"]
    tiny.edit("_config.yml", "title: 작은 책", "title: 작은 책, tagline: x")
    tiny.write(NOTEBOOK, tiny.read(NOTEBOOK).replace('"derived_from": "', '"derived_from": "x'))
    (tiny.root / "book/en/01-one.ipynb").rename(tiny.root / "book/en/02-two.ipynb")
    tiny.write("book/zh-TW/01-one.ipynb", "{")
    assert [str(each) for each in check_notebooks(tiny.book)] == [
        f"book/en/02-two.ipynb: a notebook without a chapter; {AGAIN}, which removes it",
        f"book/en/01-one.ipynb: {EN} has no notebook; {AGAIN}",
        f"book/zh-TW/01-one.ipynb: not a valid notebook; {AGAIN}",
        f"{NOTEBOOK}: its metadata is not what the chapter makes; {AGAIN}",
        f"{NOTEBOOK}#why: it differs from the chapter's cell; {EDIT}",
    ]


def test_all_in_which_two_cells_differ(tiny: TinyBook) -> None:
    tiny.edit(
        EN, PROSE["en"][1], "## A $x$ `f` [a](a.md) {ref}`b` [w](https://en.wikipedia.org/w)\n\n$y$, $z$"
    )
    korean = "# 가 $x$ `g` [a](b.md) [w](https://ko.example.org/w) [v](https://v.org)\n\n$y$ $u$"
    tiny.edit(KO, PROSE["ko"][1], korean)
    (tiny.root / "chapters/zh-TW/01-one.md").unlink()
    (tiny.root / "chapters/zh-CN/01-one.md").unlink()
    assert [str(each).removeprefix(f"{KO}#why: ") for each in check_parity(tiny.book)] == [
        "headings of levels [1] where the reference has [2]; give the headings the same levels, in order",
        "links: lacks 'a.md', 'b' and adds 'b.md', 'https://v.org'; link to the same places, as often",
        r"formulas: lacks 'z' and adds 'u'; only the words in \text{…} may differ",
        "code: lacks 'f' and adds 'g'; keep the same `code` in the prose",
        "directives: lacks '{ref}`'; use the same directives, roles and fences",
    ]


def test_all_that_a_table_of_contents_lacks(tiny: TinyBook) -> None:
    assert check_toc(tiny.book) == []
    toc = "root: book/en/01-one.md\nparts:\n- chapters:\n  - file: book/zh-TW/x\n    sections:\n"
    tiny.write("_toc.yml", f"{toc}    - glob: book/zh-CN/*\n")
    tiny.edit(
        KO, "(#why)", "(../ko/02-two.md#why) [b](sub/a.ipynb) [c](../en/x.md) [d](01-one.md) [e](a.txt)"
    )
    remedy = "write the chapter, or correct the link"
    assert [str(each) for each in check_toc(tiny.book)] == [
        "_toc.yml: it lacks the chapter book/zh-TW/01-one; add `- file: book/zh-TW/01-one`",
        "_toc.yml: it lacks the chapter book/ko/01-one; add `- file: book/ko/01-one`",
        "_toc.yml: it has book/zh-TW/x, which does not exist; write it, or remove the line",
        "_toc.yml: it has book/zh-CN/*, which does not exist; write it, or remove the line",
        f"{KO}#why: a link to ../ko/02-two.md#why: there is no chapter 02-two in ko; {remedy}",
        f"{KO}#why: a link to sub/a.ipynb: there is no chapter sub/a in ko; {remedy}",
    ]
