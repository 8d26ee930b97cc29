// Shows the attention of an answer on sound as a table: for each token, a row with a colored strip over time.

import { HOP, secondsOf } from "./audio_source.mjs";
import { label } from "./heat_map.mjs";

const WIDTH = 800, HIGH = 64;  // size of the waveform in pixels
const MOST_MARKS = 10;  // maximum number of marks on the time axis

/** Create the table element for a hypothesis and the samples that the model received. */
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

/** Create a cell with the weights of a token, and a description of the largest one. */
function strip(weights, reduction, colour) {
  const canvas = Object.assign(document.createElement("canvas"), { width: weights.length, height: 1 });
  const context = canvas.getContext("2d");
  const most = weights.reduce((high, weight) => Math.max(high, weight), 0);
  weights.forEach((weight, column) => {
    context.fillStyle = `rgba(${colour}, ${(weight / (most || 1)).toFixed(3)})`;
    context.fillRect(column, 0, 1, 1);
  });
  const begin = secondsOf(weights.indexOf(most) * reduction);
  const words = `most from ${begin.toFixed(2)} s to ${(begin + secondsOf(reduction)).toFixed(2)} s, ${Math.round(100 * most)}%`;
  const found = Object.assign(cell("td", canvas), { title: words });
  canvas.dataset.weight = most.toFixed(3);
  found.append(Object.assign(document.createElement("span"), { textContent: words, className: "hidden" }));
  return found;
}

/** Draw the waveform of the samples, as far as there are positions. */
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

/** Return equally spaced marks on the time axis, in seconds, from 0 to the end. */
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
