// The page of a training run: a table of weights and curves for each history, at the step of the slider.

import { byId, html, label, svg } from "./elements.mjs";
import { Player } from "./player.mjs";
import { unpacked } from "./traces.mjs";

const [WIDTH, HEIGHT] = [300, 90];  // size of the curves
const histories = JSON.parse(byId("data").textContent).map((history) => ({
  ...history,
  inputs: history.inputs.map((input) => ({ ...input, weights: unpacked(input.weights) })),
}));
const steps = [...new Set(histories.flatMap((history) => history.steps))].sort((one, other) => one - other);
const count = Math.min(...histories.map((history) => history.inputs.length));
let views = [], shown = null;

/** Return the index of the last record of a history up to a step. */
function recordAt(history, step) {
  return Math.max(0, history.steps.filter((recorded) => recorded <= step).length - 1);
}

/** Return `{element, show(step)}` for one history and input. */
function viewOf(history, number) {
  const { source, target, weights } = history.inputs[number];
  const heads = source.map((token) => html("th", { scope: "col" },
    html("span", { class: [...token].length > 1 ? "upright" : null }, html("bdi", {}, label(token, 16)))));
  const cells = target.map(() => source.map(() => html("td")));
  const rows = target.map((token, row) => html("tr", {},
    html("th", { scope: "row" }, html("bdi", {}, label(token, 16))), ...cells[row]));
  const table = html("table", { class: "map" },
    html("caption", { class: "hidden" }, `Weights ${history.name}`),
    html("thead", {}, html("tr", {}, html("td"), ...heads)), html("tbody", {}, ...rows));
  const curves = curvesOf(history), figures = html("p", { class: "hint" });
  const name = history.name ? [html("h2", {}, history.name)] : [];
  return {
    element: html("section", {}, ...name, html("div", { class: "scroll" }, table), curves.element, figures),
    show(step) {
      const record = recordAt(history, step);
      cells.flat().forEach((cell, place) => {
        const weight = Math.max(0, weights[record][place]);
        cell.style.setProperty("--weight", weight.toFixed(3));
        cell.title = weight.toFixed(2);
      });
      curves.show(record);
      const numbers = [["loss", history.losses[record]], ["entropy", history.entropies[record]]];
      figures.textContent = numbers.map(([word, value]) => `${word} ${value === null ? "–" : value.toFixed(2)}`).join(", ");
    },
  };
}

/** Draw the loss and entropy of a history over its steps, with a line at one record. */
function curvesOf(history) {
  const last = Math.log1p(history.steps.at(-1)) || 1;
  const xOf = (record) => (WIDTH * Math.log1p(history.steps[record])) / last;
  const now = svg("line", { y1: 0, y2: HEIGHT, class: "edge" });
  const line = (values, kind) => {
    const most = Math.max(1e-6, ...values.filter((value) => value !== null));
    const points = values.flatMap((value, record) => (value === null ? [] : [`${xOf(record)},${HEIGHT - (HEIGHT - 4) * value / most}`]));
    return svg("polyline", { points: points.join(" "), class: `course ${kind}` });
  };
  const element = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, class: "courses", role: "img", "aria-label": "Loss and entropy over the steps" },
    line(history.losses, "loss"), line(history.entropies, "entropy"), now);
  const legend = html("p", { class: "hint" }, html("b", { class: "course loss" }, "loss"), " and ",
    html("b", { class: "course entropy" }, "entropy of the weights"), ", from 0, over the steps");
  return {
    element: html("div", {}, element, legend),
    show(record) {
      for (const name of ["x1", "x2"]) now.setAttribute(name, xOf(record));
    },
  };
}

const player = new Player(Array.from({ length: count }, () => [{ target: steps }]), ({ input, step }) => {
  if (input !== shown) {
    views = histories.map((history) => viewOf(history, input));
    byId("histories").replaceChildren(...views.map(({ element }) => element));
    byId("inputs").value = input;
    shown = input;
  }
  for (const view of views) view.show(steps[step]);
  byId("narration").textContent = `Step ${steps[step].toLocaleString("en")} of ${steps.at(-1).toLocaleString("en")} of the training run.`;
}, 500);

byId("inputs").append(...Array.from({ length: count }, (_, input) => html("option", { value: input },
  `${input + 1}. ${label(histories[0].inputs[input].source.join(" "), 60)}`)));
byId("inputs").addEventListener("change", ({ target }) => player.go({ input: Number(target.value), side: 0, step: 0 }));
byId("input-choice").hidden = count < 2;
byId("player").hidden = false;
player.follow();
