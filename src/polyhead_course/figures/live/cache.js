// The cache: layers, heads and length, and what four kinds of attention keep for them.
import { announcer, filled, finder, groupsOf, listen, press, slider, within } from "./parts.js";

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const written = (bytes) => {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  return `${Number((bytes / 1024 ** unit).toPrecision(3))} ${UNITS[unit]}`;
};
const divisorsOf = (heads) => Array.from({ length: heads }, (_, i) => i + 1).filter((each) => heads % each === 0);

export const render = ({ model, el }) => {
  const { models, first: name, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.cache"]);
  const inputs = all(".live-sizes input");
  const bars = all(".live-kinds .live-bar");
  const sizes = all(".live-kinds .live-number");
  const presets = Object.values(models);
  const { say } = announcer(find(".live-now"), model);
  // A notebook's file sorts the names: which one the figure begins with, it says by itself.
  const begin = ([layers, heads, kv, dim] = models[name] ?? presets[0]) => ({ layers, heads, kv, dim, power: 17 });
  // The divisor that is nearest to the wanted number of heads
  const fitting = (heads, kv) => divisorsOf(heads).reduce((best, each) =>
    (Math.abs(each - kv) < Math.abs(best - kv) ? each : best));
  let now;
  const read = () => {
    const { l, q, k, d, n } = model.state;
    const first = begin();
    const whole = (number, input, otherwise) =>
      Math.round(within(number, Number(inputs[input].min), Number(inputs[input].max), otherwise));
    now = {
      layers: whole(l?.[0], 0, first.layers), heads: whole(q?.[0], 1, first.heads), kv: first.kv,
      dim: whole(d?.[0], 3, first.dim), power: whole(Math.log2(n?.[0]), 4, first.power),
    };
    now.kv = fitting(now.heads, Math.round(within(k?.[0], 1, now.heads, first.kv)));
  };

  const change = (part) => {
    now = { ...now, ...part };
    now.kv = fitting(now.heads, now.kv);
    show();
    model.save({ l: now.layers, q: now.heads, k: now.kv, d: now.dim, n: 2 ** now.power });
  };
  const [buttons] = groupsOf(el);
  listen(buttons, (number) => {
    if (number < presets.length) return change({ ...begin(presets[number]), power: now.power });
    now = begin();
    show();
    model.save({});
  });
  const [setLayers, setHeads, setGroups, setDim, setPower] = [
    slider(inputs[0], (layers) => change({ layers })), slider(inputs[1], (heads) => change({ heads })),
    slider(inputs[2], (at) => change({ kv: divisorsOf(now.heads)[at] })),
    slider(inputs[3], (dim) => change({ dim })), slider(inputs[4], (power) => change({ power })),
  ];

  const show = () => {
    const { layers, heads, kv, dim, power } = now;
    const divisors = divisorsOf(heads);
    inputs[2].max = divisors.length - 1;
    setLayers(layers, String(layers));
    setHeads(heads, String(heads));
    setGroups(divisors.indexOf(kv), String(kv));
    setDim(dim, String(dim));
    setPower(power, String(2 ** power));
    // Numbers of 16 bits; keys and values of some heads, or one latent vector of 4.5 head_dim
    const bytes = [2 * heads, 2 * kv, 2, 4.5].map((each) => 2 * layers * dim * each * 2 ** power);
    bytes.forEach((each, kind) => {
      bars[kind].style.width = `${(100 * each) / Math.max(...bytes)}%`;
      sizes[kind].textContent = written(each);
    });
    presets.forEach((each, number) => press(buttons[number], String(each) === String([layers, heads, kv, dim])));
    const [mha, gqa, mqa, mla] = bytes.map(written);
    say(filled(labels["live.cache_now"], { tokens: 2 ** power, mha, gqa, mqa, mla }));
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
