// What a browser remembers of its reader: the section last read, and the chapters read. Nothing leaves the browser.
// On the first page of a language it runs right behind its block, so that the block is there before what follows.
"use strict";
(() => {
  const { home, read, download } = document.currentScript.dataset;
  const folder = new URL(".", new URL(home, location.href));
  const language = document.documentElement.lang;
  const all = (selector) => [...document.querySelectorAll(selector)];
  const pageOf = ({ pathname }) =>
    pathname.startsWith(folder.pathname) ? pathname.slice(folder.pathname.length).replace(/\.html$/, "") : "";
  const untitled = /^(\d+)\.\s+/;
  // The chapters are the pages with a number.
  const chapters = new Map();
  for (const link of all(".bd-links a")) {
    const [, number] = untitled.exec(link.textContent) ?? [];
    if (number) chapters.set(pageOf(link), { number, link, title: link.textContent.replace(untitled, "") });
  }

  // Several books may share a host. A page is either read, or has a list of the sections that were in view.
  const KEY = `polyglot-memory ${new URL("..", folder).pathname}`;
  const isText = (value) => typeof value === "string" && value.length < 300;
  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  // A memory without what does not belong in it; null where it is none.
  const checked = (data) => {
    if (!isTable(data) || data.version !== 1 || !isTable(data.pages)) return null;
    const pages = Object.entries(data.pages).filter(([, seen]) => seen === true || (Array.isArray(seen) && seen.every(isText)));
    const { page, section, titles } = data.last ?? {};
    const whole = isText(page) && isText(section) && isTable(titles) && Object.values(titles).every(isText);
    return { version: 1, pages: Object.fromEntries(pages), last: whole ? { page, section, titles } : null };
  };
  // A browser may forbid a page to remember anything, or have no room.
  const recall = () => {
    let found = null;
    try { found = checked(JSON.parse(localStorage.getItem(KEY))); } catch { /* nothing can be used */ }
    return found ?? { version: 1, pages: {}, last: null };
  };
  const keep = (memory) => {
    try { localStorage.setItem(KEY, JSON.stringify(memory)); return true; } catch { return false; }
  };

  // The chapters that were read, beside every page and in the list of the first one.
  const block = document.querySelector(".polyglot-memory");
  const leads = (link) => chapters.has(pageOf(link)) && !link.hash && !link.previousSibling?.textContent.trim();
  const mark = () => {
    const { pages } = recall();
    const list = block ? all("article li > a, article li > p:first-child > a").filter(leads) : [];
    for (const link of [...[...chapters.values()].map((chapter) => chapter.link), ...list]) {
      const done = pages[pageOf(link)] === true;
      if (done === link.classList.contains("polyglot-read")) continue;
      link.classList.toggle("polyglot-read", done);
      if (!done) { link.lastChild.remove(); continue; }
      const word = document.createElement("span");
      word.className = "visually-hidden";
      word.textContent = ` ${read}`;
      link.append(word);
    }
  };
  mark();
  document.addEventListener("DOMContentLoaded", mark);

  const titleOf = (section) => {
    const heading = section?.querySelector("h1, h2, h3, h4, h5, h6")?.cloneNode(true);
    heading?.querySelector(".headerlink")?.remove();
    return heading?.textContent.trim().replace(untitled, "").slice(0, 200);
  };

  // A chapter: what is in view when the page has come to rest.
  const page = pageOf(location);
  if (chapters.has(page)) {
    const sections = all("article section[id]");
    const main = all("article > section > section[id]");
    const note = () => {
      if (document.hidden || !sections.length) return;
      const memory = recall();
      const box = (section) => section.getBoundingClientRect();
      const here = sections.filter((section) => box(section).top < innerHeight / 3).at(-1) ?? sections[0];
      const same = memory.last?.page === page && memory.last.section === here.id;
      const titles = { ...(same ? memory.last.titles : {}), [language]: titleOf(here) ?? "" };
      memory.last = { page, section: here.id, titles };
      const before = memory.pages[page] ?? [];
      if (before !== true) {
        const inView = main.filter((section) => box(section).top < innerHeight && box(section).bottom > 0);
        const seen = new Set([...before, ...inView.map(({ id }) => id)]);
        memory.pages[page] = main.every(({ id }) => seen.has(id)) || [...seen];
      }
      if (keep(memory)) mark();
    };
    let rest = 0;
    const wait = () => { clearTimeout(rest); rest = setTimeout(note, 500); };
    addEventListener("scroll", wait, { passive: true });
    document.addEventListener("visibilitychange", wait);
    wait();
  }

  // What another tab, or a page from which the reader comes back, has changed.
  let show = () => {};
  const renew = () => { mark(); if (block && !block.hidden) show(); };
  addEventListener("storage", renew);
  addEventListener("pageshow", (event) => { if (event.persisted) renew(); });
  if (!block) return;

  const [go, status, file] = ["a", "[role=status]", "input"].map((each) => block.querySelector(each));
  // In another language than it was read in, the section's title stands on its page.
  const learn = async ({ page, section }) => {
    if (!location.protocol.startsWith("http")) return;
    try {
      const text = await (await fetch(go.href)).text();
      const title = titleOf(new DOMParser().parseFromString(text, "text/html").getElementById(section));
      const memory = recall();
      if (!title || memory.last?.page !== page || memory.last.section !== section) return;
      memory.last.titles[language] = title;
      if (keep(memory)) show();
    } catch { /* the chapter's title stays */ }
  };
  show = () => {
    const { last } = recall();
    const chapter = chapters.get(last?.page);
    go.hidden = !chapter;
    if (!chapter) return;
    const title = last.titles[language] || chapter.title;
    go.href = `${chapter.link.getAttribute("href")}#${encodeURIComponent(last.section)}`;
    go.textContent = block.dataset.go.replace("%(number)s", chapter.number).replace("%(title)s", () => title);
    if (!last.titles[language]) learn(last);
  };
  const { last, pages } = recall();
  block.hidden = !last && !Object.keys(pages).length;
  show();

  const say = (name) => { status.textContent = block.dataset[name]; };
  const actions = {
    export() {
      const link = document.createElement("a");
      link.href = URL.createObjectURL(new Blob([JSON.stringify(recall(), null, 1)], { type: "application/json" }));
      link.download = download;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      say("exported");
    },
    import() { file.click(); },
    forget() {
      if (!confirm(block.dataset.sure)) return;
      try { localStorage.removeItem(KEY); } catch { /* there was nothing */ }
      mark();
      show();
      say("forgotten");
    },
  };
  for (const button of block.querySelectorAll("button")) button.addEventListener("click", actions[button.value]);
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    let found = null;
    try { if (chosen.size < 1e5) found = checked(JSON.parse(await chosen.text())); } catch { /* no JSON */ }
    file.value = "";
    if (!found) { say("junk"); return; }
    const memory = recall();
    for (const [name, seen] of Object.entries(found.pages)) {
      const before = memory.pages[name] ?? [];
      memory.pages[name] = seen === true || before === true || [...new Set([...before, ...seen])];
    }
    memory.last = found.last ?? memory.last;
    const kept = keep(memory);
    mark();
    show();
    say(kept ? "imported" : "full");
  });
})();
