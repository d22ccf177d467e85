// The path of a number: from a projected tensor into the heads and back, and where `view` alone would put it.
import { announcer, bugSwitch, filled, finder, html, press, roving, slider, within } from "./parts.js";

const STAGES = ["input", "split", "permute", "flatten", "back", "wrong_view"]; // as in the template

const [VIEW, ENTRIES, VIEW_BACK] = [1, 2, 3]; // the bugs

export const render = ({ model, el }) => {
  const { X, num_heads: numHeads, colours, labels } = model.data;
  const { find, all } = finder(el);
  el.setAttribute("aria-label", labels["live.path"]);
  const given = [X.length, X[0].length, numHeads, X[0][0].length / numHeads];
  const inputs = all(".live-sizes input"); // batch, num_tokens, num_heads, head_dim
  const start = [0, Math.min(1, given[1] - 1), Math.floor(X[0][0].length / 2)];
  let [sizes, entry, bug] = [given, start, 0];
  const read = () => {
    const { z, e, b } = model.state;
    sizes = given.map((size, number) => Math.round(within(z?.[number], 1, Number(inputs[number].max), size)));
    bug = Math.round(within(b?.[0], 0, model.data.bugs.length - 1, 0));
    entry = bounded((e ?? start).map((index) => Math.round(within(index, 0, 99, 0))));
  };
  const bounded = (indices) => {
    const [batch, tokens, heads, dim] = sizes;
    return [batch, tokens, heads * dim].map((size, number) => Math.min(indices[number] ?? 0, size - 1));
  };
  const save = () => model.save({ ...(String(sizes) === String(given) ? {} : { z: sizes }), e: entry, ...(bug ? { b: bug } : {}) });

  // The number at an index: X's own, or where the sizes are others, a label like X's in the book.
  const numberAt = ([sequence, token, column]) => {
    const [batch, , , dim] = sizes;
    if (String(sizes) === String(given)) return X[sequence][token][column];
    const label = 100 * (token + 1) + 10 * Math.floor(column / dim + 1) + (column % dim) + 1;
    return batch > 1 ? 1000 * (sequence + 1) + label : label;
  };

  // The indices at each stage of the number that begins at an index, and its place in memory.
  const pathOf = ([sequence, token, column]) => {
    const [, tokens, heads, dim] = sizes;
    const width = heads * dim;
    const at = token * width + column; // within the sequence
    const viewed = [Math.floor(at / (tokens * dim)), Math.floor((at % (tokens * dim)) / dim), at % dim];
    const part = bug === ENTRIES ? [column % heads, Math.floor(column / heads)] : [Math.floor(column / dim), column % dim];
    const [head, row, feature] = bug === VIEW ? viewed : [part[0], token, part[1]];
    const folded = sequence * heads + head;
    const after = (folded * tokens + row) * dim + feature;
    const joined = after - sequence * tokens * width; // within the sequence
    return {
      input: [sequence, token, column],
      split: [sequence, token, ...(bug === ENTRIES ? [...part].reverse() : part)],
      permute: [sequence, head, row, feature],
      flatten: [folded, row, feature],
      back: [sequence, ...(bug === VIEW_BACK ? [Math.floor(joined / width), joined % width] : [row, head * dim + feature])],
      wrong_view: [sequence, ...viewed],
      before: sequence * tokens * width + at,
      after,
    };
  };

  // A stage: its shape, the indices with their arithmetic, and the tensor as matrices.
  const [pane] = all(".live-stages"); // the other one is its room
  const stages = Object.fromEntries([...pane.querySelectorAll(".live-stage")].map((block, number) => {
    const [shape, index, sum] = block.querySelectorAll("code");
    return [STAGES[number], { shape, index, sum, matrices: block.querySelector(".live-matrices") }];
  }));
  const [projection, heads] = [find(".live-projection").firstElementChild, pane.querySelector(".live-heads")];
  const axes = pane.querySelectorAll(".live-axes")[STAGES.indexOf("split")];
  const { say } = announcer(find(".live-now"), model);

  const choose = (index) => { entry = index; mark(); save(); };
  let cells = new Map(); // an index of the input, as text: its cells in every stage
  const cellOf = (name, index) => {
    const element = name === "input" ? "button" : "span";
    const cell = html(element, { class: "live-cell" }, String(numberAt(index)));
    cell.onclick = () => choose(index);
    if (name === "input") {
      cell.type = "button";
      cell.tabIndex = -1;
      cell.setAttribute("aria-label", `X[${index.join(", ")}] = ${numberAt(index)}`);
    }
    cell.style.background = colours[Math.floor(index[2] / sizes[3]) % colours.length];
    cells.get(String(index)).push(cell);
    return cell;
  };

  // Draws the tensor of every stage anew: where each number goes is its path.
  const draw = () => {
    const [batch, tokens, numberOfHeads, dim] = sizes;
    const indices = [];
    for (let sequence = 0; sequence < batch; sequence++) {
      for (let token = 0; token < tokens; token++) {
        for (let column = 0; column < numberOfHeads * dim; column++) indices.push([sequence, token, column]);
      }
    }
    cells = new Map(indices.map((index) => [String(index), []]));
    const shapes = {
      input: [batch, tokens, numberOfHeads * dim],
      split: bug === ENTRIES ? [batch, tokens, dim, numberOfHeads] : [batch, tokens, numberOfHeads, dim],
      permute: [batch, numberOfHeads, tokens, dim],
      flatten: [batch * numberOfHeads, tokens, dim],
      back: [batch, tokens, numberOfHeads * dim],
      wrong_view: [batch, numberOfHeads, tokens, dim],
    };
    for (const [name, shape] of Object.entries(shapes)) {
      stages[name].shape.textContent = `(${shape.join(", ")})`;
      const lines = new Map();
      const matrices = new Map();
      const placed = indices.map((index) => [pathOf(index)[name], index]);
      placed.sort(([one], [other]) => one.reduce((order, each, axis) => order || each - other[axis], 0));
      for (const [place, index] of placed) {
        const [matrix, line] = [place.slice(0, -2), place.slice(0, -1)].map(String);
        if (!matrices.has(matrix)) matrices.set(matrix, html("div", { class: "live-matrix" }));
        if (!lines.has(line)) {
          lines.set(line, html("div", name === "input" ? { role: "row" } : {}));
          matrices.get(matrix).append(lines.get(line));
        }
        const cell = cellOf(name, index);
        lines.get(line).append(name === "input" ? html("span", { role: "gridcell" }, cell) : cell);
      }
      stages[name].matrices.replaceChildren(...matrices.values());
    }
    const flat = indices.map((index) => cells.get(String(index))[0]);
    const width = numberOfHeads * dim;
    const rows = Array.from({ length: batch * tokens }, (_, row) => flat.slice(row * width, (row + 1) * width));
    grid.rows.splice(0, Infinity, ...rows);
  };

  // In the grid of the input the arrows choose, as in a group of radio buttons.
  const grid = { rows: [] };
  roving(stages.input.matrices, grid.rows, (row, column) => {
    const next = [Math.floor(row / sizes[1]), row % sizes[1], column];
    if (String(next) !== String(entry)) choose(next);
  });

  const mark = () => {
    const [, tokens, numberOfHeads, dim] = sizes;
    const { before, after, ...places } = pathOf(entry);
    const [sequence, token, column] = entry;
    const [, head, row, feature] = places.permute;
    const [, , ...part] = places.split;
    for (const [index, group] of cells) {
      const chosen = index === String(entry);
      for (const cell of group) cell.classList.toggle("live-chosen", chosen);
      press(group[0], chosen);
      group[0].tabIndex = chosen ? 0 : -1;
    }
    const text = (index) => `[${index.join(", ")}]`;
    const memory = (sum) => filled(labels["live.in_memory"], { sum });
    const width = numberOfHeads * dim;
    const size = bug === ENTRIES ? numberOfHeads : dim;
    const write = (name, index, sum) => { stages[name].index.textContent = index; stages[name].sum.textContent = sum; };
    write("input", `X${text(places.input)} = ${numberAt(entry)}`,
      memory(`(${sequence} · ${tokens} + ${token}) · ${width} + ${column} = ${before}`));
    write("split", text(places.split), `${column} // ${size} = ${part[0]}, ${column} % ${size} = ${part[1]}`);
    write("permute", text(places.permute),
      memory(`((${sequence} · ${numberOfHeads} + ${head}) · ${tokens} + ${row}) · ${dim} + ${feature} = ${after}`));
    write("flatten", text(places.flatten), `${sequence} · ${numberOfHeads} + ${head} = ${places.flatten[0]}`);
    write("back", text(places.back), bug === VIEW_BACK ? memory(String(after)) : `${head} · ${dim} + ${feature} = ${places.back[2]}`);
    write("wrong_view", text(places.wrong_view), memory(String(before)));
    projection.textContent = filled(labels["live.projection"], { column });
    heads.textContent = filled(labels["live.heads"], { entry: text([places.flatten[0]]) });
    say(filled(labels["live.path_now"], {
      start: `X${text(places.input)}`, place: text(places.flatten), wrong: text(places.wrong_view),
    }));
  };

  const setSizes = inputs.map((input, number) => slider(input, (size) => {
    sizes = sizes.map((each, other) => (other === number ? size : each));
    entry = bounded(entry);
    show();
    save();
  }));
  const setBug = bugSwitch(el, model, (number) => { bug = number; show(); save(); });
  const show = () => {
    setBug(bug);
    axes.textContent = bug === ENTRIES ? "↓ head_dim → num_heads" : "↓ num_heads → head_dim";
    setSizes.forEach((set, number) => set(sizes[number], String(sizes[number])));
    draw();
    mark();
  };
  find(".live-sizes > button").onclick = () => { [sizes, entry, bug] = [given, start, 0]; show(); model.save({}); };

  model.onchange(() => { read(); show(); });
  read();
  show();
};
