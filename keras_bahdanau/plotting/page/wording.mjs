// Sentences that describe a step, and formatting of numbers.

import { isMark, label, subscript } from "./elements.mjs";
import { mostAttended } from "./traces.mjs";

const MEANINGS = new Map(Object.entries({
  "leave-one-out, attention": "The drop in log p of the token, in nats, if the position is hidden from the attention at this step.",
  "leave-one-out, input": "The drop in log p of the token, in nats, if the vector of the position, before the encoder, is replaced by the mean vector of the input.",
  "gradient x input": "The derivative of log p of the token, in nats, with respect to a factor of the vector of the position: the effect of a small change.",
}));
const LEAST_EFFECT = 0.002;  // smallest effect that the sentence names, as a fraction of the largest one of an input
const WORTH_A_WORD = 0.1;  // smallest weight of a further source token that the sentence names

/** Format a weight in per cent; small weights were rounded to 0 in the data. */
export function percent(share) {
  if (share < 0.0005) return "<0.1%";
  return share < 0.0995 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}

/** Format a probability with two digits, as `plot_trace` does: 12%, 0.012%, 1.2e-6. */
export function chance(probability) {
  if (probability < 1e-30) return "0%";
  if (probability < 1e-4) return probability.toExponential(1);
  return probability < 0.0995 ? `${(100 * probability).toPrecision(2)}%` : percent(probability);
}

/** Format a number with its sign, using a minus instead of a hyphen. */
export function signed(number, digits = 1) {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? text : `${number < 0 ? "−" : "+"}${text}`;
}

/** Format a value of a measure; the number of digits depends on its limit: +2.31, −0.023, +1.2e-5. */
export function amount(value, limit) {
  if (limit >= 0.01) return signed(value, limit >= 1 ? 2 : 3);
  return value === 0 ? "0" : `${value < 0 ? "−" : "+"}${Math.abs(value).toExponential(1)}`;
}

/** Quote a token, in the writing direction of its script; a special token gets its name instead. */
export function quoted(token) {
  if (isMark(token)) return token === "\u2581" ? "a space" : `the ${label(token)} token`;
  return `“\u2068${label(token)}\u2069”`;
}

/** Return the name of a source position: a token, seconds, or a place in a picture. */
export function nameOf(trace, position) {
  const { picture } = trace;
  if (!picture) return quoted(trace.source[position]);
  const place = placeOf(picture, position);
  return picture.rows > 1 ? `column ${place.replace(",", ", row")}` : place;
}

/** Return the place of a source position in a picture: "0.32 s", or "3, 2" for column and row. */
export function placeOf(picture, position) {
  const first = position * picture.reduction;
  if (picture.rows === 1) {
    const unit = picture.axis === "seconds" ? "s" : picture.axis;
    return `${(first * picture.scale).toFixed(picture.scale < 1 ? 2 : 0)} ${unit}`.trim();
  }
  const cell = picture.places ? picture.places[first] : first;
  return `${Math.floor(cell / picture.rows) + 1}, ${(cell % picture.rows) + 1}`;
}

/** Return the line at the top of the page, which introduces a trace. */
export function introduced(trace) {
  const does = trace.topTokens ? "writes the target tokens below, one per step" : "computes the outputs below";
  const task = `The model reads the ${trace.picture ? "input" : "source tokens"} at the top and ${does}.`;
  if (!trace.attends) return task;
  const parts = trace.picture ? "part of the input" : "source token";
  return `${task} At each step, attention gives each ${parts} a weight: the wider the curve, the larger the weight.${trace.target.length > 1 ? " Press Play." : ""}`;
}

/** Return sentences about what a step does, and about the most important position according to a measure. */
export function narrated(trace, step, measure = null) {
  const count = trace.target.length;
  if (!count) return "There is nothing to write: the text is empty.";
  const sentences = [`Step ${step + 1} of ${count}.`, asked(trace, step), attended(trace, step), written(trace, step)];
  if (measure && trace.source.length) sentences.push(judged(trace, step, measure));
  return sentences.filter(Boolean).join(" ");
}

function judged(trace, step, { name, values, limit }) {
  const effects = values[step];
  const best = effects.indexOf(Math.max(...effects));
  if (effects[best] < LEAST_EFFECT * limit) return `According to ${name}, no part of the source matters here.`;
  const counts = `According to ${name}, ${nameOf(trace, best)} matters most (${amount(effects[best], limit)})`;
  const [first] = mostAttended(trace, step);
  if (!trace.weights[step][first]) return `${counts}.`;
  if (first === best) return `${counts}, and it also has the largest weight.`;
  return `${counts}; ${nameOf(trace, first)}, which has the largest weight, has ${amount(effects[first], limit)}.`;
}

/** Return what a measure means, and what its colours mean. */
export function explained({ name, limit }) {
  const meaning = MEANINGS.get(name) ?? "A measure of importance that was passed with the weights.";
  return `${meaning} Violet is above 0, and green is below 0. Full colour is ${amount(limit, limit)} and ${amount(-limit, limit)}, the largest absolute value at any step and side of this input.`;
}

function asked(trace, step) {
  if (!trace.queryStates) return "";  // the arrays of any model have no queries
  const state = trace.queryStates[step];
  const query = state === null ? `the query q${subscript(step + 1)}` : `its state s${subscript(state)} as the query`;
  const before = step ? `After ${quoted(trace.input[step])}` : "At the start";
  return trace.attends ? `${before}, the decoder uses ${query}.` : `${before}, the decoder computes its next state.`;
}

function attended(trace, step) {
  if (!trace.attends) return "It has no attention: it reads the same context at every step.";
  const weights = trace.weights[step];
  const [first, ...others] = mostAttended(trace, step);
  if (first === undefined || !weights[first]) return "No part of the source gets any weight.";
  const also = others.filter((position) => weights[position] >= WORTH_A_WORD).slice(0, 2);
  const rest = also.map((position) => `${nameOf(trace, position)} ${percent(weights[position])}`);
  const score = trace.scores ? ` (score ${signed(trace.scores[step][first])})` : "";
  const most = `${capital(nameOf(trace, first))}${score} gets ${percent(weights[first])} of the attention`;
  return rest.length ? `${most}, ${rest.join(" and ")}.` : `${most}.`;
}

function capital(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

function written(trace, step) {
  const token = trace.target[step];
  const share = trace.confidences && chance(trace.confidences[step]);
  if (!trace.topTokens) return `The output is ${quoted(token)}${share ? `, with a probability of ${share}` : ""}.`;
  const does = token === "</s>" ? "It ends the text" : `It writes ${quoted(token)}`;
  const places = trace.topTokens[step];
  const other = places.findIndex((one) => one !== token);
  const copying = trace.generation ? ` It generates with p_gen ${trace.generation[step].toFixed(2)}; the rest is copied.` : "";
  if (other < 0) return `${does} with a probability of ${share}.${copying}`;
  const less = chance(trace.topProbabilities[step][other]);
  const relation = places[0] === token ? "the second best is" : "the most probable one is";
  return `${does} with a probability of ${share}; ${relation} ${quoted(places[other])} with ${less}.${copying}`;
}
