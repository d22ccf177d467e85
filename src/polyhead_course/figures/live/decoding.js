// Decoding: prefill and decode step by step, with the keys that each step computes or takes from the cache.
import { announcer, bugSwitch, filled, finder, fixed, groupsOf, listen, press, within } from "./parts.js";

export const render = ({ model, el }) => {
  const { tokens, num_prompt: numPrompt, weights, probs, with_cache: few, without_cache: many, bugs, ill, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.decoding"]);
  const last = few.length - 1; // step
  const begin = () => ({ step: 0, layer: 0, head: 0, cache: 1, bug: 0 });
  let now;
  const read = () => {
    const { s, l, h, c, b } = model.state;
    const whole = (list, highest, otherwise) => Math.round(within(list?.[0], 0, highest, otherwise));
    now = { step: whole(s, last, 0), layer: whole(l, weights.length - 1, 0), head: 0, cache: whole(c, 1, 1), bug: whole(b, ill.length, 0) };
    now.head = whole(h, weights[now.layer].length - 1, 0);
  };
  const change = (part) => {
    now = { ...now, ...part };
    show();
    const { step, layer, head, cache, bug } = now;
    model.save(Object.fromEntries(
      [["s", step], ["l", layer], ["h", head], ["c", cache], ["b", bug]].filter(([key, value]) => value !== Number(key === "c"))));
  };

  // The controls
  const [moves, ways, layers, heads] = groupsOf(el);
  const [back, on] = moves;
  const move = (by) => change({ step: Math.min(last, Math.max(0, now.step + by)) });
  listen(moves, (number) => [() => move(-1), () => move(1), () => { now = begin(); show(); model.save({}); }][number]());
  listen(ways, (cache) => change({ cache }));
  listen(layers, (layer) => change({ layer }));
  listen(heads, (head) => change({ head }));
  el.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.target.matches("select") || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move(by);
  });

  // The text, the triangle of queries and keys, the newest query's weights, and the costs
  const text = all(".live-token");
  const lines = all(".live-triangle [role=row]").slice(1);
  const cells = lines.map((line) => [...line.querySelectorAll(".live-pair-cell")]);
  const caption = find(".live-controls .live-caption").firstElementChild;
  const bars = all(".live-key-line").map((line) => ({
    line, bar: line.querySelector(".live-bar"), number: line.querySelector(".live-number"),
  }));
  const costs = all(".live-costs tbody tr").map((line) => {
    const [once, total] = line.querySelectorAll("td");
    return { line, once, total };
  });
  const setBug = bugSwitch(el, model, (bug) => change({ bug }));
  const { say } = announcer(find(".live-now"), model);
  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

  const show = () => {
    const { step, layer, head, cache, bug } = now;
    const length = numPrompt + step; // tokens that have gone in
    const first = step && cache ? length - 1 : 0; // the first query and key that this step computes
    // A bug of the cache acts on the rows of the decode steps: those of the prompt are right.
    const steps = bug && cache ? ill[bug - 1] : null;
    const rows = weights[layer][head].map((row, query) => (steps && query >= numPrompt ? steps[query - numPrompt + 1].rows[layer][head] : row));
    text.forEach((each, place) => {
      each.classList.toggle("live-coming", place > length);
      each.classList.toggle("live-in", place >= first && place < length);
      each.classList.toggle("live-out", place === length);
    });
    cells.forEach((line, query) => line.forEach((cell, key) => {
      const seenYet = query < length;
      const active = query >= first && seenYet;
      cell.textContent = seenYet ? String(Math.round(100 * rows[query][key])) : "";
      cell.classList.toggle("live-fresh", active && key >= first);
      cell.classList.toggle("live-kept", active && key < first);
    }));
    lines.forEach((line, query) => line.classList.toggle("live-newest", query === length - 1));
    bars.forEach(({ bar, number, line }, key) => {
      const there = key < length;
      line.classList.toggle("live-coming", !there);
      line.classList.toggle("live-kept-line", key < first);
      bar.style.width = there ? `${100 * rows[length - 1][key]}%` : "0";
      number.textContent = there ? fixed(rows[length - 1][key]) : "";
    });
    [few, many].forEach((list, way) => {
      costs[way].once.textContent = grouped(list[step]);
      costs[way].total.textContent = grouped(list.slice(0, step + 1).reduce((sum, each) => sum + each, 0));
      costs[way].line.classList.toggle("live-chosen", way === 1 - cache);
    });
    caption.textContent = filled(labels["live.query_weights"], { query: tokens[length - 1] });
    ways.forEach((each, way) => press(each, way === cache));
    layers.forEach((each, number) => press(each, number === layer));
    heads.forEach((each, number) => press(each, number === head));
    setBug(bug);
    back.setAttribute("aria-disabled", String(step === 0));
    on.setAttribute("aria-disabled", String(step === last));
    const right = fixed(probs[length - 1]);
    say(filled(labels[steps && step ? "live.decoding_ill" : "live.decoding_now"], {
      number: step + 1, step: labels[step ? "step.decode" : "step.prefill"], computed: length - first, cached: first,
      token: tokens[length], probability: steps ? fixed(steps[step].prob) : right, right,
    }));
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
