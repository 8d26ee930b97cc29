// Source and target of one side, joined by curves that are as wide as the weights.

import { directionOf, goesOn, html, label, subscript, svg } from "./elements.mjs";
import { pictureOf } from "./pictures.mjs";
import { confidenceOf, mostAttended } from "./traces.mjs";
import { chance, nameOf, percent, quoted, signed } from "./wording.mjs";

// width of weight 1 in pixels; smallest weight with a curve; maximum number of curves of a step
const WIDEST = 16, LEAST = 0.03, MOST = 8;
const MUCH = 0.2;  // smallest weight for which a token is highlighted together with the other side

/**
 * Return the panel of one side.
 *
 * `name` is its heading. `go(step)` is called when a reader chooses a step, and `point(position)` when a reader
 * points at a source position, or at none (null).
 */
export function sentenceOf(trace, name, { go, point }) {
  let [now, pointed, peeked] = [0, null, null];  // a step, a source position, a step
  const curves = svg("svg", { class: "curves", "aria-hidden": "true" });
  const source = trace.picture ? pictureOf(trace, point) : sourceRow(trace, point);
  const target = targetRow(trace, go, (step) => {
    peeked = step;
    source.mark?.(step === null ? () => false : (position) => trace.weights[step][position] >= MUCH);
    draw();
  });
  const links = html("div", { class: trace.picture ? "links over" : "links" }, curves, source.element, target.element);
  const facts = [
    ...(trace.topTokens ? [`score ${signed(trace.score, 2)}`] : []),
    ...(trace.logProbs ? [`confidence ${chance(confidenceOf(trace))}`] : []),
  ].join(", ");
  const heading = html("div", { class: "heading" }, html("h2", {}, name), html("p", { class: "hint", hidden: !trace.target.length }, facts));
  const element = html("article", { class: "panel", "aria-label": name }, heading, links);
  if (!trace.target.length) links.append(html("p", { class: "empty" }, "The text is empty."));
  function draw() {
    const frame = links.getBoundingClientRect();
    curves.setAttribute("viewBox", `0 0 ${frame.width} ${frame.height}`);
    curves.replaceChildren();
    const steps = trace.picture ? [peeked ?? now] : [...trace.target.keys()];
    for (const step of trace.target.length ? steps : []) {
      for (const position of mostAttended(trace, step).slice(0, MOST)) {
        const weight = trace.weights[step][position];
        if (weight < LEAST) break;
        const ends = [source.anchors[position], target.anchors[step]].map((end) => end.getBoundingClientRect());
        const looked = position === pointed || step === peeked;
        const classes = ["curve", step === now && "now", looked && "pointed"].filter(Boolean);
        const width = Math.max(0.8, WIDEST * weight).toFixed(2);
        curves.append(svg("path", { class: classes.join(" "), d: curve(...ends, frame), "stroke-width": width }));
      }
    }
    const strong = [...curves.querySelectorAll(".now, .pointed")];
    curves.append(...strong);  // above the others
  }

  new ResizeObserver(draw).observe(links);
  return {
    element,
    show(step) {
      now = step;
      source.show?.(step);
      target.show(step);
      draw();
    },
    point(position) {
      pointed = position;
      source.point(position);
      target.point(position);
      draw();
    },
  };
}

/** Return a curve from the lower edge of one box to the upper edge of another. */
function curve(from, to, frame) {
  const [x, y] = [from.left + from.width / 2 - frame.left, from.bottom - frame.top];
  const [endX, endY] = [to.left + to.width / 2 - frame.left, to.top - frame.top];
  const middle = (y + endY) / 2;
  return `M${x} ${y}C${x} ${middle} ${endX} ${middle} ${endX} ${endY}`;
}

function row(kind, tokens, chips) {
  const name = kind === "source" ? "Source tokens" : "Target tokens";
  return html("div", { class: `tokens ${kind}`, role: "group", "aria-label": name, dir: directionOf(tokens) }, ...chips);
}

function sourceRow(trace, point) {
  const anchors = trace.source.map((token, position) => html("button", {
    type: "button",
    class: goesOn(token, position) ? "chip on" : "chip",
    "aria-label": readOf(trace, position),
    onmouseenter: () => point(position),
    onmouseleave: () => point(null),
    onfocus: () => point(position),
    onblur: () => point(null),
  }, html("bdi", {}, label(token)), html("small", {}, `h${subscript(position + 1)}`)));
  return {
    element: row("source", trace.source, anchors),
    anchors,
    mark: (isMarked) => anchors.forEach((chip, place) => chip.classList.toggle("pointed", isMarked(place))),
    point: (position) => anchors.forEach((chip, place) => chip.classList.toggle("pointed", place === position)),
  };
}

/** Describe the steps that attend to a position most. */
function readOf(trace, position) {
  const steps = [...trace.target.keys()].filter((step) => trace.weights[step][position] >= LEAST);
  steps.sort((one, other) => trace.weights[other][position] - trace.weights[one][position]);
  const read = steps.slice(0, 4).map((step) => `${quoted(trace.target[step])} ${percent(trace.weights[step][position])}`);
  return `${nameOf(trace, position)}: ${read.length ? `read by ${read.join(", ")}` : "read by no step"}`;
}

function targetRow(trace, go, peek) {
  const anchors = trace.target.map((token, step) => {
    const confidence = trace.confidences?.[step] ?? 1;
    const share = trace.confidences ? chance(confidence) : "";
    return html("button", {
      type: "button",
      class: goesOn(token, step) ? "chip target on" : "chip target",
      "--doubt": (1 - confidence).toFixed(3),
      "aria-label": `Step ${step + 1}: ${quoted(token)}${share && `, probability ${share}`}`,
      onclick: () => go(step),
      onmouseenter: () => peek(step),
      onmouseleave: () => peek(null),
      onfocus: () => peek(step),
      onblur: () => peek(null),
    }, html("bdi", {}, label(token)), ...(share ? [html("small", {}, share)] : []));
  });
  return {
    element: row("target", trace.target, anchors),
    anchors,
    show: (step) => anchors.forEach((chip, place) => {
      chip.classList.toggle("later", place > step);
      if (place === step) chip.setAttribute("aria-current", "step");
      else chip.removeAttribute("aria-current");
    }),
    point: (position) => anchors.forEach((chip, step) => {
      chip.classList.toggle("pointed", position !== null && trace.weights[step][position] >= MUCH);
    }),
  };
}
