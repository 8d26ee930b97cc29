// Words for what a step does, and numbers as they are read.

import { isMark, label, subscript } from "./elements.mjs";
import { mostAttended } from "./traces.mjs";

const MEANINGS = new Map(Object.entries({
  "leave-one-out, attention": "How far log p of the token falls, in nats, if the attention of its step does not see the position.",
  "leave-one-out, input": "How far log p of the token falls, in nats, if the vector of the position, before the encoder, becomes the mean vector of the input.",
  "gradient x input": "The derivative of log p of the token, in nats, by a factor of the vector of the position: what a small change does.",
}));
const LEAST_EFFECT = 0.002;  // of the largest of an input: what the sentence names
const WORTH_A_WORD = 0.1;  // least weight of a source token that the sentence names beside the first

/** A weight in per cent; small ones were rounded to 0 in the data. */
export function percent(share) {
  if (share < 0.0005) return "<0.1%";
  return share < 0.0995 ? `${(100 * share).toFixed(1)}%` : `${Math.round(100 * share)}%`;
}

/** A probability in two digits, as `plot_trace` writes it: 12%, 0.012%, 1.2e-6. */
export function chance(probability) {
  if (probability < 1e-30) return "0%";
  if (probability < 1e-4) return probability.toExponential(1);
  return probability < 0.0995 ? `${(100 * probability).toPrecision(2)}%` : percent(probability);
}

/** A number with its sign, a minus and no hyphen. */
export function signed(number, digits = 1) {
  const text = Math.abs(number).toFixed(digits);
  return Number(text) === 0 ? text : `${number < 0 ? "−" : "+"}${text}`;
}

/** A value of a measure in as many digits as its limit asks for: +2.31, −0.023, +1.2e-5. */
export function amount(value, limit) {
  if (limit >= 0.01) return signed(value, limit >= 1 ? 2 : 3);
  return value === 0 ? "0" : `${value < 0 ? "−" : "+"}${Math.abs(value).toExponential(1)}`;
}

/** A token in quotation marks, in the direction of its own script; a mark of the model by its name. */
export function quoted(token) {
  if (isMark(token)) return token === "\u2581" ? "a space" : `the ${label(token)} token`;
  return `“\u2068${label(token)}\u2069”`;
}

/** The name of a source position: a token, seconds, or a place in a picture. */
export function nameOf(trace, position) {
  const { picture } = trace;
  if (!picture) return quoted(trace.source[position]);
  const place = placeOf(picture, position);
  return picture.rows > 1 ? `column ${place.replace(",", ", row")}` : place;
}

/** The place of a source position in a picture, in few letters: "0.32 s", or "3, 2" for column and row. */
export function placeOf(picture, position) {
  const first = position * picture.reduction;
  if (picture.rows === 1) {
    const unit = picture.axis === "seconds" ? "s" : picture.axis;
    return `${(first * picture.scale).toFixed(picture.scale < 1 ? 2 : 0)} ${unit}`.trim();
  }
  const cell = picture.places ? picture.places[first] : first;
  return `${Math.floor(cell / picture.rows) + 1}, ${(cell % picture.rows) + 1}`;
}

/** The line at the top of the page: the reader's first look at a trace. */
export function introduced(trace) {
  const does = trace.topTokens ? "writes the target tokens below, one a step" : "gives the outputs below";
  const task = `The model reads the ${trace.picture ? "input" : "source tokens"}, at the top, and ${does}.`;
  if (!trace.attends) return task;
  const parts = trace.picture ? "part of the input" : "source token";
  return `${task} At each step, attention gives each ${parts} a weight: the wider the curve, the larger the weight.${trace.target.length > 1 ? " Press Play." : ""}`;
}

/** The sentence that says what a step does, and which position is the most important by a measure. */
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
  if (effects[best] < LEAST_EFFECT * limit) return `By ${name}, no part of the source counts here.`;
  const counts = `By ${name}, ${nameOf(trace, best)} counts most, ${amount(effects[best], limit)}`;
  const [first] = mostAttended(trace, step);
  if (!trace.weights[step][first]) return `${counts}.`;
  if (first === best) return `${counts}, and it has the largest weight.`;
  return `${counts}; ${nameOf(trace, first)}, which has the largest weight, counts ${amount(effects[first], limit)}.`;
}

/** What a measure says, and what its colours mean. */
export function explained({ name, limit }) {
  const meaning = MEANINGS.get(name) ?? "A measure of importance that came with the weights.";
  return `${meaning} Violet is above 0, green below. Full colour is ${amount(limit, limit)} and ${amount(-limit, limit)}, the largest size at any step and side of this input.`;
}

function asked(trace, step) {
  if (!trace.queryStates) return "";  // arrays of any model
  const state = trace.queryStates[step];
  const query = state === null ? `the query q${subscript(step + 1)}` : `its state s${subscript(state)} as the query`;
  const before = step ? `After ${quoted(trace.input[step])}` : "At the start";
  return trace.attends ? `${before}, the decoder asks with ${query}.` : `${before}, the decoder goes on by itself.`;
}

function attended(trace, step) {
  if (!trace.attends) return "It does not attend: it reads the same context at every step.";
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
  const copying = trace.generation ? ` It generates with p_gen ${trace.generation[step].toFixed(2)}, the rest is copied.` : "";
  if (other < 0) return `${does} with a probability of ${share}.${copying}`;
  const less = chance(trace.topProbabilities[step][other]);
  const relation = places[0] === token ? "the second best is" : "the most probable one is";
  return `${does} with a probability of ${share}; ${relation} ${quoted(places[other])} with ${less}.${copying}`;
}
