// The data of the page: traces with their numbers unpacked.

const NUMBERS = { 8: Int8Array, 16: Int16Array };
const ARRAYS = ["scores", "weights", "logProbs", "topLogProbs", "initialState", "values", "context",
  "query", "embedded", "state", "generation"];
const QUANTILE = 0.95;  // of the sizes of numbers, which gets the strongest colour of a strip

/** What `trace_data.packed` wrote: a typed array for one axis, a list of them for two. */
export function unpacked({ shape, scale, bits, data }) {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const values = Float64Array.from(new NUMBERS[bits](bytes.buffer), (number) => scale * number);
  if (shape.length === 1) return values;
  const [rows, columns] = shape;
  return Array.from({ length: rows }, (_, row) => values.subarray(row * columns, (row + 1) * columns));
}

/** `{labels, inputs}`: for each input a list of sides, each a trace with arrays. */
export function readTraces(text) {
  const { labels, inputs } = JSON.parse(text);
  return { labels, inputs: inputs.map((sides) => sides.map(traceOf)) };
}

function traceOf(data) {
  const trace = { ...data };
  for (const name of ARRAYS) if (data[name]) trace[name] = unpacked(data[name]);
  trace.confidences = Array.from(trace.logProbs, Math.exp);  // p(y_i | y_1 ... y_{i-1}, x)
  trace.topProbabilities = trace.topLogProbs.map((row) => row.map(Math.exp));
  // values and their weighted sums have one scale of colours
  trace.limits = {
    values: limitOf([...trace.values, ...trace.context]),
    query: limitOf(trace.query),
    embedded: limitOf(trace.embedded),
    state: limitOf([...trace.state, trace.initialState]),
  };
  return trace;
}

function limitOf(vectors) {
  const sizes = vectors.flatMap((vector) => Array.from(vector, Math.abs)).sort((one, other) => one - other);
  return Math.max(1e-6, sizes[Math.floor(QUANTILE * (sizes.length - 1))] ?? 1);
}

/** The mean log-probability of a token as a probability: exp(log p / T). */
export function confidenceOf({ logProbs }) {
  return logProbs.length ? Math.exp(logProbs.reduce((sum, one) => sum + one, 0) / logProbs.length) : 1;
}

/** Numbers of the source positions of a step, the largest weight first. */
export function mostAttended(trace, step) {
  const weights = trace.weights[step];
  return Array.from(weights.keys()).sort((one, other) => weights[other] - weights[one]);
}
