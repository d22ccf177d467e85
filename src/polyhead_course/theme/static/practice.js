// What a chapter asks of its reader: questions with choices, guesses, exercises with hints in steps.
// Without it there are lists, and closed boxes that open. memory.js keeps what was said and done.
"use strict";
(() => {
  const words = document.currentScript.dataset;
  const memory = self.polyglotPractice;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const make = (name, properties = {}, ...children) => {
    const element = Object.assign(document.createElement(name), properties);
    element.append(...children);
    return element;
  };
  const status = () => {
    const element = make("div", { className: "polyglot-verdict" });
    element.setAttribute("role", "status");
    return element;
  };
  // An empty span carries the id of the box that follows.
  const next = (element) => {
    let following = element.nextElementSibling;
    while (following?.matches("span.target")) following = following.nextElementSibling;
    return following;
  };
  const isBox = (element) => Boolean(element?.matches("details.sd-dropdown"));
  const paragraph = (item) => item.querySelector(":scope > p") ?? item;
  const titleOf = (element) => {
    const title = element.cloneNode(true);
    title.querySelector(".headerlink")?.remove();
    return title.textContent.trim();
  };

  // What can be done on this page, by its id; and what brings the page to what is remembered.
  const tasks = [];
  const recalls = [];
  const note = (edit) => memory.change((practice) => {
    edit(practice);
    practice.of = tasks.length;
    practice.done = tasks.filter((id) => practice.done.includes(id));
  });

  // Questions: of the explanations in the box below, the right one begins in bold.
  const answers = [];
  for (const question of all(".question.admonition[id]")) {
    const { id } = question;
    const box = next(question);
    const list = [...question.children].findLast((each) => each.localName === "ol");
    const explanations = isBox(box) ? all(".sd-summary-content > ol > li", box) : [];
    const right = explanations.filter((each) => paragraph(each).firstChild?.localName === "strong");
    if (!list || right.length !== 1 || explanations.length !== list.children.length) continue;
    tasks.push(id);
    answers.push(box);
    [...list.children].forEach((choice, number) => {
      const text = paragraph(choice);
      const input = make("input", { type: "radio", name: id, value: number + 1 });
      // Some programs read no name out of a formula.
      if (![...text.childNodes].some((each) => each.localName !== "math" && each.textContent.trim())) input.ariaLabel = text.textContent.trim();
      text.append(make("label", {}, input, make("span", {}, ...text.childNodes)));
    });
    const title = titleOf(question.querySelector(".admonition-title"));
    const legend = make("legend", { className: "visually-hidden", textContent: title });
    const button = make("button", { className: "btn polyglot-check", textContent: words.check });
    const verdict = status();
    const form = make("form", { className: "polyglot-question", autocomplete: "off" });
    list.before(form);
    form.append(make("fieldset", {}, legend, list), button, verdict);
    const chosen = () => Number(form.elements[id].value);
    const judge = () => {
      const explanation = explanations[chosen() - 1];
      const parts = explanation.cloneNode(true);
      for (const each of all("[id]", parts)) each.removeAttribute("id");
      const isRight = explanation === right[0];
      if (!isRight) paragraph(parts).prepend(make("strong", { textContent: words.wrong }), " ");
      verdict.replaceChildren(...parts.childNodes);
      verdict.dataset.right = isRight;
      return isRight;
    };
    const empty = (text = "") => { verdict.textContent = text; delete verdict.dataset.right; };
    form.addEventListener("change", () => empty());
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      if (!chosen()) { empty(words.choose); return; }
      const isRight = judge();
      note((practice) => {
        practice.said[id] = String(chosen());
        if (isRight) practice.done.push(id);
      });
    });
    recalls.push(({ said }) => {
      form.elements[id].value = said[id] ?? "";
      if (explanations[chosen() - 1] && chosen()) judge();
      else empty();
    });
  }
  // On paper the answers stand at the end of the chapter.
  const places = new Map();
  addEventListener("beforeprint", () => {
    for (const box of answers) {
      const place = new Comment();
      places.set(box, [place, box.open]);
      box.replaceWith(place);
      document.querySelector("article > section").append(box);
      box.open = true;
    }
  });
  addEventListener("afterprint", () => {
    for (const [box, [place, open]] of places) {
      place.replaceWith(box);
      box.open = open;
    }
    places.clear();
  });

  // Guesses: where hidden outputs lead to a closed answer, a field stands between the code and its output.
  const seen = new Set();
  for (const first of all(".cell.tag_hide-output[id]")) {
    const outputs = [];
    let box = first;
    for (; box?.matches(".cell.tag_hide-output"); box = next(box)) {
      if (seen.has(box)) break;
      seen.add(box);
      outputs.push(...all("details.hide", box));
    }
    if (!isBox(box) || !outputs.length) continue;
    const input = make("input", { type: "text", maxLength: 200 });
    const told = status();
    told.classList.add("visually-hidden");
    const form = make("form", { className: "polyglot-guess d-print-none", autocomplete: "off" },
      make("label", {}, make("span", { textContent: words.guess }), input),
      make("button", { className: "btn polyglot-check", textContent: words.compare }), told);
    outputs[0].before(form);
    const echo = make("p", { className: "sd-card-text polyglot-guessed" });
    box.querySelector(".sd-summary-content").prepend(echo);
    const repeat = (text) => {
      echo.textContent = words.guessed.replace("%s", () => text);
      echo.hidden = !text;
    };
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      const text = input.value.trim();
      repeat(text);
      if (text) note(({ said }) => { said[first.id] = text; });
      for (const each of [...outputs, box]) each.open = true;
      told.textContent = words.opened;
    });
    recalls.push(({ said }) => {
      input.value = said[first.id] ?? "";
      repeat(input.value);
    });
  }

  // The code that a check prints when an answer is right, as `code_of` in Python makes it of the check's name.
  const codeOf = (check) => {
    const letters = "BCDFGHJKLMNPQRSTVWXZ";
    const number = [...check].reduce((sum, each) => (31 * sum + each.charCodeAt(0)) % 160000, 0);
    return [8000, 400, 20, 1].map((power) => letters[Math.floor(number / power) % 20]).join("");
  };
  const exercises = all(".exercise.admonition[id]");
  exercises.forEach((exercise, number) => {
    const { id } = exercise;
    tasks.push(id);
    const box = make("input", { type: "checkbox" });
    const told = status();
    const form = make("form", { className: "polyglot-solve d-print-none", autocomplete: "off" },
      make("label", {}, box, make("span", { textContent: words.solved })));
    const tick = (solved) => {
      box.checked = solved;
      note((practice) => { practice.done = [...practice.done.filter((each) => each !== id), ...(solved ? [id] : [])]; });
    };
    box.addEventListener("change", () => { told.textContent = ""; tick(box.checked); });
    form.addEventListener("submit", (event) => event.preventDefault());
    recalls.push(({ done }) => { box.checked = done.includes(id); });
    const check = /\bchecks\.(\w+)\(/.exec(document.getElementById(`${id}-code`)?.textContent);
    if (check) {
      const field = make("input", { type: "text", maxLength: 12, autocapitalize: "characters", spellcheck: false });
      const judge = (isWhole) => {
        const letters = field.value.replace(/[^A-Za-z]/g, "").toUpperCase();
        const isRight = letters === codeOf(check[1]);
        told.textContent = isRight ? words.rightCode : isWhole || letters.length > 3 ? words.wrongCode : "";
        if (isRight) tick(true);
      };
      field.addEventListener("input", () => judge(false));
      form.addEventListener("submit", () => judge(true));
      form.append(make("label", {}, make("span", { textContent: words.code }), field));
    }
    form.append(told);
    exercise.append(form);

    // A hint can be opened when the one before it was.
    const name = id.replace(/^exercise-/, "");
    let hint = document.getElementById(`hints-${name}`)?.nextElementSibling;
    for (let before = null; isBox(hint); before = hint, hint = hint.nextElementSibling) {
      const step = hint;
      step.classList.add("polyglot-hint");
      step.hidden = Boolean(before);
      before?.addEventListener("toggle", () => { if (before.open) step.hidden = false; });
    }
    // A solution leads on: to the next exercise, the next section or the next chapter.
    const solution = document.getElementById(`solution-${name}`);
    const section = exercise.closest("section")?.nextElementSibling;
    const page = document.querySelector(".right-next");
    const [href, title] = exercises[number + 1]
      ? [`#${exercises[number + 1].id}`, exercises[number + 1].querySelector(".admonition-title")]
      : section?.matches("section[id]") ? [`#${section.id}`, section.querySelector("h2, h3")]
        : [page?.href, page?.querySelector(".prev-next-title")];
    const inside = solution && isBox(next(solution)) && next(solution).querySelector(".sd-summary-content");
    if (inside && href && title) {
      const link = make("a", { href, textContent: words.next.replace("%s", () => titleOf(title)) });
      inside.append(make("p", { className: "sd-card-text polyglot-next d-print-none" }, link));
    }
  });

  const recall = () => {
    const practice = memory.recall();
    for (const each of recalls) each(practice);
  };
  recall();
  addEventListener("storage", recall);
  addEventListener("pageshow", (event) => { if (event.persisted) recall(); });
})();
