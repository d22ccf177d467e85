// The mask: cells that hide a key from a query, the weights that are left, and what each library makes of a row.
import { announcer, filled, finder, fixed, groupsOf, listen, press, roving, softmax, within } from "./parts.js";

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

export const render = ({ model, el }) => {
  const { tokens, scores, mask, libraries, labels } = model.data;
  const { find, all } = finder(el);
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
    cell.onclick = () => toggle(row, key);
    return Object.assign(cell, { entry: cell.querySelector(".live-entry"), weight: cell.querySelector(".live-number") });
  }));
  const select = roving(find(".live-mask"), cells, (row) => { if (now && row !== now.row) { now.row = row; show(); } });
  const caption = find(".live-caption").firstElementChild;
  const answers = all(".live-answers .live-stack > :first-child");
  const { say } = announcer(find(".live-now"));

  const weightsOf = (row) => {
    if (!now.mask[row].some(Boolean)) return tokens.map(() => 0);
    return softmax(scores[row].map((score, key) => (now.mask[row][key] ? score : -Infinity)));
  };
  const entryOf = (row, key) => NOTATIONS[now.notation](now.mask[row][key]);
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
    masks.forEach((each, number) => press(presets[number], String(each) === String(now.mask)));
    notations.forEach((each, number) => press(each, number === now.notation));
    const row = now.mask[now.row];
    caption.textContent = filled(labels["live.libraries"], { query: tokens[now.row] });
    libraries.forEach(({ writes: way, blind }, number) => {
      const [writes, gives] = answers.slice(2 * number);
      const text = WRITINGS[way](row);
      const weights = row.some(Boolean) ? weightsOf(now.row) : blind[now.row].map((each) => each ?? NaN);
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
