// All weights of a trace, or a measure of importance, as a table with a row for each step and a column for each
// part of the source.

import { html, label, roving } from "./elements.mjs";
import { amount, nameOf, percent, quoted } from "./wording.mjs";

const MOST_COLUMNS = 64;  // if there are more positions, several share a column, which shows their largest weight

/** Return `{element, show(step), point(position)}` for the weights, or for a measure; `go` is as in `sentenceOf`. */
export function weightMapOf(trace, { go, point }, measure = null) {
  const size = Math.max(1, Math.ceil(trace.source.length / MOST_COLUMNS));
  const firsts = [];
  for (let first = 0; first < trace.source.length; first += size) firsts.push(first);
  const largest = trace.picture ? Math.max(1e-6, ...trace.weights.map((row) => Math.max(...row))) : 1;
  const strongest = measure ? measure.limit : largest;
  const name = measure ? measure.name : "weights";
  const heads = firsts.map((first) => html("th", { scope: "col" }, columnName(trace, first)));
  const rows = trace.target.map((token, step) => {
    const cells = firsts.map((first) => cellOf(trace, step, first, size, strongest, go, point, measure));
    return html("tr", {}, html("th", { scope: "row" }, html("bdi", {}, label(token, 16))), ...cells);
  });
  const cells = rows.flatMap((row) => [...row.querySelectorAll("td")]);
  const width = firsts.length;
  roving(cells, (place, key) => {
    const column = place % width;
    if (key === "ArrowLeft") return column > 0 ? place - 1 : NaN;
    if (key === "ArrowRight") return column < width - 1 ? place + 1 : NaN;
    return place + ({ ArrowUp: -width, ArrowDown: width }[key] ?? NaN);
  });
  const table = html("table", { role: "grid", class: size > 1 || trace.picture ? "map narrow" : "map" },
    html("caption", { class: "hidden" }, `All steps: ${name}`),
    html("thead", {}, html("tr", {}, html("td"), ...heads)), html("tbody", {}, ...rows));
  return {
    element: html("div", { class: "scroll", role: "region", "aria-label": measure ? `Map of ${name}` : "Map of the weights" }, table),
    show: (step) => rows.forEach((row, place) => row.classList.toggle("now", place === step)),
    point: (position) => heads.forEach((head, column) => {
      head.classList.toggle("pointed", position !== null && Math.floor(position / size) === column);
    }),
  };
}

function columnName(trace, first) {
  if (trace.picture) return html("span", { class: "hidden" }, nameOf(trace, first));
  const text = label(trace.source[first], 16);
  return html("span", { class: [...text].length > 1 ? "upright" : null }, html("bdi", {}, text));
}

/** Return a cell, with full colour for the value `strongest`; in a picture, many parts share the attention. */
function cellOf(trace, step, first, size, strongest, go, point, measure) {
  const values = (measure?.values ?? trace.weights)[step].slice(first, first + size);
  const value = values.reduce((most, other) => (Math.abs(other) > Math.abs(most) ? other : most), 0);
  const [token, source] = [quoted(trace.target[step]), nameOf(trace, first)];
  const words = measure ? `${token}, ${source}: ${amount(value, strongest)}` : `${token} reads ${source}: ${percent(value)}`;
  return html("td", {
    role: "gridcell",
    class: measure && (value < 0 ? "measure below" : "measure"),
    title: words,
    "aria-label": words,
    "--weight": (Math.abs(value) / strongest).toFixed(3),
    onclick: () => go(step),
    onkeydown: (event) => {
      if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        go(step);
      }
    },
    onmouseenter: () => point(first),
    onmouseleave: () => point(null),
    onfocus: () => point(first),
    onblur: () => point(null),
  });
}
