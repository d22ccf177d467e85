"""The questions and hints of the chapters: their form in every language, and what the pages make of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.colon_fence import colon_fence_plugin
from playwright.sync_api import Browser, expect

from polyglot_book.chapters import Chapter, parse_chapter, read_all
from polyglot_book.config import Book
from polyglot_book.ipynb import read_notebook
from polyhead_course.exercises.checks.verdict import code_of
from tests.browser import visit

# Whether a chapter may be without questions and hints.
STRICT = True
# Titles of question, answers and hint, and how the right answer begins.
TITLES = {
    "en": ("Question {}: ", "Answers to question {}", "Hint {}", "Right."),
    "zh-TW": ("第 {} 題：", "第 {} 題的解答", "提示 {}", "正確"),
    "zh-CN": ("第 {} 题：", "第 {} 题的答案", "提示 {}", "正确"),
    "ko": ("문제 {}: ", "문제 {}의 답", "힌트 {}", "정답입니다."),
}
PARSER = MarkdownIt("commonmark").use(colon_fence_plugin)


class Box(NamedTuple):
    """An admonition or dropdown: its name, its title, its text with the options."""

    name: str
    title: str
    text: str

    def items(self) -> list[Token]:
        """Give the first line of each item of the numbered list in the box."""
        tokens = PARSER.parse(self.text)
        starts = [n for n, each in enumerate(tokens) if each.type == "list_item_open" and each.markup in ".)"]
        return [tokens[n + 2] for n in starts if tokens[n].level == 1]


def boxes(source: str) -> list[Box]:
    """Give the boxes of a cell."""
    fences = [token for token in PARSER.parse(source) if token.type == "colon_fence"]
    found = [(re.fullmatch(r"\{(\w+)\} *(.*)", token.info.strip()), token.content) for token in fences]
    return [Box(match[1], match[2], text) for match, text in found if match]


def bold(line: Token) -> str:
    """Give the bold text with which a line begins."""
    children = [each for each in line.children or () if each.type != "text" or each.content]
    return children[1].content if children[0].type == "strong_open" else ""


def right_answers(chapter: Chapter, code: str) -> tuple[list[int], list[str]]:
    """Give the numbers of the right answers of a chapter's questions, and what is wrong with their form."""
    ids = [cell.id for cell in chapter.cells]
    if "quiz" not in ids:
        return [], ["no questions"] if STRICT else []
    asked, answered, _, right = TITLES[code]
    inside = ids[ids.index("quiz") + 1 : ids.index("exercises")]
    if (
        len(inside) != 4
        or inside[-1] != "quiz-answers"
        or not all(each.startswith("quiz-") for each in inside)
    ):
        return [], [f"three questions and quiz-answers must precede the exercises, got {inside}"]
    numbers, faults = [], []
    for number, name in enumerate(inside[:3], start=1):
        found = boxes(chapter.by_id[name].source)
        if [box.name for box in found] != ["admonition", "dropdown"]:
            faults.append(f"{name}: not a question and its answers")
            continue
        question, answers = found
        choices, begins = question.items(), [bold(line) for line in answers.items()]
        marked = [place for place, text in enumerate(begins, start=1) if text]
        numbers += marked
        rules = {
            "no class question": question.text.startswith(":class: question\n"),
            f"titles of question {number}": question.title.startswith(asked.format(number))
            and answers.title == answered.format(number),
            f"{len(choices)} choices, {len(begins)} answers": 3 <= len(choices) == len(begins) <= 5,
            f"{len(marked)} answers in bold": len(marked) == 1,
            f"the right one begins with {right!r}": {*begins} <= {"", right},
        }
        faults += [f"{name}: {rule}" for rule, holds in rules.items() if not holds]
    return numbers, faults


def hint_faults(chapter: Chapter, code: str) -> Iterator[str]:
    """Say which exercises have no hints in steps, between the exercise and its solution."""
    ids = [cell.id for cell in chapter.cells]
    if not STRICT and not any(each.startswith("hints-") for each in ids):
        return
    for cell in chapter.cells:
        if ":class: exercise" not in cell.source:
            continue
        name = cell.id.removeprefix("exercise-")
        order = [cell.id, f"hints-{name}", f"solution-{name}"]
        if [each for each in ids if each in order] != order:
            yield f"{cell.id}: hints-{name} must stand between it and its solution"
            continue
        titles = [box.title for box in boxes(chapter.by_id[order[1]].source)]
        steps = [TITLES[code][2].format(step) for step in range(1, len(titles) + 1)]
        if len(titles) < 2 or titles != steps:
            yield f"hints-{name}: at least two dropdowns with the titles {steps}, got {titles}"


def test_every_chapter_asks_the_same_questions_and_gives_hints_in_steps(book: Book) -> None:
    faults = []
    right: dict[str, dict[str, list[int]]] = {}
    for (code, stem), chapter in read_all(book)[0].items():
        if not stem[0].isdigit():
            continue
        numbers, found = right_answers(chapter, code)
        faults += [f"{chapter.file}: {each}" for each in (*found, *hint_faults(chapter, code))]
        right.setdefault(stem, {})[code] = numbers
        if numbers:
            notebook = read_notebook(book.notebooks_dir(code) / f"{stem}.ipynb", check=False)
            outputs = [cell.outputs for cell in notebook.cells if cell.id == "quiz-answers"]
            printed = [int(each) for each in re.findall(r"\d+", str([o[0].text for o in outputs if o]))]
            if printed != numbers:
                faults.append(f"{chapter.file}: the text says {numbers}, its cell prints {printed}")
    faults += [f"{stem}: {each}" for stem, each in right.items() if len({*map(tuple, each.values())}) > 1]
    assert faults == [], "\n" + "\n".join(faults)


QUESTION = """+++ {{"id": "quiz-{0}"}}

:::{{admonition}} Question {0}: rows
:class: question
Which?

1. one
2. two $x$
3. three
:::

:::{{dropdown}} Answers to question {0}
1. No.
2. **Right.** Yes.
3. No.
:::
"""
EXERCISE = """+++ {"id": "exercise-a"}

:::{admonition} Exercise 1
:class: exercise
Do.
:::

+++ {"id": "hints-a"}

:::{dropdown} Hint 1
Begin.
:::

:::{dropdown} Hint 2
Go on.
:::

+++ {"id": "solution-a"}

:::{dropdown} Solution
Done.
:::
"""
CHAPTER = "\n".join([
    '+++ {"id": "quiz"}\n\n## Three\n', *(QUESTION.format(number) for number in (1, 2, 3)),
    "```{code-cell} ipython3\n:id: quiz-answers\n\nchecks.choices()\n```\n",
    '+++ {"id": "exercises"}\n\n## Exercises\n', EXERCISE,
])  # fmt: skip


def _faults(text: str) -> list[str]:
    chapter = parse_chapter(text)
    return [*right_answers(chapter, "en")[1], *hint_faults(chapter, "en")]


def test_the_right_form_has_no_fault() -> None:
    assert _faults(CHAPTER) == []
    assert right_answers(parse_chapter(CHAPTER), "en")[0] == [2, 2, 2]


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("Question 2:", "Question 3:", "quiz-2: titles of question 2"),
        (":class: question", ":class: note", "quiz-1: no class question"),
        ("3. three\n", "", "quiz-1: 2 choices, 3 answers"),
        ("1. No.", "1. **Right.** No.", "quiz-1: 2 answers in bold"),
        ("**Right.**", "Right.", "quiz-1: 0 answers in bold"),
        ("**Right.**", "**Yes.**", "quiz-1: the right one begins with 'Right.'"),
        # Bold only to the eye of its writer: no space follows the closing mark.
        ("**Right.** Yes", "**Right.**Yes", "quiz-1: 0 answers in bold"),
        ("quiz-answers", "answers", "three questions and quiz-answers must precede the exercises"),
        ('"hints-a"', '"hints-b"', "exercise-a: hints-a must stand between it and its solution"),
        ("Hint 2", "Hint 3", "hints-a: at least two dropdowns"),
        (":::{dropdown} Hint 2\nGo on.\n:::\n", "", "hints-a: at least two dropdowns"),
    ],
)
def test_another_form_is_a_fault(old: str, new: str, fault: str) -> None:
    assert old in CHAPTER
    (found,) = _faults(CHAPTER.replace(old, new, 1))
    assert found.startswith(fault)


def test_a_chapter_asks_on_its_page(window: Browser, address: str) -> None:
    with visit(window, address, viewport={"width": 390, "height": 800}) as seen:
        page = seen.page
        page.goto("/book/zh-CN/03-many-heads.html")
        assert page.locator("#polyglot-practice").count() == 1  # it waits for a first sign of the reader
        page.keyboard.press("Shift")
        expect(page.locator(".polyglot-guess")).to_have_count(7)
        exercises = page.locator(".exercise.admonition")
        expect(exercises.locator(".polyglot-solve")).to_have_count(exercises.count())
        expect(page.locator("form.polyglot-question")).to_have_count(
            page.locator(".question.admonition").count()
        )
        # Two hidden outputs lead to one answer, and there is one guess.
        guess = page.locator("#train-both-code").get_by_role("textbox", name="你的猜测")
        guess.fill("0.3")
        page.locator("#train-both-code").get_by_role("button", name="对照答案").click()
        for each in ("#train-both-code", "#train-both-figure"):
            expect(page.locator(f"{each} .cell_output")).to_be_visible()
        expect(page.get_by_text("你的猜测：0.3")).to_be_visible()
        write = page.locator("#exercise-write")
        write.get_by_role("textbox").fill(code_of("multi_head"))
        expect(write.get_by_role("checkbox")).to_be_checked()
        assert seen.problems() == []
