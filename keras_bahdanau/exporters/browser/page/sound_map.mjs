// The attention of a text on sound as a table: a row for each token, a strip of colour along the seconds.

import { HOP, secondsOf } from "./audio_source.mjs";
import { label } from "./heat_map.mjs";

const WIDTH = 800, HIGH = 64;  // pixels of the wave
const MOST_MARKS = 10;  // of seconds

/** A table element of a hypothesis and the samples that the model heard. */
export function soundMap({ tokens, alignment }, { samples, positions, reduction }) {
  const table = Object.assign(document.createElement("table"), { className: "sound" });
  const heading = table.createTHead();
  heading.insertRow().append(cell("td"), cell("td", wave(samples, positions)));
  heading.insertRow().append(cell("td", "s"), cell("td", scale(secondsOf(positions))));
  const body = table.createTBody();
  const colour = getComputedStyle(document.body).getPropertyValue("--map-color");
  tokens.forEach((token, row) => {
    const head = Object.assign(cell("th", label(token)), { scope: "row", dir: "auto" });
    body.insertRow().append(head, strip(alignment[row], reduction, colour));
  });
  return table;
}

/** A cell with the weights of a token, and words about the strongest. */
function strip(weights, reduction, colour) {
  const canvas = Object.assign(document.createElement("canvas"), { width: weights.length, height: 1 });
  const context = canvas.getContext("2d");
  const most = weights.reduce((high, weight) => Math.max(high, weight), 0);
  weights.forEach((weight, column) => {
    context.fillStyle = `rgba(${colour}, ${(weight / (most || 1)).toFixed(3)})`;
    context.fillRect(column, 0, 1, 1);
  });
  const begin = secondsOf(weights.indexOf(most) * reduction);
  const words = `most from ${begin.toFixed(2)} s to ${(begin + secondsOf(reduction)).toFixed(2)} s, ${Math.round(100 * most)} %`;
  const found = Object.assign(cell("td", canvas), { title: words });
  canvas.dataset.weight = most.toFixed(3);
  found.append(Object.assign(document.createElement("span"), { textContent: words, className: "hidden" }));
  return found;
}

/** The wave of the samples as far as their positions reach. */
function wave(samples, positions) {
  const canvas = Object.assign(document.createElement("canvas"), { width: WIDTH, height: HIGH });
  const context = canvas.getContext("2d");
  context.fillStyle = `rgb(${getComputedStyle(document.body).getPropertyValue("--map-color")})`;
  const loudest = samples.reduce((high, sample) => Math.max(high, Math.abs(sample)), 1e-3);
  const each = positions * HOP / WIDTH;
  for (let x = 0; x < WIDTH; ++x) {
    const part = samples.subarray(Math.floor(x * each), Math.max(Math.floor((x + 1) * each), Math.floor(x * each) + 1));
    const high = part.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0) / loudest * HIGH / 2;
    context.fillRect(x, HIGH / 2 - high, 1, Math.max(2 * high, 1));
  }
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `Sound of ${secondsOf(positions).toFixed(2)} seconds`);
  return canvas;
}

/** Marks of seconds, at even distances from 0 to the end. */
function scale(seconds) {
  const line = Object.assign(document.createElement("div"), { className: "seconds" });
  const step = [0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50].find((one) => seconds / one <= MOST_MARKS) ?? 100;
  for (let mark = 0; mark * step <= seconds; ++mark) {
    const found = Object.assign(document.createElement("span"), { textContent: String(Number((mark * step).toFixed(1))) });
    found.style.left = `${100 * mark * step / seconds}%`;
    line.append(found);
  }
  return line;
}

function cell(name, ...content) {
  const found = document.createElement(name);
  found.append(...content);
  return found;
}
