// Two clocks: the hands of a query and a key turn with their positions, and the score sees their distance only.
import { announcer, bugSwitch, filled, finder, press, slider, svg, within } from "./parts.js";

const [LAST, DIAL] = [12, 84]; // the last position, and the radius of a clock of which a vector of length 1 reaches the rim
const two = (number) => number.toFixed(2).replace(/^-(?=0\.00$)/, "").replace("-", "−");

export const render = ({ model, el }) => {
  const { query, key, degrees, positions, bugs, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.clocks"]);
  const begin = { m: positions[0], n: positions[1], t: 0, b: 0 };
  let now;
  const read = () => {
    const whole = (name, highest) => Math.round(within(model.state[name]?.[0], 0, highest, begin[name]));
    now = { m: whole("m", LAST), n: whole("n", LAST), t: whole("t", 1), b: whole("b", bugs.length - 1) };
  };

  // A pair of a vector at a position, turned counterclockwise; and the product that each clock contributes.
  const turned = (vector, pair, position, halves = false) => {
    const angle = (position * degrees[pair] * Math.PI) / 180;
    const [first, second] = halves ? [pair, pair + degrees.length] : [2 * pair, 2 * pair + 1];
    const [x, y, c, s] = [vector[first], vector[second], Math.cos(angle), Math.sin(angle)];
    return [x * c - y * s, x * s + y * c];
  };
  // The hands of both, rightly and with a bug of the clinic: keys unturned, halves paired, queries counted from 0
  const hands = (pair, m, n, bug) => [
    turned(query, pair, bug === 3 ? 0 : m, bug === 2), turned(key, pair, bug === 1 ? 0 : n, bug === 2)];
  const products = (...places) => degrees.map((_, pair) => {
    const [[a, b], [c, d]] = hands(pair, ...places);
    return a * c + b * d;
  });
  const scoreAt = (distance) => products(distance, 0, 0).reduce((sum, each) => sum + each, 0);

  const dials = all(".live-dials svg").map((dial) => {
    dial.append(svg("circle", { class: "live-dial", r: DIAL }));
    const arcs = svg("path", { class: "live-angle" });
    const pair = ["q", "k"].map((name, hand) => {
      const line = svg("path", { class: `live-hand live-hand-${hand}` });
      const label = svg("text", { class: `live-hand-${hand}`, "text-anchor": "middle" });
      return { name, line, label };
    });
    dial.append(arcs, ...pair.flatMap(({ line, label }) => [line, label]));
    return { arcs, pair };
  });

  // The curve of the score; a dot where the distance is now.
  const curve = find(".live-scores-by-distance");
  const highest = Math.max(...Array.from({ length: 2 * LAST + 1 }, (_, each) => Math.abs(scoreAt(each - LAST))));
  const x = (distance) => (160 + (distance * 145) / LAST).toFixed(2);
  const y = (score) => (52 - (score * 44) / highest).toFixed(2);
  curve.append(svg("path", { class: "live-line", d: `M${x(-LAST)},${y(0)}H${x(LAST)}` }));
  for (let each = -LAST; each <= LAST; each += 4) {
    curve.append(svg("text", { class: "live-tick", x: x(each), y: 112, "text-anchor": "middle" }, String(each).replace("-", "−")));
  }
  for (let each = -LAST; each <= LAST; each++) {
    curve.append(svg("circle", { class: "live-value", r: 2.5, cx: x(each), cy: y(scoreAt(each)) }));
  }
  curve.append(svg("text", { class: "live-tick", x: 160, y: 128, "text-anchor": "middle" }, labels["axis.distance"]));
  curve.append(svg("text", { class: "live-tick", x: 4, y: 10 }, "q · k"));
  const dot = svg("circle", { class: "live-output", r: 6 });
  curve.append(dot);

  const change = (part) => {
    now = { ...now, ...part };
    const changed = Object.entries(now).filter(([name, value]) => value !== begin[name]);
    model.save(Object.fromEntries(changed.map(([name, value]) => [name, [value]])));
    show();
  };
  // Together, both move by the same number of tokens, as far as both have room.
  const move = (name, other) => (to) => {
    if (!now.t) return change({ [name]: to });
    const step = within(to - now[name], -now[other], LAST - now[other]);
    change({ [name]: now[name] + step, [other]: now[other] + step });
  };
  const inputs = all(".live-pair input");
  const sets = [slider(inputs[0], move("m", "n")), slider(inputs[1], move("n", "m"))];
  const [together, reset] = all(".live-buttons button");
  together.onclick = () => change({ t: 1 - now.t });
  reset.onclick = () => { model.save({}); read(); show(); };
  const setBug = bugSwitch(el, model, (b) => change({ b }));
  const { say } = announcer(find(".live-now"), model);

  const show = () => {
    const places = [now.m, now.n];
    const distance = now.m - now.n;
    places.forEach((position, hand) => sets[hand](position, String(position)));
    press(together, now.t === 1);
    setBug(now.b);
    dials.forEach(({ arcs, pair }, number) => {
      const ends = hands(number, ...places, now.b);
      // Mixed pairs may be longer than 1, and then all is drawn smaller.
      const unit = DIAL / Math.max(1, ...degrees.flatMap((_, each) => hands(each, ...places, now.b).map((end) => Math.hypot(...end))));
      const angles = pair.map(({ name, line, label }, hand) => {
        const [across, up] = ends[hand];
        const size = Math.hypot(across, up);
        const [a, b] = [across * unit, -up * unit];
        const head = [150, -150].map((side) => {
          const bent = Math.atan2(b, a) + (side * Math.PI) / 180;
          return `M${a.toFixed(2)},${b.toFixed(2)}l${(11 * Math.cos(bent)).toFixed(2)},${(11 * Math.sin(bent)).toFixed(2)}`;
        });
        line.setAttribute("d", `M0,0L${a.toFixed(2)},${b.toFixed(2)}${head.join("")}`);
        label.textContent = `${name}${[...String(places[hand])].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("")}`;
        // Where both hands are close, their names are beside each other.
        const out = unit + (hand ? 24 : 12) / (size || 1);
        label.setAttribute("x", (across * out).toFixed(2));
        label.setAttribute("y", (-up * out + 5).toFixed(2));
        return Math.atan2(up, across);
      });
      const turn = Math.atan2(Math.sin(angles[1] - angles[0]), Math.cos(angles[1] - angles[0]));
      const [from, to] = angles.map((angle) => `${(26 * Math.cos(angle)).toFixed(2)},${(-26 * Math.sin(angle)).toFixed(2)}`);
      arcs.setAttribute("d", `M${from}A26,26 0 0 ${turn > 0 ? 0 : 1} ${to}`);
    });
    const [first, second] = products(...places, now.b);
    dot.setAttribute("cx", x(distance));
    dot.setAttribute("cy", y(first + second));
    say(filled(labels["live.clocks_now"], {
      distance: String(distance).replace("-", "−"), first: two(first), second: two(second), score: two(first + second),
    }));
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
