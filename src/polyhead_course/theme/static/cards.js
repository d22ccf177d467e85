// The page where a language is chosen: the likely one comes first, and who has read here goes on from here.
"use strict";
(() => {
  const cards = document.querySelector(".polyglot-cards");
  const offered = new Map([...cards.querySelectorAll("a")].map((card) => [card.dataset.language, card]));
  // A browser may forbid a page to remember anything.
  const remembered = (key) => { try { return localStorage.getItem(key); } catch { return null; } };
  const script = (tag) => {
    const locale = new Intl.Locale(tag).maximize();
    return `${locale.language}-${locale.script}`;
  };
  // zh-HK and zh-Hant are written as zh-TW is; zh and zh-SG as zh-CN.
  const fitting = (tag) => {
    try {
      if (offered.has(tag)) return tag;
      return [...offered.keys()].find((code) => script(code) === script(tag));
    } catch { return undefined; }
  };
  const chosen = remembered("polyglot-language");
  const best = offered.has(chosen) ? chosen : (navigator.languages ?? []).map(fitting).find(Boolean);
  if (best) {
    const card = offered.get(best);
    card.classList.add("polyglot-suggested");
    card.querySelector(".polyglot-card-suggestion").hidden = false;
    cards.prepend(card.closest("li"));
  }
  // What memory.js remembers of a chapter; the choice of a language is of no other.
  const block = document.querySelector(".polyglot-memory");
  const show = () => {
    let last = null;
    try {
      const folder = new URL("..", offered.values().next().value.href).pathname;
      ({ last } = JSON.parse(remembered(`polyglot-memory ${folder}`)));
    } catch { /* nothing can be used */ }
    const card = offered.get(last?.language);
    const title = last?.titles?.[last.language];
    block.hidden = !(card && title && [title, last.page, last.section, last.number].every((each) => typeof each === "string"));
    if (block.hidden) return;
    const go = block.querySelector("a");
    go.lang = go.hreflang = last.language;
    go.textContent = card.dataset.go.replace("%(number)s", () => last.number).replace("%(title)s", () => title);
    go.href = new URL(`${encodeURI(last.page)}.html#${encodeURIComponent(last.section)}`, new URL(".", card.href));
  };
  show();
  addEventListener("storage", show);
  addEventListener("pageshow", (event) => { if (event.persisted) show(); });
})();
