"""Checks the built pages of the course: as files, and in a browser at desktop and phone width."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from playwright.sync_api import expect

from tests.browser import Browser, visit
from tests.pages import check_site, english_left, parse

ROOT = Path(__file__).parents[2]
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
PAGES = [
    TOC["root"],
    *(page["file"] for home in TOC["chapters"] for page in [home, *home.get("sections", [])]),
]
# Names that are the same in every language.
NAMES = {
    "Polyhead",
    ".ipynb",
    ".md",
    ".pdf",
    "softmax",
    "dropout",
    "Dropout",
    "PyTorch",
    "d2l 1.0",
    "NaN",
    "NaN.",
    "CC BY 4.0",
    "MIT",
    "Notebook",
}
NAMES |= {
    "（Cordonnier et al. 2020）",
    "Hugging Face",
    "Annotated Transformer",
    "d2l, Annotated Transformer",
    "d2l、Annotated Transformer",
    "BERT, GPT-2, BART",
    "BERT、GPT-2、BART",
    "Llama",
    "GELU",
    "logit",
    "RoPE",
    "ALiBi",
    "BERT",
    "GPT-2",
    "BLOOM",
    "tensor2tensor",
    "blind",
    "modeling.py",
    "Dive into Deep Learning",
    "Transformer, 2017",
    "Transformer，2017",
    *("Zhōnghé", "yǒu", "yì tiáo", "Yǒnghé Lù"),
    *("bad", "chafed", "defahc", "face", "ecaf"),  # words that a small model writes backwards
    "self-attention in the encoder",  # the paper's own names for the three uses
    "encoder-decoder attention",
    *("top-k", "top-p", "tokens", "dates"),  # as code prints them
}
# What the English models of chapters 10 and 11 read.
NAMES |= {
    *("May", "13 May 1901", "November", "Friday", "February 30"),
    *("violin", "viola", "Paris has a Church Road", "church", "paris"),
    *("it", "tired", "wide", "… too wide", "street", "animal"),
    "The animal did not cross the street because it was too tired",
    *("book", "Near the city the river was old, and it was small."),
    "The city had a river, and it was small",
    *("Attention is not Explanation", "Attention is not not Explanation", "sacreBLEU"),  # papers, a program
}
# Parts of models, and models, of chapters 12 and 13.
NAMES |= {
    *(
        "LayerNorm",
        "RMSNorm",
        "SwiGLU",
        "QK-norm",
        "sink",
        "bfloat16",
        "FlashAttention",
        "Qwen3",
        "Qwen3-30B-A3B",
        "CLDR",
    ),
    *("GPT-2(2019)", "Llama 3(2024)", "Qwen3(2025)", "gpt-oss(2025)"),
    *("GPT-2（2019）", "Llama 3（2024）", "Qwen3（2025）", "gpt-oss（2025）"),
    *("TransformerLens", "LLMs-from-scratch", "mlx-lm", "（multi-query attention，"),
}
# Examples, parts and models of chapters 1, 3, 9, 11 and 12, and what the models of `questions` write.
NAMES |= {
    *("Bahdanau, Cho, Bengio", "Friday, November 20, 2026", "zh", "ambidextrous", "has", "road", "SmolLM2"),
    *("538 MB", "538MB", "__ wishers", "“__ wishers”", "the 20122222222"),
    *("MHA", "GQA", "MQA", "MLA", "NoPE", "YaRN", "DeepSeek-V3", "Llama 3 8B", "Qwen3 0.6B", "Qwen3 32B"),
    *("（paging，", "（OV circuit，", "（induction head，", "（delta rule，", "（gated attention，"),
    *(
        "（multi-head latent attention，",
        "(delta rule,",
        "(gated attention,",
        "(multi-head latent attention,",
        "<zh-TW>",
        "<zh-CN>",
        "<ko>",
    ),
}
# Papers and public threads, by a name with a year or number: "Shazeer 2020", "keras 23038", "Press et al."
NAMES |= {
    name
    for chapter in (ROOT / "chapters").glob("*/*.md")
    for name in re.findall(
        r"\[([A-Z][^\]]* (?:\d{4}|al\.)|[\w.-]+[ ，#]\d+)\]\(https:", chapter.read_text(encoding="utf-8")
    )
}
# Models, code and forms that chapters 4 to 8, 10 and 13 name, and the dates and words of chapter 10.
NAMES |= {
    *("num_tokens,", "(batch, 1,", "einsum", "(rotary positions,", "（rotary positions，", "MLM"),
    *("BERT、GPT-2", "BERT, GPT-2", "Llama、Qwen", "Llama, Qwen", "Post-norm"),
    *("post-norm", "Pre-norm", "pre-norm"),
    *("Sutskever, Vinyals, Le", "BERT（2018）", "BERT(2018)"),
    *("GPT（2018）、Llama（2023）", "GPT(2018), Llama(2023)"),
    *("Whisper", "Latent diffusion", "Llama 3.2 Vision", "Perceiver", "Babel", "BLEU"),
    *("Novembre", "March", "Nov"),
    *("3 May 2044", "May 3, 2044", "November 20, 2026 →", "Monday, March 15, 1993", "Friday, Nov 20, 2026"),
    *("healthy", "undecided", "ill"),
}  # fmt: skip
# Chapters 9 and 14 talk with a model that reads and writes English, in italics.
NAMES |= {
    *("GGUF", "The capital of France is …", "（logit lens，", "（induction circuit，"),
    *("nostalgebraist", "nostalgebraist 2020", "nostalgebraist，2020"),
    *("SmolLM2: When Smol Goes Big", "In-context Learning and Induction Heads"),
    "Interpretability in the Wild",
    *("interpreting GPT: the logit lens", "A Mathematical Framework for Transformer Circuits"),
    "GPTQ: Accurate Post-Training Quantization for Generative Pre-trained Transformers",
    "Efficient Streaming Language Models with Attention Sinks",
}  # fmt: skip
NAMES |= {
    text.strip(" .,")
    for stem in ("09-generation", "14-real-model")
    for chapter in (ROOT / "chapters").glob(f"*/{stem}.md")
    for text in re.findall(r"\*+([^*\n]+)\*+", chapter.read_text(encoding="utf-8"))
}
_READINGS = (ROOT / "src/polyhead_course/models/smollm2/readings.json").read_text(encoding="utf-8")


def _strings(value: object) -> Iterator[str]:
    """Every text in a value of JSON, as the page shows it."""
    if isinstance(value, str):
        shown = " ".join(value.replace("\n", "↵").split())
        yield from (shown, f"{shown}…")
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _strings(part)


NAMES |= set(_strings(json.loads(_READINGS)))
SOURCES = "#sources, #sources + details"

# Colours change the place of nothing: each width and each scheme once.
WINDOWS = ((1280, "light"), (390, "dark"))

# Text of a figure that its picture cuts off, in pixels.
CLIPPED = """
() => [...document.querySelectorAll('svg.polyglot-figure')].flatMap(svg => {
  const frame = svg.getBoundingClientRect();
  return [...svg.querySelectorAll('text')].filter(text => {
    const box = text.getBoundingClientRect();
    return box.left < frame.left - 1 || box.right > frame.right + 1
        || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
  }).map(text => text.textContent);
})
"""
# The smallest text of the figures, in pixels on the screen.
SMALLEST = """
() => Math.min(99, ...[...document.querySelectorAll('svg.polyglot-figure text')]
  .filter(text => text.textContent.trim() && text.checkVisibility())
  .map(text => { const to = text.getScreenCTM(); return text.getBBox().height * Math.hypot(to.c, to.d); }))
"""
WIDER = "document.documentElement.scrollWidth - innerWidth"
OPEN = "document.querySelectorAll('article details').forEach(each => each.open = true)"
# Boxes in which something is wider than they are.
CUT = """
() => [...document.querySelectorAll('article :is(.admonition, .sd-summary-content)')]
  .filter(box => box.scrollWidth > box.clientWidth + 1).map(box => box.textContent.trim().slice(0, 60))
"""
# By how much what was in view has moved by itself, as browsers count it.
WATCH = """
self.moved = 0;
new PerformanceObserver(list => { for (const each of list.getEntries()) moved += each.value; })
  .observe({ type: 'layout-shift', buffered: true });
"""


def test_the_pages_violate_nothing(site: Path) -> None:
    violations = check_site(site, NAMES, SOURCES)
    assert violations == [], "\n" + "\n".join(violations)


@pytest.mark.parametrize("name", PAGES)
def test_every_page_shows_whole_and_quietly(window: Browser, address: str, name: str) -> None:
    problems = []
    with visit(window, address, color_scheme="light", viewport={"width": 1350, "height": 940}) as seen:
        seen.page.add_init_script(WATCH)
        seen.page.goto(f"/{name}.html", wait_until="load")
        if (moved := seen.page.evaluate("moved")) > 0.02:
            problems.append(f"the first view moves by {moved:.3f}")
        # What is closed has no place yet: a browser answers with one of an earlier width.
        seen.page.evaluate(OPEN)
        for width, scheme in WINDOWS:
            seen.page.set_viewport_size({"width": width, "height": 900})
            seen.page.emulate_media(color_scheme=scheme)
            expect(seen.page.locator("html")).to_have_attribute("data-theme", scheme)
            at = f"{width} px, {scheme}"
            if (wide := seen.page.evaluate(WIDER)) > 0:
                problems.append(f"{at}: {wide} px wider than the window")
            problems += [f"{at}: a figure cuts {text!r} off" for text in seen.page.evaluate(CLIPPED)]
            if (height := seen.page.evaluate(SMALLEST)) < 8:
                problems.append(f"{at}: text of {height:.1f} px in a figure")
        problems += [f"cut off at 390 px: {text!r}" for text in seen.page.evaluate(CUT)]
        seen.page.set_viewport_size({"width": 320, "height": 700})
        if (wide := seen.page.evaluate(WIDER)) > 0:
            problems.append(f"320 px: {wide} px wider than the window")
        left = english_left(parse(seen.page.content()), NAMES, SOURCES)
        problems += [f"English is left: {text!r}" for text in left]
        problems += seen.problems()
    assert problems == [], "\n" + "\n".join(problems)


def test_a_link_to_a_solution_opens_it(window: Browser, address: str) -> None:
    first, second = (f"#solution-{each} + details" for each in ("count", "permute"))
    with visit(window, address) as seen:
        seen.page.goto("/book/ko/03-many-heads.html#solution-count")
        expect(seen.page.locator(first)).to_have_attribute("open", "")
        expect(seen.page.locator(first)).to_be_in_viewport()
        assert seen.page.locator(second).get_attribute("open") is None
        seen.page.evaluate("location.hash = 'solution-permute'")
        expect(seen.page.locator(second)).to_have_attribute("open", "")
        expect(seen.page.locator(second)).to_be_in_viewport()


@pytest.mark.parametrize(
    ("code", "home"), [("en", "Home"), ("zh-TW", "首頁"), ("zh-CN", "首页"), ("ko", "홈")]
)
def test_a_page_has_its_ways(site: Path, code: str, home: str) -> None:
    page = parse((site / f"book/{code}/01-single-head.html").read_text("utf-8"))
    for exercise in page.css(".exercise.admonition"):
        link = exercise.css_first(".admonition-title > .headerlink")
        assert link.attributes["href"] == f"#{exercise.attributes['id']}" and link.attributes["title"]
    assert len(page.css(".exercise.admonition")) > 2
    places = [each.attributes["href"] for each in page.css(".skip-link a")]
    assert places == ["#main-content", "#pst-page-toc-nav"] and all(page.css(each) for each in places)
    assert page.css_first(".left-prev .prev-next-title").text().strip() == home


def test_a_row_to_look_up_has_a_place_that_every_language_has(site: Path) -> None:
    rows = {
        code: [
            row.attributes["id"]
            for row in parse((site / f"book/{code}/notation.html").read_text("utf-8")).css("tr[id]")
        ]
        for code in ("en", "zh-TW", "zh-CN", "ko")
    }
    assert len(rows["en"]) > 100 and len({*rows["en"]}) == len(rows["en"])
    assert rows["zh-TW"] == rows["zh-CN"] == rows["ko"] == rows["en"]


def test_the_root_leads_to_the_choice_of_language(window: Browser, address: str) -> None:
    with visit(window, address, locale="ko-KR") as seen:
        seen.page.goto("/")
        seen.page.wait_for_url("**/book/index.html")
        links = seen.page.locator("main a[hreflang]")
        assert {link.get_attribute("hreflang") for link in links.all()} >= {"en", "zh-TW", "zh-CN", "ko"}
        assert seen.problems() == []
