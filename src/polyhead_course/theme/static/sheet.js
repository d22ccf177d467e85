// A chapter's exercises and questions as a sheet of paper, `?sheet`: no hints, no solutions, and room to write.
"use strict";

const element = (name, className, ...content) => {
  const made = document.createElement(name);
  made.className = className;
  made.append(...content);
  return made;
};

export const show = (words) => {
  const article = document.querySelector("article");
  const tasks = [...article.querySelectorAll(".admonition:is(.exercise, .question), .cell.tag_starter")];
  if (!tasks.length) return;
  const print = element("button", "btn polyglot-action", words["Print"]);
  print.type = "button";
  print.addEventListener("click", () => self.print());
  const back = element("a", "", words["Whole chapter"]);
  back.href = location.pathname;
  const bar = element("p", "polyglot-sheet-bar d-print-none", print, back);
  const names = element("p", "polyglot-sheet-names", element("span", "", words["Name"]), element("span", "", words["Date"]));
  // Room is below an exercise, or below the code that it begins with.
  const withRoom = tasks.flatMap((task, number) => {
    for (const each of task.querySelectorAll("details, .cell_output")) each.remove();
    const more = tasks[number + 1]?.matches(".cell");
    return task.matches(".question") || more ? [task] : [task, element("div", "polyglot-sheet-room")];
  });
  article.replaceChildren(bar, article.querySelector("h1"), names, ...withRoom);
  document.documentElement.classList.add("polyglot-sheet");
};
