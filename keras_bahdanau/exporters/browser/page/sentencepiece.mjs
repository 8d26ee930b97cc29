// SentencePiece in plain JavaScript: converts text to ids and back, with the same ids as the library.
//
// It reads models of every type: unigram (Kudo 2018), BPE (Sennrich et al. 2016), words and characters, with
// user-defined symbols, byte fallback (Kudo and Richardson 2018) and normalization.

import { bestPath } from "./unigram.mjs";
import { characterAt, Normalizer, SPACE } from "./normalizer.mjs";
import { merged } from "./byte_pairs.mjs";
import { fields, float32, message } from "./protobuf.mjs";

const [UNIGRAM, BPE, WORDS] = [1, 2, 3];  // model types; 4 is characters
const [NORMAL, UNKNOWN, CONTROL, SYMBOL, UNUSED, BYTE] = [1, 2, 3, 4, 5, 6];  // kinds of pieces
const [PIECES, TRAINER, NORMALIZER, DENORMALIZER] = [1, 2, 3, 5];  // fields of ModelProto
const [MODEL_TYPE, BYTE_FALLBACK, UNKNOWN_SURFACE] = [3, 35, 44];  // fields of TrainerSpec
const UNSEEN = " \u2047 ";

/** A vocabulary; `bytes` is the content of a .spm or .model file, a Uint8Array. */
export class SentencePiece {
  constructor(bytes) {
    const parts = fields(bytes);
    const last = (number) => message(parts.findLast(([one]) => one === number)?.[1]);
    const pieces = parts.filter(([number]) => number === PIECES).map(([, part]) => message(part));
    const [trainer, text] = [last(TRAINER), new TextDecoder("utf-8", { ignoreBOM: true })];
    this.type = trainer.get(MODEL_TYPE) ?? UNIGRAM;
    this.byteFallback = Boolean(trainer.get(BYTE_FALLBACK));
    this.unseen = trainer.has(UNKNOWN_SURFACE) ? text.decode(trainer.get(UNKNOWN_SURFACE)) : UNSEEN;
    this.pieces = pieces.map((piece) => text.decode(piece.get(1)));
    this.scores = pieces.map((piece) => piece.has(2) ? float32(piece.get(2)) : 0);
    this.kinds = pieces.map((piece) => piece.get(3) ?? NORMAL);
    this.unknown = this.kinds.indexOf(UNKNOWN);
    this.ids = new Map(this.pieces.map((piece, id) => [piece, id]));
    this.known = this.idsOf(NORMAL, SYMBOL, UNUSED);
    const symbols = this.idsOf(SYMBOL);
    const longest = lengthOfLongest(symbols);
    const symbolAt = symbols.size && ((string, start) => longestAt(symbols, longest, string, start));
    this.symbolAt = symbolAt || (() => "");
    this.normalizer = new Normalizer(last(NORMALIZER), symbolAt || null);
    this.denormalizer = new Normalizer(last(DENORMALIZER), null);  // composes characters
    this.longest = lengthOfLongest(this.known);
  }

  /** Return a map from the pieces of some kinds to their ids. */
  idsOf(...kinds) {
    return new Map([...this.ids].filter(([, id]) => kinds.includes(this.kinds[id])));
  }

  /** Convert a string, or bytes that may be invalid UTF-8, to ids without an end token. */
  encode(input) {
    return this.tokens(input).map(({ id }) => id);
  }

  /** Return {id, begin, end} for each token; it represents the bytes from `begin` to `end` of the input. */
  tokens(input) {
    const { text, places } = this.normalizer.align(input);
    const tokens = [];
    let [afterUnknown, place] = [false, 0];
    for (const piece of this.split(text)) {
      const id = this.ids.get(piece) ?? this.unknown;
      const begin = places[place];
      const add = (token) => tokens.push({ id: token, begin, end: begin });
      if (id === this.unknown && this.byteFallback) {
        for (const byte of new TextEncoder().encode(piece)) add(this.ids.get(byteName(byte)));
      } else if (!(id === this.unknown && afterUnknown)) {
        add(id);  // adjacent unknown pieces become one token
      }
      tokens.at(-1).end = places[place += piece.length];
      afterUnknown = id === this.unknown;
    }
    return tokens;
  }

  /** Return the pieces of a string that are unknown: they have no id, and no byte pieces replace them. */
  unknownPieces(input) {
    if (this.byteFallback) return [];
    const pieces = this.split(this.normalizer.normalize(input));
    return pieces.filter((piece) => (this.ids.get(piece) ?? this.unknown) === this.unknown);
  }

  /** Split a normalized text into pieces. */
  split(text) {
    if (this.type === WORDS) return text.match(/\u2581?[^\u2581]+|\u2581/g) ?? [];
    if (this.type === UNIGRAM) return bestPath(text, this);
    const pieces = [];
    const frozen = [];
    for (let place = 0; place < text.length; place += pieces.at(-1).length) {
      const symbol = this.symbolAt(text, place);
      pieces.push(symbol || String.fromCodePoint(text.codePointAt(place)));
      frozen.push(symbol !== "");
    }
    return this.type === BPE ? merged(pieces, frozen, this) : pieces;
  }

  /** Convert ids to text; control ids, such as padding, are left out. */
  decode(ids) {
    const { dummyPrefix, removesSpaces } = this.normalizer;
    let [text, bytes, begun] = ["", [], false];
    const closeBytes = () => {
      const array = Uint8Array.from(bytes);
      for (let place = 0; place < array.length;) {
        const [character, size] = characterAt(array, place);
        [text, place] = [text + character, place + size];
      }
      bytes = [];
    };
    for (const id of ids) {
      if (this.kinds[id] === BYTE) {
        bytes.push(Number.parseInt(this.pieces[id].slice(3, 5), 16));
        continue;
      }
      closeBytes();
      if (this.kinds[id] === CONTROL) continue;
      let piece = this.pieces[id];
      if (piece === undefined || id === this.unknown) {
        text += this.unseen;
        continue;
      }
      if (!begun && text === "" && (dummyPrefix || removesSpaces) && piece.startsWith(SPACE)) {
        piece = piece.slice(1);
        begun = !removesSpaces;
      }
      text += piece.replaceAll(SPACE, " ");
    }
    closeBytes();
    return this.denormalizer.table ? this.denormalizer.normalize(text) : text;
  }
}

/** Return the name of the piece for a byte. */
function byteName(byte) {
  return `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`;
}

function lengthOfLongest(pieces) {
  let longest = 0;
  for (const piece of pieces.keys()) longest = Math.max(longest, piece.length);
  return longest;
}

/** Return the longest of some strings that is found at `start` in a text, or "". */
function longestAt(strings, longest, text, start) {
  for (let end = Math.min(text.length, start + longest); end > start; --end) {
    const found = text.slice(start, end);
    if (strings.has(found)) return found;
  }
  return "";
}
