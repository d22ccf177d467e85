// The block on the first page of a language: where the reader goes on, and what may be done with what is remembered.
// It runs right behind its block, so that the block is there before what follows.
"use strict";
(() => {
  const { KEY, block, chapters, language, nothing, checked, recall, keep, mark, titleOf, heard } = self.polyglotMemory;
  const { download } = document.currentScript.dataset;
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
  const show = () => {
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
  heard.push(() => { if (!block.hidden) show(); });

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
