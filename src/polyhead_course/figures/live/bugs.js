// The matrix of bugs and probes: the reader chooses a decoder, and asks probes which of its outputs differ.
import { announcer, filled, finder, groupsOf, listen, press, within } from "./parts.js";

// 0, 1, 2, 5 as 0–2, 5; no line ends after a dash
const written = (numbers) => {
  const runs = [];
  for (const number of numbers) {
    if (number === runs.at(-1)?.[1] + 1) runs.at(-1)[1] = number;
    else runs.push([number, number]);
  }
  return runs.map(([first, last]) => (first === last ? first : `${first}–\u2060${last}`)).join(", ");
};

export const render = ({ model, el }) => {
  const { bugs, probes, found, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.bugs"]);
  const whole = probes.length; // among the probes that were asked: all of them, with a summary of what they see
  const begin = 2;

  // What a probe finds: the kind of each tile, the outputs that break the rule, and the largest difference.
  const results = found.map((line) => line.map((rows, number) => {
    if (!rows) return { mark: "–", tiles: [] };
    const { may, must } = probes[number];
    const kind = (size, place) => {
      if (place === must) return size === 0 ? "must" : "may";
      return size === 0 ? "" : may.includes(place) ? "may" : "broken";
    };
    const tiles = rows.map((row) => row.split(" ").map(Number).map((size, place) => ({ size, place, kind: kind(size, place) })));
    const wrong = tiles.flat().filter((tile) => tile.kind === "broken");
    const unmoved = tiles.flat().some((tile) => tile.kind === "must");
    const sizes = tiles.flatMap((row, each) => (row.some((tile) => tile.kind === "broken") ? [each + 2] : []));
    return { tiles, wrong, unmoved, sizes, mark: wrong.length || unmoved ? "×" : "·" };
  }));
  const largest = (wrong) => Math.max(...wrong.map(({ size }) => size));
  const placesOf = (wrong) => written([...new Set(wrong.map(({ place }) => place))].sort((a, b) => a - b));
  const verdict = ({ mark, wrong, unmoved, sizes, tiles }, { must }) => {
    if (mark === "–") return labels["live.bugs_silent"];
    if (wrong.length) {
      const [places, size] = [placesOf(wrong), largest(wrong)];
      const said = filled(labels[Number.isNaN(size) ? "live.bugs_nan" : "live.bugs_moved"], { places, size });
      if (sizes.length === tiles.length) return said;
      return filled(labels["live.bugs_sizes"], { verdict: said, sizes: written(sizes) });
    }
    return unmoved ? filled(labels["live.bugs_unmoved"], { places: must }) : labels["live.bugs_still"];
  };

  // For each decoder the probes that were asked, the last one last; whether all marks are shown
  let [asked, now, full] = [[], begin, false];
  const read = () => {
    const { b, p, f } = model.state;
    now = Math.round(within(b?.[0], 0, bugs.length - 1, Math.min(begin, bugs.length - 1)));
    full = f?.[0] === 1;
    if (p) asked[now] = p.filter((each) => Number.isInteger(each) && each >= 0 && each <= whole);
  };
  const change = () => {
    const state = { b: [now], p: asked[now] ?? [], f: [Number(full)] };
    if (now === begin) delete state.b;
    if (!state.p.length) delete state.p;
    if (!full) delete state.f;
    model.save(state);
    show();
  };
  const ask = (numbers) => {
    asked[now] = [...(asked[now] ?? []).filter((each) => !numbers.includes(each)), ...numbers];
    change();
  };

  const choice = find("select");
  const [[askAll, fill, reset]] = groupsOf(el);
  const lines = all(".live-probe:not(.live-head)").map((line) => ({
    button: line.querySelector("button"), number: line.querySelector(".live-number"),
    strip: line.querySelector(".live-strip"), rows: [...line.querySelectorAll(".live-line-row")].map((row) => [...row.children]),
  }));
  const marks = all(".live-marks tbody tr").map((row) => ({ row, cells: [...row.querySelectorAll("td")] }));
  const { say } = announcer(find(".live-now"), model);
  choice.onchange = () => { now = choice.selectedIndex; change(); };
  askAll.onclick = () => ask([...probes.keys(), whole]);
  fill.onclick = () => { full = !full; change(); };
  reset.onclick = () => { asked = []; model.save({}); read(); show(); };
  listen(lines.map(({ button }) => button), (number) => ask([number]));
  // The mouse and the finger may choose here, too; the list above does the same.
  find(".live-marks tbody").onclick = ({ target }) => {
    const bug = marks.findIndex(({ row }) => row.contains(target));
    const probe = marks[bug]?.cells.indexOf(target) ?? -1;
    if (bug < 0) return;
    now = bug;
    if (probe < 0) change();
    else ask([probe]);
  };

  const show = () => {
    choice.selectedIndex = now;
    press(fill, full);
    const seen = asked[now] ?? [];
    lines.forEach(({ button, number, strip, rows }, probe) => {
      const result = results[now][probe];
      const { tiles, wrong, mark } = seen.includes(probe) ? result : { tiles: [], mark: "" };
      press(button, probe === seen.at(-1));
      number.textContent = mark === "×" && wrong.length ? String(largest(wrong)) : mark === "·" ? "0" : mark;
      number.classList.toggle("live-found", mark === "×");
      strip.classList.toggle("live-unknown", !tiles.length);
      rows.forEach((row, each) => row.forEach((tile, place) => {
        const { kind, size } = tiles[each]?.[place] ?? { kind: "" };
        tile.title = size ?? "";
        tile.className = `live-tile ${kind && `live-${kind}`}`;
        const share = within((Math.log10(size) + 3) / 3.5, 0.35, 1, 1);
        tile.style.setProperty("--live-share", `${Math.round(100 * share)}%`);
      }));
    });
    marks.forEach(({ row, cells }, bug) => {
      row.classList.toggle("live-chosen", bug === now);
      cells.forEach((cell, probe) => {
        const shown = full || asked[bug]?.includes(probe);
        cell.textContent = shown ? results[bug][probe].mark : "";
        cell.className = !shown ? "live-unknown" : { "×": "live-broken", "–": "live-silent", "·": "" }[cell.textContent];
      });
    });
    const last = seen.at(-1);
    if (last === undefined) say(labels["live.bugs_begin"]);
    else if (last === whole) {
      const number = results[now].filter(({ mark }) => mark === "×").length;
      say(filled(labels["live.bugs_seen"], { number, total: whole }));
    } else {
      const { name, act } = probes[last];
      say(filled(labels["live.bugs_said"], { name, act, verdict: verdict(results[now][last], probes[last]) }));
    }
  };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
