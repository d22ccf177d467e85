// On a narrow page: a sign beside lines of code that go on, and rows for formulas that are too wide.
"use strict";

// Each line of a listing becomes an element, beside whose second row the style sheet puts the sign.
export const markLines = (pre) => {
  const open = [];
  pre.innerHTML = pre.innerHTML.split("\n").map((line) => {
    const before = open.join("");
    for (const [tag, end] of line.matchAll(/<(\/?)[a-z][^>]*>/g)) {
      if (end) open.pop();
      else open.push(tag);
    }
    const after = open.map((tag) => `</${tag.match(/[a-z]+/)[0]}>`).reverse().join("");
    return line && `<span class="polyglot-line">${before}${line}${after}</span>`;
  }).join("\n");
};

const RELATION = /^[=≈≤≥<>→⇒∈∼]$/;
const OPERATOR = /^[+−⋅⊙×]$/;

// The parts of a formula, outside of its parentheses: each but the first begins with such a sign, or follows a comma.
const partsOf = (children, sign) => {
  const parts = [[]];
  let depth = 0;
  for (const child of children) {
    const text = child.localName === "mo" ? child.textContent : "";
    if (!depth && sign.test(text) && parts.at(-1).length) parts.push([]);
    parts.at(-1).push(child);
    if (/^[([{]$/.test(text)) depth += 1;
    if (/^[)\]}]$/.test(text)) depth -= 1;
    if (!depth && (text === "," || (child.localName === "mspace" && parseFloat(child.getAttribute("width")) >= 1))) parts.push([]);
  }
  return parts.filter((part) => part.length);
};

// A formula of several parts is flowed like words; what is still wider than its box becomes smaller, and scrolls at last.
export const breakFormula = (box) => {
  const isWide = () => box.scrollWidth > box.clientWidth + 1;
  const whole = box.querySelector(":scope > math");
  if (!whole || box.style.fontSize || !isWide()) return;
  const children = [...whole.children];
  const row = document.createElement("span");
  row.setAttribute("role", "img");
  row.setAttribute("aria-label", whole.getAttribute("alttext"));
  for (const signs of [RELATION, new RegExp(`${RELATION.source}|${OPERATOR.source}`)]) {
    const parts = partsOf(children, signs);
    if (parts.length < 2 || !isWide()) continue;
    row.replaceChildren(...parts.flatMap((part) => {
      const math = whole.cloneNode(false);
      math.removeAttribute("display");
      math.setAttribute("displaystyle", "true");
      // A sign that begins a row keeps its spaces.
      if (part[0].localName === "mo" && part.length > 1 && signs.test(part[0].textContent)) part[0].setAttribute("form", "infix");
      math.append(...part);
      return [math, " "];
    }));
    box.replaceChildren(row);
  }
  if (isWide()) box.style.fontSize = `${Math.max(0.7, box.clientWidth / box.scrollWidth)}em`;
};
