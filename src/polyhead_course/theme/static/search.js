// The search: loaded when a reader first asks for it. The index is what `site/search.py` and Pagefind wrote.
const SHOWN = 20;
const WEIGHTS = { metaWeights: { page: 8, section: 5, title: 2 } };
const site = new URL("..", import.meta.url);

// Chinese is indexed in pairs of characters, `注意力` as `注意 意力 力`, and so a query is split too.
const CHINESE = /[\u3400-\u9fff\uf900-\ufaff]+/g;
const pairs = (run) => [...run].slice(1).map((next, at) => run[at] + next).join(" ") || run;
// A Korean noun is found whatever particle follows it, in the text and in the query.
const PARTICLE = /([가-힣]{2,}?)(?:으로|에서|에게|까지|부터|이란|은|는|이|가|을|를|의|에|와|과|로|도|란)(?![가-힣])/g;
const split = (query) =>
  query.replace(PARTICLE, "$1").replace(CHINESE, (run) => ` ${pairs(run)} `).replaceAll("√", " √ ");

// What the index gives back, as it stands on the page: a character of two pairs is one, marked if either is.
const joined = (text, language) => {
  const whole = text
    .replace(/([\u3400-\u9fff\uf900-\ufaff])(<\/mark>)? (<mark>)?\1/g, (_, same, end = "", start = "") =>
      end && start ? same : start + same + end)
    .replace(/([가-힣](?:<\/mark>)?) (?=(?:<mark>)?\()/g, "$1")
    .replace(/√(<\/mark>)? (<mark>)?/g, (_, end = "", start = "") =>
      end && start ? "√" : `√${end}${start}`);
  if (!language.startsWith("zh")) return whole;
  // No space stands beside a Chinese sign.
  return whole.replace(/ ((?:<\/?mark>)*[\u2018-\u201d\u3000-\u303f\uff00-\uffef])/g, "$1")
    .replace(/([\u2018-\u201d\u3000-\u303f\uff00-\uffef](?:<\/?mark>)*) /g, "$1");
};

// Pagefind's first index is that of the pages for all readers; each language has its own, and its pages come first.
let loaded = null;
const load = async (languages) => {
  const pagefind = await import(new URL("pagefind/none/pagefind.js", site));
  await pagefind.options({ ranking: { metaWeights: { page: 1, section: 1, title: 1 } }, indexWeight: 0.02 });
  await Promise.all(languages.map((code) => pagefind.mergeIndex(new URL(`pagefind/${code}/`, site).pathname, {
    language: "en", // how the index is split, not what it speaks: see search.py
    excerptLength: code.startsWith("zh") ? 80 : 30,
    ranking: WEIGHTS,
  })));
  return pagefind;
};

// Where no section has every word, those come first that have most of the rare ones.
const partial = async (pagefind, query) => {
  const found = new Map();
  for (const word of new Set(query.split(/\s+/))) {
    const { results } = await pagefind.search(word);
    for (const result of results) {
      const weight = (found.get(result.id)?.weight ?? 0) + 1 / Math.sqrt(results.length);
      found.set(result.id, { result, weight });
    }
  }
  const sorted = [...found.values()].sort((one, other) => other.weight - one.weight || other.result.score - one.result.score);
  return sorted.filter(({ weight }) => weight > sorted[0].weight / 2).map(({ result }) => result);
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

  const entry = ({ url, meta, excerpt }) => {
    const language = languages.find((code) => url.includes(`/${code}/`)) ?? button.dataset.otherwise;
    const text = make("span", { class: "polyglot-search-excerpt" });
    text.innerHTML = joined(excerpt, language); // Pagefind has escaped all but its own marks
    const title = make("span", { class: "polyglot-search-title" }, joined(meta.title, language));
    return make("li", { lang: language }, make("a", { href: url }, title, text));
  };

  let turn = 0;
  const search = async () => {
    const mine = ++turn;
    const query = split(field.value).trim();
    if (!query) {
      list.replaceChildren();
      status.textContent = "";
      return;
    }
    await new Promise((resolve) => { setTimeout(resolve, 150); });
    if (mine !== turn) return;
    try {
      loaded ??= load(languages);
      const pagefind = await loaded;
      const shown = (some) => Promise.all(some.slice(0, SHOWN).map((result) => result.data()));
      let { results } = await pagefind.search(query);
      let found = await shown(results);
      if (!found.some(({ url }) => languages.some((code) => url.includes(`/${code}/`)))) {
        results = await partial(pagefind, query);
        found = await shown(results);
      }
      if (mine !== turn) return;
      list.replaceChildren(...found.map(entry));
      const { length } = results;
      status.textContent = length ? words["Results: %d"].replace("%d", length) : words["Nothing found"];
    } catch {
      loaded = null;
      status.textContent = words["The search could not be loaded."];
    }
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
  loaded ??= load(button.dataset.indexes.split(" ")).catch(() => null);
};
