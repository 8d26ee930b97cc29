// Unknown tokens of an answer, replaced by the characters of the source that they attend to.

import { END, PAD, START, UNKNOWN } from "./special_ids.mjs";

const COPY = 512;  // bytes of an unknown token that are copied
const NO_COPY = "\u2047";  // as SentencePiece writes an unknown token
// the mark of a word's beginning, white space of ASCII, and Unicode's separators
const SPACES = /[\u2581\t\n\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const ENDS = /^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g;

/**
 * The surface of each token of a text, which is the part that it stands for, by the SentencePiece of the source; of
 * the first `most` tokens, which are all that a model has read.
 *
 * It is null for a token that can't be copied: for those that are known, where others are not.
 */
export function surfacesOf(source, sentence, most = Infinity) {
  const bytes = new TextEncoder().encode(sentence);
  const tokens = source.tokens(bytes).slice(0, most);
  const known = tokens.every(({ id }) => id !== UNKNOWN);
  return tokens.map(({ id, begin, end }) => {
    if (!known && id !== UNKNOWN) return null;
    const copy = bytes.subarray(begin, Math.min(end, begin + COPY));
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(copy, { stream: true });  // without half a character
    return text.replace(SPACES, " ").replace(ENDS, "");
  });
}

/**
 * The text of ids, by the SentencePiece of the target; an unknown one stands for the surface that it attends to.
 *
 * `alignment` has the weights of each id, whose last column is the end of the source. No surfaces, no copies.
 */
export function textOf(target, ids, alignment, surfaces) {
  const isText = (id) => ![PAD, START, END].includes(id);
  if (!surfaces.length || !ids.includes(UNKNOWN)) return target.decode(ids.filter(isText));
  const pieces = ids.map((id, step) => id === UNKNOWN ? copyOf(alignment[step], surfaces) : target.pieces[id])
    .filter((_, step) => isText(ids[step]));
  return pieces.join("").replace(/\u2581+/g, " ").replace(ENDS, "");
}

/** The surface at the place with the highest weight, the end aside, which stands last; ⁇ if it is a space. */
function copyOf(weights, surfaces) {
  const ofText = weights.slice(0, -1).map((weight, place) => surfaces[place] === null ? 0 : weight);
  const highest = Math.max(...ofText);
  return highest > 0 && surfaces[ofText.indexOf(highest)] || NO_COPY;
}
