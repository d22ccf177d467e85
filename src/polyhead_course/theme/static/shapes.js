// Shapes of a picture: drawings as they are, and boxes of HTML; colours as every program knows them.
export const NAMESPACE = "http://www.w3.org/2000/svg";

export const make = (name, attributes = {}, ...children) => {
  const element = document.createElementNS(NAMESPACE, name);
  for (const [key, value] of Object.entries(attributes)) {
    element.setAttribute(key, typeof value === "number" ? String(Math.round(100 * value) / 100) : value);
  }
  element.append(...children);
  return element;
};

// Programs that are no browsers know only rgb(): `color(srgb 0.2 0.5 0.7 / 0.6)` is one, too.
export const plain = (value) => value
  .replace(/color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)(?: \/ ([\d.]+))?\)/g, (_, r, g, b, alpha = "1") =>
    `rgba(${[r, g, b].map((each) => Math.round(255 * each)).join(", ")}, ${alpha})`)
  .replace(/rgba\((.*), 1\)/g, "rgb($1)");
const clear = (color) => color === "transparent" || /[,/] ?0\)$/.test(plain(color));

// What an element of a drawing has from style sheets, where it differs from what it has without them.
const DRAWN = {
  color: "", fill: "rgb(0, 0, 0)", stroke: "none", "stroke-width": "1px", "stroke-dasharray": "none", "stroke-linecap": "butt",
  "stroke-linejoin": "miter", "fill-opacity": "1", "stroke-opacity": "1", "font-family": "", "font-size": "", "font-weight": "400",
  "font-style": "normal", "text-anchor": "start", "dominant-baseline": "auto", opacity: "1", "clip-path": "none", visibility: "visible",
};
const OWN = new Set(["opacity", "clip-path", "dominant-baseline"]); // no child has them from its parent

export const drawing = (element, parent = null) => {
  if (element.localName === "style" || element.localName === "title") return null;
  const copy = element.cloneNode(false);
  const style = getComputedStyle(element);
  if (style.display === "none" && element.localName !== "defs" && !element.closest("defs")) return null;
  for (const name of ["class", "style", "aria-hidden", "aria-label", "role"]) copy.removeAttribute(name);
  for (const [name, otherwise] of Object.entries(DRAWN)) {
    const value = plain(style.getPropertyValue(name));
    const before = parent && !OWN.has(name) ? plain(parent.getPropertyValue(name)) : otherwise;
    if (name === "color" || !value || value === before) copy.removeAttribute(name);
    else copy.setAttribute(name, value);
  }
  for (const child of element.childNodes) {
    const drawn = child.nodeType === Node.ELEMENT_NODE ? drawing(child, style) : child.cloneNode();
    if (drawn && child.nodeType !== Node.COMMENT_NODE) copy.append(drawn);
  }
  return copy;
};

export const canvas = document.createElement("canvas").getContext("2d");
export const metrics = (style) => {
  canvas.font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
  const { fontBoundingBoxAscent: up, fontBoundingBoxDescent: down } = canvas.measureText("x");
  return [up, down];
};

// A rectangle that lies so far inside a box.
const framed = ({ left, top, width, height }, style, place, inset, more) => {
  const [w, h] = [width - 2 * inset, height - 2 * inset];
  const rx = Math.max(0, Math.min((parseFloat(style.borderTopLeftRadius) || 0) - inset, w / 2, h / 2));
  return w > 0 && h > 0 ? [make("rect", { x: left + inset - place.x, y: top + inset - place.y, width: w, height: h, ...(rx && { rx }), ...more })] : [];
};

// The outline lies over what is beside it.
export const outlinesOf = (element, style, place) => {
  if (style.outlineStyle !== "solid" || element.matches(":focus-visible")) return [];
  const wide = parseFloat(style.outlineWidth);
  const inset = -wide / 2 - parseFloat(style.outlineOffset);
  return framed(element.getBoundingClientRect(), style, place, inset, { fill: "none", stroke: plain(style.outlineColor), "stroke-width": wide });
};

// A box of HTML: background, stripes, borders, inner shadows.
export const boxOf = (element, style, place, defs) => {
  const shapes = [];
  for (const { left, top, width, height } of element.getClientRects()) {
    if (!width || !height) continue;
    const frame = (inset, more) => shapes.push(...framed({ left, top, width, height }, style, place, inset, more));
    if (!clear(style.backgroundColor)) frame(0, { fill: plain(style.backgroundColor) });
    const stripes = /^repeating-linear-gradient\((\d+)deg, (.*)\)$/.exec(plain(style.backgroundImage));
    if (stripes) {
      const angle = (Number(stripes[1]) * Math.PI) / 180;
      const stops = [...stripes[2].matchAll(/(rgba?\([^)]*\)|transparent) ([\d.]+)px(?: ([\d.]+)px)?/g)]
        .flatMap(([, color, ...places]) => places.filter(Boolean).map((at) => [color, Number(at)]));
      const end = stops.at(-1)?.[1];
      const [x1, y1] = [left - place.x, top + height - place.y];
      const id = `stripes-${defs.childElementCount}`;
      defs.append(make("linearGradient", {
        id, gradientUnits: "userSpaceOnUse", spreadMethod: "repeat", x1, y1, x2: x1 + end * Math.sin(angle), y2: y1 - end * Math.cos(angle),
      }, ...stops.map(([color, at]) => make("stop", color === "transparent"
        ? { offset: at / end, "stop-color": "rgb(255, 255, 255)", "stop-opacity": 0 } : { offset: at / end, "stop-color": color }))));
      if (end) frame(0, { fill: `url(#${id})` });
    }
    for (const [, color, x, y, , spread] of style.boxShadow.matchAll(/((?:rgba?|color)\([^)]*\)) (-?[\d.]+)px (-?[\d.]+)px ([\d.]+)px ([\d.]+)px inset/g)) {
      const wide = Number(spread);
      if (wide) frame(wide / 2, { fill: "none", stroke: plain(color), "stroke-width": wide });
      const high = Math.abs(Number(y));
      if (high && !Number(x)) {
        const edge = y > 0 ? top : top + height - high;
        shapes.push(make("rect", { x: left - place.x, y: edge - place.y, width, height: high, fill: plain(color) }));
      }
    }
    const sides = ["Top", "Right", "Bottom", "Left"].map((side) => {
      const [wide, kind, color] = ["Width", "Style", "Color"].map((part) => style[`border${side}${part}`]);
      return { wide: kind === "none" || clear(color) ? 0 : parseFloat(wide), kind, color: plain(color) };
    });
    const dash = (kind, wide) => (kind === "dashed" ? { "stroke-dasharray": `${3 * wide} ${2 * wide}` } : {});
    const [first] = sides;
    if (sides.every(({ wide, color }) => wide && wide === first.wide && color === first.color)) {
      frame(first.wide / 2, { fill: "none", stroke: first.color, "stroke-width": first.wide, ...dash(first.kind, first.wide) });
    } else {
      sides.forEach(({ wide, kind, color }, side) => {
        if (!wide) return;
        const [x1, y1] = [left - place.x + (side === 1 ? width - wide / 2 : side === 3 ? wide / 2 : 0),
          top - place.y + (side === 2 ? height - wide / 2 : side === 0 ? wide / 2 : 0)];
        const ends = side % 2 ? { x2: x1, y2: y1 + height } : { x2: x1 + width, y2: y1 };
        shapes.push(make("line", { x1, y1, ...ends, stroke: color, "stroke-width": wide, ...dash(kind, wide) }));
      });
    }
  }
  return shapes;
};
