// Finds the most probable split of a text by a unigram model (Kudo 2018) with the Viterbi algorithm, in float32.

const [NORMAL, SYMBOL] = [1, 4];  // kinds of pieces
const UNKNOWN_PENALTY = 10;
const LEAST = 2 ** -126;  // the smallest normal float32, where the library's maximum starts
const costs = new WeakMap();  // for each vocabulary

/** Return the pieces on the best path; `vocabulary` is a `SentencePiece`. */
export function bestPath(text, vocabulary) {
  const { known, kinds, longest, scores } = vocabulary;
  if (!costs.has(vocabulary)) costs.set(vocabulary, costsOf(vocabulary));
  const { unseen, highest } = costs.get(vocabulary);
  const best = new Float32Array(text.length + 1);
  const starts = new Int32Array(text.length + 1).fill(-1);
  const reach = (end, start, score) => {
    const candidate = Math.fround(score + best[start]);  // same ties as in float32
    if (starts[end] >= 0 && candidate <= best[end]) return;
    [best[end], starts[end]] = [candidate, start];
  };
  for (let start = 0, width; start < text.length; start += width) {
    width = text.codePointAt(start) > 0xffff ? 2 : 1;
    let single = false;
    for (let end = start + 1; end <= Math.min(text.length, start + longest); ++end) {
      const piece = text.slice(start, end);
      const id = known.get(piece);
      if (id === undefined) continue;
      const symbol = kinds[id] === SYMBOL;
      reach(end, start, symbol ? Math.fround(bytesOf(piece) * highest) - 0.1 : scores[id]);
      single ||= end - start === width;
    }
    if (!single) reach(start + width, start, unseen);
  }
  const pieces = [];
  for (let end = text.length; end > 0; end = starts[end]) pieces.push(text.slice(starts[end], end));
  return pieces.reverse();
}

/** Return the score of an unknown character, and the highest score of a piece. */
function costsOf({ kinds, scores }) {
  const normal = scores.filter((_, id) => kinds[id] === NORMAL);
  const lowest = normal.reduce((least, one) => Math.min(least, one), 3.4028234663852886e38);
  const highest = normal.reduce((most, one) => Math.max(most, one), LEAST);
  return { unseen: Math.fround(lowest - UNKNOWN_PENALTY), highest };
}

function bytesOf(piece) {
  return new TextEncoder().encode(piece).length;
}
