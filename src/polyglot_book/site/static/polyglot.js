// Keeps a reader's place and choice when the language changes, and says other scripts' words in it.
"use strict";
(() => {
  const CHOICE = "polyglot-language";
  const words = JSON.parse(document.getElementById("polyglot-words").textContent);

  const storage = {
    read: () => { try { return localStorage.getItem(CHOICE); } catch { return null; } },
    write: (code) => { try { localStorage.setItem(CHOICE, code); } catch { /* forbidden: forget it */ } },
  };

  // The section that is being read: the link's target while it is in view, else the last one above.
  const place = () => {
    const named = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (named) {
      const { top } = named.getBoundingClientRect();
      if (top > -1 && top < innerHeight) return location.hash;
    }
    if (scrollY < 50) return "";
    const above = [...document.querySelectorAll("article section[id]")]
      .filter((section) => section.getBoundingClientRect().top < innerHeight / 3);
    // The first section is the page itself.
    return above.length > 1 ? `#${encodeURIComponent(above.at(-1).id)}` : location.hash;
  };

  const switcher = document.querySelector(".polyglot-switcher");
  if (switcher) {
    const aim = () => {
      for (const link of switcher.querySelectorAll("a[data-same-page]")) link.hash = place();
    };
    switcher.addEventListener("toggle", aim);
    switcher.addEventListener("pointerdown", aim);
    switcher.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && switcher.open) {
        switcher.open = false;
        switcher.querySelector("summary").focus();
      } else if (event.key === "Enter") aim();
    });
    document.addEventListener("click", (event) => {
      if (!switcher.contains(event.target)) switcher.open = false;
    });
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-language]");
    if (link) storage.write(link.dataset.language);
  });

  // The page where a language is chosen: put the likely one first, but leave the choice to the reader.
  const cards = document.querySelector(".polyglot-cards");
  if (cards) {
    const offered = new Map([...cards.querySelectorAll("a")].map((card) => [card.dataset.language, card]));
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
    const chosen = storage.read();
    const best = offered.has(chosen) ? chosen : (navigator.languages ?? []).map(fitting).find(Boolean);
    if (best) {
      const card = offered.get(best);
      card.classList.add("polyglot-suggested");
      card.querySelector(".polyglot-card-suggestion").hidden = false;
      cards.prepend(card.closest("li"));
    }
  }

  // What is wider than the page scrolls, and must scroll from the keyboard too.
  const wide = ".polyglot-math, .pst-scrollable-table-container, .highlight pre";
  const reach = () => {
    for (const box of document.querySelectorAll(wide)) {
      if (box.scrollWidth > box.clientWidth + 1) box.tabIndex = 0;
      else box.removeAttribute("tabindex");
    }
  };
  addEventListener("load", reach);
  addEventListener("resize", reach);

  // sphinx-copybutton and sphinx-togglebutton keep their words in these variables, and use them later,
  // when the page has loaded.
  const svgTitle = (svg, title) => svg.replace(/<title>.*?<\/title>/, `<title>${title}</title>`);
  if (typeof messages === "object" && typeof iconCopy === "string") {
    messages.polyglot = {
      copy: words["Copy"],
      copy_to_clipboard: words["Copy to clipboard"],
      copy_success: words["Copied!"],
      copy_failure: words["Failed to copy"],
    };
    locale = "polyglot";
    iconCopy = svgTitle(iconCopy, words["Copy to clipboard"]);
    iconCheck = svgTitle(iconCheck, words["Copied!"]);
  }
  if (typeof toggleHintShow === "string") {
    toggleHintShow = words["Click to show"];
    toggleHintHide = words["Click to hide"];
    addEventListener("load", () => {
      for (const button of document.querySelectorAll("button.toggle-button")) {
        button.setAttribute("aria-label", words["Toggle hidden content"]);
      }
    });
  }
})();
