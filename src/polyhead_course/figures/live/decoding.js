// Decoding: prefill and decode step by step, with the keys that each step computes or takes from the cache.
import { announcer, button, filled, fixed, html, press, within } from "./parts.js";

export const render = ({ model, el }) => {
  const { tokens, num_prompt: numPrompt, weights, probs, with_cache: few, without_cache: many, labels } = model.data;
  el.setAttribute("aria-label", labels["live.decoding"]);
  const [size, last] = [tokens.length - 1, few.length - 1]; // a query for each token but the one that comes last
  const begin = () => ({ step: 0, layer: 0, head: 0, cache: 1 });
  let now;
  const read = () => {
    const { s, l, h, c } = model.state;
    const whole = (list, highest, otherwise) => Math.round(within(list?.[0], 0, highest, otherwise));
    now = { step: whole(s, last, 0), layer: whole(l, weights.length - 1, 0), head: 0, cache: whole(c, 1, 1) };
    now.head = whole(h, weights[now.layer].length - 1, 0);
  };
  const change = (part) => {
    now = { ...now, ...part };
    show();
    const { step, layer, head, cache } = now;
    model.save(Object.fromEntries(
      [["s", step], ["l", layer], ["h", head], ["c", cache]].filter(([key, value]) => value !== Number(key === "c"))));
  };

  // The controls
  const move = (by) => () => change({ step: Math.min(last, Math.max(0, now.step + by)) });
  const [back, on] = [button(labels["live.step_back"], move(-1)), button(labels["live.step_on"], move(1))];
  const reset = button(labels["live.reset"], () => { now = begin(); show(); model.save({}); });
  const ways = ["curve.without_cache", "curve.with_cache"].map((key, cache) =>
    button(labels[key], () => change({ cache })));
  const layers = weights.map((_, layer) =>
    button(filled(labels["live.layer"], { number: layer + 1 }), () => change({ layer })));
  const heads = weights[0].map((_, head) =>
    button(filled(labels["title.head"], { number: head + 1 }), () => change({ head })));
  const group = (...buttons) => html("div", { class: "live-buttons", role: "group" }, ...buttons);
  el.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move(by)();
  });

  // The text, the triangle of queries and keys, the newest query's weights, and the costs
  const text = tokens.map((token) => html("span", { class: "live-token" }, token));
  const cells = Array.from({ length: size }, (_, query) => Array.from({ length: query + 1 }, () =>
    html("span", { role: "cell", class: "live-pair-cell" })));
  const lines = cells.map((line, query) => html("div", { role: "row" },
    html("span", { role: "rowheader" }, tokens[query]), ...line,
    ...tokens.slice(query + 1, size).map(() => html("span", { role: "cell" }))));
  const triangle = html("div", { role: "table", class: "live-triangle", "aria-label": labels["live.keys_and_queries"] },
    html("div", { role: "row" }, html("span", { role: "cell" }),
      ...tokens.slice(0, size).map((token) => html("span", { role: "columnheader" }, html("span", {}, token)))),
    ...lines);
  triangle.style.setProperty("--live-size", size);
  const caption = html("p", { class: "live-caption" });
  const bars = tokens.slice(0, size).map((token) => {
    const [bar, number] = [html("span", { class: "live-bar" }), html("span", { class: "live-number" })];
    const line = html("div", { class: "live-key-line" },
      html("span", {}, token), html("span", { class: "live-track" }, bar), number);
    return { bar, number, line };
  });
  const costs = ["curve.with_cache", "curve.without_cache"].map((key) => {
    const [once, total] = [html("td", { class: "live-number" }), html("td", { class: "live-number" })];
    return { once, total, line: html("tr", {}, html("th", { scope: "row" }, labels[key]), once, total) };
  });
  const table = html("table", { class: "live-costs" },
    html("caption", { class: "live-caption" }, labels["live.multiply_adds"]),
    html("thead", {}, html("tr", {}, html("td"), ...["live.this_step", "live.so_far"].map((key) =>
      html("th", { scope: "col" }, labels[key])))),
    html("tbody", {}, ...costs.map(({ line }) => line)));
  const { seen, heard, say } = announcer();
  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+$)/g, ",");

  const show = () => {
    const { step, layer, head, cache } = now;
    const length = numPrompt + step; // tokens that have gone in
    const first = step && cache ? length - 1 : 0; // the first query and key that this step computes
    const rows = weights[layer][head];
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
    [...ways.entries()].forEach(([way, each]) => press(each, way === cache));
    layers.forEach((each, number) => press(each, number === layer));
    heads.forEach((each, number) => press(each, number === head));
    back.setAttribute("aria-disabled", String(step === 0));
    on.setAttribute("aria-disabled", String(step === last));
    say(filled(labels["live.decoding_now"], {
      number: step + 1, step: labels[step ? "step.decode" : "step.prefill"], computed: length - first, cached: first,
      token: tokens[length], probability: fixed(probs[length - 1]),
    }));
  };

  const legend = html("p", { class: "live-legend" },
    html("span", { class: "live-key live-key-fresh" }, labels["key.computed"]), " ",
    html("span", { class: "live-key live-key-kept" }, labels["key.cached"]));
  el.append(
    group(back, on, reset), group(...ways), html("p", { class: "live-text" }, ...text), seen, heard,
    html("div", { class: "live-columns" },
      html("div", { class: "live-picture" },
        html("p", { class: "live-caption" }, labels["live.keys_and_queries"]),
        html("div", { class: "live-scroll" }, triangle), legend),
      html("div", { class: "live-controls" },
        group(...layers), group(...heads), caption, ...bars.map(({ line }) => line))),
    table);
  model.onchange(() => { read(); show(); });
  read();
  show();
};
