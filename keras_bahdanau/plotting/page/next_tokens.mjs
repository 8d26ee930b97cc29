// The most probable next tokens of a step, and the text that follows after the second best one.

import { html, isMark, label, subscript } from "./elements.mjs";
import { named, stage } from "./step_table.mjs";
import { chance, quoted, signed } from "./wording.mjs";

/** Fill the element `place` with a step. */
export function showNext(place, trace, step) {
  place.querySelector("h2").textContent = `Step ${step + 1}: the next token`;
  place.querySelector(".content")?.remove();
  place.append(html("div", { class: "content" }, reading(trace, step), chances(trace, step), ...whatIf(trace, step)));
}

function reading(trace, step) {
  const context = `context c${subscript(step + 1)}`;
  const limit = trace.limits.values;
  return html("div", { class: "asking" },
    stage(5, "Write"),
    ...(trace.readsContext ? [named(context, trace.context[step], limit, "what it reads from the source")] : []),
    named(`last token y${subscript(step)}`, trace.embedded[step], trace.limits.embedded, "its embedding"),
    named(`new state s${subscript(step + 1)}`, trace.state[step], trace.limits.state, "which is passed to the next step"));
}

function chances(trace, step) {
  const chosen = trace.target[step];
  const ranked = trace.topTokens[step].map((token, place) => [token, trace.topProbabilities[step][place]]);
  if (!trace.topTokens[step].includes(chosen)) ranked.push([chosen, trace.confidences[step]]);
  const rows = ranked.map(([token, probability]) => html("li", { class: token === chosen ? "chosen" : null },
    html("bdi", { class: isMark(token) ? "mark" : null }, label(token)),
    html("span", { class: "chance", "--weight": probability.toFixed(4) }, html("i")),
    html("span", { class: "figure" }, chance(probability)),
    ...(token === chosen ? [html("span", { class: "hidden" }, ", chosen")] : [])));
  const copied = trace.generation && html("p", { class: "hint" },
    `p_gen = ${trace.generation[step].toFixed(2)}: at most ${chance(1 - trace.generation[step])} is copied.`);
  return html("div", {}, html("ol", { class: "chances", "aria-label": "Most probable next tokens" }, ...rows), ...(copied ? [copied] : []));
}

function whatIf(trace, step) {
  const other = trace.alternatives[step];
  if (!other) return [];
  const better = other.score > trace.score ? "better" : "worse";
  return [html("div", { class: "what-if" },
    html("h3", {}, `What if it chose ${quoted(other.token)} (${chance(Math.exp(other.logProb))})?`),
    html("p", { dir: "auto", class: "text" }, other.text || "The text ends here, empty."),
    html("p", { class: "hint" }, `score ${signed(other.score, 2)}, ${better} than the ${signed(trace.score, 2)} of this text`))];
}
