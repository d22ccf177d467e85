"""The explorables of the course at 200 random states: every number that they show is polyhead's."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

import polyhead
from attention_clinic import laws, planted
from attention_clinic.adapter import DecoderAdapter
from polyhead.pretrained import smollm2
from polyhead_course import peers
from polyhead_course.models.names import NameWriter
from tests.browser import Browser, visit
from tests.course.living import come_near, numbers

STATES = 200


def close(shown: list[float], expected: Tensor) -> None:
    actual = torch.tensor(shown, dtype=torch.float64)
    torch.testing.assert_close(actual, expected.double().flatten(), atol=1e-4, rtol=0, equal_nan=True)


HULL = """states => states.map(({ query, scores, heat, power, divide }) => {
  const body = document.querySelector("[data-live=hull] .polyglot-live-body");
  const all = (selector) => [...body.querySelectorAll(selector)];
  const slide = (input, value) => { input.value = value; input.dispatchEvent(new Event("input")); };
  const [queries, switches] = all(".live-buttons").map((group) => [...group.querySelectorAll("button")]);
  queries[query].click();
  all(".live-scores input").forEach((input, key) => slide(input, scores[key]));
  all(".live-pair input").forEach((input, number) => slide(input, [heat, power][number]));
  if ((switches[0].ariaPressed === "true") !== divide) switches[0].click();
  return {
    rows: all(".live-scores .live-number").map((each) => each.textContent),
    bars: all(".live-bar").map((each) => parseFloat(each.style.width)),
    knobs: all(".live-pair .live-number").map((each) => each.textContent),
    now: body.querySelector(".live-now").innerText,
    values: all(".live-value").map((each) => [each.cx.baseVal.value, each.cy.baseVal.value]),
    output: body.querySelector(".live-output").getAttribute("transform"),
    pressed: queries.map((each) => each.ariaPressed),
  };
})"""


REACH = """states => states.map(([mask, token]) => {
  const body = document.querySelector("[data-live=reach] .polyglot-live-body");
  body.querySelectorAll(".live-buttons button")[mask].click();
  body.querySelectorAll(".live-spread button")[token].click();
  const tiles = [...body.querySelectorAll(".live-tile")];
  return ["live-reached", "live-leaked"].map((name) => tiles.map((tile) => tile.classList.contains(name)));
})"""


def test_reach_shows_which_outputs_depend_on_a_token(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        size = len(come_near(seen, "reach")["tokens"])
        states = [[mask, token] for mask in range(4) for token in range(size)]
        shown = seen.page.evaluate(REACH, states)
        assert seen.problems() == []
    whole = torch.ones(size, size)
    masks = [whole.tril(), polyhead.window_mask(size, window=2).float(), whole.tril(1), whole]
    for (mask, token), (reached, leaked) in zip(states, shown, strict=True):
        layers = [masks[mask].matrix_power(layer)[:, token] > 0 for layer in (4, 3, 2, 1)]
        expected = torch.stack(layers)  # (4, num_tokens), the last layer first
        assert torch.equal(torch.tensor(reached).view(4, size), expected)
        expected[:, token:] = False
        assert torch.equal(torch.tensor(leaked).view(4, size), expected)


BUGS = """() => {
  const body = document.querySelector("[data-live=bugs] .polyglot-live-body");
  const [all, fill] = body.querySelectorAll(".live-buttons button");
  const choice = body.querySelector("select");
  const textsOf = (elements) => [...elements].map((each) => each.textContent);
  const lines = [...body.querySelectorAll("tbody tr")];
  const marksOf = () => lines.map((row) => textsOf(row.querySelectorAll("td")));
  const shown = [...choice.options].map((_, number) => {
    choice.selectedIndex = number;
    choice.dispatchEvent(new Event("change"));
    all.click();
    const now = body.querySelector(".live-now > :first-child").textContent;
    const strips = [...body.querySelectorAll(".live-strip")].map((strip) =>
      [...strip.querySelectorAll(".live-tile")].map((tile) => tile.className.split("-")[2] ?? ""));
    return { now, strips, numbers: textsOf(body.querySelectorAll(".live-probe .live-number")) };
  });
  const marks = marksOf();
  body.querySelectorAll(".live-buttons button")[2].click();
  const empty = body.querySelectorAll("td:not(:empty)").length;
  fill.click();
  return [shown, marks, empty, marksOf()];
}"""


def test_bugs_show_what_the_laws_find(window: Browser, address: str) -> None:
    with visit(window, address) as seen:
        come_near(seen, "bugs")
        shown, marks, empty, filled = seen.page.evaluate(BUGS)
        assert seen.problems() == []
    assert empty == 0
    assert marks == filled
    for (bug, row), each, line in zip(planted.matrix().items(), shown, marks, strict=True):
        decoder, right = planted.planted_decoder(bug), planted.right_twin(bug)
        assert line == ["–" if found is None else "×" if found else "·" for found in row.values()]
        assert numbers(each["now"]) == [line.count("×"), len(planted.PROBES)]
        for name, mark, number, strip in zip(
            planted.PROBES, line, each["numbers"], each["strips"], strict=True
        ):
            broken = [place % 11 for place, kind in enumerate(strip) if kind == "broken"]
            if mark != "×":
                assert (number, broken) == ({"–": "–", "·": "0"}[mark], [])
            elif (
                name not in ("past", "reach") and bug != "dropout_in_eval"
            ):  # these count, and that is chance
                found = laws.LAWS[name](decoder, 1) if name in laws.LAWS else laws.parity(decoder, right, 1)
                assert found is not None
                assert number == ("NaN" if math.isinf(found) else f"{float(f'{found:.2g}'):g}"), (bug, name)
        first = each["strips"][planted.PROBES.index("causality")]
        if bug != "dropout_in_eval":
            ids = laws.sample(DecoderAdapter(decoder), 1, 11)
            moved = laws.moved(decoder(ids)[0], decoder(laws.other_tokens(ids, 5))[0])
            kinds = [("may" if place > 4 else "broken") if it else "" for place, it in enumerate(moved)]
            assert first == kinds, bug


TWO_HEADS = """states => states.map(({ shares, heads, stretched, red }) => {
  const body = document.querySelector("[data-live=two_heads] .polyglot-live-body");
  const slide = (input, value) => { input.value = value; input.dispatchEvent(new Event("input")); };
  const [second, stretch] = body.querySelectorAll(".live-buttons button");
  if ((second.ariaPressed === "true") !== (heads === 2)) second.click();
  if ((stretch.ariaPressed === "true") !== stretched) stretch.click();
  body.querySelectorAll(".live-both input").forEach((input, number) => slide(input, shares.flat()[number]));
  slide(body.querySelector(".live-red input"), red);
  return {
    weights: [...body.querySelectorAll(".live-both .live-number")].map((each) => each.textContent),
    now: body.querySelector(".live-now").innerText,
  };
})"""


def test_two_heads_show_the_weights_and_the_sums(window: Browser, address: str) -> None:
    chance = random.Random(3)
    states = [
        {
            "shares": [[chance.randint(0, 10) for _ in range(4)] for _ in range(2)],
            "heads": chance.choice((1, 2)),
            "stretched": chance.random() < 0.5,
            "red": chance.randint(0, 5),
        }
        for _ in range(STATES)
    ]
    with visit(window, address) as seen:
        data = come_near(seen, "two_heads")
        shown = seen.page.evaluate(TWO_HEADS, states)
        assert seen.problems() == []
    for state, each in zip(states, shown, strict=True):
        values = torch.tensor(data["values"], dtype=torch.float64)
        values[0, 0] = state["red"]
        if state["stretched"]:
            values = values * torch.tensor([1.5, 4 / 3], dtype=torch.float64)
        shares = torch.tensor(state["shares"], dtype=torch.float64)
        weights = shares / shares.sum(dim=1, keepdim=True)
        close(numbers(each["weights"]), weights)
        output = torch.stack([(weights[0] @ values)[0], (weights[state["heads"] - 1] @ values)[1]])
        close(numbers(each["now"])[:2], output)


CLOCKS = """states => states.map(([m, n, together]) => {
  const body = document.querySelector("[data-live=clocks] .polyglot-live-body");
  const slide = (input, value) => { input.value = value; input.dispatchEvent(new Event("input")); };
  const [button] = body.querySelectorAll(".live-buttons button");
  const inputs = body.querySelectorAll("input");
  if ((button.ariaPressed === "true") !== together) button.click();
  slide(inputs[0], m);
  slide(inputs[1], n);
  return [[...inputs].map((each) => Number(each.value)), body.querySelector(".live-now").innerText];
})"""


def test_clocks_turn_together_or_apart_and_the_score_sees_the_distance(window: Browser, address: str) -> None:
    chance = random.Random(5)
    states = [[chance.randint(0, 12), chance.randint(0, 12), chance.random() < 0.5] for _ in range(STATES)]
    with visit(window, address) as seen:
        data = come_near(seen, "clocks")
        shown = seen.page.evaluate(CLOCKS, states)
        assert seen.problems() == []
    q, k = (torch.view_as_complex(torch.tensor(data[name]).double().view(2, 2)) for name in ("query", "key"))
    places = data["positions"]
    for (m, n, together), (positions, now) in zip(states, shown, strict=True):
        if together:
            assert positions[0] - positions[1] == places[0] - places[1]  # and the score is the one before
        else:
            assert positions == [m, n]
        places = positions
        distance = places[0] - places[1]
        turns = torch.exp(1j * math.pi / 180 * distance * torch.tensor(data["degrees"]))
        products = (q * turns * k.conj()).real
        expected = [distance, *products.tolist(), products.sum().item()]
        assert numbers(now) == pytest.approx(expected, abs=0.006)


def test_the_hull_shows_polyheads_numbers(window: Browser, address: str) -> None:
    chance = random.Random(1)
    states = [
        {
            "query": chance.randrange(4),
            "scores": [round(chance.uniform(-10, 10), 1) for _ in range(4)],
            "heat": round(chance.randint(-80, 80) * 0.05, 2),
            "power": chance.randint(0, 10),
            "divide": chance.random() < 0.6,
        }
        for _ in range(STATES)
    ]
    with visit(window, address) as seen:
        data = come_near(seen, "hull")
        shown = seen.page.evaluate(HULL, states)
        assert seen.problems() == []
    values = torch.tensor(data["values"], dtype=torch.float64)
    for state, each in zip(states, shown, strict=True):
        head_dim, temperature = 2 ** state["power"], 2 ** state["heat"]
        close(numbers(each["knobs"]), torch.tensor([temperature, head_dim]))
        # One long vector is as good as another: its first entry makes the dot products that are wanted.
        key = torch.zeros(4, head_dim, dtype=torch.float64)
        key[:, 0] = torch.tensor(state["scores"]).double() * math.sqrt(head_dim)
        query = torch.zeros(1, head_dim, dtype=torch.float64)
        query[0, 0] = 1
        scale = 1 if state["divide"] else math.sqrt(head_dim)
        output, weights = polyhead.scaled_dot_product_attention(query * scale / temperature, key, values)
        scores = polyhead.attention_scores(query, key)
        close(numbers(each["rows"]), torch.stack([scores[0], (query @ key.mT)[0], weights[0]], dim=1))
        close([bar / 100 for bar in each["bars"]], weights)
        largest = weights.max().reshape(1)
        assert data["tokens"][int(weights[0].argmax())] in each["now"]
        said = numbers(each["now"])
        assert sorted(said) == pytest.approx(sorted([*output[0].tolist(), *largest.tolist()]), abs=1e-4)
        assert [pressed == "true" for pressed in each["pressed"]] == [
            number == state["query"] for number in range(4)
        ]
        # Where the output is drawn, in the values' own units.
        places = torch.tensor(each["values"], dtype=torch.float64)
        basis = torch.cat([places, torch.ones(4, 1)], dim=1)
        to_units = torch.linalg.lstsq(basis, values).solution
        drawn = torch.tensor([[*numbers(each["output"]), 1]], dtype=torch.float64) @ to_units
        torch.testing.assert_close(drawn, output, atol=2e-3, rtol=0)


MASK = """states => states.map(({ mask, notation, row }) => {
  const body = document.querySelector("[data-live=mask] .polyglot-live-body");
  const all = (selector) => [...body.querySelectorAll(selector)];
  [...all(".live-buttons")[1].children][notation].click();
  const cells = all(".live-mask [role=row]").slice(1).map((line) => [...line.querySelectorAll("button")]);
  mask.forEach((line, query) => line.forEach((seen, key) => {
    if ((cells[query][key].ariaPressed === "true") !== Boolean(seen)) cells[query][key].click();
  }));
  document.activeElement.blur();
  cells[row][0].focus();
  return {
    entries: all(".live-mask .live-entry").map((each) => each.textContent),
    weights: all(".live-mask .live-number").map((each) => each.textContent),
    names: cells.flat().map((each) => each.textContent),
    blind: all(".live-mask [role=row]").slice(1).map((line) => line.classList.contains("live-blind")),
    libraries: all(".live-answers > div").map((line) => [...line.children].map((each) => each.innerText)),
    now: body.querySelector(".live-now").innerText,
  };
})"""


def given(scores: Tensor, row: Tensor) -> dict[str, tuple[str, Tensor | None]]:
    """How each library writes a row of a mask, and the weights that it really gives."""
    allowed, hidden = ([str(bool(each)) for each in one] for one in (row, ~row))
    attend, hide = f"[{', '.join(allowed)}]", f"[{', '.join(hidden)}]"
    ones = f"[{', '.join(str(int(each)) for each in row)}]"
    units, query, mask = torch.eye(4)[None], 2 * scores[None, None], row[None]
    module = nn.MultiheadAttention(4, num_heads=1, bias=False, batch_first=True).eval()
    with torch.no_grad():
        module.in_proj_weight.copy_(torch.eye(4).repeat(3, 1))
        module.out_proj.weight.copy_(torch.eye(4))
        weights = module(query, units, units, attn_mask=~mask)[1]
        without = module(query, units, units, attn_mask=~mask, need_weights=False)[0]
    from transformers.integrations.sdpa_attention import sdpa_attention_forward
    from transformers.models.bert.modeling_bert import eager_attention_forward

    peers.transformers()
    added = torch.zeros(1, 4).masked_fill(~mask, torch.finfo(torch.float32).min)
    _, eager = eager_attention_forward(
        module, query[None], units[None], units[None], added[None, None], scaling=0.5
    )
    default, _ = sdpa_attention_forward(module, query[None], units[None], units[None], mask[None, None])
    length = int(row.sum())
    prefix = bool(row[:length].all())
    lens = peers.d2l().masked_softmax(scores[None, None].clone(), torch.tensor([length]))
    return {
        "polyhead": (attend, polyhead.masked_softmax(scores[None], mask)),
        "F.scaled_dot_product_attention": (
            attend,
            F.scaled_dot_product_attention(query, units, units, attn_mask=mask),
        ),
        "nn.MultiheadAttention": (hide, weights),
        "nn.MultiheadAttention, need_weights=False": (hide, without),
        "Hugging Face": (ones, default[0, 0]),
        "Hugging Face, eager": (ones, eager),
        "d2l": (str(length), lens) if prefix else ("no length says this", None),
        "Annotated Transformer": (ones, scores.masked_fill(~row, -1e9).softmax(dim=-1)),
    }


def test_the_mask_shows_polyheads_numbers_and_what_each_library_gives(window: Browser, address: str) -> None:
    chance = random.Random(2)
    states = [
        {
            "mask": [
                [0] * 4 if chance.random() < 0.3 else [chance.randint(0, 1) for _ in range(4)]
                for _ in range(4)
            ],
            "notation": chance.randrange(3),
            "row": chance.randrange(4),
        }
        for _ in range(STATES)
    ]
    with visit(window, address) as seen:
        data = come_near(seen, "mask")
        shown = seen.page.evaluate(MASK, states)
        assert seen.problems() == []
    scores = torch.tensor(data["scores"]).float()
    words = [("False", "True"), ("True", "False"), ("−∞", "0")]
    blind_rows = 0
    for state, each in zip(states, shown, strict=True):
        mask = torch.tensor(state["mask"]).bool()
        weights = polyhead.masked_softmax(scores, mask)
        assert each["entries"] == [words[state["notation"]][cell] for line in state["mask"] for cell in line]
        close(numbers(each["weights"]), weights)
        close([numbers(name)[-1] for name in each["names"]], weights)
        assert each["blind"] == (~mask.any(dim=1)).tolist()
        row = mask[state["row"]]
        expected = given(scores[state["row"]], row)
        assert [name for name, *_ in each["libraries"]] == list(expected)
        for name, writes, gives in each["libraries"]:
            wanted, theirs = expected[name]
            assert writes == wanted, name
            assert gives == "—" if theirs is None else True
            if theirs is not None:
                close(numbers(gives), theirs)
        assert data["tokens"][state["row"]] in each["now"]
        if row.any():
            assert min((weights[state["row"]] - numbers(each["now"])[-1]).abs()) <= 1e-4
        else:
            blind_rows += 1
    assert blind_rows > 20


PATH = """states => states.map(({ sizes, entry }) => {
  const body = document.querySelector("[data-live=path] .polyglot-live-body");
  const all = (selector) => [...body.querySelectorAll(selector)];
  all(".live-sizes input").forEach((input, number) => {
    input.value = sizes[number];
    input.dispatchEvent(new Event("input"));
  });
  const cellsOf = (stage) => [...stage.querySelectorAll(".live-cell")];
  const lines = all(".live-matrices [role=row]").map((line) => [...line.querySelectorAll("button")]);
  lines[entry[0] * sizes[1] + entry[1]][entry[2]].click();
  return {
    sizes: all(".live-sizes .live-number").map((each) => each.textContent),
    stages: all(".live-window > :first-child > .live-stage").map((stage) => ({
      shape: stage.querySelector("p code").textContent,
      index: stage.querySelector(".live-index").textContent,
      sum: stage.querySelector(".live-index ~ code").textContent,
      cells: cellsOf(stage).map((cell) => cell.textContent),
      colours: cellsOf(stage).map((cell) => cell.style.background),
      chosen: cellsOf(stage).findIndex((cell) => cell.classList.contains("live-chosen")),
    })),
    projection: body.querySelector(".live-projection").innerText,
    heads: body.querySelector(".live-heads").textContent,
    now: body.querySelector(".live-now").innerText,
    pressed: all(".live-stage [aria-pressed=true]").length,
  };
})"""


def labelled(batch: int, num_tokens: int, num_heads: int, head_dim: int) -> Tensor:
    """The book's labels: 312 is token 3, head 1, feature 2; of several sequences, 1312 is the first."""
    sequence, token, head, feature = torch.meshgrid(
        *(torch.arange(1, size + 1) for size in (batch, num_tokens, num_heads, head_dim)), indexing="ij"
    )
    numbers = 100 * token + 10 * head + feature + (1000 * sequence if batch > 1 else 0)
    return numbers.flatten(2).float()


def test_the_path_shows_where_polyhead_puts_each_number(window: Browser, address: str) -> None:
    chance = random.Random(3)
    states = []
    for _ in range(STATES):
        sizes = [chance.randint(1, most) for most in (2, 5, 4, 3)]
        entry = [chance.randrange(size) for size in (sizes[0], sizes[1], sizes[2] * sizes[3])]
        states.append({"sizes": sizes, "entry": entry})
    with visit(window, address) as seen:
        come_near(seen, "path")
        shown = seen.page.evaluate(PATH, states)
        assert seen.problems() == []
    for state, each in zip(states, shown, strict=True):
        batch, num_tokens, num_heads, head_dim = state["sizes"]
        entry = tuple(state["entry"])
        X = labelled(*state["sizes"])
        split = X.unflatten(-1, (num_heads, head_dim))
        folded = polyhead.transpose_qkv(X, num_heads)
        back = polyhead.transpose_output(folded, num_heads)
        viewed = X.view(batch, num_heads, num_tokens, head_dim)
        assert torch.equal(back, X)
        assert numbers(each["sizes"]) == state["sizes"]
        tensors = [X, split, split.transpose(1, 2), folded, back, viewed]
        places = []
        for stage, tensor in zip(each["stages"], tensors, strict=True):
            assert numbers(stage["shape"]) == list(tensor.shape)
            assert [float(cell) for cell in stage["cells"]] == tensor.flatten().tolist()
            (place,) = (tensor == X[entry]).nonzero().tolist()
            assert numbers(stage["index"])[: len(place)] == place
            assert stage["chosen"] == (tensor.flatten() == X[entry]).nonzero().item()
            places.append(place)
        assert each["pressed"] == 1
        first, cut, moved, fold, joined, wrong = each["stages"]
        assert numbers(first["index"])[-1] == X[entry]
        for line in (first["sum"], cut["sum"].split(",")[0], moved["sum"], fold["sum"], joined["sum"]):
            said, result = re.fullmatch(r"(?:.*: )?(.*) = (\d+)", line).groups()
            assert eval(said.replace("·", "*")) == int(result), line
        assert numbers(first["sum"])[-1] == (X.flatten() == X[entry]).nonzero().item()
        assert numbers(wrong["sum"]) == [(X.flatten() == X[entry]).nonzero().item()]
        assert numbers(moved["sum"])[-1] == (folded.flatten() == X[entry]).nonzero().item()
        assert numbers(cut["sum"])[2::3] == places[1][2:]
        assert numbers(fold["sum"])[-1] == places[3][0]
        assert numbers(joined["sum"])[-1] == entry[2]
        assert numbers(each["projection"])[0] == entry[2]
        assert numbers(each["heads"]) == [places[3][0]]
        assert numbers(each["now"]) == [*entry, *places[3], *places[5]]
        for stage, tensor in zip(each["stages"], tensors, strict=True):  # one colour for each head
            heads = (tensor.flatten() % 100 // 10).tolist()
            assert len(set(zip(stage["colours"], heads, strict=True))) == num_heads


ATLAS = """async states => {
  const body = document.querySelector("[data-live=atlas] .polyglot-live-body");
  const all = (selector) => [...body.querySelectorAll(selector)];
  const heads = all(".live-atlas [role=row]").slice(1).map((line) => [...line.querySelectorAll("button")]);
  const [texts, kinds] = all(".live-ask select");
  const choose = (select, place) => {
    select.selectedIndex = place;
    select.dispatchEvent(new Event("change"));
  };
  const share = (tile) => parseFloat(tile.style.getPropertyValue("--live-share"));
  const shown = [];
  for (const { layer, head, text, kind, row, tokens } of states) {
    choose(texts, text);
    choose(kinds, kind);
    heads[head][layer].click();
    const end = performance.now() + 5000;
    do await new Promise((done) => setTimeout(done, 100));
    while (all(".live-look").length !== tokens && performance.now() < end);
    all(".live-look button")[row].click();
    await new Promise((done) => setTimeout(done));
    shown.push({
      tokens: all(".live-look button").map((each) => each.textContent),
      tiles: all(".live-look").map((line) =>
        [...line.querySelectorAll(".live-tile")].map(share)),
      percents: all(".live-look .live-number").map((each) => each.textContent),
      head: body.querySelector(".live-head-now").innerText,
      row: body.querySelector(".live-row-now").innerText,
      written: all(".live-writing > :first-child").map((each) => each.textContent),
    });
  }
  return shown;
}"""


def test_the_atlas_shows_the_weights_that_polyhead_computes(window: Browser, address: str) -> None:
    chance, model = random.Random(6), smollm2()
    with visit(window, address) as seen:
        data = come_near(seen, "atlas", "ko")
        kinds = [kind for kind in data["texts"][0]["continuations"] if kind != "none"]
        states = [
            {
                "layer": chance.randrange(30), "head": chance.randrange(9), "text": chance.randrange(6),
                "kind": chance.randrange(len(kinds)), "row": chance.randrange(13),
            }
            for _ in range(STATES // 4)
        ]  # fmt: skip
        for state in states:
            text = data["texts"][state["text"]]["text"]
            state["tokens"] = len(model.tokenizer.encode(text).ids)
        shown = seen.page.evaluate(ATLAS, states)
        assert seen.problems() == []
    weights = []
    for text in data["texts"]:
        with torch.inference_mode():
            ids = torch.tensor([model.tokenizer.encode(text["text"]).ids])
            weights.append(torch.cat(model.model.attention_weights(ids)))
    for state, each in zip(states, shown, strict=True):
        layer, head, text, row = (state[name] for name in ("layer", "head", "text", "row"))
        matrix = 100 * weights[text][layer, head]
        assert [len(line) for line in each["tiles"]] == list(range(1, len(matrix) + 1))
        for query, line in enumerate(each["tiles"]):
            assert (torch.tensor(line) - matrix[query, : query + 1]).abs().max() < 0.51
        percents = [float(number.strip("%")) for number in each["percents"] if number]
        assert percents == each["tiles"][row]
        assert each["tokens"] == data["texts"][text]["tokens"]
        assert numbers(each["head"]) == [layer, head]
        assert data["names"][data["kinds"][layer][head]]["name"] in each["head"]
        said = [int(number) for number in re.findall(r"(\d+)%", each["row"])]
        assert said == sorted(filter(None, percents), reverse=True)[:5]
        assert each["tokens"][row] in each["row"]
        continuations = data["texts"][text]["continuations"]
        written = [*continuations["none"], *continuations[kinds[state["kind"]]]]
        assert each["written"] == [f"{text}…".replace("\n", "↵") for text in written]


DECODING = """states => states.map(({ step, cache, layer, head }) => {
  const body = document.querySelector("[data-live=decoding] .polyglot-live-body");
  const all = (selector) => [...body.querySelectorAll(selector)];
  const groups = all(".live-buttons").map((each) => [...each.querySelectorAll("button")]);
  const [moves, ways, layers, heads] = groups;
  while (moves[0].ariaDisabled === "false") moves[0].click();
  for (let number = 0; number < step; number++) moves[1].click();
  ways[cache].click();
  layers[layer].click();
  heads[head].click();
  const seen = (each) => getComputedStyle(each).visibility === "visible";
  const lines = all(".live-key-line").filter(seen);
  return {
    text: all(".live-token").filter(seen).map((each) => each.textContent),
    cells: all(".live-triangle [role=row]").slice(1).map((line) =>
      [...line.querySelectorAll(".live-pair-cell")].map((cell) => cell.textContent)),
    fresh: all(".live-pair-cell.live-fresh").length,
    kept: all(".live-pair-cell.live-kept").length,
    bars: lines.map((line) => line.querySelector(".live-number").textContent),
    blue: all(".live-key-line.live-kept-line").length,
    widths: lines.map((line) => parseFloat(line.querySelector(".live-bar").style.width)),
    costs: all(".live-costs td.live-number").map((cell) => cell.textContent.replace(/[\\s,]/g, "")),
    bold: all(".live-costs tbody tr").findIndex((line) => line.classList.contains("live-chosen")),
    now: body.querySelector(".live-now").innerText,
  };
})"""


def counted(run: Callable[[], object]) -> int:
    """Multiply-adds, of which PyTorch counts each as two."""
    counter = FlopCounterMode(display=False)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH), counter:
        run()
    return counter.get_total_flops() // 2


@pytest.fixture
def chapters_writer() -> tuple[polyhead.DecoderOnly, Tensor]:
    """The model that the chapter shows, and the text that it generates."""
    writer = NameWriter()
    return writer.model, torch.tensor([writer.vocabulary.tokens_of("en", "Japan")[:5]])


def test_decoding_shows_polyheads_numbers(
    window: Browser, address: str, chapters_writer: tuple[polyhead.DecoderOnly, Tensor]
) -> None:
    model, ids = chapters_writer
    with torch.no_grad():
        weights, states = model.attention_weights(ids), model.embedding(ids)
        probs = model(ids)[0].softmax(dim=-1).amax(dim=-1)
    with visit(window, address) as seen:
        data = come_near(seen, "decoding")
        prompt, size = data["num_prompt"], ids.shape[1]
        chance = random.Random(4)
        asked = [
            {
                "step": chance.randint(0, size - prompt), "cache": chance.randrange(2),
                "layer": chance.randrange(len(weights)), "head": chance.randrange(weights[0].shape[1]),
            }
            for _ in range(STATES)
        ]  # fmt: skip
        shown = seen.page.evaluate(DECODING, asked)
        assert seen.problems() == []
    cache = model.decoder.new_cache()
    parts = [states[:, :prompt], *states[:, prompt:].split(1, dim=1)]
    few = [counted(lambda part=part: model.decoder(part, cache=cache)) for part in parts]
    many = [counted(lambda n=n: model.decoder(states[:, :n])) for n in range(prompt, size + 1)]
    for state, each in zip(asked, shown, strict=True):
        step, length = state["step"], prompt + state["step"]
        matrix = weights[state["layer"]][0, state["head"]]
        assert each["text"] == data["tokens"][: length + 1]
        for query, line in enumerate(each["cells"]):
            row = 100 * matrix[query, : query + 1] if query < length else torch.empty(0)
            written = torch.tensor([float(cell) for cell in line if cell])
            assert written.shape == row.shape
            assert not len(row) or (written - row).abs().max() < 0.51
        close(numbers(each["bars"]), matrix[length - 1, :length])
        close([width / 100 for width in each["widths"]], matrix[length - 1, :length])
        new = 1 if step and state["cache"] else length
        triangle = length * (length + 1) // 2
        assert (each["kept"], each["fresh"]) == ((length - 1, 1) if new == 1 else (0, triangle))
        assert each["blue"] == length - new
        sums = [few[step], sum(few[: step + 1]), many[step], sum(many[: step + 1])]
        assert [int(cost) for cost in each["costs"]] == sums
        assert each["bold"] == 1 - state["cache"]
        *said, probability = numbers(each["now"])
        assert said == [step + 1, new, length - new]
        assert probability == pytest.approx(probs[length - 1].item(), abs=1e-4)
        assert data["tokens"][length] in each["now"]
