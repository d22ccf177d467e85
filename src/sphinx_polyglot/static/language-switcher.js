// Leads to the section that is being read, on the same page in another language.
for (const switcher of document.querySelectorAll(".polyglot-switcher")) {
  // Sections with headings; an id such as `id3`, made by counting, is another section on another page.
  const sections = [...document.querySelectorAll("section[id]")].filter((each) =>
    each.querySelector(":scope > :is(h1, h2, h3, h4, h5, h6)") && !/^(id|index-)\d+$/.test(each.id));
  const place = () => {
    let asked = null;
    try { asked = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* no id */ }
    const above = sections.slice(1).findLast((each) => each.getBoundingClientRect().top < innerHeight / 3);
    const section = above ?? sections.slice(1).findLast((each) => each.contains(asked));
    return section ? `#${encodeURIComponent(section.id)}` : "";
  };
  const aim = () => { for (const link of switcher.querySelectorAll("a[data-same-page]")) link.hash = place(); };
  for (const event of ["toggle", "pointerdown", "focusin"]) switcher.addEventListener(event, aim);
}

// On the search page of a language, Sphinx's search finds the pages of this language, and leads there from here.
if (typeof Search !== "undefined" && Search._performSearch) {
  const html = document.documentElement, perform = Search._performSearch;
  const path = location.pathname.slice(new URL(html.dataset.content_root ?? ".", location).pathname.length);
  const folder = decodeURI(path).replace(/[^/]*\/?$/, "");
  if (folder) {
    html.dataset.content_root = path.endsWith("/") ? "../" : "./";
    Search._performSearch = (...query) => perform(...query)
      .filter(([page]) => page.startsWith(folder))
      .map(([page, ...others]) => [page.slice(folder.length), ...others]);
  }
}
