// On a narrow page: a sign beside lines of code that go on, and rows for formulas that are too wide.
"use strict";

// Each line of a listing becomes an element, beside whose second row the style sheet puts the sign.
const markLines = (pre) => {
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

// Where a formula may be cut: at the wide space between two statements, then also before a relation, then before an operator.
const SIGNS = [/^$/, /^[=≈≤≥<>→⇒∈∼]$/, /^[=≈≤≥<>→⇒∈∼+−⋅⊙×]$/];

// The statements of a formula, each a list of parts, each a list of elements. Nothing is cut within parentheses.
const statementsOf = (children, signs) => {
  const statements = [[[]]];
  let depth = 0;
  for (const child of children) {
    const text = child.localName === "mo" ? child.textContent : "";
    if (!depth && child.localName === "mspace" && parseFloat(child.getAttribute("width")) >= 1) {
      statements.push([[]]);
      continue;
    }
    const parts = statements.at(-1);
    if (!depth && text && signs.test(text) && parts.at(-1).length) parts.push([]);
    parts.at(-1).push(child);
    if (/^[([{]$/.test(text)) depth += 1;
    if (/^[)\]}]$/.test(text)) depth -= 1;
  }
  return statements.map((parts) => parts.filter((part) => part.length));
};

// A formula of several parts flows like words; what is still wider than its box becomes smaller, and scrolls at last.
const breakFormula = (box) => {
  const isWide = () => box.scrollWidth > box.clientWidth + 1;
  const whole = box.querySelector(":scope > math");
  if (!whole || box.style.fontSize || !isWide()) return;
  const children = [...whole.children];
  const row = document.createElement("span");
  row.className = "polyglot-rows";
  const piece = (part) => {
    const math = whole.cloneNode(false);
    for (const name of ["display", "alttext"]) math.removeAttribute(name);
    math.setAttribute("displaystyle", "true");
    // A sign that begins a row keeps its spaces.
    if (part[0].localName === "mo" && part.length > 1 && SIGNS[2].test(part[0].textContent)) part[0].setAttribute("form", "infix");
    math.append(...part);
    return math;
  };
  for (const signs of SIGNS) {
    const statements = statementsOf(children, signs);
    if (statements.flat().length < 2 || !isWide()) continue;
    row.replaceChildren(...statements.flatMap((parts, number) => [
      ...(number ? [signs === SIGNS[0] ? "\u2003 " : document.createElement("br")] : []),
      ...parts.flatMap((part) => [piece(part), " "]),
    ]));
    box.replaceChildren(row);
  }
  if (isWide()) box.style.fontSize = `${Math.max(0.7, box.clientWidth / box.scrollWidth)}em`;
};

// A formula that is seen keeps its rows until it is out of view: nothing moves under the reader's eyes.
const unseen = new IntersectionObserver((changes) => {
  for (const { isIntersecting, target } of changes) {
    if (isIntersecting || !target.clientWidth) continue;
    breakFormula(target);
    unseen.unobserve(target);
  }
});

// Listings get their signs when they come near: all at once, a long page would stand still for a moment.
const near = new IntersectionObserver((changes) => {
  for (const { isIntersecting, target } of changes) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    if (!target.querySelector(".polyglot-line")) markLines(target);
  }
}, { rootMargin: "50%" });

export const wrap = () => {
  for (const pre of document.querySelectorAll("article pre")) near.observe(pre);
  for (const box of document.querySelectorAll(".polyglot-math")) unseen.observe(box);
};

// What was folded had no width.
document.addEventListener("toggle", ({ target }) => target.querySelectorAll(".polyglot-math").forEach(breakFormula), true);
