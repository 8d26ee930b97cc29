// The page, with a panel for each side of an input, and the step of the chosen side below.

import { beamTreeOf } from "./beam_tree.mjs";
import { byId, html, label } from "./elements.mjs";
import { showNext } from "./next_tokens.mjs";
import { Player } from "./player.mjs";
import { sentenceOf } from "./sentences.mjs";
import { showStep } from "./step_table.mjs";
import { readTraces } from "./traces.mjs";
import { weightMapOf } from "./weight_map.mjs";
import { explained, introduced, narrated } from "./wording.mjs";

const LONGEST = 60;  // maximum characters of an input in the list

const { labels, inputs } = readTraces(byId("data").textContent);
const NOTHING = "nothing";
const shown = { input: null, side: null, measure: null };  // the name of a measure, or `NOTHING`
let chosen = null;  // the measure that the reader chose, or `NOTHING`
let panels = [], views = [];

/** Call `point(position)` of every view that shows the chosen side. */
function point(position) {
  for (const view of [panels[shown.side], ...views]) view.point?.(position);
  for (const row of byId("comparing").querySelectorAll("tr[data-position]")) {
    row.classList.toggle("pointed", Number(row.dataset.position) === position);
  }
}

function showInput(input) {
  const sides = inputs[input];
  panels = sides.map((trace, side) => sentenceOf(trace, sides.length > 1 ? labels[side] : trace.text || "(empty)", {
    go: (step) => player.go({ side, step }),
    point: (position) => side === shown.side && point(position),
  }));
  byId("sentences").replaceChildren(...panels.map(({ element }) => element));
  byId("sentences").classList.toggle("several", sides.length > 1);
  byId("side-choice").hidden = sides.length < 2;
  byId("side-choice").replaceChildren(byId("side-choice").firstElementChild, ...sides.map((_, side) => html("label", {},
    html("input", { type: "radio", name: "side", value: side, onchange: () => player.go({ side, step: 0 }) }), ` ${labels[side]}`)));
  byId("inputs").value = input;
  shown.side = null;
  offerMeasures([...new Set(sides.flatMap((trace) => [...trace.measures.keys()]))]);
}

/** Let the reader choose one of an input's measures; the previous choice stays if the input has that measure. */
function offerMeasures(names) {
  const options = [...names, NOTHING];
  shown.measure = options.includes(chosen) ? chosen : options[0];
  byId("measure-choice").hidden = !names.length;
  byId("measure-choice").replaceChildren(byId("measure-choice").firstElementChild, ...options.map((name) => html("label", {},
    html("input", { type: "radio", name: "measure", checked: name === shown.measure, onchange: () => chooseMeasure(name) }), ` ${name}`)));
}

function chooseMeasure(name) {
  chosen = name;
  Object.assign(shown, { measure: name, side: null });
  player.go({});
}

function showSide(side) {
  const trace = player.trace;
  const actions = { go: (step) => player.go({ step }), point };
  const isWritten = trace.target.length > 0;
  const measure = trace.measures.get(shown.measure);
  const hasMap = isWritten && trace.attends, hasTree = isWritten && trace.tree;
  const found = [
    fill("weights", hasMap ? weightMapOf(trace, actions) : null),
    fill("importance", hasMap && measure ? weightMapOf(trace, actions, measure) : null),
    fill("tree", hasTree ? beamTreeOf(trace, actions) : null),
  ];
  views = found.filter(Boolean);
  byId("introduction").textContent = isWritten ? introduced(trace) : "";
  byId("importance-heading").textContent = `All steps: ${shown.measure}`;
  byId("importance-hint").textContent = measure ? explained(measure) : "";
  byId("step").hidden = !isWritten;
  byId("legend").hidden = byId("writing").hidden = !isWritten || !trace.topTokens;
  byId("step").classList.toggle("alone", !trace.topTokens);
  panels.forEach(({ element }, place) => element.classList.toggle("chosen", place === side));
  const choice = byId("side-choice").querySelector(`input[value="${side}"]`);
  if (choice) choice.checked = true;
}

/** Put a view into its section, which is hidden if there is no view. */
function fill(id, view) {
  byId(id).hidden = !view;
  byId(id).querySelector(".view")?.remove();
  if (view) byId(id).append(html("div", { class: "view" }, view.element));
  return view;
}

const player = new Player(inputs, ({ input, side, step }) => {
  const { trace } = player;
  if (input !== shown.input) showInput(input);
  if (input !== shown.input || side !== shown.side) showSide(side);
  Object.assign(shown, { input, side });
  panels.forEach((panel, place) => panel.show(place === side ? step : Math.min(step, inputs[input][place].target.length - 1)));
  const measure = trace.measures.get(shown.measure);
  if (trace.target.length) showStep(byId("comparing"), trace, step, point, measure);
  if (trace.target.length && trace.topTokens) showNext(byId("writing"), trace, step);
  for (const view of views) view.show(step);
  byId("narration").textContent = narrated(trace, step, measure);
});

byId("inputs").append(...inputs.map(([{ source, picture, text }], input) => {
  const words = picture ? text : source.filter((token) => token !== "</s>").join("").replaceAll("\u2581", " ").replaceAll("<unk>", "⁇").trim();
  return html("option", { value: input }, `${input + 1}. ${words ? label(words, LONGEST) : "(empty)"}`);
}));
byId("inputs").addEventListener("change", ({ target }) => player.go({ input: Number(target.value), side: 0, step: 0 }));
byId("input-choice").hidden = inputs.length < 2;
byId("player").hidden = false;
player.follow();
