// The picture of an input: a grid with its regions, or a sequence with its axis, such as a spectrogram.

import { html, roving, svg } from "./elements.mjs";
import { nameOf, percent } from "./wording.mjs";

const EVEN = 4;  // weights below this multiple of the mean stay pale
const LAST_LABEL = 0.82;  // labels end at this fraction of the axis, whose unit is at the end
const LABELS = [0.1, 0.2, 0.25, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000];

/** Return the source side of a panel: `element`, `anchors` (one per position), `show` and `point`. */
export function pictureOf(trace, point) {
  const { picture } = trace;
  const isGrid = picture.rows > 1;
  const anchors = trace.source.map((_, position) => svg("path", {
    class: "region",
    d: shapeOf(picture, position, isGrid),
    role: "img",
    onmouseenter: () => point(position),
    onmouseleave: () => point(null),
    onfocus: () => point(position),
    onblur: () => point(null),
  }));
  const along = isGrid ? picture.rows : 1;
  roving(anchors, (place, key) => place + ({ ArrowLeft: -along, ArrowRight: along, ArrowUp: -1, ArrowDown: 1 }[key] ?? NaN));
  const whole = { width: picture.columns, height: picture.rows };
  const shared = { viewBox: `0 0 ${picture.columns} ${picture.rows}`, preserveAspectRatio: "none" };
  const image = svg("image", { href: picture.image, ...whole, preserveAspectRatio: "none" });
  const regions = svg("svg", { ...shared, class: "regions", role: "group", "aria-label": "Parts of the input" });
  regions.append(...(isGrid ? [image] : []), ...anchors);
  const parts = isGrid ? [regions] : [svg("svg", { ...shared, class: "spectrum", "aria-hidden": "true" }, image), regions, axisOf(picture)];
  const element = html("div", {
    class: isGrid ? "picture grid" : "picture sequence",
    "--proportion": picture.width / picture.height,
  }, ...parts);
  return {
    element,
    anchors,
    show: (step) => shares(trace, step).forEach((share, position) => {
      const region = anchors[position];
      region.style.setProperty("--share", share.toFixed(3));
      if (!isGrid) region.setAttribute("d", shapeOf(picture, position, false, share));
      const weight = trace.weights[step]?.[position] ?? 0;
      region.setAttribute("aria-label", `${nameOf(trace, position)}: weight ${percent(weight)}`);
    }),
    point: (position) => anchors.forEach((region, place) => region.classList.toggle("pointed", place === position)),
  };
}

/** Return the squares of a position in a grid, or a bar as high as its share in a sequence. */
function shapeOf({ positions, reduction, places, rows }, position, isGrid, share = 1) {
  const first = position * reduction;
  const last = Math.min(positions, first + reduction);
  if (!isGrid) return `M${first} 1v${-Math.max(0.02, share)}h${last - first}v${Math.max(0.02, share)}z`;
  let shape = "";
  for (let one = first; one < last; ++one) {
    const cell = places ? places[one] : one;
    shape += `M${Math.floor(cell / rows)} ${cell % rows}h1v1h-1z`;
  }
  return shape;
}

/** Return the weights of a step relative to the largest one, which counts as at least four times the mean. */
function shares(trace, step) {
  const weights = Array.from(trace.weights[step] ?? trace.source.map(() => 0));
  const most = Math.max(Math.min(1, EVEN / Math.max(1, weights.length)), ...weights);
  return weights.map((weight) => Math.min(1, weight / most));
}

function axisOf({ columns, scale, axis }) {
  const length = columns * scale;
  const between = LABELS.find((one) => length / one <= 10) ?? length;
  const marks = [];
  for (let count = 0; count * between <= LAST_LABEL * length; ++count) {
    const at = count * between;
    marks.push(html("span", { "--at": (at / length).toFixed(4) }, `${Number(at.toFixed(2))}`));
  }
  return html("div", { class: "axis", "aria-hidden": "true" }, ...marks, html("i", {}, axis));
}
