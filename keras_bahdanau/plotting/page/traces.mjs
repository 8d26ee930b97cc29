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

/** `{labels, inputs}`: for each input a list of sides, each a trace with arrays; one of arrays lacks most. */
export function readTraces(text) {
  const { labels, inputs } = JSON.parse(text);
  return { labels, inputs: inputs.map((sides) => limited(sides.map(traceOf))) };
}

/** Sides of an input, whose measures of one name get one limit: the size with the strongest colour. */
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
  // name -> {name, values}: how important each source position is for each step
  trace.measures = new Map(data.importance.map(({ name, values }) => [name, { name, values: unpacked(values) }]));
  trace.confidences = trace.logProbs && Array.from(trace.logProbs, Math.exp);  // p(y_i | y_1 ... y_{i-1}, x)
  if (!trace.values) return trace;
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

/** Numbers of the source positions of a step, the largest weight first; of a measure its size counts, too. */
export function mostAttended(trace, step, measure = null) {
  const sizes = trace.weights[step].map((weight, position) => (
    Math.max(weight, measure ? Math.abs(measure.values[step][position]) / measure.limit : 0)));
  return Array.from(sizes.keys()).sort((one, other) => sizes[other] - sizes[one]);
}
