// The mask: cells that hide a key from a query, the weights that are left, and what each library makes of a row.
import { announcer, button, filled, fixed, html, press, roving, softmax, within } from "./parts.js";

const NOTATIONS = [
  ["live.true_attend", (seen) => (seen ? "True" : "False")],
  ["live.true_hide", (seen) => (seen ? "False" : "True")],
  ["live.added", (seen) => (seen ? "0" : "−∞")],
];

// How a library writes one row; where it has no way to write it, null.
const WRITINGS = {
  attend: (row) => `[${row.map((seen) => (seen ? "True" : "False")).join(", ")}]`,
  hide: (row) => `[${row.map((seen) => (seen ? "False" : "True")).join(", ")}]`,
  ones: (row) => `[${row.join(", ")}]`,
  length: (row) => {
    const length = row.filter(Boolean).length;
    return row.slice(length).some(Boolean) ? null : String(length);
  },
};

export const render = ({ model, el }) => {
  const { tokens, scores, mask, libraries, labels } = model.data;
  el.setAttribute("aria-label", labels["live.mask"]);
  const size = tokens.length;
  const begin = () => ({ mask, notation: 0, row: size - 1 });
  let now;
  const read = () => {
    const { m, n, r } = model.state;
    now = begin();
    // Each row is written as one number, whose binary digits are its cells.
    if (m?.length === size && m.every((row) => Number.isInteger(row) && row >= 0 && row < 2 ** size)) {
      now.mask = m.map((row) => tokens.map((_, key) => (row >> (size - 1 - key)) & 1));
    }
    now.notation = Math.round(within(n?.[0], 0, NOTATIONS.length - 1, 0));
    now.row = Math.round(within(r?.[0], 0, size - 1, now.row));
  };

  const change = (part) => {
    now = { ...now, ...part };
    show();
    const state = { m: now.mask.map((row) => parseInt(row.join(""), 2)), r: now.row };
    if (now.notation) state.n = now.notation;
    model.save(state);
  };
  const toggle = (row, key) => {
    const changed = now.mask.map((line) => [...line]);
    changed[row][key] = 1 - changed[row][key];
    change({ mask: changed, row });
    const [cell, blind] = [name(row, key), filled(labels["live.blind"], { query: tokens[row] })];
    say(changed[row].some(Boolean) ? cell : filled(labels["live.cell_blind"], { cell, blind }));
  };

  const fill = (rule) => change({ mask: scores.map((line, query) => line.map((_, key) => Number(rule(query, key)))) });
  const presets = [
    button(labels["live.hide_nothing"], () => fill(() => true)),
    button(labels["mask.causal"], () => fill((query, key) => key <= query)),
    button(labels["live.hide_last"], () => fill((_, key) => key < size - 1)),
    button(labels["live.reset"], () => { now = begin(); show(); model.save({}); }),
  ];
  const notations = NOTATIONS.map(([key], number) => button(labels[key], () => change({ notation: number })));

  // What is seen in a cell is part of its name; the rest is heard only.
  const cells = scores.map((line, row) => line.map((_, key) => {
    const words = { query: tokens[row], key: tokens[key], entry: "\0", weight: "\0" };
    const [before, between] = filled(labels["live.cell"], words).split("\0").map(
      (unseen) => html("span", { class: "visually-hidden" }, unseen));
    const [entry, weight] = [html("span", { class: "live-entry" }), html("span", { class: "live-number" })];
    const cell = html("button", { type: "button", click: () => toggle(row, key) }, before, entry, between, weight);
    return Object.assign(cell, { entry, weight });
  }));
  const lines = cells.map((line, row) => html("div", { role: "row" },
    html("span", { role: "rowheader" }, tokens[row]),
    ...line.map((cell) => html("span", { role: "gridcell" }, cell))));
  const heads = html("div", { role: "row" }, html("span", { role: "gridcell" }),
    ...tokens.map((token) => html("span", { role: "columnheader" }, token)));
  const grid = html("div", { role: "grid", class: "live-mask", "aria-label": labels.mask }, heads, ...lines);
  grid.style.setProperty("--live-size", size);
  const select = roving(grid, cells, (row) => { if (now && row !== now.row) { now.row = row; show(); } });

  const caption = html("p", { class: "live-caption" });
  const answers = libraries.map(({ name: library }) => {
    const [writes, gives] = [html("code"), html("span", { class: "live-number" })];
    return { writes, gives, line: html("div", { role: "listitem" }, html("span", {}, library), writes, gives) };
  });
  const { seen, heard, say } = announcer();

  const weightsOf = (row) => {
    if (!now.mask[row].some(Boolean)) return tokens.map(() => 0);
    return softmax(scores[row].map((score, key) => (now.mask[row][key] ? score : -Infinity)));
  };
  const entryOf = (row, key) => NOTATIONS[now.notation][1](now.mask[row][key]);
  const name = (row, key) => filled(labels["live.cell"], {
    query: tokens[row], key: tokens[key], entry: entryOf(row, key), weight: fixed(weightsOf(row)[key]),
  });

  const show = () => {
    cells.forEach((line, row) => {
      const weights = weightsOf(row);
      lines[row].classList.toggle("live-blind", !now.mask[row].some(Boolean));
      lines[row].classList.toggle("live-chosen", row === now.row);
      line.forEach((cell, key) => {
        cell.entry.textContent = entryOf(row, key);
        cell.weight.textContent = fixed(weights[key]);
        cell.style.setProperty("--live-share", `${Math.round(60 * weights[key])}%`);
        press(cell, now.mask[row][key] === 1);
      });
    });
    notations.forEach((each, number) => press(each, number === now.notation));
    const row = now.mask[now.row];
    caption.textContent = filled(labels["live.libraries"], { query: tokens[now.row] });
    answers.forEach(({ writes, gives }, number) => {
      const { writes: way, blind } = libraries[number];
      const text = WRITINGS[way](row);
      const weights = row.some(Boolean) ? weightsOf(now.row) : blind[now.row].map((each) => each ?? NaN);
      writes.textContent = text ?? labels["live.no_length"];
      gives.textContent = text === null ? "—" : weights.map(fixed).join("  ");
    });
    const key = row.lastIndexOf(1);
    say(key < 0 ? filled(labels["live.blind"], { query: tokens[now.row] }) : name(now.row, key));
  };

  el.append(
    html("div", { class: "live-buttons" }, ...presets),
    html("div", { class: "live-buttons", role: "group", "aria-label": labels.mask }, ...notations),
    html("div", { class: "live-scroll" }, grid), seen, heard, caption,
    html("div", { class: "live-answers", role: "list" }, ...answers.map(({ line }) => line)));
  model.onchange(() => { read(); show(); });
  read();
  select(now.row, 0);
  show();
};
