// One step from query to context: scores, weights, a measure of importance next to them, and the weighted sum of
// the encoder's states. A trace of arrays has only weights and measures.

import { html, label, subscript } from "./elements.mjs";
import { mostAttended } from "./traces.mjs";
import { amount, placeOf, signed } from "./wording.mjs";

const MOST = 24, MOST_PARTS = 10;  // maximum source tokens of a step, and parts of a picture
const BELOW = [44, 108, 196], ABOVE = [206, 62, 50];  // blue and red that colour-blind readers can distinguish
const NO_SUM = "what the decoder reads from the source";

/** Fill the element `place` with a step; `point` is as in `sentenceOf`, and `measure` may be null. */
export function showStep(place, trace, step, point, measure) {
  place.querySelector("h2").textContent = `Step ${step + 1}: ${trace.values ? "from query to context" : "weights"}`;
  place.querySelector(".content")?.remove();
  const parts = trace.values ? [asking(trace, step)] : [];
  if (trace.attends) parts.push(html("div", { class: "scroll" }, table(trace, step, point, measure)));
  else parts.push(html("p", { class: "hint" }, "This decoder has no attention, and so no scores and no weights."));
  place.append(html("div", { class: "content" }, ...parts));
}

/** Return a number in a circle, followed by the name of a stage. */
export function stage(number, text) {
  return html("span", { class: "stage" }, html("b", {}, String(number)), ` ${text}`);
}

/** Draw a vector as a strip with a cell for each value: full colour for `limit`, none for 0. */
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

/** Return a strip with its name. */
export function named(name, vector, limit, meaning) {
  return html("div", { class: "named" }, html("span", {}, name), strip(vector, limit, `${name}, ${meaning}`));
}

function asking(trace, step) {
  const state = trace.queryStates[step];
  const name = state === null ? `query q${subscript(step + 1)}` : `query = s${subscript(state)}`;
  return html("div", { class: "asking" },
    stage(1, "Ask"),
    html("span", { class: "written" }, "last token ", html("bdi", { class: "token" }, label(trace.input[step]))),
    named(name, trace.query[step], trace.limits.query, "which is compared with the encoder's states"));
}

function table(trace, step, point, measure) {
  const order = mostAttended(trace, step, measure);
  const most = trace.picture ? MOST_PARTS : MOST;
  const shown = order.slice(0, most).sort((one, other) => one - other);
  const left = order.slice(most);
  const rest = left.reduce((sum, position) => sum + trace.weights[step][position], 0);
  const isWhole = Boolean(trace.values);
  const highest = isWhole ? Math.max(1e-6, ...Array.from(trace.scores[step], Math.abs)) : 1;
  const rows = shown.map((position) => rowOf(trace, step, position, highest, point, measure));
  const before = isWhole ? 3 : 1;  // columns before the weights
  if (left.length) {
    rows.push(html("tr", { class: "left" }, html("th", { scope: "row", colspan: before }, `${left.length} more`), weightCell(rest),
      ...(measure ? [html("td")] : []), ...(isWhole ? [html("td")] : [])));
  }
  const normalized = trace.isSoftmax ? " softmax" : "";
  const source = trace.picture?.rows > 1 ? "column, row" : "source";
  const head = html("tr", {},
    html("th", { scope: "col" }, source),
    ...(isWhole ? [html("th", { scope: "col" }, "states hⱼ"), html("th", { scope: "col" }, stage(2, "Score eᵢⱼ"))] : []),
    html("th", { scope: "col" }, isWhole ? stage(3, "Weigh αᵢⱼ") : "weight αᵢⱼ", html("small", {}, normalized)),
    ...(measure ? [html("th", { scope: "col", class: "measure" }, measure.name)] : []),
    ...(isWhole ? [html("th", { scope: "col" }, stage(4, trace.isSum ? "αᵢⱼ hⱼ" : "Read"))] : []));
  const name = `c${subscript(step + 1)}`;
  const meaning = trace.isSum ? `${name} = Σⱼ αᵢⱼ hⱼ` : `${name}, ${NO_SUM}`;
  const sum = isWhole && html("tr", {},
    html("th", { scope: "row", colspan: measure ? 5 : 4 }, html("span", { class: "sum" }, trace.isSum ? "Add up: context " : "Context ", html("b", {}, meaning))),
    html("td", {}, strip(trace.context[step], trace.limits.values, `context ${meaning}`)));
  return html("table", { class: "states" },
    html("caption", { class: "hidden" }, `Scores and weights of step ${step + 1}`),
    html("thead", {}, head), html("tbody", {}, ...rows), ...(sum ? [html("tfoot", {}, sum)] : []));
}

function rowOf(trace, step, position, highest, point, measure) {
  const weight = trace.weights[step][position];
  const text = trace.picture ? placeOf(trace.picture, position) : label(trace.source[position]);
  const middle = [weightCell(weight), ...(measure ? [measureCell(measure, step, position)] : [])];
  const line = html("tr", { onmouseenter: () => point(position), onmouseleave: () => point(null) },
    html("th", { scope: "row" }, html("bdi", {}, text)),
    ...(trace.values ? wholeRow(trace, step, position, highest, middle) : middle));
  line.dataset.position = position;
  return line;
}

/** Return the cells of a row: state and score before the cells in the middle, and the weighted state after them. */
function wholeRow(trace, step, position, highest, middle) {
  const [value, weight, name] = [trace.values[position], trace.weights[step][position], `h${subscript(position + 1)}`];
  const shares = value.map((number) => weight * number);
  return [
    html("td", {}, strip(value, trace.limits.values, `state ${name}`)),
    barCell(trace.scores[step][position], highest, "score", signed),
    ...middle,
    html("td", {}, ...(trace.isSum ? [strip(shares, trace.limits.values, `${weight.toFixed(2)} times ${name}`)] : [])),
  ];
}

function measureCell({ values, limit }, step, position) {
  const value = values[step][position];
  return barCell(value, limit, value < 0 ? "score measure below" : "score measure", (number) => amount(number, limit));
}

/** Return a bar to the left or the right of 0, which is half as long as the cell for `limit`. */
function barCell(value, limit, classes, figure) {
  return html("td", {},
    html("span", { class: classes, "--score": (value / limit).toFixed(4) }, html("i")),
    html("span", { class: "figure" }, figure(value)));
}

function weightCell(weight) {
  return html("td", {},
    html("span", { class: "weight", "--weight": weight.toFixed(4) }, html("i")),
    html("span", { class: "figure" }, weight.toFixed(2)));
}
