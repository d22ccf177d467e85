// Draws what a figure shows now as one SVG picture: its drawings as they are, boxes and text of HTML as shapes and text.
// In light colours on white, with the reader's fonts; below it, and in its metadata, where it is from.
import { NAMESPACE, boxOf, canvas, drawing, make, metrics, outlinesOf, plain } from "./shapes.js";

const [MARGIN, NOTE, LINE] = [12, 11, 15]; // around the picture, the size of the note's text, and of its lines

// The lines of a text as they are laid out: what each says, and its box.
const linesOf = (node, upright) => {
  const range = document.createRange();
  const lines = [];
  for (let start = 0; start < node.data.length;) {
    const length = node.data.codePointAt(start) > 0xffff ? 2 : 1;
    range.setStart(node, start);
    range.setEnd(node, start + length);
    const box = range.getBoundingClientRect();
    const text = node.data.slice(start, start += length).replace(/\s/, " ");
    if (!box.width && !box.height) continue;
    const last = lines.at(-1);
    const side = upright ? "left" : "top";
    const same = last && Math.abs(last.box[side] - box[side]) < 2;
    if (!same) lines.push({ text, box: { left: box.left, top: box.top, right: box.right, bottom: box.bottom } });
    else {
      last.text += text;
      last.box = {
        left: Math.min(last.box.left, box.left), top: Math.min(last.box.top, box.top),
        right: Math.max(last.box.right, box.right), bottom: Math.max(last.box.bottom, box.bottom),
      };
    }
  }
  return lines.filter(({ text }) => text.trim() && text !== "\u200b");
};

const fontOf = (style) => {
  const font = { "font-family": style.fontFamily, "font-size": style.fontSize, fill: plain(style.color), "xml:space": "preserve" };
  if (style.fontWeight !== "400") font["font-weight"] = style.fontWeight;
  if (style.fontStyle !== "normal") font["font-style"] = style.fontStyle;
  if (style.fontVariantNumeric !== "normal") font.style = `font-variant-numeric: ${style.fontVariantNumeric}`;
  return font;
};

const written = (text, box, style, around, place) => {
  const [up, down] = metrics(style);
  const font = fontOf(style);
  const lines = around.map((each) => getComputedStyle(each).textDecorationLine);
  const line = lines.find((each) => each !== "none");
  if (line) font["text-decoration"] = line;
  const [across, middle] = [(box.left + box.right) / 2 - place.x, (box.top + box.bottom) / 2 - place.y];
  if (!style.writingMode.startsWith("vertical")) {
    return make("text", { ...font, x: box.left - place.x, y: middle + (up - down) / 2 }, text);
  }
  // Upright characters stand below each other; all others are turned.
  const turned = around.some((each) => getComputedStyle(each).transform.startsWith("matrix(-1"));
  const upright = /[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff]/.test(text);
  if (upright) {
    const turn = turned ? { transform: `rotate(180 ${across} ${middle})` } : {};
    return make("text", { ...font, ...turn, "writing-mode": "vertical-rl", x: across, y: box.top - place.y }, text);
  }
  const transform = `translate(${across} ${middle}) rotate(${turned ? -90 : 90})`;
  return make("text", { ...font, transform, "text-anchor": "middle", x: 0, y: (up - down) / 2 }, text);
};

// A slider is a line up to a knob; a field or a list shows its text.
const control = (element, style, place) => {
  const { left, top, width, height } = element.getBoundingClientRect();
  const [x, y] = [left - place.x, top - place.y];
  if (element.type === "range") {
    const share = (element.value - element.min) / (element.max - element.min);
    const [knob, middle] = [x + 8 + share * (width - 16), y + height / 2];
    const color = plain(style.accentColor);
    const track = (from, to, stroke) => make("line", { x1: from, x2: to, y1: middle, y2: middle, stroke, "stroke-width": 5, "stroke-linecap": "round" });
    return [track(x + 3, x + width - 3, "#d7d7d7"), track(x + 3, knob, color), make("circle", { cx: knob, cy: middle, r: 8, fill: color })];
  }
  const text = element.localName === "select" ? element.selectedOptions[0]?.textContent : element.value;
  const [up, down] = metrics(style);
  const inside = make("svg", { x, y, width: Math.max(1, width - 4), height });
  inside.append(make("text", { ...fontOf(style), x: parseFloat(style.paddingLeft) + 2, y: height / 2 + (up - down) / 2 }, text ?? ""));
  return [inside];
};

// Draws an element of HTML, and all in it, into a group.
const draw = (element, group, place, { defs, over, root }) => {
  const style = getComputedStyle(element);
  if (style.display === "none" || element.matches(".visually-hidden, script")) return;
  let into = group;
  if (Number(style.opacity) < 1) into.append(into = make("g", { opacity: style.opacity }));
  const visible = style.visibility === "visible";
  if (element.localName === "svg") {
    if (!visible) return;
    const { left, top, width, height } = element.getBoundingClientRect();
    const copy = drawing(element);
    for (const [name, value] of Object.entries({ x: left - place.x, y: top - place.y, width, height })) copy.setAttribute(name, value.toFixed(2));
    if (style.overflow === "visible") copy.setAttribute("overflow", "visible");
    into.append(copy);
    return;
  }
  if (visible) into.append(...boxOf(element, style, place, defs));
  if (visible) over.append(...outlinesOf(element, style, place));
  if (element.matches("input, select")) {
    if (visible) into.append(...control(element, style, place));
    return;
  }
  // What is cut off on the page is cut off here.
  const cut = element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1;
  if (cut && style.overflowX !== "visible" && element.clientWidth) {
    const box = element.getBoundingClientRect();
    const [x, y, width, height] = [box.left - place.x, box.top - place.y, box.width, box.height];
    into.append(into = make("svg", { x, y, width, height, viewBox: `${x} ${y} ${width} ${height}` }));
  }
  const around = [];
  for (let each = element; each && each !== root.parentElement; each = each.parentElement) around.push(each);
  const before = getComputedStyle(element, "::before");
  const sign = /^"([^"\u200b]+)"/.exec(before.content);
  if (sign && visible) {
    const { left, top, bottom } = element.getBoundingClientRect();
    into.append(written(sign[1], { left, right: left, top, bottom }, before, [], place));
  }
  for (const child of element.childNodes) {
    if (child.nodeType === Node.ELEMENT_NODE) draw(child, into, place, { defs, over, root });
    else if (child.nodeType === Node.TEXT_NODE && visible) {
      for (const { text, box } of linesOf(child, style.writingMode.startsWith("vertical"))) into.append(written(text, box, style, around, place));
    }
  }
};

// A text in as many lines as it needs; addresses have no spaces.
const wrapped = (text, room) => {
  const lines = [""];
  for (const part of text.match(/[\x21-\x7e]{1,12}|./gu) ?? []) {
    if (canvas.measureText(lines.at(-1) + part).width > room) lines.push("");
    lines.push(lines.pop() + part);
  }
  return lines.map((each) => each.trim());
};

// The picture of a figure, as text, and its size. `from` has the title, publisher, rights, address, language, description.
export const pictureOf = (figure, from) => {
  const root = document.documentElement;
  const { theme } = root.dataset;
  root.dataset.theme = "light";
  try {
    const alive = figure.matches(".polyglot-live-on");
    const shown = alive ? figure.querySelector(".polyglot-live-body") : figure.matches("svg") ? figure : figure.querySelector("svg");
    const box = shown.getBoundingClientRect();
    const [wide, high] = alive ? [box.width, box.height] : ["width", "height"].map((side) => Number(shown.getAttribute(side)));
    const width = Math.max(wide, 320) + 2 * MARGIN;
    const style = getComputedStyle(document.body);
    const family = style.fontFamily;
    canvas.font = `${NOTE}px ${family}`;
    const lines = [[from.title, from.publisher, from.rights].filter(Boolean).join(" · "), from.address]
      .flatMap((text) => wrapped(text, width - 2 * MARGIN));
    const height = high + 3 * MARGIN + lines.length * LINE;
    const defs = make("defs");
    const [body, over] = [make("g"), make("g")];
    if (alive) draw(shown, body, { x: box.left - MARGIN, y: box.top - MARGIN }, { defs, over, root: shown });
    else {
      const copy = drawing(shown);
      for (const [name, value] of Object.entries({ x: (width - wide) / 2, y: MARGIN, width: wide, height: high })) copy.setAttribute(name, value);
      body.append(copy);
    }
    const note = lines.map((text, number) => make("text", {
      x: MARGIN, y: high + 2 * MARGIN + (number + 0.75) * LINE, fill: "#5c6470", "font-size": NOTE, "font-family": family,
    }, text));
    const svg = make("svg", { xmlns: NAMESPACE, width, height, viewBox: `0 0 ${Math.round(100 * width) / 100} ${Math.round(100 * height) / 100}`, "xml:lang": from.language },
      make("title", {}, from.title), make("desc", {}, from.description), defs, make("rect", { width: "100%", height: "100%", fill: "#ffffff" }), body, over, ...note);
    const escaped = (text) => new XMLSerializer().serializeToString(document.createTextNode(text));
    const facts = ["title", "source", "publisher", "rights", "language"]
      .map((name) => `<dc:${name}>${escaped(from[name === "source" ? "address" : name] ?? "")}</dc:${name}>`).join("");
    const metadata = '<metadata><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:dc="http://purl.org/dc/elements/1.1/">'
      + `<rdf:Description rdf:about="">${facts}</rdf:Description></rdf:RDF></metadata>`;
    const text = new XMLSerializer().serializeToString(svg).replace("<defs", `${metadata}<defs`);
    return { text, width, height };
  } finally {
    root.dataset.theme = theme;
  }
};

// The same as pixels, two for each of the picture's.
export const pixelsOf = async ({ text, width, height }) => {
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await image.decode();
  const paper = document.createElement("canvas");
  [paper.width, paper.height] = [Math.round(2 * width), Math.round(2 * height)];
  paper.getContext("2d").drawImage(image, 0, 0, paper.width, paper.height);
  return new Promise((resolve, reject) => {
    paper.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture"))), "image/png");
  });
};
