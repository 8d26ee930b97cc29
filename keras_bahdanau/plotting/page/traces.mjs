// The data of the page: traces with unpacked arrays.

const NUMBERS = { 8: Int8Array, 16: Int16Array };
const ARRAYS = ["scores", "weights", "logProbs", "topLogProbs", "initialState", "values", "context",
  "query", "embedded", "state", "generation"];
const QUANTILE = 0.95;  // quantile of the absolute values that gets the strongest colour in a strip

/** Unpack the output of `trace_data.packed`: a typed array for one axis, or a list of them for two. */
export function unpacked({ shape, scale, bits, data }) {
  const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
  const values = Float64Array.from(new NUMBERS[bits](bytes.buffer), (number) => scale * number);
  if (shape.length === 1) return values;
  const [rows, columns] = shape;
  return Array.from({ length: rows }, (_, row) => values.subarray(row * columns, (row + 1) * columns));
}

/** Return `{labels, inputs}` with a list of sides for each input; a side is a trace, or has only the arrays given. */
export function readTraces(text) {
  const { labels, inputs } = JSON.parse(text);
  return { labels, inputs: inputs.map((sides) => limited(sides.map(traceOf))) };
}

/** Give measures with the same name on all sides of an input one limit, the value with the strongest colour. */
function limited(sides) {
  for (const measure of sides.flatMap(({ measures }) => [...measures.values()])) {
    const rows = sides.flatMap(({ measures }) => measures.get(measure.name)?.values ?? []);
    measure.limit = rows.reduce((most, row) => row.reduce((size, value) => Math.max(size, Math.abs(value)), most), 1e-12);
  }
  return sides;
}

function traceOf(data) {
  const trace = { ...data };
  for (const name of ARRAYS) if (data[name]) trace[name] = unpacked(data[name]);
  // name -> {name, values}: the importance of each source position for each step
  trace.measures = new Map(data.importance.map(({ name, values }) => [name, { name, values: unpacked(values) }]));
  trace.confidences = trace.logProbs && Array.from(trace.logProbs, Math.exp);  // p(y_i | y_1 ... y_{i-1}, x)
  if (!trace.values) return trace;
  trace.topProbabilities = trace.topLogProbs.map((row) => row.map(Math.exp));
  // values and their weighted sums share one colour scale
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

/** Return the geometric mean of the tokens' probabilities: exp(log p / T). */
export function confidenceOf({ logProbs }) {
  return logProbs.length ? Math.exp(logProbs.reduce((sum, one) => sum + one, 0) / logProbs.length) : 1;
}

/** Return the source positions of a step, largest weight first; the size of a measure also counts, if given. */
export function mostAttended(trace, step, measure = null) {
  const sizes = trace.weights[step].map((weight, position) => (
    Math.max(weight, measure ? Math.abs(measure.values[step][position]) / measure.limit : 0)));
  return Array.from(sizes.keys()).sort((one, other) => sizes[other] - sizes[one]);
}
