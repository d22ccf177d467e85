// Whom a token reaches: which outputs depend on it after each layer, with the mask that the reader chooses.
import { announcer, filled, finder, groupsOf, listen, press, roving, within } from "./parts.js";

// Does a query see a key? In the order of the template's buttons; a window of two has the query and the key before it.
const MASKS = [
  (query, key) => key <= query,
  (query, key) => key <= query && key >= query - 1,
  (query, key) => key <= query + 1,
  () => true,
];

export const render = ({ model, el }) => {
  const { tokens, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.reach"]);
  const begin = { m: 0, t: Math.floor(tokens.length / 2) }; // the mask and the token
  let now;
  const read = () => {
    const whole = (key, highest) => Math.round(within(model.state[key]?.[0], 0, highest, begin[key]));
    now = { m: whole("m", MASKS.length - 1), t: whole("t", tokens.length - 1) };
  };
  const change = (part) => {
    now = { ...now, ...part };
    const state = Object.entries(now).filter(([key, value]) => value !== begin[key]);
    model.save(Object.fromEntries(state.map(([key, value]) => [key, [value]])));
    show();
  };

  const [masks, [reset]] = groupsOf(el);
  const rows = all(".live-spread [role=row]").map((row) => [...row.querySelectorAll("button, .live-tile")]);
  const letters = rows.pop();
  const { say } = announcer(find(".live-now"), model);
  listen(masks, (m) => change({ m }));
  listen(letters, (t) => change({ t }));
  reset.onclick = () => { model.save({}); read(); show(); };
  const focus = roving(find(".live-spread"), [letters], (_, t) => { if (t !== now.t) change({ t }); });

  const show = () => {
    let reached = tokens.map((_, place) => place === now.t);
    [...rows].reverse().forEach((row) => {
      const before = reached;
      reached = tokens.map((_, query) => before.some((each, key) => each && MASKS[now.m](query, key)));
      row.forEach((tile, place) => {
        tile.classList.toggle("live-reached", reached[place]);
        tile.classList.toggle("live-leaked", reached[place] && place < now.t);
      });
    });
    masks.forEach((button, number) => press(button, number === now.m));
    letters.forEach((button, place) => press(button, place === now.t));
    focus(0, now.t);
    const leaks = reached.filter((each, place) => each && place < now.t).length;
    const spread = filled(labels["live.reach_now"], {
      place: now.t, token: tokens[now.t], number: reached.filter(Boolean).length, size: tokens.length,
    });
    say(`${spread} ${leaks ? filled(labels["live.reach_leak"], { number: leaks }) : labels["live.reach_safe"]}`);
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
