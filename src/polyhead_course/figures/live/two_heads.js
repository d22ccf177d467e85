// Two numbers that one row of weights cannot collect and two rows can: the reach of one head is a hull, of two a box.
import { announcer, filled, finder, press, short, slider, svg, within } from "./parts.js";

const STRETCH = [1.5, 4 / 3]; // it brings the middle between the two values that count to the target

export const render = ({ model, el }) => {
  const { tokens, values, target, shares: first, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.two_heads"]);
  const [second, stretch, reset] = all(".live-buttons button");
  const groups = all(".live-head-shares");
  const inputs = groups.map((group) => [...group.querySelectorAll("input")]);
  const begin = () => ({ heads: 1, stretch: 0, red: values[0][0], shares: [first, first] });
  let now;
  const read = () => {
    const { h, w, v, r, s } = model.state;
    now = begin();
    now.shares = [w, v].map((row) => first.map((share, key) => Math.round(within(row?.[key], 0, 10, share))));
    now.heads = h?.[0] === 2 ? 2 : 1;
    now.stretch = s?.[0] === 1 ? 1 : 0;
    now.red = Math.round(within(r?.[0], 0, 5, now.red));
  };

  // The plane; y grows upwards.
  const plane = find(".live-plane");
  const [left, right, low, high] = plane.dataset.bounds.split(" ").map(Number);
  const { width, height } = plane.viewBox.baseVal;
  const unit = width / (right - left);
  const x = (place) => ((place - left) * unit).toFixed(2);
  const y = (place) => ((high - place) * unit).toFixed(2);
  for (let tick = 0; tick <= right; tick++) {
    plane.append(svg("path", { class: "live-line", d: `M${x(tick)},${height}v-5` }));
    plane.append(svg("text", { class: "live-tick", x: x(tick), y: height - 8, "text-anchor": "middle" }, String(tick)));
  }
  for (let tick = 0; tick <= high; tick++) {
    plane.append(svg("path", { class: "live-line", d: `M0,${y(tick)}h5` }));
    plane.append(svg("text", { class: "live-tick", x: 8, y: Number(y(tick)) + 4 }, String(tick)));
  }
  // Every average of the values lies in a triangle of three of them.
  const triangles = tokens.map(() => svg("polygon", {}));
  const box = svg("rect", {});
  plane.append(svg("g", { class: "live-reach" }, ...triangles, box));
  const dots = tokens.map(() => svg("circle", { class: "live-value", r: 5 }));
  const names = tokens.map((token) => svg("text", {}, token));
  const star = Array.from({ length: 10 }, (_, corner) => {
    const [radius, angle] = [corner % 2 ? 4.2 : 10, (corner * Math.PI) / 5];
    return `${(radius * Math.sin(angle)).toFixed(2)},${(-radius * Math.cos(angle)).toFixed(2)}`;
  });
  plane.append(...dots, ...names);
  const goal = `translate(${x(target[0])},${y(target[1])})`;
  plane.append(svg("polygon", { class: "live-star", points: star.join(" "), transform: goal }));
  const output = svg("path", { class: "live-output", d: "M0,-7L7,0L0,7L-7,0Z" });
  plane.append(output);

  // The controls
  const { say } = announcer(find(".live-now"), model);
  const change = (part) => {
    now = { ...now, ...part };
    show();
    const state = { w: now.shares[0], v: now.shares[1] };
    if (now.heads === 2) state.h = 2;
    if (now.stretch) state.s = 1;
    if (now.red !== values[0][0]) state.r = now.red;
    model.save(state);
  };
  const setShares = inputs.map((row, head) => row.map((input, key) => slider(input, (number) =>
    change({ shares: now.shares.map((each, other) => (other === head ? each.map((share, place) => (place === key ? number : share)) : each)) }))));
  const setRed = slider(find(".live-red input"), (number) => change({ red: number }));
  second.onclick = () => change({ heads: 3 - now.heads });
  stretch.onclick = () => change({ stretch: 1 - now.stretch });
  reset.onclick = () => { now = begin(); show(); model.save({}); };

  const show = () => {
    const factors = now.stretch ? STRETCH : [1, 1];
    const points = values.map(([red, blue], key) => [(key ? red : now.red) * factors[0], blue * factors[1]]);
    const weights = now.shares.map((row) => {
      const sum = row.reduce((total, share) => total + share, 0);
      return row.map((share) => (sum ? share / sum : 1 / row.length));
    });
    const place = [0, 1].map((axis) => {
      const row = weights[axis && now.heads === 2 ? 1 : 0];
      return row.reduce((sum, weight, key) => sum + weight * points[key][axis], 0);
    });
    triangles.forEach((triangle, left) => {
      const corners = points.filter((_, key) => key !== left).map(([across, up]) => `${x(across)},${y(up)}`);
      triangle.setAttribute("points", corners.join(" "));
    });
    const [reds, blues] = [0, 1].map((axis) => points.map((point) => point[axis]));
    const [across, up] = [Math.max(...reds) - Math.min(...reds), Math.max(...blues) - Math.min(...blues)];
    const edges = { x: x(Math.min(...reds)), y: y(Math.max(...blues)), width: across * unit, height: up * unit };
    for (const [name, number] of Object.entries(edges)) box.setAttribute(name, number);
    box.style.visibility = now.heads === 2 ? "" : "hidden";
    points.forEach(([red, blue], key) => {
      dots[key].setAttribute("cx", x(red));
      dots[key].setAttribute("cy", y(blue));
      // Values at the same point have their names side by side.
      const before = points.slice(0, key).some((other) => other[0] === red && other[1] === blue);
      const end = red > 6;
      names[key].setAttribute("text-anchor", end ? "end" : "start");
      names[key].setAttribute("x", Number(x(red)) + (end ? -9 : before ? 38 : 9));
      names[key].setAttribute("y", Number(y(blue)) - 7);
    });
    weights.forEach((row, head) => row.forEach((weight, key) =>
      setShares[head][key](now.shares[head][key], short(weight))));
    groups[1].style.visibility = now.heads === 2 ? "" : "hidden";
    setRed(now.red, String(now.red));
    press(second, now.heads === 2);
    press(stretch, now.stretch === 1);
    output.setAttribute("transform", `translate(${x(place[0])},${y(place[1])})`);
    const far = Math.hypot(place[0] - target[0], place[1] - target[1]);
    say(filled(labels[far < 5e-5 ? "live.two_heads_there" : "live.two_heads_now"], {
      x: short(place[0]), y: short(place[1]), red: String(target[0]), blue: String(target[1]),
    }));
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
