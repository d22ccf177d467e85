// What the modules of the explorables share: elements, controls and numbers.

const SVG = "http://www.w3.org/2000/svg";

const fill = (element, attributes, children) => {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
};

// An HTML or SVG element.
export const html = (name, attributes = {}, ...children) => fill(document.createElement(name), attributes, children);
export const svg = (name, attributes = {}, ...children) => fill(document.createElementNS(SVG, name), attributes, children);

// The elements inside another one: the first that a selector matches, and all of them.
export const finder = (el) => ({
  find: (selector) => el.querySelector(selector),
  all: (selector) => [...el.querySelectorAll(selector)],
});

// The buttons of each group, in the order of the template.
export const groupsOf = (el) =>
  [...el.querySelectorAll(".live-buttons")].map((group) => [...group.querySelectorAll("button")]);

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

export const press = (element, pressed) => element.setAttribute("aria-pressed", String(pressed));

// Several buttons of which each does something with its number, and of which some are pressed.
export const listen = (buttons, click) => buttons.forEach((button, number) => { button.onclick = () => click(number); });

// A slider; what `set` writes beside it is also what a screen reader says.
export const slider = (input, move) => {
  input.oninput = () => move(Number(input.value));
  return (value, text) => {
    input.value = value;
    input.nextElementSibling.textContent = text;
    input.setAttribute("aria-valuetext", text);
  };
};

// A line that is read out when it has not changed for a moment; it is seen all the time. From the first change on
// it describes the figure in place of the picture that the page shows without scripts.
export const announcer = (stack, model) => {
  const [seen, heard] = [stack.firstElementChild, stack.nextElementSibling];
  const body = stack.closest(".polyglot-live-body");
  const still = body.getAttribute("aria-describedby");
  const lines = () => [...body.querySelectorAll(".live-said")].map(({ id }) => id);
  seen.id = `${still}-now-${lines().length}`;
  seen.classList.add("live-said");
  let timer;
  const say = (text) => {
    const first = !seen.textContent;
    seen.textContent = text;
    clearTimeout(timer);
    timer = setTimeout(() => {
      if (!first) heard.textContent = text;
      if (still) body.setAttribute("aria-describedby", Object.keys(model.state).length ? lines().join(" ") : still);
    }, first ? 0 : 500);
  };
  return { seen, heard, say };
};

// The switch that puts a bug in: `set` shows which one, and says what is wrong.
export const bugSwitch = (el, model, choose) => {
  const select = el.querySelector(".live-bug select");
  const stack = el.querySelector(".live-ill");
  const { say } = announcer(stack, model);
  select.onchange = () => choose(select.selectedIndex);
  return (number) => {
    select.selectedIndex = number;
    const { said } = model.data.bugs[number];
    if (stack.firstElementChild.textContent !== said) say(said);
    stack.classList.toggle("live-wrong", number > 0);
  };
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
