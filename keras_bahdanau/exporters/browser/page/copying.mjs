// Replaces unknown tokens in an answer by the characters of the source that they copy.

import { END, PAD, START, UNKNOWN } from "./special_ids.mjs";

const COPY = 512;  // maximum number of bytes to copy for an unknown token
const NO_COPY = "\u2047";  // SentencePiece's text for an unknown token
// the mark at the beginning of a word, ASCII white space, and Unicode separators
const SPACES = /[\u2581\t\n\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const ENDS = /^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g;

/** Return the surface of each token: the part of the text that it represents. `source` is a `SentencePiece`. */
export function surfacesOf(source, sentence) {
  const bytes = new TextEncoder().encode(sentence);
  return source.tokens(bytes).map(({ begin, end }) => {
    const copy = bytes.subarray(begin, Math.min(end, begin + COPY));
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(copy, { stream: true });  // drops a partial character
    return text.replace(SPACES, " ").replace(ENDS, "");
  });
}

/**
 * Return the text for ids; `target` is a `SentencePiece`. An unknown id becomes the surface at its position in
 * `copiedFrom`, or ⁇ if there is none. Without surfaces, nothing is copied.
 */
export function textOf(target, ids, copiedFrom, surfaces) {
  const isText = (id) => ![PAD, START, END].includes(id);
  if (!surfaces.length || !ids.includes(UNKNOWN)) return target.decode(ids.filter(isText));
  const pieces = ids.map((id, step) => id === UNKNOWN ? surfaces[copiedFrom[step]] || NO_COPY : target.pieces[id])
    .filter((_, step) => isText(ids[step]));
  return pieces.join("").replace(/\u2581+/g, " ").replace(ENDS, "");
}
