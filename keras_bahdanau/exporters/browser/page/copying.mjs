// Unknown tokens of an answer, replaced by the characters of the source that they copy.

import { END, PAD, START, UNKNOWN } from "./special_ids.mjs";

const COPY = 512;  // bytes of an unknown token that are copied
const NO_COPY = "\u2047";  // as SentencePiece writes an unknown token
// the mark of a word's beginning, white space of ASCII, and Unicode's separators
const SPACES = /[\u2581\t\n\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/gu;
const ENDS = /^[ \t\n\v\f\r]+|[ \t\n\v\f\r]+$/g;

/** The surface of each token of a text, which is the part that it stands for, by the SentencePiece of the source. */
export function surfacesOf(source, sentence) {
  const bytes = new TextEncoder().encode(sentence);
  return source.tokens(bytes).map(({ begin, end }) => {
    const copy = bytes.subarray(begin, Math.min(end, begin + COPY));
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(copy, { stream: true });  // without half a character
    return text.replace(SPACES, " ").replace(ENDS, "");
  });
}

/**
 * The text of ids, by the SentencePiece of the target; an unknown one stands for the surface at its position in
 * `copiedFrom`, ⁇ for none. No surfaces, no copies.
 */
export function textOf(target, ids, copiedFrom, surfaces) {
  const isText = (id) => ![PAD, START, END].includes(id);
  if (!surfaces.length || !ids.includes(UNKNOWN)) return target.decode(ids.filter(isText));
  const pieces = ids.map((id, step) => id === UNKNOWN ? surfaces[copiedFrom[step]] || NO_COPY : target.pieces[id])
    .filter((_, step) => isText(ids[step]));
  return pieces.join("").replace(/\u2581+/g, " ").replace(ENDS, "");
}
