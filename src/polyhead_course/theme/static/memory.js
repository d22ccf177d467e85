// What a browser remembers of its reader: the section or exercise last read, the chapters read, what was guessed and
// solved in them. Nothing leaves the browser. What a reader sees of it on the first page of a language is in home.js.
"use strict";
(() => {
  const { home, read, practised, both } = document.currentScript.dataset;
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
    const { page, section, titles, number, language } = data.last ?? {};
    const whole = isText(page) && isText(section) && isTable(titles) && Object.values(titles).every(isText);
    return {
      ...begun(),
      pages: Object.fromEntries(pages),
      practice: Object.fromEntries(practice.map(([name, { of, done, said }]) => [name, { of, done, said }])),
      // Since version 2 also the chapter's number, and in which language it was read.
      last: whole ? { page, section, titles, ...(isText(number) && isText(language) && { number, language }) } : null,
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
    const heading = section?.querySelector("h1, h2, h3, h4, h5, h6, .admonition-title")?.cloneNode(true);
    heading?.querySelector(".headerlink")?.remove();
    return heading?.textContent.trim().replace(untitled, "").slice(0, 200);
  };

  // A chapter: what is in view when the page has come to rest.
  const page = pageOf(location);
  if (chapters.has(page)) {
    const places = all("article :is(section, .exercise.admonition, .question.admonition)[id]");
    const main = all("article > section > section[id]");
    const note = () => {
      if (document.hidden || !places.length) return;
      const memory = recall();
      const box = (section) => section.getBoundingClientRect();
      const here = places.filter((place) => box(place).top < innerHeight / 3).at(-1) ?? places[0];
      const same = memory.last?.page === page && memory.last.section === here.id;
      const titles = { ...(same ? memory.last.titles : {}), [language]: titleOf(here) ?? "" };
      memory.last = { page, section: here.id, titles, number: chapters.get(page).number, language };
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
  const heard = [mark];
  const renew = () => { for (const each of heard) each(); };
  addEventListener("storage", renew);
  addEventListener("pageshow", (event) => { if (event.persisted) renew(); });
  // For home.js
  self.polyglotMemory = { KEY, block, chapters, language, nothing, checked, recall, keep, mark, titleOf, heard };
})();
