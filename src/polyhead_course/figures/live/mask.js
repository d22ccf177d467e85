// The mask: cells that hide a key from a query, the weights that are left, and what each library makes of a row.
// A pointer paints: each cell that it crosses becomes what the first one becomes.
import { announcer, bugSwitch, filled, finder, fixed, groupsOf, listen, press, roving, softmax, within } from "./parts.js";

// In the order of the template's buttons
const NOTATIONS = [
  (seen) => (seen ? "True" : "False"),
  (seen) => (seen ? "False" : "True"),
  (seen) => (seen ? "0" : "−∞"),
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

// All weights, rightly and with a bug of the clinic. A right row that sees no key gets zeros.
const hidden = (score, seen) => (seen ? score : -Infinity);
const turned = (matrix) => matrix[0].map((_, column) => matrix.map((row) => row[column]));
const WEIGHTS = [
  (scores, mask) => scores.map((row, query) =>
    (mask[query].some(Boolean) ? softmax(row.map((score, key) => hidden(score, mask[query][key]))) : row.map(() => 0))),
  (scores, mask) => scores.map((row, query) => softmax(row.map((score, key) => hidden(score, !mask[query][key])))),
  (scores, mask) => turned(turned(scores.map((row, query) => row.map((score, key) => hidden(score, mask[query][key])))).map(softmax)),
  (scores, mask) => scores.map((row, query) => softmax(row).map((weight, key) => weight * mask[query][key])),
];

export const render = ({ model, el }) => {
  const { tokens, scores, mask, libraries, bugs, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.mask"]);
  const size = tokens.length;
  const begin = () => ({ mask, notation: 0, row: size - 1, bug: 0 });
  let now;
  const read = () => {
    const { m, n, r, b } = model.state;
    now = begin();
    // Each row is written as one number, whose binary digits are its cells.
    if (m?.length === size && m.every((row) => Number.isInteger(row) && row >= 0 && row < 2 ** size)) {
      now.mask = m.map((row) => tokens.map((_, key) => (row >> (size - 1 - key)) & 1));
    }
    now.notation = Math.round(within(n?.[0], 0, NOTATIONS.length - 1, 0));
    now.row = Math.round(within(r?.[0], 0, size - 1, now.row));
    now.bug = Math.round(within(b?.[0], 0, bugs.length - 1, 0));
  };

  const change = (part) => {
    now = { ...now, ...part };
    show();
    const state = { m: now.mask.map((row) => parseInt(row.join(""), 2)), r: now.row };
    if (now.notation) state.n = now.notation;
    if (now.bug) state.b = now.bug;
    model.save(state);
  };
  const set = (row, key, entry) => {
    const changed = now.mask.map((line) => [...line]);
    changed[row][key] = entry;
    change({ mask: changed, row });
    const [cell, blind] = [name(row, key), filled(labels["live.blind"], { query: tokens[row] })];
    say(changed[row].some(Boolean) ? cell : filled(labels["live.cell_blind"], { cell, blind }));
  };

  const [presets, notations] = groupsOf(el);
  const rules = [() => true, (query, key) => key <= query, (_, key) => key < size - 1];
  const masks = rules.map((rule) => scores.map((line, query) => line.map((_, key) => Number(rule(query, key)))));
  listen(presets, (number) => {
    if (number < masks.length) return change({ mask: masks[number] });
    now = begin();
    show();
    model.save({});
  });
  listen(notations, (notation) => change({ notation }));

  const lines = all(".live-mask [role=row]").slice(1);
  const cells = lines.map((line, row) => [...line.querySelectorAll("button")].map((cell, key) => {
    // Clicks of a pointer have been painted; those of keys and of a screen reader have not.
    cell.onclick = (event) => { if (!event.detail || painted !== cell) set(row, key, 1 - now.mask[row][key]); };
    // Its name is its own text, with words between the numbers that are not seen.
    const [before, entry, between, weight] = cell.children;
    [before.textContent, between.textContent] = filled(labels["live.cell"], { query: tokens[row], key: tokens[key], entry: "|", weight: "" }).split("|");
    return Object.assign(cell, { entry, weight });
  }));
  const grid = find(".live-mask");
  let [brush, painted] = [null, null];
  const paint = ({ clientX, clientY }) => {
    const cell = document.elementFromPoint(clientX, clientY)?.closest(".live-mask button");
    const row = lines.findIndex((line) => line.contains(cell));
    if (!cell || row < 0) return;
    const key = cells[row].indexOf(cell);
    brush ??= 1 - now.mask[row][key];
    painted = cell;
    if (now.mask[row][key] !== brush) set(row, key, brush);
  };
  grid.onpointerdown = (event) => { if (event.isPrimary && !event.button) { brush = null; paint(event); } };
  grid.onpointermove = (event) => { if (!event.buttons) brush = null; else if (brush !== null) paint(event); };
  grid.onpointerup = grid.onpointercancel = () => { brush = null; };
  const select = roving(grid, cells, (row) => { if (now && row !== now.row) { now.row = row; show(); } });
  const caption = find(".live-caption").firstElementChild;
  const answers = all(".live-answers .live-stack > :first-child");
  const { say } = announcer(find(".live-now"), model);

  const setBug = bugSwitch(el, model, (bug) => change({ bug }));
  let shown; // the weights
  const entryOf = (row, key) => NOTATIONS[now.notation](now.mask[row][key]);
  const name = (row, key) => filled(labels["live.cell"], {
    query: tokens[row], key: tokens[key], entry: entryOf(row, key), weight: fixed(shown[row][key]),
  });

  const show = () => {
    shown = WEIGHTS[now.bug](scores, now.mask);
    setBug(now.bug);
    cells.forEach((line, row) => {
      const weights = shown[row];
      lines[row].classList.toggle("live-blind", !now.mask[row].some(Boolean));
      lines[row].classList.toggle("live-chosen", row === now.row);
      line.forEach((cell, key) => {
        cell.entry.textContent = entryOf(row, key);
        cell.weight.textContent = fixed(weights[key]);
        cell.style.setProperty("--live-share", `${Math.round(60 * (weights[key] || 0))}%`);
        press(cell, now.mask[row][key] === 1);
      });
    });
    masks.forEach((each, number) => press(presets[number], String(each) === String(now.mask)));
    notations.forEach((each, number) => press(each, number === now.notation));
    const row = now.mask[now.row];
    const right = WEIGHTS[0](scores, now.mask)[now.row];
    caption.textContent = filled(labels["live.libraries"], { query: tokens[now.row] });
    libraries.forEach(({ writes: way, blind }, number) => {
      const [writes, gives] = answers.slice(2 * number);
      const text = WRITINGS[way](row);
      const weights = row.some(Boolean) ? right : blind[now.row].map((each) => each ?? NaN);
      writes.textContent = text ?? labels["live.no_length"];
      gives.textContent = text === null ? "—" : weights.map(fixed).join("  ");
    });
    const key = row.lastIndexOf(1);
    say(key < 0 ? filled(labels["live.blind"], { query: tokens[now.row] }) : name(now.row, key));
  };

  model.onchange(() => { read(); show(); });
  read();
  select(now.row, 0);
  show();
};
