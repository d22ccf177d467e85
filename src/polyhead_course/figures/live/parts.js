// What the modules of the explorables share: elements, controls, numbers, and their style sheet.

const SVG = "http://www.w3.org/2000/svg";

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null) element.setAttribute(name, value);
  }
  element.append(...children);
  return element;
};

// An HTML or SVG element; a function among the attributes listens to the event of that name.
export const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// Four digits, as many as the tests compare; `short` leaves out zeros at the end.
export const fixed = (number) =>
  (Number.isNaN(number) ? "NaN" : number.toFixed(4).replace(/^-(?=0\.0*$)/, "").replace("-", "−"));
export const short = (number) => fixed(number).replace(/\.?0+$/, "");

export const filled = (label, values) => label.replace(/\{(\w+)\}/g, (_, name) => values[name]);

// Exponentials over their sum; minus infinity among finite scores gets 0, nothing but it NaN.
export const softmax = (scores) => {
  const highest = Math.max(...scores);
  const powers = scores.map((score) => Math.exp(score - highest));
  const sum = powers.reduce((total, power) => total + power, 0);
  return powers.map((power) => power / sum);
};

// A number of the state within its bounds, or where it is missing or none, the one to begin with.
export const within = (number, lowest, highest, otherwise) =>
  Number.isFinite(number) ? Math.min(highest, Math.max(lowest, number)) : otherwise;

export const button = (label, click) => html("button", { type: "button", click }, label);

export const press = (element, pressed) => element.setAttribute("aria-pressed", String(pressed));

// A named slider; what `set` writes beside it is also what a screen reader says.
export const slider = (name, { min, max, step, move }) => {
  const input = html("input", {
    type: "range", min, max, step, "aria-label": name, input: () => move(Number(input.value)),
  });
  const number = html("span", { class: "live-number" });
  const set = (value, text) => {
    input.value = value;
    number.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
  return { input, number, set };
};

// A line that is read out when it has not changed for a moment; it is seen all the time.
export const announcer = () => {
  const seen = html("p", { class: "live-now", "aria-hidden": "true" });
  const heard = html("p", { class: "visually-hidden", "aria-live": "polite" });
  let timer;
  const say = (text) => {
    const first = !seen.textContent;
    seen.textContent = text;
    clearTimeout(timer);
    if (!first) timer = setTimeout(() => { heard.textContent = text; }, 500);
  };
  return { seen, heard, say };
};

// In a grid one cell takes the focus; arrows, Home and End move it.
export const roving = (grid, cells, focused) => {
  const moves = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
  const go = (row, column) => {
    for (const cell of cells.flat()) cell.tabIndex = -1;
    cells[row][column].tabIndex = 0;
    focused?.(row, column);
  };
  const at = (element) => {
    const row = cells.findIndex((line) => line.includes(element));
    return row < 0 ? null : [row, cells[row].indexOf(element)];
  };
  grid.addEventListener("keydown", (event) => {
    const place = at(event.target);
    if (!place || event.altKey || event.ctrlKey || event.metaKey) return;
    let [row, column] = place;
    if (event.key in moves) [row, column] = [row + moves[event.key][0], column + moves[event.key][1]];
    else if (event.key === "Home") column = 0;
    else if (event.key === "End") column = cells[row].length - 1;
    else return;
    event.preventDefault();
    cells[row]?.[column]?.focus();
  });
  grid.addEventListener("focusin", (event) => { const place = at(event.target); if (place) go(...place); });
  return go;
};

// A module can draw once its style is there; without it, it draws all the same.
await new Promise((done) => {
  const link = html("link", { rel: "stylesheet", href: new URL("live.css", import.meta.url), load: done, error: done });
  document.head.append(link);
});
