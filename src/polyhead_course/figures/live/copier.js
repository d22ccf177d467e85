// Two heads that copy: where both look from a letter, and what the model writes with a head switched off.
import { announcer, filled, finder, listen, press, roving, slider, within } from "./parts.js";

export const render = ({ model, el }) => {
  const { texts, length, written, weights, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.copier"]);
  const size = texts[0].length;
  const begin = { s: 4, q: length, o: 0 }; // the start, the letter, and as binary digits the heads that are off
  let now;
  const read = () => {
    const whole = (key, highest) => Math.round(within(model.state[key]?.[0], 0, highest, begin[key]));
    now = { s: whole("s", texts.length - 1), q: whole("q", size - 1), o: whole("o", 3) };
  };
  const change = (part) => {
    now = { ...now, ...part };
    const state = Object.entries(now).filter(([key, value]) => value !== begin[key]);
    model.save(Object.fromEntries(state.map(([key, value]) => [key, [value]])));
    show();
  };

  const [letters, ...tiles] = all(".live-copier [role=row]").map((row) => [...row.querySelectorAll("button, .live-tile")]);
  const switches = all(".live-buttons button");
  const reset = switches.pop();
  const name = find(".live-start").firstElementChild;
  const set = slider(find("input"), (s) => change({ s }));
  const { say } = announcer(find(".live-now"), model);
  listen(letters, (q) => change({ q }));
  listen(switches, (layer) => change({ o: now.o ^ (1 << layer) }));
  reset.onclick = () => { model.save({}); read(); show(); };
  const focus = roving(find(".live-copier"), [letters], (_, q) => { if (q !== now.q) change({ q }); });

  const show = () => {
    const { s, q, o } = now;
    const text = texts[s];
    name.textContent = filled(labels["live.copier_start"], { letter: text[s] });
    set(s, text[s]);
    switches.forEach((button, layer) => press(button, !((o >> layer) & 1)));
    letters.forEach((button, place) => { button.textContent = text[place]; press(button, place === q); });
    const rows = weights[o & 1][s].map((layer) => layer[q]);
    tiles.forEach((line, layer) => line.forEach((tile, key) => tile.style.setProperty("--live-share", `${rows[layer][key]}%`)));
    focus(0, q);
    const [first, second] = rows.map((row) => row.indexOf(Math.max(...row)));
    const looks = filled(labels["live.copier_looks"], {
      place: q + 1, letter: text[q], first: text[first], share: rows[0][first], second: text[second], other: rows[1][second],
    });
    const writes = filled(labels["live.copier_writes"], { written: written[o][s], right: text.slice(length + 1) });
    say(`${looks} ${writes}`);
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
