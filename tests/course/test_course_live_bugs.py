"""The switches that put a bug into a figure: what it shows then is what code with this bug computes."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from playwright.sync_api import expect
from torch import Tensor

import polyhead
from attention_clinic import planted, small_bugs
from attention_clinic.kinds import attention, functions
from attention_clinic.plant import plant
from polyhead.pretrained import smollm2
from polyhead_course.models.names import NameWriter
from polyhead_course.models.smollm2.readings import BUGS
from tests.browser import Browser, Visit, visit
from tests.course.living import come_near, numbers


def test_the_mask_with_a_bug_shows_the_weights_of_the_clinic(window: Browser, address: str) -> None:
    chance = random.Random(7)
    masks = [[[chance.randint(0, 1) for _ in range(4)] for _ in range(4)] for _ in range(12)]
    bugs = [("mask_inverted", ""), ("", "wrong_axis"), ("mask_after", "")]
    with visit(window, address) as seen:
        data = come_near(seen, "mask")
        body = seen.page.locator("[data-live=mask] .polyglot-live-body")
        shown = seen.page.evaluate(MASK, masks)
        body.get_by_role("combobox", name="with a bug").select_option(label="mask inverted")
        expect(body.locator(".live-ill + [aria-live=polite]")).to_contain_text("the wrong way round")
        seen.page.wait_for_url("**#causal-weights~*&b=1")
        link = body.get_by_role("link", name="the bug clinic")
        assert seen.page.request.get(link.evaluate("link => link.href")).ok
        assert seen.problems() == []
    scores = torch.tensor(data["scores"]).float()
    for (hiding, weighing), found in zip(bugs, shown, strict=True):
        for mask, weights in zip(masks, found, strict=True):
            expected = attention.weigh(scores, torch.tensor(mask).bool(), hiding, weighing)
            _close(numbers(weights), expected)


MASK = """masks => [1, 2, 3].map((bug) => masks.map((mask) => {
  const body = document.querySelector("[data-live=mask] .polyglot-live-body");
  const select = body.querySelector(".live-bug select");
  select.selectedIndex = bug;
  select.dispatchEvent(new Event("change"));
  const cells = [...body.querySelectorAll(".live-mask button")];
  mask.flat().forEach((seen, place) => {
    if ((cells[place].ariaPressed === "true") !== Boolean(seen)) cells[place].click();
  });
  return cells.map((cell) => cell.querySelector(".live-number").textContent);
}))"""


def test_the_path_with_a_bug_goes_where_the_clinics_goes(window: Browser, address: str) -> None:
    states = [(1, [2, 5, 4, 3]), (2, [2, 5, 4, 3]), (3, [2, 5, 4, 3]), (1, [1, 3, 2, 2]), (2, [1, 4, 2, 3])]
    with visit(window, address) as seen:
        come_near(seen, "path")
        shown = seen.page.evaluate(PATH, states)
        assert seen.problems() == []
    for (bug, (batch, length, heads, size)), (stages, now) in zip(states, shown, strict=True):
        start, _, permuted, folded, back, _ = (torch.tensor([float(each) for each in one]) for one in stages)
        split = functions.split(batch, length, heads, size)
        expected = {
            1: lambda case=split: _moved(case, "view"),
            2: lambda case=split: _moved(case, "entries_before_heads"),
            3: lambda case=split: _order(case.inputs["X"], case.expected),
        }[bug]()
        expected = start[expected]
        assert torch.equal(folded, expected)
        assert torch.equal(permuted, expected)
        joined = polyhead.transpose_output(expected.view(batch * heads, length, size), heads).flatten()
        if bug == 3:
            joined = expected[_moved(functions.join(batch, length, heads, size), "view_back")]
        assert torch.equal(back, joined)
        chosen = start.view(batch, length, -1)[tuple(int(each) for each in numbers(now)[:3])]
        place = tuple(int(each) for each in numbers(now)[3:6])
        assert folded.view(batch * heads, length, size)[place] == chosen


def _order(before: Tensor, after: Tensor) -> Tensor:
    """Where each number of a tensor was in another one."""
    return (after.flatten()[:, None] == before.flatten()).int().argmax(dim=1)


def _moved(case: Any, bug: str) -> Tensor:
    return _order(case.inputs["X"], dict(case.mistakes())[(bug,)])


PATH = """states => states.map(([bug, sizes]) => {
  const body = document.querySelector("[data-live=path] .polyglot-live-body");
  body.querySelectorAll(".live-sizes input").forEach((input, number) => {
    input.value = sizes[number];
    input.dispatchEvent(new Event("input"));
  });
  const select = body.querySelector(".live-bug select");
  select.selectedIndex = bug;
  select.dispatchEvent(new Event("change"));
  const stages = [...body.querySelectorAll(".live-window > :first-child > .live-stage")];
  const textsOf = (stage) => [...stage.querySelectorAll(".live-cell")].map((cell) => cell.textContent);
  return [stages.map(textsOf), body.querySelector(".live-now").innerText];
})"""


class _Turns:
    """Rotary positions by whole degrees, in the pairs that a head of the figure has, or in the others."""

    def __init__(self, head_dim: int, base: object = None, pairs: str = "") -> None:
        self.head_dim, self.base, self.wrong = head_dim, base, bool(pairs)

    def __call__(self, x: Tensor, positions: Tensor) -> Tensor:
        first, second = x.chunk(2) if self.wrong else (x[0::2], x[1::2])
        return torch.polar(torch.ones(2), (positions * torch.tensor([60.0, 10.0])).deg2rad()) * torch.complex(
            first, second
        )


def test_the_clocks_with_a_bug_turn_as_the_clinics_decoder(
    window: Browser, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    bugs = ["rotary_queries_only", "rotary_layout", "cache_positions"]
    places = [(5, 3), (9, 1), (0, 12), (12, 12)]
    with visit(window, address) as seen:
        data = come_near(seen, "clocks")
        shown = seen.page.evaluate(CLOCKS, places)
        assert seen.problems() == []
    monkeypatch.setattr(small_bugs, "RotaryPositions", _Turns)
    decoder: Any = SimpleNamespace(rotary=_Turns(4), head_dim=4, table=None)
    query, key = (torch.tensor(data[name]).float() for name in ("query", "key"))
    for bug, results in zip(bugs, shown, strict=True):
        kind = planted.CLASSES[bug]
        for (m, n), said in zip(places, results, strict=True):
            # The query's token is new, and m tokens are in the cache.
            cache = polyhead.DecoderCache(2)
            planted.planted_decoder()(torch.zeros(1, m).long(), cache=cache)
            new = kind.locate(decoder, torch.zeros(1, 1).long(), None, cache, None)
            assert new.item() == (0 if bug == "cache_positions" else m)
            turned, _ = kind.rotate(decoder, query, key, new.flatten())
            _, other = kind.rotate(decoder, query, key, torch.tensor([n]))
            other = other if other.is_complex() else torch.complex(other[0::2], other[1::2])
            products = (turned * other.conj()).real
            distance, *parts, score = numbers(said)
            assert distance == m - n
            assert [*parts, score] == pytest.approx([*products.tolist(), products.sum().item()], abs=0.0051)


CLOCKS = """places => [1, 2, 3].map((bug) => places.map((place) => {
  const body = document.querySelector("[data-live=clocks] .polyglot-live-body");
  const select = body.querySelector(".live-bug select");
  select.selectedIndex = bug;
  select.dispatchEvent(new Event("change"));
  body.querySelectorAll("input").forEach((input, hand) => {
    input.value = place[hand];
    input.dispatchEvent(new Event("input"));
  });
  return body.querySelector(".live-now").innerText;
}))"""


def _decoded(seen: Visit, cache: int) -> list[tuple[list[float], list[float]]]:
    """Of both bugs and both decode steps: the weights of the newest query, and the numbers that are said."""
    found: list[tuple[list[float], list[float]]] = seen.page.evaluate(DECODING, cache)
    return [(numbers(bars), numbers(said)) for bars, said in found]


DECODING = """cache => [1, 2].flatMap((bug) => [1, 2].map((step) => {
  const body = document.querySelector("[data-live=decoding] .polyglot-live-body");
  const groups = [...body.querySelectorAll(".live-buttons")].map((each) => each.children);
  const [moves, ways, layers, heads] = groups;
  moves[2].click();
  for (let number = 0; number < step; number++) moves[1].click();
  ways[cache].click();
  layers[1].click();
  heads[2].click();
  const select = body.querySelector(".live-bug select");
  select.selectedIndex = bug;
  select.dispatchEvent(new Event("change"));
  return [[...body.querySelectorAll(".live-key-line .live-number")].map((each) => each.textContent),
    body.querySelector(".live-now").innerText];
}))"""


@torch.no_grad()
def test_decoding_with_a_bug_of_the_cache_shows_polyheads_numbers(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        come_near(seen, "decoding")
        ill, right = _decoded(seen, 1), _decoded(seen, 0)
        assert seen.problems() == []
    writer = NameWriter()
    model, ids = writer.model, torch.tensor([writer.vocabulary.tokens_of("en", "Japan")[:5]])
    probs, whole = model(ids)[0].softmax(dim=-1), model.attention_weights(ids)[1][0, 2]
    shown = iter(zip(ill, right, strict=True))
    for bug in ("cache_upper_left", "cache_positions"):
        cache = model.new_cache()
        model(ids[:, :3], cache=cache)
        for length in (4, 5):
            position = torch.tensor([[0 if bug == "cache_positions" else length - 1]])
            mask = torch.arange(length)[None, None] < (1 if bug == "cache_upper_left" else length)
            states, weights = model.decoder(
                model.embedding(ids[:, length - 1 : length], position),
                mask=mask,
                cache=cache,
                need_weights=True,
            )
            prob = model.output(states)[0, 0].softmax(dim=-1)
            (bars, said), (right_bars, right_said) = next(shown)
            _close(bars, weights[1].self_attention[0, 2, 0])
            best = probs[length - 1].argmax()
            assert said == pytest.approx(
                [length - 2, prob[best].item(), probs[length - 1, best].item()], abs=1e-4
            )
            _close(right_bars, whole[length - 1, :length])
            assert right_said[-1] == pytest.approx(probs[length - 1, best].item(), abs=1e-4)


ATLAS = """async heads => {
  const body = document.querySelector("[data-live=atlas] .polyglot-live-body");
  const [select, status] = [body.querySelector(".live-bug select"), body.querySelector("[role=status]")];
  const cells = [...body.querySelectorAll(".live-atlas [role=row]")].slice(1)
    .map((line) => [...line.querySelectorAll("button")]);
  const shown = [];
  for (const [bug, layer, head] of heads) {
    select.selectedIndex = bug;
    select.dispatchEvent(new Event("change"));
    cells[head][layer].click();
    await new Promise((done) => setTimeout(done, 150));
    const share = (tile) => parseFloat(tile.style.getPropertyValue("--live-share"));
    shown.push([...body.querySelectorAll(".live-look")].map((line) =>
      [...line.querySelectorAll(".live-tile")].map(share)));
  }
  return shown;
}"""


@torch.inference_mode()
def test_the_atlas_with_a_bug_shows_the_weights_of_the_planted_model(window: Browser, address: str) -> None:
    heads = [(bug, layer, head) for bug in (1, 2, 3) for layer, head in ((18, 6), (0, 4), (29, 8))]
    with visit(window, address) as seen:
        data = come_near(seen, "atlas", state="#atlas-figure~t=3")
        body = seen.page.locator("[data-live=atlas] .polyglot-live-body")
        body.get_by_role("combobox", name="with a bug").select_option(index=1)
        assert body.get_by_role("combobox", name="text").evaluate("each => each.selectedIndex") == 0
        shown = seen.page.evaluate(ATLAS, heads)
        body.get_by_role("combobox", name="text").select_option(index=3)  # no bug was planted for it
        assert body.get_by_role("combobox", name="with a bug").evaluate("each => each.selectedIndex") == 0
        assert seen.problems() == []
    model = smollm2()
    ids = torch.tensor([model.tokenizer.encode(data["texts"][0]["text"]).ids])
    weights = [torch.cat(plant(model.model, bug)(ids, need_weights=True)[1]) for bug in BUGS]
    for (bug, layer, head), tiles in zip(heads, shown, strict=True):
        expected = 100 * weights[bug - 1][layer, head]
        for row, line in enumerate(tiles):
            assert (torch.tensor(line) - expected[row, : row + 1]).abs().max() < 0.51


def _close(shown: list[float], expected: Tensor) -> None:
    actual = torch.tensor(shown).double()
    torch.testing.assert_close(actual, expected.double().flatten(), atol=1e-4, rtol=0, equal_nan=True)
