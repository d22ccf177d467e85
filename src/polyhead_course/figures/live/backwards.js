// Words written backwards: from each letter lines to the rows of the memory, as wide as their weights.
import { announcer, filled, finder, listen, press, roving, svg, within } from "./parts.js";

export const render = ({ model, el }) => {
  const { read: texts, written, weights, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.backwards"]);
  const size = texts[0].length;
  const begin = { w: 0, m: 0, q: 0 }; // the word, the memory, the letter that is written
  const highest = { w: texts.length - 1, m: written[0].length - 1, q: size - 1 };
  let now;
  const read = () => {
    now = Object.fromEntries(Object.entries(begin).map(([key, first]) =>
      [key, Math.round(within(model.state[key]?.[0], 0, highest[key], first))]));
  };
  const change = (part) => {
    now = { ...now, ...part };
    const state = Object.entries(now).filter(([key, value]) => value !== begin[key]);
    model.save(Object.fromEntries(state.map(([key, value]) => [key, [value]])));
    show();
  };

  const [letters, tiles] = all(".live-copier [role=row]").map((row) => [...row.querySelectorAll("button, .live-tile")]);
  const words = all(".live-words button");
  const memories = all(".live-memories button");
  const reset = memories.pop();
  const lines = texts[0].split("").map((_, query) => texts[0].split("").map((_, key) =>
    svg("line", { x1: 20 * query + 10, y1: 0, x2: 20 * key + 10, y2: 60, "vector-effect": "non-scaling-stroke" })));
  find(".live-lines").append(...lines.flat());
  const { say } = announcer(find(".live-now"), model);
  listen(words, (w) => change({ w }));
  listen(memories, (m) => change({ m }));
  listen(letters, (q) => change({ q }));
  reset.onclick = () => { model.save({}); read(); show(); };
  const focus = roving(find(".live-copier"), [letters], (_, q) => { if (q !== now.q) change({ q }); });

  const show = () => {
    const { w, m, q } = now;
    const [text, answer, shares] = [texts[w], written[w][m], weights[w][m]];
    const rows = m === 1 ? [...text].reverse() : m === 2 ? [...text].map(() => "0") : [...text];
    words.forEach((button, number) => press(button, number === w));
    memories.forEach((button, number) => press(button, number === m));
    letters.forEach((button, place) => { button.textContent = answer[place]; press(button, place === q); });
    tiles.forEach((tile, key) => {
      tile.textContent = rows[key];
      tile.style.setProperty("--live-share", `${shares[q][key]}%`);
    });
    lines.forEach((line, query) => line.forEach((each, key) => {
      each.setAttribute("stroke-width", (0.11 * shares[query][key]).toFixed(1));
      each.setAttribute("class", query === q ? "live-now-line" : "");
    }));
    find(".live-lines").append(...lines[q]);
    focus(0, q);
    const best = shares[q].indexOf(Math.max(...shares[q]));
    const looks = filled(labels["live.backwards_looks"], {
      letter: answer[q], share: shares[q][best], row: best + 1, read: rows[best],
    });
    const right = `${[...text.slice(0, -1)].reverse().join("")}.`;
    say(`${looks} ${filled(labels["live.backwards_writes"], { written: answer, right })}`);
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
