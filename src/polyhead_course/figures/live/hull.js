// The hull: one query among the values. Its scores, the temperature, d_k and the division move the output.
import { announcer, filled, finder, fixed, listen, press, short, slider, softmax, svg, within } from "./parts.js";

export const render = ({ model, el }) => {
  const { tokens, scores, values, corners, wished, head_dim: headDim, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.hull"]);
  const queries = all(".live-queries button");
  const rows = { score: all(".live-scores input"), dot: all(".live-dot"), bar: all(".live-bar"), weight: all(".live-weight-of") };
  const [heatInput, powerInput] = all(".live-pair input");
  const [divide, reset] = all(".live-buttons:last-child button");
  const last = tokens.length - 1;
  const begin = (query = last) => ({ query, scores: scores[query], heat: 0, power: Math.log2(headDim), divide: 1 });
  let now;
  const read = () => {
    const { q, s, t, d, raw } = model.state;
    now = begin(Math.round(within(q?.[0], 0, last, last)));
    const bounded = ({ min, max }, number, otherwise) => within(number, Number(min), Number(max), otherwise);
    now.scores = now.scores.map((score, key) => bounded(rows.score[key], s?.[key], score));
    now.heat = bounded(heatInput, Math.log2(t?.[0]), 0);
    now.power = Math.round(bounded(powerInput, Math.log2(d?.[0]), now.power));
    now.divide = raw?.[0] === 1 ? 0 : 1;
  };

  // The plane, in the units of the values; y grows upwards.
  const plane = find(".live-plane");
  const [left, right, low, high] = plane.dataset.bounds.split(" ").map(Number);
  const { width, height } = plane.viewBox.baseVal;
  const unit = width / (right - left);
  const x = (place) => ((place - left) * unit).toFixed(2);
  const y = (place) => ((high - place) * unit).toFixed(2);
  for (let tick = Math.ceil(left); tick <= right; tick++) {
    plane.append(svg("path", { class: "live-line", d: `M${x(tick)},${height}v-5` }));
    plane.append(svg("text", { class: "live-tick", x: x(tick), y: height - 8, "text-anchor": "middle" }, String(tick)));
  }
  for (let tick = Math.ceil(low); tick <= high; tick++) {
    plane.append(svg("path", { class: "live-line", d: `M0,${y(tick)}h5` }));
    plane.append(svg("text", { class: "live-tick", x: 8, y: Number(y(tick)) + 4 }, String(tick)));
  }
  const points = corners.map(([across, up]) => `${x(across)},${y(up)}`).join(" ");
  plane.append(svg("polygon", { class: "live-hull", points }));
  const pulls = values.map(() => svg("line", { class: "live-pull" }));
  const shares = values.map(([across, up]) => svg("circle", { class: "live-share", cx: x(across), cy: y(up) }));
  plane.append(...pulls, ...shares);
  const middle = values.reduce((sum, [, up]) => sum + up, 0) / values.length;
  values.forEach(([across, up], key) => {
    plane.append(svg("circle", { class: "live-value", cx: x(across), cy: y(up), r: 5 }));
    const aside = up < middle ? 26 : -17; // its name, where its arrow does not go
    plane.append(svg("text", { x: x(across), y: Number(y(up)) + aside, "text-anchor": "middle" }, tokens[key]));
  });
  if (wished) {
    plane.append(svg("path", { class: "live-wish", d: `M${x(wished[0])},${y(wished[1])}m-6,-6l12,12m0,-12l-12,12` }));
  }
  const output = svg("path", { class: "live-output", d: "M0,-8L8,0L0,8L-8,0Z" });
  plane.append(output);

  // The controls
  const { say } = announcer(find(".live-now"), model);
  listen(queries, (query) => change(begin(query)));
  const setScores = rows.score.map((input, key) => slider(input, (number) =>
    change({ scores: now.scores.map((each, other) => (other === key ? number : each)) })));
  const setHeat = slider(heatInput, (number) => change({ heat: number }));
  const setPower = slider(powerInput, (number) => change({ power: number }));
  divide.onclick = () => change({ divide: 1 - now.divide });
  reset.onclick = () => { now = begin(); show(); model.save({}); };
  const change = (part) => {
    now = { ...now, ...part };
    show();
    const state = { q: now.query, s: now.scores };
    if (now.heat) state.t = 2 ** now.heat;
    if (2 ** now.power !== headDim) state.d = 2 ** now.power;
    if (!now.divide) state.raw = 1;
    model.save(state);
  };

  const show = () => {
    const [temperature, dim] = [2 ** now.heat, 2 ** now.power];
    const dots = now.scores.map((score) => score * Math.sqrt(dim));
    const weights = softmax((now.divide ? now.scores : dots).map((each) => each / temperature));
    const place = [0, 1].map((axis) => weights.reduce((sum, weight, key) => sum + weight * values[key][axis], 0));
    queries.forEach((each, query) => press(each, query === now.query));
    weights.forEach((weight, key) => {
      setScores[key](now.scores[key], short(now.scores[key]));
      rows.dot[key].textContent = short(dots[key]);
      rows.bar[key].style.width = `${100 * weight}%`;
      rows.weight[key].textContent = fixed(weight);
      shares[key].setAttribute("r", (5 + 12 * weight).toFixed(2));
      pulls[key].setAttribute("stroke-width", (6 * weight).toFixed(2));
      const [start, end] = [values[key], place];
      const ends = { x1: x(start[0]), y1: y(start[1]), x2: x(end[0]), y2: y(end[1]) };
      for (const [name, number] of Object.entries(ends)) pulls[key].setAttribute(name, number);
    });
    setHeat(now.heat, short(temperature));
    setPower(now.power, String(dim));
    press(divide, now.divide === 1);
    output.setAttribute("transform", `translate(${x(place[0])},${y(place[1])})`);
    const most = weights.indexOf(Math.max(...weights));
    say(filled(labels["live.hull_now"], {
      x: fixed(place[0]), y: fixed(place[1]), token: tokens[most], weight: fixed(weights[most]),
    }));
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
