// One token of speculative decoding: sliders move the draft's and the model's probabilities, and tokens are drawn.
import { announcer, filled, finder, fixed, slider, within } from "./parts.js";

const MOST = 20; // thousands of tokens

export const render = ({ model, el }) => {
  const { tokens, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.speculative"]);
  const tenths = (probs) => probs.map((each) => Math.round(10 * each));
  const begin = () => ({ q: tenths(model.data.q), p: tenths(model.data.p), k: 4, n: 0 });
  let now;
  const read = () => {
    const { q, p, k, n } = model.state;
    const first = begin();
    const bounded = (list, key) => first[key].map((each, token) => Math.round(within(list?.[token], 0, 10, each)));
    now = {
      q: bounded(q, "q"), p: bounded(p, "p"),
      k: Math.round(within(k?.[0], 1, 8, first.k)), n: Math.round(within(n?.[0], 0, MOST, 0)),
    };
  };
  const change = (part) => {
    now = { ...now, n: 0, ...part };
    show();
    const state = { q: now.q, p: now.p };
    if (now.k !== 4) state.k = now.k;
    if (now.n) state.n = now.n;
    model.save(state);
  };

  const rows = all(".live-draft").map((row) => [...row.querySelectorAll("input")]);
  const setters = ["q", "p"].map((key, place) => rows.map((inputs, token) =>
    slider(inputs[place], (number) => change({ [key]: now[key].map((each, other) => (other === token ? number : each)) }))));
  const setNumber = slider(find(".live-pair input"), (number) => change({ k: number, n: now.n }));
  const [draw, reset] = all(".live-buttons button");
  draw.onclick = () => change({ n: Math.min(MOST, now.n + 1) });
  reset.onclick = () => { now = begin(); show(); model.save({}); };
  const parts = all(".live-parts").map((each) => [...each.children]);
  const drawn = all(".live-drawn");
  const { say } = announcer(find(".live-now"), model);

  // Proportions as probabilities; without any, all are equal.
  const shares = (list) => {
    const sum = list.reduce((total, each) => total + each, 0);
    return list.map((each) => (sum ? each / sum : 1 / list.length));
  };
  // The same numbers for every reader (xorshift).
  const counts = (q, p, number) => {
    let seed = 2463534242;
    const chance = () => {
      seed ^= seed << 13; seed ^= seed >>> 17; seed ^= seed << 5;
      return (seed >>> 0) / 2 ** 32;
    };
    const choose = (list) => {
      let rest = chance() * list.reduce((total, each) => total + each, 0);
      const found = list.findIndex((each) => (rest -= each) < 0);
      return found < 0 ? list.findLastIndex((each) => each > 0) : found;
    };
    const missing = p.map((each, token) => Math.max(each - q[token], 0));
    const result = tokens.map(() => 0);
    for (let trial = 0; trial < number; trial++) {
      const token = choose(q);
      result[chance() * q[token] < p[token] || !missing.some(Boolean) ? token : choose(missing)]++;
    }
    return result;
  };

  const show = () => {
    const [q, p] = [shares(now.q), shares(now.p)];
    const number = 1000 * now.n;
    const found = counts(q, p, number);
    let accepted = 0;
    tokens.forEach((_, token) => {
      const both = Math.min(q[token], p[token]);
      accepted += both;
      [both, p[token] - both, q[token] - both].forEach((each, part) => { parts[token][part].style.width = `${100 * each}%`; });
      setters[0][token](now.q[token], fixed(q[token]));
      setters[1][token](now.p[token], fixed(p[token]));
      drawn[token].textContent = number ? filled(labels["draft.drawn"], { share: fixed(found[token] / number) }) : "";
    });
    setNumber(now.k, String(now.k));
    draw.setAttribute("aria-disabled", String(now.n === MOST));
    const expected = Array.from({ length: now.k + 1 }, (_, power) => accepted ** power).reduce((sum, each) => sum + each, 0);
    say(filled(labels["draft.now"], {
      accepted: fixed(accepted), number: now.k, tokens: fixed(expected), drawn: number.toLocaleString("en"),
    }));
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
