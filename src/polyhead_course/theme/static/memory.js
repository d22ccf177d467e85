// What a browser remembers of its reader: the section last read, the chapters read, what was guessed and solved in them.
// Nothing leaves the browser.
// On the first page of a language it runs right behind its block, so that the block is there before what follows.
"use strict";
(() => {
  const { home, read, practised, both, download } = document.currentScript.dataset;
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
  const isList = (value) => Array.isArray(value) && value.every(isText);
  const isTable = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
  // Of a page: how many exercises and questions it has, the ids of those done, and by id what was chosen or guessed.
  const nothing = () => ({ of: 0, done: [], said: {} });
  const isPractice = (value) => isTable(value) && Number.isInteger(value.of) && isList(value.done)
    && isTable(value.said) && Object.values(value.said).every(isText);
  const begun = () => ({ version: 2, pages: {}, practice: {}, last: null });
  // A memory without what does not belong in it; null where it is none. Version 1 knew no practice.
  const checked = (data) => {
    if (!isTable(data) || ![1, 2].includes(data.version) || !isTable(data.pages)) return null;
    const pages = Object.entries(data.pages).filter(([, seen]) => seen === true || isList(seen));
    const practice = Object.entries(isTable(data.practice) ? data.practice : {}).filter(([, each]) => isPractice(each));
    const { page, section, titles } = data.last ?? {};
    const whole = isText(page) && isText(section) && isTable(titles) && Object.values(titles).every(isText);
    return {
      ...begun(),
      pages: Object.fromEntries(pages),
      practice: Object.fromEntries(practice.map(([name, { of, done, said }]) => [name, { of, done, said }])),
      last: whole ? { page, section, titles } : null,
    };
  };
  // A browser may forbid a page to remember anything, or have no room.
  const recall = () => {
    let found = null;
    try { found = checked(JSON.parse(localStorage.getItem(KEY))); } catch { /* nothing can be used */ }
    return found ?? begun();
  };
  const keep = (memory) => {
    try { localStorage.setItem(KEY, JSON.stringify(memory)); return true; } catch { return false; }
  };

  // The chapters that were read or practised, beside every page and in the list of the first one.
  const block = document.querySelector(".polyglot-memory");
  const leads = (link) => chapters.has(pageOf(link)) && !link.hash && !link.previousSibling?.textContent.trim();
  const span = (className, textContent) => Object.assign(document.createElement("span"), { className, textContent });
  const mark = () => {
    const { pages, practice } = recall();
    const list = block ? all("article li > a, article li > p:first-child > a").filter(leads) : [];
    for (const link of [...[...chapters.values()].map((chapter) => chapter.link), ...list]) {
      const { of, done } = practice[pageOf(link)] ?? nothing();
      const isRead = pages[pageOf(link)] === true;
      const phrase = done.length ? (isRead ? both : practised) : (isRead ? read : "");
      const words = phrase.replace("%(done)d", done.length).replace("%(of)d", of);
      if (words === (link.dataset.remembered ?? "")) continue;
      link.dataset.remembered = words;
      link.classList.toggle("polyglot-read", isRead);
      for (const old of link.querySelectorAll(":scope > .polyglot-remembered")) old.remove();
      if (!words) continue;
      // In the list there is room for words; beside a page, for two numbers.
      const inList = list.includes(link);
      link.append(span(`polyglot-remembered ${inList && done.length ? "polyglot-practised" : "visually-hidden"}`, ` ${words}`));
      if (inList || !done.length) continue;
      const numbers = span("polyglot-remembered polyglot-practised", `${done.length}/${of}`);
      numbers.setAttribute("aria-hidden", "true");
      link.append(numbers);
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

  // For practice.js: what was done on this page.
  self.polyglotPractice = {
    recall: () => recall().practice[page] ?? nothing(),
    change(edit) {
      const memory = recall();
      edit(memory.practice[page] ??= nothing());
      if (keep(memory)) mark();
    },
  };

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
  const { last, pages, practice } = recall();
  block.hidden = !last && !Object.keys({ ...pages, ...practice }).length;
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
    for (const [name, { of, done, said }] of Object.entries(found.practice)) {
      const before = memory.practice[name] ?? nothing();
      const together = [...new Set([...before.done, ...done])];
      memory.practice[name] = { of: before.of || of, done: together, said: { ...before.said, ...said } };
    }
    memory.last = found.last ?? memory.last;
    const kept = keep(memory);
    mark();
    show();
    say(kept ? "imported" : "full");
  });
})();
