// The translator: a date that the reader types, its translation character by character, and the cross-attention.
// The model is loaded when the figure is used for the first time.
import { rule, tokensOf } from "./dates.js";
import { announcer, filled, finder, fixed, html, listen, press, roving, within } from "./parts.js";

const PACE = 120; // milliseconds a character
const WAIT = 400; // after the last key

export const render = ({ model, el }) => {
  const { data, data: { attentions, heads, labels, targets, years } } = model;
  const { read, write } = rule(data);
  const layers = attentions.filter(([use]) => use === "cross").length;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.translator"]);
  const begin = () => ({ date: data.date, to: data.to, layer: layers - 1, head: 0, off: [] });
  const still = { sources: data.source_tokens, tokens: data.target_tokens, cross: null, right: null };
  let [now, shown, translate, loading] = [begin(), still, null, null];
  let [turn, step, waiting] = [0, 0, 0]; // which translation, how much of it is seen, the timer

  // The address: the date as its form and numbers, the target, layer and head, the heads that are off.
  const recall = () => {
    const { d, t, v, x } = model.state;
    now = begin();
    if (d?.every(Number.isInteger) && String(read(write(d)).date) === String(d)) now.date = d;
    now.to = Math.round(within(t?.[0], 0, targets.length - 1, now.to));
    now.layer = Math.round(within(v?.[0], 0, layers - 1, now.layer));
    now.head = Math.round(within(v?.[1], 0, heads, 0));
    now.off = (x ?? []).filter((head) => Number.isInteger(head) && head >= 0 && head < attentions.length * heads);
    input.value = write(now.date);
  };
  const stateOf = () => {
    const [first, state] = [begin(), {}];
    if (String(now.date) !== String(first.date)) state.d = now.date;
    if (now.to !== first.to) state.t = now.to;
    if (now.layer !== first.layer || now.head) state.v = [now.layer, now.head];
    if (now.off.length) state.x = now.off;
    return state;
  };
  const save = () => model.save(stateOf());

  // What is asked
  const [ask, input] = [find("form"), find("input")];
  input.oninput = () => { clearTimeout(waiting); waiting = setTimeout(answer, WAIT, true); };
  const another = () => {
    const chance = (lowest, highest) => lowest + Math.floor(Math.random() * (highest - lowest + 1));
    const day = new Date(Date.UTC(chance(...years), 0, chance(1, 365)));
    const form = chance(0, data.forms.length - 1);
    input.value = write([form, day.getUTCFullYear(), day.getUTCMonth() + 1, day.getUTCDate()]);
    answer(true);
  };
  ask.onsubmit = (event) => { event.preventDefault(); answer(true); };
  const languages = all(".live-targets button");
  listen(languages, (to) => { now.to = to; answer(true); });
  listen(all("form button[type=button]"), (number) => [another, () => { model.save({}); arrive(); }][number]());

  // The answer, the weights that are seen, and the heads that work
  const result = announcer(find(".live-answer"), model);
  const right = find(".live-right").firstElementChild;
  const [fetchIt, note] = [find(".live-load button"), find("[role=status]")];
  fetchIt.onclick = () => answer(false);
  const [views, sights] = [all(".live-layers button"), all(".live-views button")];
  const view = (part) => { now = { ...now, ...part }; answer(false); };
  listen(views, (layer) => view({ layer }));
  listen(sights, (head) => view({ head }));
  const switches = all(".live-switches [role=row]").map((line) => [...line.querySelectorAll("button")]);
  listen(switches.flat(), (number) => {
    const others = now.off.filter((each) => each !== number);
    now.off = others.length < now.off.length ? others : [...others, number].sort((a, b) => a - b);
    answer(false);
  });
  roving(find(".live-switches"), switches)(0, 0);
  const grid = find(".live-cross");
  grid.onpointerover = ({ target, pointerType }) => {
    const row = cells.findIndex((line) => line.includes(target));
    if (row >= 0 && pointerType === "mouse") choose(row, cells[row].indexOf(target));
  };
  const { say } = announcer(find(".live-now"), model);

  const rowsSeen = () => {
    if (!shown.cross) return data.weights;
    const all = shown.cross[now.layer];
    if (now.head) return all[now.head - 1];
    return shown.tokens.map((_, row) => shown.sources.map((_, place) =>
      all.reduce((sum, rows) => sum + rows[row][place], 0) / all.length));
  };
  const visible = (token) => (token === " " ? "␣" : token);
  let [weights, written] = [[], []];
  const cells = [];
  const choose = (row, place) => {
    cells.flat().forEach((cell) => cell.classList.remove("live-chosen"));
    cells[row][place].classList.add("live-chosen");
    say(filled(labels["live.weight_now"], {
      written: visible(shown.tokens[row]), read: shown.sources[place], weight: fixed(weights[row][place]),
    }));
  };
  const go = roving(grid, cells, choose);

  const mark = () => {
    languages.forEach((each, to) => press(each, to === now.to));
    views.forEach((each, layer) => press(each, layer === now.layer));
    sights.forEach((each, head) => press(each, head === now.head));
    switches.flat().forEach((each, head) => press(each, !now.off.includes(head)));
  };
  // Cells stay where only their numbers change, and one whose number stays is left alone: to style and
  // lay out all of them takes as long as to translate.
  let built = "";
  const build = () => {
    grid.style.setProperty("--live-size", shown.sources.length);
    const head = html("div", { role: "row" }, html("span", { role: "gridcell" }),
      ...shown.sources.map((token) => html("span", { role: "columnheader" }, html("span", {}, token))));
    cells.splice(0, Infinity, ...weights.map((row) => row.map(() =>
      html("span", { role: "gridcell", tabindex: -1, class: "live-weight" }))));
    written = cells.map((line) => html("div", { role: "row" }, html("span", { role: "rowheader" }), ...line));
    grid.replaceChildren(head, ...written);
  };
  const put = (element, text) => { if (element.textContent !== text) element.textContent = text; };
  const paint = () => {
    mark();
    weights = rowsSeen();
    const wanted = String([shown.sources, weights.length]);
    if (built !== wanted) build();
    built = wanted;
    cells.forEach((line, row) => {
      const [name] = written[row].children;
      name.lang = targets[now.to].code;
      put(name, visible(shown.tokens[row]));
      line.forEach((cell, place) => {
        const percent = String(Math.round(100 * weights[row][place]));
        if (cell.textContent === percent) return;
        cell.textContent = percent;
        cell.style.setProperty("--live-share", `${0.75 * percent}%`);
      });
    });
  };

  // Shows the first `step` characters, each with its row of weights; what is wrong without some heads, marked.
  const reveal = () => {
    written.forEach((line, row) => line.classList.toggle("live-coming", row >= step));
    const tokens = shown.tokens.slice(0, step);
    result.seen.lang = result.heard.lang = targets[now.to].code;
    result.seen.classList.remove("live-refused");
    result.say(tokens.join("") || "…");
    if (!step) return;
    const wrong = (row) => shown.right && tokens[row] !== shown.right[row];
    result.seen.replaceChildren(...tokens.map((each, row) => html(wrong(row) ? "mark" : "span", {}, each)));
    // In the end, the character that looks at one place most, of those that are not merely copied.
    const most = weights.slice(0, step).map((row, place) =>
      Math.max(...row) - (shown.sources.includes(tokens[place]) ? 1 : 0));
    const row = step < shown.tokens.length ? step - 1 : most.indexOf(Math.max(...most));
    go(row, weights[row].indexOf(Math.max(...weights[row])));
  };
  const play = (slowly) => {
    turn += 1;
    paint();
    right.textContent = shown.right ? filled(labels["live.all_heads"], { text: shown.right.join("") }) : "";
    right.lang = document.documentElement.lang;
    grid.classList.remove("live-stale");
    const mine = turn;
    const atOnce = !slowly || matchMedia("(prefers-reduced-motion: reduce)").matches;
    step = atOnce ? shown.tokens.length : 0;
    const next = () => {
      if (mine !== turn) return;
      reveal();
      step += 1;
      if (step <= shown.tokens.length) setTimeout(next, PACE);
    };
    next();
  };

  const refuse = ({ reason, ...found }) => {
    turn += 1;
    const keys = {
      word: found.near ? "live.perhaps" : "live.unknown_word", form: "live.no_form", year: "live.no_year",
      day: "live.no_day", weekday: "live.no_weekday",
    };
    const examples = [0, 3].map((form) => write([form, 2026, 11, 20]));
    const values = { ...found, first: years[0], last: years[1], us: examples[0], gb: examples[1] };
    result.seen.lang = result.heard.lang = document.documentElement.lang;
    result.seen.classList.add("live-refused");
    result.say(filled(labels[keys[reason]], values));
    right.textContent = "";
    grid.classList.add("live-stale");
  };

  const load = async () => {
    note.textContent = labels["live.loading"];
    fetchIt.hidden = true;
    try {
      loading ??= import("./model.js").then((module) => module.load({ heads, longest: data.longest }));
      translate = await loading;
      note.textContent = labels["live.loaded"];
    } catch {
      loading = null;
      fetchIt.hidden = false;
      note.textContent = labels["live.load_failed"];
    }
    return translate;
  };

  // The last answers: another layer, or a head that is on again, computes nothing.
  const known = new Map();
  const answerOf = (sources, off = []) => {
    const key = `${sources}|${off}`;
    if (known.size > 50) known.clear();
    if (!known.has(key)) known.set(key, translate(sources, off));
    return known.get(key);
  };

  // Reads the date and translates it; the first time, the model has to come.
  let asked = 0;
  const answer = async (slowly) => {
    clearTimeout(waiting);
    asked += 1;
    const mine = asked;
    mark();
    const found = read(input.value);
    if (found.reason) return refuse(found);
    if (!translate && !(await load())) return;
    if (mine !== asked) return;
    now.date = found.date;
    save();
    const sources = [`<${targets[now.to].code}>`, ...tokensOf(input.value)];
    shown = { sources, ...answerOf(sources, now.off), right: now.off.length ? answerOf(sources).tokens : null };
    play(slowly);
  };

  const arrive = () => {
    clearTimeout(waiting);
    asked += 1;
    recall();
    shown = still;
    play(false);
    return Object.keys(stateOf()).length ? answer(false) : null;
  };
  model.onchange(arrive);
  return arrive();
};
