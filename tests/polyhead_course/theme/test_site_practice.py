"""Questions, guesses, hints and exercises of a page: by hand, by keyboard, on paper; what is remembered."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfReader

from polyhead_course.exercises.checks.verdict import code_of
from polyhead_course.pdf.pages import read_part
from tests.browser import Visit, serve, visit
from tests.building import Built

KEY = "polyglot-memory /book/"
PAGE = "/book/{}/02-heads.html"
DONE = ["quiz-rows", "exercise-write"]
PRACTICE = {"of": 3, "done": DONE, "said": {"guess-code": "five", "quiz-rows": "2"}}
# Whether the answers come behind the question, and behind the last section.
FOLLOWS = """
() => ['quiz-rows', 'summary'].map(id => Boolean(document.getElementById(id).compareDocumentPosition(
  [...document.querySelectorAll('details')].find(each => each.textContent.includes('A row sums'))
) & Node.DOCUMENT_POSITION_FOLLOWING))
"""
LEADS = (("write", "exercise-think", "Exercise 2: think"), ("think", "summary", "Summary"))
FULL = "Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); }"


@pytest.fixture(scope="module")
def address(four: Built) -> Iterator[str]:
    with serve(four.html) as base:
        yield base


@pytest.fixture(scope="module")
def shared(window: Browser, address: str) -> Iterator[Visit]:
    """A page that all tests of its parts share."""
    with visit(window, address, viewport={"width": 390, "height": 800}) as seen:
        seen.page.goto(PAGE.format("en"))
        yield seen
        assert seen.problems() == []


def _practice(page: Page) -> Any:
    memory = json.loads(page.evaluate("key => localStorage.getItem(key)", KEY) or "{}")
    return memory.get("practice", {}).get("02-heads")


def _remember(page: Page, **memory: object) -> None:
    page.goto("/book/index.html")
    page.evaluate("([key, text]) => localStorage.setItem(key, text)", [KEY, json.dumps(memory)])


def test_a_question_is_answered_again_until_it_is_right(shared: Visit) -> None:
    page = shared.page
    question = page.locator("#quiz-rows")
    group = question.get_by_role("group", name="Question 1: masks")
    expect(group.get_by_role("radio")).to_have_count(3)
    verdict, check = question.get_by_role("status"), question.get_by_role("button", name="Check the answer")
    check.press("Enter")
    expect(verdict).to_have_text("Choose an answer first.")
    # The keyboard alone: the first choice, then the next one.
    group.get_by_role("radio", name="A half and a half.").press("Space")
    page.keyboard.press("Enter")
    expect(verdict).to_have_text("Not this one. Two equal scores give it.")
    assert _practice(page) == {"of": 3, "done": [], "said": {"quiz-rows": "1"}}
    page.keyboard.press("ArrowDown")
    expect(verdict).to_be_empty()
    page.keyboard.press("Enter")
    expect(verdict).to_have_text("Right. A row sums to 1.")
    assert _practice(page)["done"] == ["quiz-rows"]
    # A wrong answer afterwards leaves it solved, and all explanations can be read.
    group.get_by_text("A number and zeros.").click()
    check.click()
    expect(verdict).to_have_text("Not this one. A mask gives it.")
    assert _practice(page)["done"] == ["quiz-rows"]
    page.get_by_text("Answers to question 1").click()
    expect(page.get_by_text("A mask gives it.").last).to_be_visible()


def test_a_guess_is_kept_and_opens_all_that_it_is_compared_with(shared: Visit) -> None:
    page = shared.page
    field = page.get_by_role("textbox", name="Your guess")
    answer = page.locator("#guess-answer + details")
    hidden = page.locator(":is(#guess-code, #guess-again) details")
    expect(field).to_have_count(1)
    expect(page.locator("#guess-code .cell_output")).to_be_hidden()
    field.fill(" <b>five</b> $& ")
    field.press("Enter")
    for each in (answer, hidden.first, hidden.last):
        expect(each).to_have_attribute("open", "")
    expect(answer.locator("p").first).to_have_text("Your guess: <b>five</b> $&")
    expect(page.locator("#guess-code [role=status]")).to_have_text("The answer is open below.")
    assert _practice(page)["said"]["guess-code"] == "<b>five</b> $&"


def test_hints_open_one_after_the_other_and_a_solution_leads_on(shared: Visit) -> None:
    page = shared.page
    first, second = (page.locator(f"#hints-write {'+ details ' * count}") for count in (1, 2))
    expect(second).to_be_hidden()
    first.locator("summary").press("Enter")
    expect(second).to_be_visible()
    first.locator("summary").press("Enter")
    expect(second).to_be_visible()
    expect(page.locator("#hints-think + details + details")).to_be_hidden()
    for name, target, title in LEADS:
        solution = page.locator(f"#solution-{name} + details")
        solution.locator("summary").click()
        link = solution.get_by_role("link", name=f"Next: {title}")
        expect(link).to_have_attribute("href", f"#{target}")


def test_an_exercise_is_ticked_by_hand_or_by_the_code_of_its_check(shared: Visit) -> None:
    page = shared.page
    write, think = page.locator("#exercise-write"), page.locator("#exercise-think")
    code, box = write.get_by_role("textbox", name="Code that the check prints"), write.get_by_role("checkbox")
    expect(think.get_by_role("textbox")).to_have_count(0)
    code.fill("AB")
    expect(write.get_by_role("status")).to_be_empty()
    code.press("Enter")
    expect(write.get_by_role("status")).to_have_text("This is not the code of this exercise.")
    expect(box).not_to_be_checked()
    code.fill(f" {code_of('attention').lower()}. ")
    expect(write.get_by_role("status")).to_have_text("The code is right.")
    expect(box).to_be_checked()
    think.get_by_text("Solved").click()
    assert {"exercise-write", "exercise-think"} <= set(_practice(page)["done"])
    think.get_by_text("Solved").click()
    assert "exercise-think" not in _practice(page)["done"]


def test_on_paper_the_answers_stand_at_the_end(shared: Visit) -> None:
    box = shared.page.locator("details", has_text="A row sums")
    before = box.get_attribute("open")
    pages = PdfReader(io.BytesIO(shared.page.pdf())).pages
    text = " ".join(" ".join(page.extract_text() for page in pages).split())
    assert text.index("never a softmax") < text.index("The end.") < text.index("A row sums to 1.")
    assert shared.page.evaluate(FOLLOWS) == [True, False] and box.get_attribute("open") == before


def test_what_was_done_is_shown_in_every_language(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        page = seen.page
        _remember(page, version=2, pages={"02-heads": True}, last=None, practice={"02-heads": PRACTICE})
        page.goto(PAGE.format("ko"))
        link = page.locator(".bd-links .polyglot-read")
        expect(link).to_have_text("2. 헤드 (읽음, 3문제 중 2문제 완료)2/3")
        expect(page.get_by_role("textbox", name="내 예상")).to_have_value("five")
        expect(page.locator("#guess-answer + details p").first).to_have_text("내 예상: five")
        expect(page.locator("#exercise-write [type=checkbox]")).to_be_checked()
        expect(page.locator("#quiz-rows [role=status]")).to_have_text("정답입니다. 한 행의 합은 1입니다.")
        page.locator("#exercise-think [type=checkbox]").check()
        expect(link).to_have_text("2. 헤드 (읽음, 3문제 중 3문제 완료)3/3")
        page.goto("/book/zh-TW/index.html")
        expect(page.locator(".bd-links .polyglot-read")).to_have_text("2. 注意力頭 （已讀，完成 3／3 題）3/3")
        # Forgotten on another page, and seen by one to which the reader comes back.
        page.locator(".polyglot-memory summary").click()
        page.once("dialog", lambda dialog: dialog.accept())
        page.locator("[value=forget]").click()
        expect(page.locator(".bd-links .polyglot-practised")).to_have_count(0)
        page.go_back()
        expect(page.locator("#exercise-think [type=checkbox]")).not_to_be_checked()
        assert seen.problems() == []


@pytest.mark.parametrize("practice", [[], {"02-heads": PRACTICE | {"of": "3"}}, {"02-heads": [1]}])
def test_what_is_no_practice_is_forgotten_and_what_was_read_is_not(
    window: Browser, address: str, practice: object
) -> None:
    with visit(window, address) as seen:
        _remember(seen.page, version=1, pages={"01-masks": True}, practice=practice)
        seen.page.goto(PAGE.format("en"))
        seen.page.locator("#exercise-think [type=checkbox]").check()
        assert _practice(seen.page) == {"of": 3, "done": ["exercise-think"], "said": {}}
        expect(seen.page.locator(".bd-links .polyglot-read")).to_have_text("1. Masks (read)")
        assert seen.problems() == []


def test_practice_comes_back_from_a_file_beside_what_was_done_since(window: Browser, address: str) -> None:
    since = {"of": 3, "done": ["exercise-think"], "said": {"quiz-rows": "1", "guess-code": "four"}}
    with visit(window, address) as seen:
        _remember(seen.page, version=2, pages={}, practice={"02-heads": since})
        seen.page.goto("/book/en/index.html")
        seen.page.locator(".polyglot-memory summary").click()
        text = json.dumps({"version": 2, "pages": {}, "practice": {"02-heads": PRACTICE}}).encode()
        seen.page.set_input_files(
            ".polyglot-memory input", {"name": "a.json", "mimeType": "application/json", "buffer": text}
        )
        expect(seen.page.locator(".polyglot-memory [role=status]")).to_have_text("Imported.")
        assert _practice(seen.page) == PRACTICE | {"done": ["exercise-think", *DONE]}
        expect(seen.page.locator(".bd-links .polyglot-practised")).to_have_text("3/3")
        assert seen.problems() == []


def test_without_scripts_there_is_a_list_and_boxes_that_open(window: Browser, address: str) -> None:
    with visit(window, address, java_script_enabled=False) as seen:
        seen.page.goto(PAGE.format("zh-CN"))
        expect(seen.page.locator("#quiz-rows > ol > li")).to_have_count(3)
        expect(seen.page.locator("#quiz-rows").get_by_role("radio")).to_have_count(0)
        for box in ("#quiz-rows + details", "#guess-answer + details", "#hints-write + details + details"):
            seen.page.locator(f"{box} > summary").click()
            expect(seen.page.locator(f"{box} > .sd-summary-content")).to_be_visible()


def test_where_nothing_can_be_stored_everything_opens(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.add_init_script(FULL)
        # A hash that is no encoded text, and of an answer.
        seen.page.goto(f"{PAGE.format('en')}#100%")
        seen.page.locator("#guess-code input").fill("four")
        seen.page.locator("#guess-code input").press("Enter")
        expect(seen.page.locator("#guess-answer + details")).to_have_attribute("open", "")
        seen.page.locator("#quiz-rows label").nth(1).click()
        seen.page.locator("#quiz-rows button").click()
        expect(seen.page.locator("#quiz-rows [role=status]")).to_have_text("Right. A row sums to 1.")
        seen.page.locator("#exercise-think [type=checkbox]").check()
        expect(seen.page.locator("#exercise-think [type=checkbox]")).to_be_checked()
        assert seen.problems() == []


def test_in_the_book_answers_end_the_chapter_and_hints_precede_solutions(four: Built, tmp_path: Path) -> None:
    page = Path(shutil.copy(four.html / "book/en/02-heads.html", tmp_path))
    part = read_part(page, ["02-heads"], "page %s")
    places = [part.html.index(text) for text in ("never a softmax", "The end.", "A row sums to 1.")]
    assert places == sorted(places) and part.html.count("A row sums to 1.") == 1
    assert "Begin with" not in part.html
    told = ("Begin with", "Then the softmax", "Done")
    for solution in part.solutions:
        places = [solution.html.index(text) for text in told]
        assert places == sorted(places)
    assert len(part.solutions) == 2
