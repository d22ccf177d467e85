// The hull: one query among the values. Its scores, the temperature, d_k and the division move the output, and so do
// hands: the output and the values can be dragged.
import { announcer, filled, finder, fixed, listen, press, short, slider, softmax, svg, within } from "./parts.js";

// The corners of the hull of points, one after another.
const hullOf = (points) => {
  const sorted = [...points].sort((one, other) => one[0] - other[0] || one[1] - other[1]);
  const half = (list) => list.reduce((line, each) => {
    const turns = ([a, b], [c, d]) => (c - a) * (each[1] - b) - (d - b) * (each[0] - a) <= 0;
    while (line.length > 1 && turns(line.at(-2), line.at(-1))) line.pop();
    return [...line, each];
  }, []).slice(0, -1);
  return [...half(sorted), ...half(sorted.reverse())];
};

// Logits near these whose output is a place, or inside the hull as near to it as they come (Newton's method).
const aimed = (logits, values, [x, y]) => {
  for (let step = 0; step < 40; step++) {
    const weights = softmax(logits);
    const mean = (of) => weights.reduce((sum, weight, key) => sum + weight * of(values[key]), 0);
    const [a, b] = [mean((each) => each[0]), mean((each) => each[1])];
    const [xx, xy, yy] = [(v) => (v[0] - a) ** 2, (v) => (v[0] - a) * (v[1] - b), (v) => (v[1] - b) ** 2]
      .map((each, part) => mean(each) + (part === 1 ? 0 : 1e-4));
    const det = xx * yy - xy * xy;
    const [p, q] = [(yy * (x - a) - xy * (y - b)) / det, (xx * (y - b) - xy * (x - a)) / det];
    const moves = values.map((v) => p * (v[0] - a) + q * (v[1] - b));
    const most = Math.max(1, ...moves.map(Math.abs));
    logits = logits.map((each, key) => each + moves[key] / most);
  }
  return logits;
};

export const render = ({ model, el }) => {
  const { tokens, scores, values: given, wished, head_dim: headDim, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.hull"]);
  const queries = all(".live-queries button");
  const rows = { score: all(".live-scores input"), dot: all(".live-dot"), bar: all(".live-bar"), weight: all(".live-weight-of") };
  const [heatInput, powerInput] = all(".live-pair input");
  const [divide, reset] = all(".live-buttons:last-child button");
  const last = tokens.length - 1;
  const fresh = () => ({ ...begin(), values: given });
  const begin = (query = last) => ({ query, scores: scores[query], heat: 0, power: Math.log2(headDim), divide: 1 });
  let now;
  const read = () => {
    const { q, s, t, d, raw, v } = model.state;
    now = { ...begin(Math.round(within(q?.[0], 0, last, last))), values: given };
    now.values = given.map((point, key) => inside(point.map((each, axis) => within(v?.[2 * key + axis], -99, 99, each))));
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
  const area = svg("polygon", { class: "live-hull" });
  const pulls = given.map(() => svg("line", { class: "live-pull" }));
  const shares = given.map(() => svg("circle", { class: "live-share" }));
  const circles = given.map(() => svg("circle", { class: "live-value", r: 5 }));
  const names = tokens.map((token) => svg("text", { "text-anchor": "middle" }, token));
  plane.append(area, ...pulls, ...shares, ...circles, ...names);
  const inside = ([across, up]) => [within(across, left + 0.3, right - 0.3, left), within(up, low + 0.3, high - 0.3, low)];
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
  reset.onclick = () => { now = fresh(); show(); model.save({}); };
  // What is dragged to a place, or by a tenth with an arrow
  const scaleOf = () => (now.divide ? 1 : Math.sqrt(2 ** now.power)) / 2 ** now.heat;
  const moveOutput = (to) => {
    const logits = aimed(now.scores.map((score) => score * scaleOf()), now.values, to);
    const found = logits.map((each) => each / scaleOf());
    const middle = (Math.max(...found) + Math.min(...found)) / 2;
    const kept = Math.max(...found.map(Math.abs)) > 10 ? middle : 0;
    change({ scores: found.map((each) => Number(within(each - kept, -10, 10, 0).toFixed(4))) });
  };
  const tenths = (point) => inside(point).map((each) => Number(each.toFixed(1)));
  const moveValue = (key) => (to) => change({ values: now.values.map((each, other) => (other === key ? tenths(to) : each)) });
  const handles = all(".live-handle");
  const MOVES = { ArrowUp: [0, 0.1], ArrowDown: [0, -0.1], ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0] };
  handles.forEach((handle, number) => {
    const move = number < given.length ? moveValue(number) : moveOutput;
    handle.onpointerdown = ({ pointerId }) => handle.setPointerCapture(pointerId);
    handle.onpointermove = ({ pointerId, clientX, clientY }) => {
      if (!handle.hasPointerCapture(pointerId)) return;
      const box = plane.getBoundingClientRect();
      move([left + ((clientX - box.left) / box.width) * (right - left), high - ((clientY - box.top) / box.height) * (high - low)]);
    };
    handle.onkeydown = (event) => {
      const by = MOVES[event.key];
      if (!by || event.altKey || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      move([0, 1].map((axis) => (now.values[number] ?? output.place)[axis] + by[axis]));
    };
  });
  const change = (part) => {
    now = { ...now, ...part };
    show();
    const state = { q: now.query, s: now.scores };
    if (now.heat) state.t = 2 ** now.heat;
    if (2 ** now.power !== headDim) state.d = 2 ** now.power;
    if (!now.divide) state.raw = 1;
    if (String(now.values) !== String(given)) state.v = now.values.flat();
    model.save(state);
  };

  const show = () => {
    const { values } = now;
    const [temperature, dim] = [2 ** now.heat, 2 ** now.power];
    const dots = now.scores.map((score) => score * Math.sqrt(dim));
    const weights = softmax((now.divide ? now.scores : dots).map((each) => each / temperature));
    const place = [0, 1].map((axis) => weights.reduce((sum, weight, key) => sum + weight * values[key][axis], 0));
    queries.forEach((each, query) => press(each, query === now.query));
    area.setAttribute("points", hullOf(values).map(([across, up]) => `${x(across)},${y(up)}`).join(" "));
    const middle = values.reduce((sum, [, up]) => sum + up, 0) / values.length;
    [...values, place].forEach((point, number) => {
      const [across, up] = [x(point[0]), y(point[1])];
      handles[number].style.left = `${(100 * across) / width}%`;
      handles[number].style.top = `${(100 * up) / height}%`;
      handles[number].setAttribute("aria-valuenow", point[0].toFixed(2));
      handles[number].setAttribute("aria-valuetext", `(${fixed(point[0])}, ${fixed(point[1])})`);
      if (number === values.length) return;
      for (const circle of [shares[number], circles[number]]) circle.setAttribute("cx", across);
      for (const circle of [shares[number], circles[number]]) circle.setAttribute("cy", up);
      names[number].setAttribute("x", across); // where its arrow does not go
      names[number].setAttribute("y", Number(up) + (point[1] < middle ? 26 : -17));
    });
    output.place = place;
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
