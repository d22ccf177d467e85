// The atlas: a head of SmolLM2 and its weights in one of six texts, and what the model writes without a kind of head.
// A text's weights, of all heads, are loaded when the reader asks for them.
import { announcer, bugSwitch, filled, finder, html, listen, press, roving, within } from "./parts.js";

const FILES = new URL("../../models/smollm2/readings/", import.meta.url);
const FEW = 5; // keys that are named

// The lower triangles of all heads, in per cent, row by row.
const load = async (name) => {
  const response = await fetch(new URL(`${name}.bin`, FILES));
  if (!response.ok) throw new Error(`${response.status} ${response.url}`);
  const stream = response.body.pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
};

export const render = ({ model, el }) => {
  const { kinds, names, texts, labels, off, bugs, files: endings, weights: still, head: [firstLayer, firstHead] } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.atlas"]);
  const heads = kinds[0].length;
  const offs = Object.keys(texts[0].continuations).filter((kind) => kind !== "none");
  const begin = { h: [firstLayer, firstHead], t: [0], q: [texts[0].tokens.length - 1], x: [offs.indexOf(off)], b: [0] };
  let now;
  const read = () => {
    const whole = (key, place, highest) => {
      const otherwise = Math.min(begin[key][place], highest);
      return Math.round(within(model.state[key]?.[place], 0, highest, otherwise));
    };
    const bug = whole("b", 0, bugs.length - 1);
    const text = bug ? 0 : whole("t", 0, texts.length - 1); // the others were not read with a bug
    now = {
      layer: whole("h", 0, kinds.length - 1), head: whole("h", 1, heads - 1), text,
      row: whole("q", 0, texts[text].tokens.length - 1), off: whole("x", 0, offs.length - 1), bug,
    };
  };
  const change = (part) => {
    now = { ...now, ...part };
    const state = { h: [now.layer, now.head], t: [now.text], q: [now.row], x: [now.off], b: [now.bug] };
    model.save(Object.fromEntries(Object.entries(state).filter(([key, list]) => String(list) !== String(begin[key]))));
    return show();
  };

  // The heads
  const grid = find(".live-atlas");
  const lines = all(".live-atlas [role=row]").slice(1);
  const cells = lines.map((line, head) => [...line.querySelectorAll("button")].map((cell, layer) => {
    const { name, mark, face } = names[kinds[layer][head]];
    const kind = mark ? `${name}, ${mark}` : name; // who says what a cell shows must find it
    cell.ariaLabel = filled(labels["live.atlas_head"], { layer, head, kind });
    if (mark) cell.style.background = face;
    return cell;
  }));
  listen(cells.flat(), (number) => change({ layer: number % kinds.length, head: Math.floor(number / kinds.length) }));
  const focus = roving(grid, cells);

  // The text, its matrix, and what the model writes
  const [choice, without] = all(".live-ask select");
  choice.onchange = () => {
    const text = choice.selectedIndex;
    change({ text, row: texts[text].tokens.length - 1, bug: text ? 0 : now.bug });
  };
  const setBug = bugSwitch(el, model, (bug) => change(bug && now.text ? { bug, text: 0, row: texts[0].tokens.length - 1 } : { bug }));
  without.onchange = () => change({ off: without.selectedIndex });
  find(".live-ask button").onclick = () => { model.save({}); read(); return show(); };
  const { say: sayHead } = announcer(find(".live-head-now"), model);
  const { say: sayRow } = announcer(find(".live-row-now"), model);
  const status = find("[role=status]");
  const matrix = find(".live-looks");
  const writings = all(".live-writing > :first-child");
  let rows = []; // of the matrix: the number, the button and the cells of each
  let focusRow;
  matrix.onpointerover = ({ target, pointerType }) => {
    const row = rows.findIndex((line) => line.contains(target));
    if (pointerType === "mouse" && row >= 0 && row !== now.row) change({ row });
  };
  matrix.onclick = ({ target }) => {
    const row = rows.findIndex((line) => line.contains(target));
    if (row >= 0) change({ row });
  };

  const files = {};
  const weightsOf = async ({ text, layer, head, bug }) => {
    if (!text && !bug && layer === firstLayer && head === firstHead) return still;
    const { tokens } = texts[text];
    const name = texts[text].name + endings[bug];
    files[name] ??= load(name);
    const numbers = await files[name].catch((error) => { delete files[name]; throw error; });
    const size = tokens.length * (tokens.length + 1) / 2;
    const start = (layer * heads + head) * size;
    return tokens.map((_, row) => [...numbers.subarray(start + row * (row + 1) / 2, start + (row + 1) * (row + 2) / 2)]);
  };

  const build = ({ tokens, language }) => {
    matrix.style.setProperty("--live-size", tokens.length);
    rows = tokens.map((token, row) => html("div", { class: "live-look" },
      html("span", { class: "live-number", "aria-hidden": "true" }),
      html("button", { type: "button", lang: language || "en" }, token),
      ...tokens.slice(0, row + 1).map(() => html("span", { class: "live-tile" }))));
    matrix.replaceChildren(...rows);
    focusRow = roving(matrix, rows.map((line) => [line.querySelector("button")]), (row) => {
      if (row !== now.row) change({ row });
    });
  };

  let [turn, seen] = [0, null];
  const show = async () => {
    turn += 1;
    const mine = turn;
    const { layer, head, text, row, off: number, bug } = now;
    const { tokens, continuations, language } = texts[text];
    cells.forEach((line, each) => line.forEach((cell, place) => press(cell, each === head && place === layer)));
    focus(head, layer);
    setBug(bug);
    [choice.selectedIndex, without.selectedIndex] = [text, number];
    sayHead(filled(labels["live.atlas_head"], { layer, head, kind: names[kinds[layer][head]].name }));
    [continuations.none[0], ...continuations[offs[number]]].forEach((each, place) => {
      writings[place].lang = language || "en";
      writings[place].textContent = `${each.replaceAll("\n", "↵")}…`;
    });
    let weights;
    try {
      status.textContent = "";
      weights = await weightsOf(now);
    } catch {
      if (mine === turn) status.textContent = labels["live.atlas_failed"];
    }
    matrix.classList.toggle("live-stale", !weights);
    if (mine !== turn || !weights) return;
    if (seen !== text) build(texts[text]);
    seen = text;
    rows.forEach((line, query) => {
      const [share, button, ...tiles] = line.children;
      const weight = weights[row][query];
      line.classList.toggle("live-chosen", query === row);
      press(button, query === row);
      share.textContent = query > row ? "" : `${weight}%`;
      tiles.forEach((tile, key) => tile.style.setProperty("--live-share", `${weights[query][key]}%`));
    });
    focusRow(row, 0);
    const order = weights[row].map((weight, key) => ({ weight, token: tokens[key] }))
      .filter(({ weight }) => weight).sort((a, b) => b.weight - a.weight).slice(0, FEW);
    const keys = order.map((each) => filled(labels["live.atlas_key"], each)).join(" · ");
    sayRow(filled(labels["live.atlas_row"], { query: tokens[row], keys }));
  };

  model.onchange(() => { read(); return show(); });
  read();
  return show();
};
