// Leads to the section that is being read, on the same page in another language.
for (const switcher of document.querySelectorAll(".polyglot-switcher")) {
  const place = () => {
    const sections = [...document.querySelectorAll("section[id]")];
    const above = sections.filter((each) => each.getBoundingClientRect().top < innerHeight / 3);
    let asked = null;
    try { asked = document.getElementById(decodeURIComponent(location.hash.slice(1))); } catch { /* not an address */ }
    const section = above.length > 1 && scrollY > 0 ? above.at(-1) : asked?.closest("section[id]");
    return section && section !== sections[0] ? `#${encodeURIComponent(section.id)}` : "";
  };
  const aim = () => { for (const link of switcher.querySelectorAll("a[data-same-page]")) link.hash = place(); };
  for (const event of ["toggle", "pointerdown", "focusin"]) switcher.addEventListener(event, aim);
}
