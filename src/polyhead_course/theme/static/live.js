// Brings one figure to life: gives its data to its module, and keeps what the reader chose in the address.
"use strict";

// The address of a figure with its state: #cell-id~name=1,2&other=3
const stateOf = (id) => {
  const [name, text] = location.hash.slice(1).split("~");
  if (!text || name !== encodeURIComponent(id)) return {};
  return Object.fromEntries([...new URLSearchParams(text)].map(([key, list]) => [key, list.split(",").map(Number)]));
};

// What a module gets: the data of the figure, and the state, whose values are lists of numbers.
const modelOf = (data, figure, id) => {
  let timer;
  const heard = [];
  const model = {
    data,
    state: stateOf(id),
    onchange: (callback) => heard.push(callback),
    save(state) {
      model.state = state;
      clearTimeout(timer);
      const text = Object.entries(state).map(([key, list]) => `${key}=${[list].flat().join(",")}`).join("&");
      figure.dataset.address = `#${encodeURIComponent(id)}${text && "~"}${text}`;
      // Browsers allow a page only so many changes of its address in a while.
      timer = setTimeout(() => history.replaceState(history.state, "", figure.dataset.address), 300);
    },
  };
  addEventListener("hashchange", () => {
    if (location.hash.slice(1).split("~")[0] !== encodeURIComponent(id)) return;
    model.state = stateOf(id);
    figure.dataset.address = location.hash;
    for (const callback of heard) callback();
  });
  return model;
};

export const enliven = async (figure) => {
  const data = JSON.parse(figure.querySelector("script").textContent);
  const el = figure.querySelector(".polyglot-live-body");
  // What the figure shows is said of it in words: they stay true of where the reader begins.
  const still = figure.querySelector("svg");
  el.setAttribute("role", "group");
  if (still) el.setAttribute("aria-describedby", still.id);
  const { render } = await import(new URL(`figures/live/${data.kind}.js`, import.meta.url));
  const { id } = figure.closest("[id]");
  const model = modelOf(data, figure, id);
  if (Object.keys(model.state).length) figure.dataset.address = location.hash;
  await render({ model, el });
  figure.classList.add("polyglot-live-on");
};
