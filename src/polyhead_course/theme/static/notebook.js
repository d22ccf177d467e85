// A notebook from a site that did not know its address learns it from the reader's browser.
"use strict";

export const download = async ({ href, download }) => {
  const text = await (await fetch(href)).text();
  const site = JSON.stringify(JSON.stringify(String(new URL("..", href)))).slice(1, -1);
  const filled = text.replace(/(?<=wheels = )Path[^\n]*?\\"\/\\"/, () => site);
  const file = document.createElement("a");
  file.href = URL.createObjectURL(new Blob([filled], { type: "application/x-ipynb+json" }));
  file.download = download;
  file.click();
  setTimeout(() => URL.revokeObjectURL(file.href), 60000);
};
