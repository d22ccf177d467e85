// Keeps all pages of a language in the browser, for places without a network, and says when there is a newer version.
const site = new URL("..", import.meta.url);
const code = document.documentElement.lang;
const prefix = `polyglot-offline ${site.pathname} `;
const listURL = new URL(`offline/${code}.json`, site);
const AT_ONCE = 6;

// The files of the published version: path -> hash of its bytes, and their number.
const published = async () => {
  const response = await fetch(listURL, { cache: "no-cache" });
  if (!response.ok) throw new Error(`${response.status} ${listURL}`);
  return response.json();
};

// The list comes last into a cache: one without it was never completed.
const kept = async () => {
  for (const name of await caches.keys()) {
    if (!name.startsWith(`${prefix}${code} `)) continue;
    const cache = await caches.open(name);
    const list = await (await cache.match(listURL))?.json();
    if (list) return { name, cache, list };
  }
  return null;
};

const forget = async (but = "") => {
  const names = (await caches.keys()).filter((name) => name.startsWith(prefix));
  const gone = names.filter((name) => name.startsWith(`${prefix}${code} `) && name !== but);
  await Promise.all(gone.map((name) => caches.delete(name)));
  if (gone.length === names.length && !but) await (await navigator.serviceWorker.getRegistration(site))?.unregister();
};

// What is not new comes from the version that is kept; that one stays until the new one is whole.
const keep = async (list, progress) => {
  const old = await kept();
  const name = `${prefix}${code} ${list.version}`;
  if (old?.name !== name) await caches.delete(name);
  const cache = await caches.open(name);
  const rest = Object.entries(list.files);
  let bytes = 0;
  const load = async () => {
    for (let next = rest.pop(); next; next = rest.pop()) {
      const [path, [hash, size]] = next;
      const url = new URL(path, site);
      let response = old?.list.files[path]?.[0] === hash ? await old.cache.match(url) : null;
      response ??= await fetch(url, { cache: "reload" });
      if (!response.ok) throw new Error(`${response.status} ${url}`);
      // A browser opens no page from an answer to another address.
      await cache.put(url, response.redirected ? new Response(await response.blob(), { headers: response.headers }) : response);
      bytes += size;
      progress(bytes / list.bytes);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, load));
    await cache.put(listURL, new Response(JSON.stringify(list), { headers: { "content-type": "application/json" } }));
    await navigator.serviceWorker.register(new URL("sw.js", site), { scope: site.href });
  } catch (error) {
    rest.length = 0;
    if (old?.name !== name) await caches.delete(name).catch(() => {});
    throw error;
  }
  await forget(name);
  navigator.storage?.persist?.().catch(() => {}); // some browsers ask the reader: nothing waits for the answer
};

const changed = (list, old) =>
  Object.entries(list.files).reduce((sum, [path, [hash, size]]) => sum + (old?.list.files[path]?.[0] === hash ? 0 : size), 0);
const megabytes = (bytes) => `${new Intl.NumberFormat(code, { maximumFractionDigits: 1 }).format(Math.max(bytes / 1e6, 0.1))} MB`;

const make = (name, text = "", properties = {}) =>
  Object.assign(document.createElement(name), { textContent: text, ...properties });

let parts = null;
const build = (button, words) => {
  const dialog = make("dialog", "", { className: "polyglot-keep-dialog", ariaLabel: words.title });
  const [text, bar, status] = [make("p"), make("progress", "", { max: 1, ariaLabel: words.title, hidden: true }), make("p", "", { role: "status" })];
  const buttons = Object.fromEntries(["keep", "update", "remove", "close"].map((each) =>
    [each, make("button", words[each], { type: "button", className: "btn", hidden: each !== "close" })]));
  const line = make("div");
  line.append(...Object.values(buttons));
  dialog.append(make("h2", words.title), text, bar, status, line);
  document.body.append(dialog);
  dialog.addEventListener("click", ({ target }) => { if (target === dialog || target === buttons.close) dialog.close(); });
  dialog.addEventListener("close", () => button.closest("details")?.querySelector("summary").focus({ preventScroll: true }));
  parts = { words, dialog, text, bar, status, buttons, busy: false };
  buttons.keep.addEventListener("click", start);
  buttons.update.addEventListener("click", start);
  buttons.remove.addEventListener("click", async () => {
    await forget().catch(() => {});
    await show();
    parts.status.textContent = words.removed;
  });
};

// What there is to do: keep, update or remove.
const show = async () => {
  const { words, text, status, buttons } = parts;
  let [old, list] = [null, null];
  try { old = await kept(); } catch { /* this browser keeps nothing */ }
  try { list = await published(); } catch { /* no network */ }
  const newer = list && old && list.version !== old.list.version;
  parts.list = list ?? old?.list;
  text.textContent = words.what.replace("%s", megabytes((list ?? old?.list)?.bytes ?? 0));
  status.textContent = newer ? words.newer.replace("%s", megabytes(changed(list, old))) : old ? words.kept : list ? "" : words.failed;
  buttons.keep.hidden = Boolean(old) || !list;
  buttons.update.hidden = !newer;
  buttons.remove.hidden = !old;
};

const start = async () => {
  const { words, bar, status, buttons, list } = parts;
  if (parts.busy) return;
  parts.busy = true;
  for (const each of [buttons.keep, buttons.update, buttons.remove]) each.hidden = true;
  buttons.close.focus();
  bar.hidden = false;
  bar.value = 0;
  status.textContent = words.loading;
  try {
    await keep(list, (share) => { bar.value = share; });
    await show();
  } catch {
    await show();
    status.textContent = words.failed;
  }
  bar.hidden = true;
  parts.busy = false;
};

export const open = async (button, words) => {
  if (!parts) build(button, words);
  if (!parts.dialog.open) parts.dialog.showModal();
  if (!parts.busy) await show();
};

// Who keeps an old version is told, once a visit; the page itself is already the new one.
export const look = async (button, words) => {
  const [old, list] = await Promise.all([kept(), published()]).catch(() => []);
  if (!old || !list || old.list.version === list.version) return;
  try {
    if (sessionStorage.getItem(prefix) === list.version) return;
    sessionStorage.setItem(prefix, list.version);
  } catch { /* then it is told on each page */ }
  const { newer, update, close } = words;
  const news = make("div", "", { className: "polyglot-news" });
  const [told, yes, no] = [make("p", "", { role: "status" }),
    make("button", update, { type: "button", className: "btn" }), make("button", "✕", { type: "button", className: "btn", ariaLabel: close })];
  news.append(told, yes, no);
  document.body.append(news);
  told.textContent = newer.replace("%s", megabytes(changed(list, old)));
  no.addEventListener("click", () => news.remove());
  yes.addEventListener("click", async () => {
    news.remove();
    await open(button, words);
    await start();
  });
};
