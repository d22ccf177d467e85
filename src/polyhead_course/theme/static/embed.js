// A live figure in a frame of another site: it lives at once, and tells the page around it how high it is.
import { enliven } from "./live.js";

const root = document.documentElement;
const figure = document.querySelector("[data-live]");

// The colours are the reader's; a page that has only light or dark ones adds ?theme=light or ?theme=dark.
const dark = matchMedia("(prefers-color-scheme: dark)");
const color = () => {
  const asked = new URLSearchParams(location.search).get("theme");
  if (["light", "dark"].includes(asked)) root.dataset.theme = asked;
  else if (root.dataset.mode === "auto") root.dataset.theme = dark.matches ? "dark" : "light";
};
color();
dark.addEventListener("change", color);

if (parent !== self) {
  const tell = () => parent.postMessage({ type: "polyglot-height", height: Math.ceil(document.body.offsetHeight) }, "*");
  tell(); // a browser that does not draw a frame far below does not observe it either
  new ResizeObserver(tell).observe(document.body);
}
// It opens in another window; what the reader has chosen goes with it.
const link = document.querySelector(".polyglot-embed-source a");
const aim = () => { link.hash = location.hash || figure.parentElement.id; };
for (const kind of ["pointerdown", "focus"]) link.addEventListener(kind, aim);

enliven(figure).catch(() => figure.classList.add("polyglot-live-off"));
