"""The translator in the page: texts and weights as PyTorch's, and the library's rule for what a date is."""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Iterable
from typing import Any

import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor

from polyhead.heads import ablate, all_heads
from polyhead_course.figures import live
from polyhead_course.models.translation import (
    TARGETS,
    held_out_pairs,
    load_translator,
    read_date,
    source_tokens,
)
from polyhead_course.words import set_language
from tests.browser import Browser, visit
from tests.course.living import come_near, numbers

DATES, STATES = 200, 40


@pytest.fixture(scope="module")
def sources() -> dict[str, list[str]]:
    """The English of the held-out dates, by target: the six forms take turns."""
    return {to: [pair.source for pair in held_out_pairs(to)] for to in TARGETS}


def translated(asked: Iterable[tuple[str, str, list[int]]]) -> list[tuple[list[str], list[Tensor]]]:
    """PyTorch's greedy translations without some heads, and their cross-attention, layer by layer."""
    loaded, groups = load_translator(), defaultdict(list)
    heads, found = all_heads(loaded.model), {}
    for place, (source, to, off) in enumerate(asked):
        groups[tuple(off)].append((place, source_tokens(source, to)))
    for off, group in groups.items():  # one batch for each choice of heads
        with ablate(loaded.model, [heads[number] for number in off]):
            ids = loaded.source.ids([tokens for _, tokens in group])
            written = loaded.write(ids)
            cross = loaded.cross_attention(ids, written)
        for row, (place, tokens) in enumerate(group):
            words = loaded.target.words(written[row, 1:])
            found[place] = list(words), [layer[row, :, : len(words), : len(tokens)] for layer in cross]
    return [found[place] for place in range(len(found))]


TRANSLATE = """async ({ heads, longest, dates }) => {
  const { load } = await import("/_static/figures/live/model.js");
  const { tokensOf } = await import("/_static/figures/live/dates.js");
  const translate = await load({ heads, longest });
  return dates.map(({ source, to, off }) => {
    const begin = performance.now();
    const { tokens, cross } = translate([`<${to}>`, ...tokensOf(source)], off);
    return { tokens, cross, time: performance.now() - begin };
  });
}"""


def test_held_out_dates_are_translated_as_by_pytorch(
    window: Browser, address: str, sources: dict[str, list[str]], record_property: Any
) -> None:
    chance = random.Random(4)
    without = [[], [], *(sorted(chance.sample(range(24), number)) for number in (1, 3, 8))]
    dates = []
    for number in range(DATES):
        to, off = TARGETS[number % len(TARGETS)], without[number % len(without)]
        dates.append({"source": chance.choice(sources[to]), "to": to, "off": off})
    with visit(window, address) as seen:
        seen.page.goto("/book/en/index.html")
        shown = seen.page.evaluate(TRANSLATE, {"heads": 4, "longest": 32, "dates": dates})
        assert seen.problems() == []
    wanted = translated(each.values() for each in dates)
    for date, each, (words, cross) in zip(dates, shown, wanted, strict=True):
        assert each["tokens"] == words, date
        for ours, theirs in zip(each["cross"], cross, strict=True):
            torch.testing.assert_close(torch.tensor(ours), theirs, atol=1e-4, rtol=0)
    times = sorted(each["time"] for each in shown)
    record_property("milliseconds a date, median and longest", (times[DATES // 2], times[-1]))


TEXTS = [
    "Friday, November 20, 2026", "  20\tNov  2026 ", "Sept 9, 1999", "9 Sept 1999", "Sep 9, 1999",
    "9 Sep 1999", "May 13, 1901", "13 May 1901", "13 may 1901", "Fridya, November 20, 2026",
    "20 Febuary 2026", "Tuseday, 1 May 2000", "February 29, 2023", "February 29, 2024", "29 February 1900",
    "April 31, 2000", "Monday, November 20, 2026", "Monday, 20 November 2026", "1 May 1899", "1 May 2100",
    "May 0, 2000", "May 01, 2000", "May 32, 2000", "20/11/2026", "2026-11-20", "", " ", ",", "20", "November",
    "November 20 2026", "November 20, 2026.", "永和路", "2026年11月20日", "20 november 2026",
    "NOVEMBER 20, 2026", "ﬁrst", "Nov²", "a_b", "Ⅻ 20", "x" * 10_000, "1" * 10_000, "😀 May",
]  # fmt: skip
# What the Python rule says, and what the module calls it.
REASONS = {
    "unknown word": "word", "the date must": "form", "the year must": "year", "that day is": "weekday",
}  # fmt: skip


def expected(text: str) -> dict[str, Any]:
    try:
        day = read_date(text)
    except ValueError as error:
        said = str(error)
        reason = next((name for begin, name in REASONS.items() if said.startswith(begin)), "day")
        near = said.split("did you mean '")[1].split("'")[0] if "did you mean" in said else None
        if reason == "word":
            return {"reason": reason, "near": near}
        named = {"day": ("days", r"has (\d+)"), "weekday": ("right", r"is a (\w+)")}.get(reason)
        return {"reason": reason} | ({named[0]: re.search(named[1], said)[1]} if named else {})
    return {"day": [day.year, day.month, day.day]}


READ = """async ({ data, texts }) => {
  const { rule } = await import("/_static/figures/live/dates.js");
  const { read, write } = rule(data);
  return texts.map((text) => {
    const { date, reason, near, days, right } = read(text);
    return date ? { day: date.slice(1), again: write(date) } : { reason, near, right, days: String(days) };
  });
}"""


def test_the_rule_for_dates_is_the_librarys(
    window: Browser, address: str, sources: dict[str, list[str]]
) -> None:
    chance = random.Random(5)
    right, broken = chance.sample(sources["ko"], 60), []
    for source in right:
        place = chance.randrange(len(source))
        broken.append(source[:place] + chance.choice(["", "x", "9", " ", ","]) + source[place + 1 :])
    texts = [*TEXTS, *right, *broken]
    data = live.translator("May 13, 1901").data
    with visit(window, address) as seen:
        seen.page.goto("/book/en/index.html")
        found = seen.page.evaluate(READ, {"data": data, "texts": texts})
    for text, each in zip(texts, found, strict=True):
        wanted = expected(text)
        assert {key: each.get(key) for key in wanted} == wanted, text
        if "day" in each:
            assert read_date(each["again"]) == read_date(text)
    assert {each.get("reason") for each in found} == {None, "word", "form", "year", "day", "weekday"}


LOADED = "The model runs in this page."
SHOW = """async (states) => {
  const body = document.querySelector("[data-live=translator] .polyglot-live-body");
  const all = (selector) => [...body.querySelectorAll(selector)];
  const [targets, layers, heads] = all(".live-buttons").map((group) => [...group.querySelectorAll("button")]);
  const switches = all(".live-switches button");
  const weightsOf = (line) => [...line.querySelectorAll(".live-weight")];
  const rows = () => all(".live-cross [role=row]").slice(1);
  return states.map(({ source, target, layer, head, off, cell }) => {
    body.querySelector("input").value = source;
    targets[target].click();
    layers[layer].click();
    heads[head].click();
    switches.forEach((each, place) => {
      if ((each.ariaPressed === "true") === off.includes(place)) each.click();
    });
    const lines = rows();
    const line = lines[cell % lines.length];
    line.querySelector("[role=gridcell]").focus();
    return {
      text: body.querySelector(".live-answer > p").textContent,
      wrong: all(".live-answer mark").length,
      right: body.querySelector(".live-right > p").textContent,
      sources: all(".live-cross [role=columnheader]").map((each) => each.textContent),
      rows: lines.map((each) => each.querySelector("[role=rowheader]").textContent),
      weights: lines.map((each) => weightsOf(each).map((weight) => weight.textContent)),
      shares: lines.map((each) => weightsOf(each).map(
        (weight) => parseFloat(weight.style.getPropertyValue("--live-share")))),
      now: body.querySelector(".live-now > p").textContent,
    };
  });
}"""


def test_what_the_page_shows_is_what_the_model_computes(
    window: Browser, address: str, sources: dict[str, list[str]]
) -> None:
    chance, states = random.Random(6), []
    without = [[], *(sorted(chance.sample(range(24), number)) for number in (1, 4, 10))]
    for number in range(STATES):
        source = chance.choice(sources["ko"])
        off = without[number % len(without)]
        states.append(
            {
                "source": source, "target": chance.randrange(3), "layer": chance.randrange(2),
                "head": chance.randrange(5), "off": off, "cell": chance.randrange(20),
            }
        )  # fmt: skip
    with visit(window, address, reduced_motion="reduce") as seen:
        data = come_near(seen, "translator")
        seen.page.locator("[data-live=translator] .live-load button").first.click()
        expect(seen.page.locator("[data-live=translator] [role=status]")).to_have_text(LOADED)
        shown = seen.page.evaluate(SHOW, states)
        assert seen.problems() == []
    asked = [(each["source"], data["targets"][each["target"]]["code"], each["off"]) for each in states]
    complete = translated((source, to, []) for source, to, _ in asked)
    every = zip(states, shown, asked, translated(asked), complete, strict=True)
    for state, each, (source, to, _), (words, cross), (right, _) in every:
        layer = cross[state["layer"]]
        weights = layer[state["head"] - 1] if state["head"] else layer.mean(dim=0)
        assert each["text"] == "".join(words)
        assert each["sources"] == list(source_tokens(source, to))
        assert each["rows"] == [word.replace(" ", "␣") for word in words]
        percent = torch.tensor([[float(cell) for cell in row] for row in each["weights"]])
        assert (percent - 100 * weights).abs().max() < 0.5001
        torch.testing.assert_close(torch.tensor(each["shares"]), 0.75 * percent, atol=0.01, rtol=0)
        row = state["cell"] % len(words)
        assert numbers(each["now"])[-1] == pytest.approx(weights[row, 0].item(), abs=1e-4)
        assert each["sources"][0] in each["now"]
        if state["off"]:
            assert each["right"].endswith("".join(right))
            differ = [word != other for word, other in zip(words, [*right, *[None] * 32], strict=False)]
            assert each["wrong"] == sum(differ)
        else:
            assert (each["right"], each["wrong"]) == ("", 0)


def test_the_model_comes_when_it_is_used_and_the_text_appears_character_by_character(
    window: Browser, address: str
) -> None:
    asked: list[str] = []
    with visit(window, address) as seen:
        seen.page.on("request", lambda request: asked.append(request.url.rsplit("/", 1)[-1]))
        come_near(seen, "translator")
        seen.page.wait_for_load_state("networkidle")
        assert {"translator.js", "dates.js"} <= set(asked)
        assert not {"model.js", "translator.safetensors"} & set(asked)
        body = seen.page.locator("[data-live=translator] .polyglot-live-body")
        answer, field = body.locator(".live-answer > p").first, body.get_by_role("textbox")
        field.fill("Fridya, November 20, 2026")
        expect(answer).to_have_text("Unknown word: “Fridya”. Did you mean “Friday”?")
        field.fill("30 February 2024")
        field.press("Enter")
        expect(answer).to_have_text("February 2024 has 29 days, so there is no day 30.")
        assert "translator.safetensors" not in asked
        seen.page.evaluate(
            """window.answers = []; new MutationObserver(() => answers.push(
              document.querySelector(".live-answer > p").textContent)).observe(
              document.querySelector(".live-answer > p"), { childList: true })"""
        )
        field.fill("3 March 1999")
        assert answer.get_attribute("lang") == "en"
        field.press("Enter")
        wanted = "".join(translated([("3 March 1999", "ko", [])])[0][0])
        expect(answer).to_have_text(wanted)
        assert answer.get_attribute("lang") == "ko"
        assert asked.count("translator.safetensors") == 1
        seen_texts = seen.page.evaluate("answers")
        assert [text for text in dict.fromkeys(seen_texts) if text != "…"] == [
            wanted[: length + 1] for length in range(len(wanted))
        ]
        expect(body.locator("[aria-live]").first).to_have_text(wanted)
        assert seen.problems() == []


def test_heads_by_keyboard_and_finger(window: Browser, address: str) -> None:
    phone = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
    with visit(window, address, **phone, reduced_motion="reduce") as seen:
        come_near(seen, "translator")
        body = seen.page.locator("[data-live=translator] .polyglot-live-body")
        switches = body.locator(".live-switches button")
        switches.nth(20).tap()
        expect(switches.nth(20)).to_have_attribute("aria-pressed", "false")
        assert body.locator(".live-switches button[tabindex='0']").count() == 1
        for key in ("ArrowRight", "Space", "ArrowRight", "Enter", "End", "Space"):
            seen.page.keyboard.press(key)
        off = [20, 21, 22, 23]
        words = translated([("Friday, November 20, 2026", "ko", off)])[0][0]
        expect(body.locator(".live-answer > p").first).to_have_text("".join(words))
        seen.page.wait_for_url("**#translator-figure~x=20,21,22,23")
        cell = body.locator(".live-weight").nth(3)
        cell.tap()
        expect(body.locator(".live-now").last).to_contain_text("November")
        seen.page.keyboard.press("ArrowDown")
        expect(body.locator(".live-weight:focus")).to_have_count(1)
        assert seen.problems() == []


def test_without_its_numbers_the_figure_says_so_and_tries_again(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        seen.page.route("**/translator.safetensors", lambda route: route.abort())
        come_near(seen, "translator")
        body = seen.page.locator("[data-live=translator] .polyglot-live-body")
        before = body.locator(".live-answer").inner_text()
        body.get_by_role("button", name="Load the model").click()
        expect(body.get_by_role("status")).to_have_text("The model could not be loaded.")
        assert body.locator(".live-answer").inner_text() == before
        seen.page.unroute("**/translator.safetensors")
        body.get_by_role("button", name="Load the model").click()
        expect(body.get_by_role("status")).to_have_text("The model runs in this page.")


@pytest.fixture(autouse=True)
def english() -> None:
    set_language("en")
