// Stacks of layers: the gradient and how far apart the tokens are, by the switches and the depth.
import { announcer, filled, finder, groupsOf, listen, press, slider, svg, within } from "./parts.js";

const KINDS = [["neither", "norm_only", "norm_only_before"], ["residual_only", "post_norm", "pre_norm"]];
const RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const raised = (power) => String(power).replace("-", "⁻").replace(/\d/g, (digit) => RAISED[digit]);
const written = (size) => {
  const power = Math.floor(Math.log10(size));
  return power < -2 || power > 2 ? `${(size / 10 ** power).toFixed(1)} · 10${raised(power)}` : String(Number(size.toPrecision(2)));
};
const [LEFT, RIGHT, TOP, BOTTOM] = [38, 312, 8, 176];

export const render = ({ model, el }) => {
  const { curves, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.stacks"]);
  const [[residual, reset], norms] = groupsOf(el);
  const depths = curves.neither.map(([sizes]) => sizes.length);
  const begin = { r: 0, n: 0, d: depths.length - 2 };
  let now;
  const read = () => {
    const whole = (key, highest) => Math.round(within(model.state[key]?.[0], 0, highest, begin[key]));
    now = { r: whole("r", 1), n: whole("n", 2), d: whole("d", depths.length - 1) };
  };
  const change = (part) => {
    now = { ...now, ...part };
    const state = Object.entries(now).filter(([key, value]) => value !== begin[key]);
    model.save(Object.fromEntries(state.map(([key, value]) => [key, [value]])));
    show();
  };
  residual.onclick = () => change({ r: 1 - now.r });
  reset.onclick = () => { model.save({}); read(); show(); };
  listen(norms, (n) => change({ n }));
  const set = slider(find("input"), (d) => change({ d }));
  const { say } = announcer(find(".live-now"), model);

  // Of both charts the scale stays, so that stacks can be compared; all other stacks are thin.
  const all_sizes = Object.values(curves).flat().flatMap(([sizes]) => sizes.map(Math.log10));
  const [low, high] = [Math.floor(Math.min(...all_sizes)), Math.ceil(Math.max(...all_sizes))];
  const charts = all(".live-plane").map((plane, part) => {
    const [from, to] = part ? [0, 1] : [low, high];
    const y = (height) => BOTTOM - ((height - from) / (to - from)) * (BOTTOM - TOP);
    const ticks = part ? [0, 0.5, 1] : [-12, -6, 0, 6].filter((power) => power >= low && power <= high);
    for (const tick of ticks) {
      plane.append(svg("path", { class: "live-grid", d: `M${LEFT},${y(tick)}H${RIGHT}` }));
      plane.append(svg("text", { class: "live-tick", x: LEFT - 5, y: y(tick) + 4, "text-anchor": "end" }, part ? String(tick) : `10${raised(tick)}`));
    }
    const ends = ["start", "end"].map((anchor, end) =>
      svg("text", { class: "live-tick", x: end ? RIGHT : LEFT, y: 192, "text-anchor": anchor }));
    const name = svg("text", { class: "live-tick", x: (LEFT + RIGHT) / 2, y: 192, "text-anchor": "middle" }, labels["axis.layer"]);
    const lines = KINDS.flat().map(() => svg("path", { class: "live-other" }));
    const chosen = svg("path", { class: "live-curve" });
    plane.append(...ends, name, ...lines, chosen);
    return { y, ends, lines, chosen };
  });

  const show = () => {
    const { r, n, d } = now;
    const depth = depths[d];
    press(residual, r === 1);
    norms.forEach((button, number) => press(button, number === n));
    set(d, String(depth));
    charts.forEach(({ y, ends, lines, chosen }, part) => {
      const x = (layer) => LEFT + (layer / (depth - 1)) * (RIGHT - LEFT);
      const path = (kind) => curves[kind][d][part].map((size, layer) =>
        `${layer ? "L" : "M"}${x(layer).toFixed(1)},${y(part ? size : Math.log10(size)).toFixed(1)}`).join("");
      KINDS.flat().forEach((kind, number) => lines[number].setAttribute("d", path(kind)));
      chosen.setAttribute("d", path(KINDS[r][n]));
      ends.forEach((end, number) => { end.textContent = String(number ? depth : 1); });
    });
    const [sizes, spreads] = curves[KINDS[r][n]][d];
    say(filled(labels["live.stacks_now"], {
      layers: depth, first: written(sizes[0]), last: written(sizes.at(-1)), spread: spreads.at(-1).toFixed(2),
    }));
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
