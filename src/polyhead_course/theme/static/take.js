// The menu of a figure: as a picture, as a link to what it shows now, and, if it lives, as a frame for another site.
const site = new URL("..", import.meta.url);
const heading = () => {
  const copy = document.querySelector("article h1").cloneNode(true);
  copy.querySelector(".headerlink")?.remove();
  return copy.textContent.trim();
};

// A figure's address: its cell, and behind it the state of one that lives.
const hashOf = (figure) => figure.dataset.address ?? `#${encodeURIComponent(figure.parentElement.closest("[id]").id)}`;
const linkOf = (figure) => `${location.href.split("#")[0]}${hashOf(figure)}`;
const embedOf = (figure, title) => {
  const page = location.pathname.slice(site.pathname.length).replace(/\/$/, "/index").replace(/\.html$/, "");
  const address = new URL(`embed/${page}/${hashOf(figure).slice(1).split("~")[0]}.html`, site);
  address.hash = hashOf(figure);
  // A note stands below the figure.
  const height = Math.ceil(figure.querySelector(".polyglot-live-body").offsetHeight + 48);
  const [name, href] = [title, address.href].map((text) => text.replaceAll("&", "&amp;").replaceAll('"', "&quot;"));
  return `<iframe src="${href}" title="${name}" width="100%" height="${height}" style="border: 0" loading="lazy" allow="clipboard-write"></iframe>`;
};

const factsOf = (figure) => {
  const alive = figure.matches(".polyglot-live-on");
  const still = figure.matches("svg") ? figure : figure.querySelector("svg");
  const said = [...figure.querySelectorAll(".live-now > :first-child")].map((each) => each.textContent);
  const page = document.querySelector("link[rel=canonical]")?.href ?? location.href.split("#")[0];
  return {
    title: heading(), publisher: document.querySelector(".polyglot-brand")?.textContent.trim() ?? "",
    rights: document.querySelector(".polyglot-rights a[rel=license]")?.textContent ?? "",
    address: `${page}${hashOf(figure)}`, language: document.documentElement.lang,
    description: alive ? [figure.querySelector(".polyglot-live-body").ariaLabel, ...said].join(". ") : still.getAttribute("aria-label"),
  };
};

const save = (blob, name) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
};

let [menu, status, words, button, figure] = [];
const close = () => {
  button?.setAttribute("aria-expanded", "false");
  menu.hidden = true;
};

const actions = {
  async "Save as SVG"(name) {
    const { pictureOf } = await import("./picture.js");
    save(new Blob([pictureOf(figure, factsOf(figure)).text], { type: "image/svg+xml" }), `${name}.svg`);
    return "Saved.";
  },
  async "Save as PNG"(name) {
    const { pictureOf, pixelsOf } = await import("./picture.js");
    save(await pixelsOf(pictureOf(figure, factsOf(figure))), `${name}.png`);
    return "Saved.";
  },
  async "Copy link"() {
    await navigator.clipboard.writeText(linkOf(figure));
    return "Copied!";
  },
  async "Copy embed code"() {
    await navigator.clipboard.writeText(embedOf(figure, `${figure.querySelector(".polyglot-live-body").ariaLabel} – ${heading()}`));
    return "Copied!";
  },
};

const act = async (action) => {
  const page = location.pathname.split("/").at(-1).replace(/\.html$/, "") || "index";
  status.textContent = "";
  try {
    const said = await actions[action](`${page}-${hashOf(figure).slice(1).split("~")[0]}`);
    status.textContent = words[said];
  } catch {
    status.textContent = words[action.startsWith("Copy") ? "Failed to copy" : "It could not be saved."];
  }
};

const build = () => {
  menu = document.createElement("div");
  menu.className = "polyglot-take-menu";
  menu.role = "group";
  status = document.createElement("p");
  status.role = "status";
  for (const action of Object.keys(actions)) {
    const item = document.createElement("button");
    item.type = "button";
    item.value = action;
    item.textContent = words[action];
    item.addEventListener("click", () => act(action));
    menu.append(item);
  }
  menu.append(status);
  menu.addEventListener("keydown", (event) => {
    if (event.key !== "Escape") return;
    close();
    button.focus();
  });
  menu.addEventListener("focusout", ({ relatedTarget }) => {
    if (relatedTarget && relatedTarget !== button && !menu.contains(relatedTarget)) close();
  });
  document.addEventListener("click", ({ target }) => { if (!menu.contains(target) && !button.contains(target)) close(); });
};

export const open = (pressed, itsWords) => {
  words = itsWords;
  if (!menu) build();
  const again = pressed === button && !menu.hidden;
  close();
  if (again) return;
  button = pressed;
  figure = button.closest(".polyglot-live") ?? button.previousElementSibling;
  status.textContent = "";
  menu.setAttribute("aria-label", button.title);
  menu.querySelector("[value='Copy embed code']").hidden = !figure.matches(".polyglot-live-on");
  button.after(menu);
  menu.hidden = false;
  button.setAttribute("aria-expanded", "true");
  menu.querySelector("button").focus();
};
