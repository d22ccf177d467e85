// The hull: one query among the values. Its scores, the temperature, d_k and the division move the output.
import { announcer, button, filled, fixed, html, press, short, slider, softmax, svg, within } from "./parts.js";

const [LOWEST, HIGHEST] = [-10, 10]; // of a score
const HEAT = 4; // the temperature goes from 2⁻⁴ to 2⁴
const POWERS = [0, 10]; // of 2, for d_k

export const render = ({ model, el }) => {
  const { tokens, scores, values, corners, wished, head_dim: headDim, labels } = model.data;
  el.setAttribute("aria-label", labels["live.hull"]);
  const last = tokens.length - 1;
  const begin = (query = last) => ({ query, scores: scores[query], heat: 0, power: Math.log2(headDim), divide: 1 });
  let now;
  const read = () => {
    const { q, s, t, d, raw } = model.state;
    now = begin(Math.round(within(q?.[0], 0, last, last)));
    now.scores = now.scores.map((score, key) => within(s?.[key], LOWEST, HIGHEST, score));
    now.heat = within(Math.log2(t?.[0]), -HEAT, HEAT, 0);
    now.power = Math.round(within(Math.log2(d?.[0]), ...POWERS, now.power));
    now.divide = raw?.[0] === 1 ? 0 : 1;
  };

  // The plane, in the units of the values; y grows upwards.
  const all = wished ? [...values, wished] : values;
  const reach = (axis, end) => (end < 0 ? Math.min : Math.max)(...all.map((point) => point[axis])) + end;
  const [left, right, low, high] = [reach(0, -0.7), reach(0, 0.9), reach(1, -0.7), reach(1, 0.8)];
  const unit = 360 / (right - left);
  const height = (high - low) * unit;
  const x = (place) => ((place - left) * unit).toFixed(2);
  const y = (place) => ((high - place) * unit).toFixed(2);
  const plane = svg("svg", { viewBox: `0 0 360 ${height.toFixed(0)}`, class: "live-plane", "aria-hidden": "true" });
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
  const legend = html("p", { class: "live-legend" });
  for (const key of ["point.value", "point.output", ...(wished ? ["point.wish"] : [])]) {
    legend.append(html("span", { class: `live-key live-key-${key.replace("point.", "")}` }, labels[key]), " ");
  }

  // The controls
  const queries = tokens.map((token, query) => button(token, () => change(begin(query))));
  const rows = tokens.map((token, key) => {
    const score = slider(filled(labels["live.score_of"], { token }), {
      min: LOWEST, max: HIGHEST, step: 0.1,
      move: (number) => change({ scores: now.scores.map((each, other) => (other === key ? number : each)) }),
    });
    const dot = html("span", { class: "live-number live-dot" });
    const bar = html("span", { class: "live-bar" });
    const weight = html("span", { class: "live-number" });
    return { score, dot, bar, weight };
  });
  const heat = slider(labels.temperature, { min: -HEAT, max: HEAT, step: 0.05, move: (number) => change({ heat: number }) });
  const power = slider("dₖ", { min: POWERS[0], max: POWERS[1], step: 1, move: (number) => change({ power: number }) });
  const divide = button(labels["live.divide"], () => change({ divide: 1 - now.divide }));
  const reset = button(labels["live.reset"], () => { now = begin(); show(); model.save({}); });
  const { seen, heard, say } = announcer();

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
    rows.forEach(({ score, dot, bar, weight }, key) => {
      score.set(now.scores[key], short(now.scores[key]));
      dot.textContent = short(dots[key]);
      bar.style.width = `${100 * weights[key]}%`;
      weight.textContent = fixed(weights[key]);
      shares[key].setAttribute("r", (5 + 12 * weights[key]).toFixed(2));
      pulls[key].setAttribute("stroke-width", (6 * weights[key]).toFixed(2));
      const [start, end] = [values[key], place];
      const ends = { x1: x(start[0]), y1: y(start[1]), x2: x(end[0]), y2: y(end[1]) };
      for (const [name, number] of Object.entries(ends)) pulls[key].setAttribute(name, number);
    });
    heat.set(now.heat, short(temperature));
    power.set(now.power, String(dim));
    press(divide, now.divide === 1);
    output.setAttribute("transform", `translate(${x(place[0])},${y(place[1])})`);
    const most = weights.indexOf(Math.max(...weights));
    say(filled(labels["live.hull_now"], {
      x: fixed(place[0]), y: fixed(place[1]), token: tokens[most], weight: fixed(weights[most]),
    }));
  };

  const head = [labels.key, `${labels.score} / ${labels["axis.weight"]}`, "", "q·k"];
  el.append(
    html("div", { class: "live-columns" },
      html("div", { class: "live-picture" }, plane, legend, seen, heard),
      html("div", { class: "live-controls" },
        html("div", { class: "live-buttons", role: "group", "aria-label": labels.query },
          html("span", { class: "live-label" }, labels.query), ...queries),
        html("div", { class: "live-scores" },
          ...head.map((each) => html("span", { class: "live-head" }, each)),
          ...rows.flatMap(({ score, dot, bar, weight }, key) => [
            html("span", { class: "live-label" }, tokens[key]), score.input, score.number, dot,
            html("span", { class: "live-track" }, bar), weight,
          ])),
        html("div", { class: "live-pair" },
          html("span", { class: "live-label" }, labels.temperature, " T"), heat.input, heat.number,
          html("span", { class: "live-label" }, "dₖ"), power.input, power.number),
        html("div", { class: "live-buttons" }, divide, reset))));
  model.onchange(() => { read(); show(); });
  read();
  show();
};
