// One step from query to context: scores beside weights, and the weighted sum of the encoder's states.

import { html, label, subscript } from "./elements.mjs";
import { mostAttended } from "./traces.mjs";
import { placeOf, signed } from "./wording.mjs";

const MOST = 24, MOST_PARTS = 10;  // source tokens of a step, and parts of a picture
const BELOW = [44, 108, 196], ABOVE = [206, 62, 50];  // blue and red, which all eyes tell apart
const NO_SUM = "what the decoder reads of the source";

/** Fill `place` with a step; `point(position)` is called as in `sentenceOf`. */
export function showStep(place, trace, step, point) {
  place.querySelector("h2").textContent = `Step ${step + 1}: from query to context`;
  place.querySelector(".content")?.remove();
  const parts = [asking(trace, step)];
  if (trace.attends) parts.push(html("div", { class: "scroll" }, table(trace, step, point)));
  else parts.push(html("p", { class: "hint" }, "This decoder does not attend: it has no scores and no weights."));
  place.append(html("div", { class: "content" }, ...parts));
}

/** A number in a circle, and what is done there. */
export function stage(number, text) {
  return html("span", { class: "stage" }, html("b", {}, String(number)), ` ${text}`);
}

/** A vector as a strip with a cell for each number: strong colours for `limit`, none for 0. */
function strip(vector, limit, name) {
  const canvas = html("canvas", { class: "strip", width: Math.max(1, vector.length), height: 1, role: "img", "aria-label": name, title: name });
  const context = canvas.getContext("2d");
  const image = context.createImageData(canvas.width, 1);
  vector.forEach((value, place) => {
    const color = value < 0 ? BELOW : ABOVE;
    image.data.set([...color, 255 * Math.min(1, Math.abs(value) / limit)], 4 * place);
  });
  context.putImageData(image, 0, 0);
  return canvas;
}

/** A strip with its name. */
export function named(name, vector, limit, meaning) {
  return html("div", { class: "named" }, html("span", {}, name), strip(vector, limit, `${name}, ${meaning}`));
}

function asking(trace, step) {
  const state = trace.queryStates[step];
  const name = state === null ? `query q${subscript(step + 1)}` : `query = s${subscript(state)}`;
  return html("div", { class: "asking" },
    stage(1, "Ask"),
    html("span", { class: "written" }, "last token ", html("bdi", { class: "token" }, label(trace.input[step]))),
    named(name, trace.query[step], trace.limits.query, "what the decoder asks with"));
}

function table(trace, step, point) {
  const order = mostAttended(trace, step);
  const most = trace.picture ? MOST_PARTS : MOST;
  const shown = order.slice(0, most).sort((one, other) => one - other);
  const left = order.slice(most);
  const rest = left.reduce((sum, position) => sum + trace.weights[step][position], 0);
  const highest = Math.max(1e-6, ...Array.from(trace.scores[step], Math.abs));
  const rows = shown.map((position) => rowOf(trace, step, position, highest, point));
  if (left.length) rows.push(html("tr", { class: "left" }, html("th", { scope: "row", colspan: 3 }, `${left.length} more`), weightCell(rest), html("td")));
  const normalized = trace.isSoftmax ? " softmax" : "";
  const source = trace.picture?.rows > 1 ? "column, row" : "source";
  const head = html("tr", {},
    html("th", { scope: "col" }, source),
    html("th", { scope: "col" }, "states hⱼ"),
    html("th", { scope: "col" }, stage(2, "Score eᵢⱼ")),
    html("th", { scope: "col" }, stage(3, `Weigh αᵢⱼ`), html("small", {}, normalized)),
    html("th", { scope: "col" }, stage(4, trace.isSum ? "αᵢⱼ hⱼ" : "Read")));
  const name = `c${subscript(step + 1)}`;
  const meaning = trace.isSum ? `${name} = Σⱼ αᵢⱼ hⱼ` : `${name}, ${NO_SUM}`;
  const sum = html("tr", {},
    html("th", { scope: "row", colspan: 4 }, html("span", { class: "sum" }, trace.isSum ? "Add up: context " : "Context ", html("b", {}, meaning))),
    html("td", {}, strip(trace.context[step], trace.limits.values, `context ${meaning}`)));
  return html("table", { class: "states" },
    html("caption", { class: "hidden" }, `Scores and weights of step ${step + 1}`),
    html("thead", {}, head), html("tbody", {}, ...rows), html("tfoot", {}, sum));
}

function rowOf(trace, step, position, highest, point) {
  const [score, weight, value] = [trace.scores[step][position], trace.weights[step][position], trace.values[position]];
  const name = `h${subscript(position + 1)}`;
  const shares = value.map((number) => weight * number);
  const text = trace.picture ? placeOf(trace.picture, position) : label(trace.source[position]);
  const line = html("tr", { onmouseenter: () => point(position), onmouseleave: () => point(null) },
    html("th", { scope: "row" }, html("bdi", {}, text)),
    html("td", {}, strip(value, trace.limits.values, `state ${name}`)),
    html("td", {}, html("span", { class: "score", "--score": (score / highest).toFixed(4) }, html("i")), html("span", { class: "figure" }, signed(score))),
    weightCell(weight),
    html("td", {}, ...(trace.isSum ? [strip(shares, trace.limits.values, `${weight.toFixed(2)} times ${name}`)] : [])));
  line.dataset.position = position;
  return line;
}

function weightCell(weight) {
  return html("td", {},
    html("span", { class: "weight", "--weight": weight.toFixed(4) }, html("i")),
    html("span", { class: "figure" }, weight.toFixed(2)));
}
