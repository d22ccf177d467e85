// What a page can do in a browser: colours, drawers, menus, copying, the reader's place and language.
// Everything else works without it. It and memory.js are all that a page loads before somebody asks for more.
"use strict";
(() => {
  const root = document.documentElement;
  const find = (selector) => document.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const words = JSON.parse(document.getElementById("polyglot-words").textContent);
  const here = document.currentScript.src;

  // A browser may forbid a page to remember anything.
  const remember = (key, value) => { try { localStorage.setItem(key, value); } catch { /* forget it */ } };

  // Colours: as the system has them, light, or dark. The first choice is made in the page's head.
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const themeButton = find(".theme-switch-button");
  const color = (mode) => {
    root.dataset.mode = mode;
    root.dataset.theme = mode === "auto" ? (dark.matches ? "dark" : "light") : mode;
    const name = words["Color mode: %s"].replace("%s", words[{ auto: "System Settings", light: "Light", dark: "Dark" }[mode]]);
    if (themeButton) themeButton.title = name;
  };
  color(root.dataset.mode || "auto");
  dark.addEventListener("change", () => color(root.dataset.mode));
  themeButton?.addEventListener("click", () => {
    const order = dark.matches ? ["auto", "light", "dark"] : ["auto", "dark", "light"];
    const next = order[(order.indexOf(root.dataset.mode) + 1) % 3];
    color(next);
    remember("mode", next);
  });
  // Paper is white.
  let onScreen = null;
  addEventListener("beforeprint", () => { onScreen = root.dataset.theme; root.dataset.theme = "light"; });
  addEventListener("afterprint", () => { root.dataset.theme = onScreen; });

  // The title is the button's name, which is not said twice.
  const buttonOf = (className, title, innerHTML = "") =>
    Object.assign(document.createElement("button"), { type: "button", className, title, innerHTML });

  // The chapters and the contents of a page: beside it where there is room, else in a drawer over it.
  for (const [name, room] of [["primary", 992], ["secondary", 1200]]) {
    const [button, bar, drawer] =
      [find(`.${name}-toggle`), find(`#pst-${name}-sidebar`), find(`#pst-${name}-sidebar-modal`)];
    if (!button || !bar || !drawer) continue;
    const close = buttonOf("btn polyglot-close", words["Close"], '<span aria-hidden="true">✕</span>');
    close.addEventListener("click", () => drawer.close());
    const beside = matchMedia(`(min-width: ${room}px)`);
    const tell = () => {
      const shown = drawer.open || (beside.matches && !bar.classList.contains("pst-sidebar-hidden"));
      button.setAttribute("aria-expanded", shown);
    };
    tell();
    beside.addEventListener("change", tell);
    button.addEventListener("click", () => {
      if (beside.matches) {
        bar.classList.toggle("pst-sidebar-hidden");
      } else {
        drawer.append(close, ...bar.childNodes);
        drawer.classList.add(...bar.classList);
        drawer.showModal();
      }
      tell();
    });
    drawer.addEventListener("click", (event) => {
      if (event.target === drawer || event.target.closest("a")) drawer.close();
    });
    drawer.addEventListener("close", () => {
      close.remove();
      bar.append(...drawer.childNodes);
      tell();
    });
  }

  // Menus close on Escape, on a click elsewhere, and when the focus leaves them.
  for (const menu of all(".polyglot-menu")) {
    menu.addEventListener("keydown", (event) => {
      if (event.key !== "Escape" || !menu.open) return;
      menu.open = false;
      menu.querySelector("summary").focus();
    });
    menu.addEventListener("focusout", (event) => {
      if (event.relatedTarget && !menu.contains(event.relatedTarget)) menu.open = false;
    });
    document.addEventListener("click", (event) => { if (!menu.contains(event.target)) menu.open = false; });
  }
  // What is shown only when somebody asks for it: its module, and the style sheet and the words of all of them.
  let ready;
  const later = async (name) => {
    const module = await import(new URL(name, here));
    const dress = (done) => {
      const sheet = Object.assign(document.createElement("link"), { rel: "stylesheet", onload: done, onerror: done });
      sheet.href = new URL("later.css", here);
      document.head.append(sheet);
    };
    const learn = async () => Object.assign(words, await (await fetch(new URL(`later-${root.lang}.json`, here))).json());
    ready ??= Promise.all([new Promise(dress), learn()]);
    await ready.catch(() => { ready = null; });
    return module;
  };
  // The search is loaded when it is first asked for; a browser loads nothing more into a page opened as a file.
  const searchButton = find(".polyglot-search");
  const search = () => later("search.js").then(
    (module) => module.open(searchButton, words),
    () => alert(words["The search works on a website, not in pages opened as files."]));
  searchButton?.addEventListener("click", search);
  addEventListener("keydown", (event) => {
    const command = (event.ctrlKey || event.metaKey) && event.code === "KeyK";
    const slash = event.key === "/" && !event.ctrlKey && !event.metaKey && !event.altKey
      && !event.target.closest?.("input, textarea, select, [contenteditable]");
    if (!searchButton || !(command || slash)) return;
    event.preventDefault();
    search();
  });
  find(".polyglot-print")?.addEventListener("click", () => print());
  for (const link of all(".polyglot-download a[download$='.ipynb']")) {
    link.addEventListener("click", (event) => {
      if (!link.href.startsWith("http")) return;
      event.preventDefault();
      import(new URL("notebook.js", here)).then(({ download }) => download(link)).catch(() => { location.href = link.href; });
    });
  }
  const full = find(".polyglot-fullscreen");
  if (full && document.fullscreenEnabled) {
    full.hidden = false;
    full.addEventListener("click", () =>
      document.fullscreenElement ? document.exitFullscreen() : root.requestFullscreen());
  }
  const up = find("#pst-back-to-top");
  up?.addEventListener("click", () => { scrollTo(0, 0); find("#main-content").focus({ preventScroll: true }); });

  // What the address names; behind a ~ is the state of a figure, which the browser does not know.
  const target = () => {
    let id = location.hash.slice(1).split("~")[0];
    try { id = decodeURIComponent(id); } catch { /* no encoded character, only a percent sign */ }
    return id ? document.getElementById(id) : null;
  };

  // When a browser has time: idle or not, after a second, since a machine that is never idle must not wait for ever.
  const whenIdle = (task) => self.requestIdleCallback ? requestIdleCallback(task, { timeout: 1000 }) : setTimeout(task);

  // A link to what lies inside something folded opens it.
  const unfold = () => {
    const named = target();
    if (!named) return;
    if (location.hash.includes("~")) named.scrollIntoView();
    const folded = named.closest("details") ?? (named.matches("span") && named.nextElementSibling);
    if (folded && folded.matches?.("details") && !folded.open) {
      folded.open = true;
      named.scrollIntoView();
    }
  };
  addEventListener("hashchange", unfold);
  unfold();

  // The reader's place: the link's target while it is in view, else the last cell or heading above.
  const marks = all("article :is(section, .cell, .admonition, p, ol, ul, details, table, tr)[id]");
  const place = () => {
    const named = target();
    if (named) {
      const { top, bottom } = named.getBoundingClientRect();
      if ((location.hash.includes("~") ? bottom : top) > -1 && top < innerHeight) return location.hash;
    }
    if (scrollY < 50) return "";
    const above = marks.filter((mark) => mark.getBoundingClientRect().top < innerHeight / 3);
    // The first one is the page itself.
    return above.length > 1 ? `#${encodeURIComponent(above.at(-1).id)}` : location.hash;
  };
  const switcher = find(".polyglot-switcher");
  const aim = () => { for (const link of all("a[data-same-page]", switcher)) link.hash = place(); };
  switcher?.addEventListener("toggle", aim);
  switcher?.addEventListener("pointerdown", aim);
  switcher?.addEventListener("keydown", (event) => { if (event.key === "Enter") aim(); });
  document.addEventListener("click", (event) => {
    const link = event.target.closest?.("a[data-language]");
    if (link) remember("polyglot-language", link.dataset.language);
  });

  // The section that is being read is marked in the page's contents.
  const entries = new Map(all("#pst-page-toc-nav a").map((link) => [link.hash.slice(1), link]));
  if (entries.size) {
    const seen = new IntersectionObserver((changes) => {
      for (const { isIntersecting, target } of changes) {
        const link = entries.get(target.id);
        if (!isIntersecting || !link) continue;
        for (const marked of all("#pst-page-toc-nav .active")) marked.classList.remove("active");
        link.classList.add("active");
        for (let entry = link.closest("li"); entry; entry = entry.parentElement.closest("li")) {
          entry.classList.add("active");
        }
      }
    }, { rootMargin: "-10% 0px -80% 0px" });
    for (const id of entries.keys()) {
      const section = document.getElementById(decodeURIComponent(id));
      if (section) seen.observe(section);
    }
  }

  // Some figures come to life when they come near, which is from the first scrolling on; where their scripts cannot be
  // had, they stand still.
  const still = new Set(all("[data-live]"));
  const watch = (rootMargin) => {
    const near = new IntersectionObserver((changes) => {
      for (const { isIntersecting, target: figure } of changes) {
        if (!isIntersecting || !still.delete(figure)) continue;
        import(new URL("live.js", here)).then(({ enliven }) => enliven(figure))
          .catch(() => figure.classList.add("polyglot-live-off"));
      }
    }, { rootMargin });
    for (const figure of still) near.observe(figure);
  };
  watch("0px 0px -20%");
  addEventListener("scroll", () => watch("50%"), { once: true, passive: true });

  // What a chapter asks of its reader begins at the reader's first sign; at once where it is in view, or was before.
  const practice = find("#polyglot-practice");
  const signs = ["scroll", "wheel", "pointerdown", "keydown", "focusin", "blur"];
  const begin = () => {
    if (!practice.isConnected) return;
    const script = document.createElement("script");
    Object.assign(script.dataset, practice.dataset);
    script.src = practice.dataset.src;
    practice.replaceWith(script);
  };
  // It needs memory.js, which has run by then.
  if (practice) addEventListener("DOMContentLoaded", () => {
    for (const sign of signs) addEventListener(sign, begin, { once: true, passive: true });
    if (location.hash || performance.getEntriesByType("navigation")[0]?.type !== "navigate") begin();
    const seen = new IntersectionObserver((changes) => { if (changes.some((each) => each.isIntersecting)) begin(); });
    for (const task of all(".exercise.admonition, .question.admonition, .tag_hide-output")) seen.observe(task);
  });

  if (new URLSearchParams(location.search).has("sheet")) later("sheet.js").then((sheet) => sheet.show(words));

  // What no reader needs in the first moment.
  whenIdle(() => {
    // Code can be copied.
    const button = buttonOf("copybtn", words["Copy to clipboard"]);
    for (const code of all(".cell_input .highlight, article :not(.cell_output) > [class*=highlight-]:not(.polyglot-signature) > .highlight")) {
      if (!code.querySelector(".copybtn")) code.append(button.cloneNode());
    }
    // Figures can be taken along; pages opened as files load no module.
    for (const figure of location.protocol === "file:" ? [] : all(".cell_output > :is(svg.polyglot-figure, .polyglot-live)")) {
      const icon = '<i class="fa-solid fa-share-nodes" aria-hidden="true"></i>';
      const take = buttonOf("polyglot-take", words["Save or share this figure"], icon);
      take.ariaExpanded = "false";
      take.addEventListener("click", () => later("take.js").then(({ open }) => open(take, words), () => {}));
      if (figure.matches("svg")) figure.after(take);
      else figure.append(take);
    }
    // On a narrow page lines of code and formulas wrap.
    const narrow = matchMedia("(max-width: 48rem)");
    const wrap = () => narrow.matches && import(new URL("narrow.js", here)).then((module) => module.wrap(),
      () => { /* a page opened as a file: lines wrap without a sign, and formulas scroll */ });
    wrap();
    narrow.addEventListener("change", wrap);
    // What is wider than its box scrolls, says so at its edge, and scrolls from the keyboard too.
    const boxes = all(".polyglot-math, .pst-scrollable-table-container, .highlight pre, .cell_output > .output pre");
    const fade = (box, hidden) => {
      box.classList.toggle("polyglot-more", hidden > 2);
      box.style.setProperty("--polyglot-hidden", `${hidden}px`);
    };
    const edge = (box) => fade(box, box.scrollWidth - box.clientWidth - box.scrollLeft);
    // What the keyboard reaches has a name; code has that of its cell.
    const given = (box) => box.localName !== "div" ? { tabindex: 0 }
      : { tabindex: 0, role: "group", "aria-label": words[box.matches(".polyglot-math") ? "Formula" : "Table"] };
    const reach = (boxes) => {
      const hidden = boxes.map((box) => box.scrollWidth - box.clientWidth - box.scrollLeft);
      const wide = boxes.map((box) => box.scrollWidth > box.clientWidth + 1);
      boxes.forEach((box, number) => {
        for (const [name, value] of Object.entries(given(box))) {
          if (wide[number]) box.setAttribute(name, value);
          else box.removeAttribute(name);
        }
        if (wide[number] || box.classList.contains("polyglot-more")) fade(box, hidden[number]);
      });
    };
    // Told when a box is first laid out, too: to ask for the width of one that is not would lay it out.
    const sizes = new ResizeObserver((changes) => reach(changes.map(({ target }) => target)));
    for (const box of boxes) {
      box.addEventListener("scroll", () => edge(box), { passive: true });
      sizes.observe(box);
    }
    // The site as an app, and without a network.
    const keep = find(".polyglot-keep");
    if (keep && isSecureContext && navigator.serviceWorker && location.protocol !== "file:") {
      const button = keep.firstElementChild;
      const offline = (what) => later("offline.js").then((module) => module[what](button, words.offline), () => {});
      keep.hidden = false;
      button.addEventListener("click", () => offline("open"));
      if (navigator.serviceWorker.controller) offline("look");
      const app = Object.assign(document.createElement("link"), { rel: "manifest" });
      app.href = new URL(`../offline/${root.lang}.webmanifest`, here);
      document.head.append(app);
    }
    if (up) {
      addEventListener("scroll", () => { up.hidden = scrollY < 2 * innerHeight; }, { passive: true });
    }
  });
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.(".copybtn");
    if (!button) return;
    const text = button.parentElement.querySelector("pre").innerText.trimEnd();
    // Of a session with prompts only what was typed.
    const typed = text.split("\n").filter((line) => /^(>>>|\.\.\.)/.test(line)).map((line) => line.slice(4)).join("\n");
    let said = "Copied!";
    try { await navigator.clipboard.writeText((text.startsWith(">>>") ? typed : text) + "\n"); }
    catch { said = "Failed to copy"; }
    button.classList.toggle("success", said === "Copied!");
    button.title = words[said];
    setTimeout(() => {
      button.classList.remove("success");
      button.title = words["Copy to clipboard"];
    }, 2000);
  });
})();
