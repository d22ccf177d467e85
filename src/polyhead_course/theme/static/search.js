// The search: loaded when a reader first asks for it, and the index with it.
import { Index } from "./ranking.js";
import { excerpt } from "./search-words.js";

const SHOWN = 20;
const NAMES_AT = 3;
const OWN = 1.5;
const EXCERPT = { zh: 80, ko: 100 };
const site = new URL("..", import.meta.url);

// The index of a language, or of the pages for all readers: `none`.
const indexes = new Map();
const load = (code) => {
  if (!indexes.has(code)) {
    indexes.set(code, fetch(new URL(`search/${code}.json`, site)).then((answer) => {
      if (!answer.ok) throw new Error(answer.status);
      return answer.json();
    }).then(Index.of));
    indexes.get(code).catch(() => indexes.delete(code));
  }
  return indexes.get(code);
};

// What is found in some languages: entries of a section, its language and index, and whether they are only the nearest.
// Pages for all readers are in the reference language: they come where a name is searched for, or nothing else is found.
export const find = async (query, languages, reference) => {
  const all = await Promise.all([...languages, "none"].map(async (code) => ({ code, index: await load(code) })));
  const [shared, own] = [all.pop(), all];
  const reader = navigator.languages.flatMap((tag) => [tag, tag.split("-")[0]]).find((tag) => languages.includes(tag)) ?? reference;
  const entries = ({ code, index }, results, factor = 1) => results.map(({ section, score }) =>
    ({ code, index, section, score: score * factor }));
  const among = (loose) => own.flatMap((each) =>
    entries(each, each.index.search(query, loose), own.length > 1 ? each.index.familiarity(query) * (each.code === reader ? OWN : 1) : 1))
    .sort((one, other) => other.score - one.score);
  const found = among(false);
  const names = entries(shared, shared.index.named(query));
  if (/^[\w.]*[a-z][._A-Z]\w*$/.test(query)) found.splice(NAMES_AT, 0, ...names);
  else if (languages.includes(reference) || !found.length) found.push(...names);
  if (found.length) return { found, nearest: false };
  const near = [among(true), entries(shared, shared.index.search(query)), own.flatMap((each) => entries(each, each.index.overview()))];
  return { found: near.find(({ length }) => length) ?? [], nearest: true };
};

const make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
};

let dialog = null;
const build = (button, words) => {
  const languages = button.dataset.indexes.split(" ");
  const label = languages.length > 1 ? words["Search in all languages"] : words["Search"];
  const field = make("input", {
    type: "text", role: "searchbox", class: "polyglot-search-field", placeholder: label, "aria-label": label,
    autocomplete: "off", autocapitalize: "none", spellcheck: "false", enterkeyhint: "search",
  });
  const close = make("button", {
    type: "button", class: "btn polyglot-search-close", "aria-label": words["Close"],
  }, "✕");
  const status = make("p", { role: "status", class: "polyglot-search-status" });
  const list = make("ol", { class: "polyglot-search-results" });
  dialog = make("dialog", { class: "polyglot-search-dialog", "aria-label": label },
    make("form", {}, field, close), status, list);

  const entry = ({ code, index, section }, query, loose) => {
    const language = code === "none" ? button.dataset.otherwise : code;
    const text = make("span", { class: "polyglot-search-excerpt" });
    const size = EXCERPT[language.slice(0, 2)] ?? 180;
    for (const [piece, asked] of excerpt(section.text, index.worth(query, loose), index.synonyms, size)) {
      text.append(asked ? make("mark", {}, piece) : piece);
    }
    const title = section.page ? `${section.page} › ${section.heading}` : section.heading;
    const link = make("a", { href: new URL(section.url, site) }, make("span", { class: "polyglot-search-title" }, title), text);
    return make("li", { lang: language }, link);
  };

  let turn = 0;
  const search = async () => {
    const mine = ++turn;
    const query = field.value.trim();
    if (!query) {
      list.replaceChildren();
      list.ariaBusy = "false";
      status.textContent = "";
      return;
    }
    list.ariaBusy = "true";
    await new Promise((resolve) => { setTimeout(resolve, 150); });
    if (mine !== turn) return;
    try {
      const { found, nearest } = await find(query, languages, button.dataset.otherwise);
      if (mine !== turn) return;
      list.replaceChildren(...found.slice(0, SHOWN).map((each) => entry(each, query, nearest)));
      const { length } = found;
      status.textContent = !length ? words["Nothing found"]
        : nearest ? words["Nothing found. Have a look here:"] : words["Results: %d"].replace("%d", length);
    } catch {
      status.textContent = words["The search could not be loaded."];
    }
    if (mine === turn) list.ariaBusy = "false";
  };

  let searching = null;
  field.addEventListener("input", () => { searching = search(); });
  dialog.querySelector("form").addEventListener("submit", async (event) => {
    event.preventDefault();
    await searching;
    list.querySelector("a")?.click();
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || event.isComposing) return;
    event.preventDefault();
    const stops = [field, ...list.querySelectorAll("a")];
    stops[stops.indexOf(document.activeElement) + step]?.focus();
  });
  // Whoever follows a result goes there; whoever closes the search is where the search was opened.
  let followed = false;
  dialog.addEventListener("click", (event) => {
    followed = Boolean(event.target.closest("a")) && !event.ctrlKey && !event.metaKey && !event.shiftKey;
    if (followed || event.target === dialog || event.target === close) dialog.close();
  });
  dialog.addEventListener("close", () => {
    if (!followed) button.focus({ preventScroll: true });
    followed = false;
  });
  document.body.append(dialog);
};

export const open = (button, words) => {
  if (!dialog) build(button, words);
  if (!dialog.open) dialog.showModal();
  dialog.querySelector("input").select();
  for (const code of [...button.dataset.indexes.split(" "), "none"]) load(code).catch(() => null);
};
