// Applies the normalization of a SentencePiece model, which changes characters and white space.
//
// Characters are replaced according to a table in the model, a double-array trie over UTF-8 (Aoe 1989, in the layout
// of the library darts-clone), so the result does not depend on the host's version of Unicode.

export const SPACE = "\u2581";
const REPLACEMENT = "\ufffd";
const [DUMMY_PREFIX, EXTRA_SPACES, ESCAPED, TABLE] = [3, 4, 5, 2];  // fields of NormalizerSpec
const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Return true for a string of only control, white space and ignorable characters, such as U+200B and U+FEFF. */
export function isBlank(text) {
  return /^[\x00-\x20\x7f-\xa0\xad\u034f\u061c\u115f\u1160\u1680\u17b4\u17b5\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0]*$/
    .test(text);
}

/** Decode one character at `start`, and return [character, size in bytes]; [U+FFFD, 1] for an invalid byte. */
export function characterAt(bytes, start) {
  const lead = bytes[start];
  const size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  try {
    return [utf8.decode(bytes.subarray(start, start + size)), size];
  } catch {
    return [REPLACEMENT, 1];
  }
}

/** A table of replacements, which finds the longest match at a position. */
class CharacterTable {
  constructor(bytes) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const size = view.getUint32(0, true);
    this.units = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    this.texts = bytes.subarray(4 + size);  // each ends with a zero byte
  }

  /** Return [replacement, size in bytes] of the longest match at `start`, or null. */
  match(bytes, start) {
    const { units } = this;
    const offset = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);
    let [node, found] = [offset(units[0]), null];
    for (let end = start; end < bytes.length; ++end) {
      node ^= bytes[end];
      const unit = units[node];
      if (unit === undefined || ((unit & 0x800000ff) >>> 0) !== bytes[end]) break;
      node ^= offset(unit);
      if (unit & 256) found = [units[node] & 0x7fffffff, end + 1 - start];
    }
    if (!found) return null;
    const [first, size] = found;
    return [utf8.decode(this.texts.subarray(first, this.texts.indexOf(0, first))), size];
  }
}

/** `settings` are fields of NormalizerSpec. `symbolAt(text, start)` returns a symbol to keep unchanged, or "". */
export class Normalizer {
  constructor(settings, symbolAt) {
    const table = settings.get(TABLE);
    this.table = table?.length ? new CharacterTable(table) : null;
    this.dummyPrefix = Boolean(settings.get(DUMMY_PREFIX) ?? 1);
    this.removesSpaces = Boolean(settings.get(EXTRA_SPACES) ?? 1);
    this.space = settings.get(ESCAPED) ?? 1 ? SPACE : " ";
    this.symbolAt = symbolAt;
  }

  /** Normalize a string, or bytes that may be invalid UTF-8. */
  normalize(input) {
    return this.align(input).text;
  }

  /** Return {text, places}: the normalized text, and where each of its UTF-16 units begins in the input, in bytes. */
  align(input) {
    const bytes = typeof input === "string" ? new TextEncoder().encode(input) : input;
    const parts = this.parts(bytes);
    if (this.removesSpaces) {
      const first = parts.findIndex(([part]) => part !== " ");
      parts.splice(0, first < 0 ? parts.length : first);
    }
    if (!parts.length) return { text: "", places: [] };
    const kept = this.dummyPrefix ? [[this.space, parts[0][1]]] : [];
    let afterSpace = this.removesSpaces;
    for (let [part, place] of parts) {
      if (afterSpace) part = part.replace(/^ +/, "");
      if (part) {
        kept.push([part.replaceAll(" ", this.space), place]);
        afterSpace = part.endsWith(" ");
      }
      afterSpace &&= this.removesSpaces;
    }
    const text = kept.map(([part]) => part).join("");
    const places = kept.flatMap(([part, place]) => Array(part.length).fill(place)).concat(bytes.length);
    let end = text.length;
    while (this.removesSpaces && text[end - 1] === this.space) --end;  // even a mark in the input itself
    return { text: text.slice(0, end), places: places.slice(0, end + 1) };
  }

  /** Split a text to symbols, replacements and characters, each with its position: a list of [text, place]. */
  parts(bytes) {
    const [parts, text] = [[], new SymbolText(bytes, this.symbolAt)];
    for (let place = 0; place < bytes.length;) {
      const [part, size] = text.at(place) ?? this.table?.match(bytes, place) ?? characterAt(bytes, place);
      parts.push([part, place]);
      place += size;
    }
    return parts;
  }
}

/** Finds symbols at positions of bytes. `symbolAt` reads strings, so the bytes are decoded once. */
class SymbolText {
  constructor(bytes, symbolAt) {
    Object.assign(this, { bytes, symbolAt });
    if (!symbolAt) return;
    [this.text, this.places] = ["", new Map()];  // places: byte -> UTF-16 unit
    for (let place = 0; place < bytes.length;) {
      const [character, size] = characterAt(bytes, place);
      this.places.set(place, this.text.length);
      this.text += size === 1 && bytes[place] >= 0x80 ? "\ud800" : character;  // never part of a symbol
      place += size;
    }
  }

  /** Return [symbol, size in bytes] at a position, or null. */
  at(place) {
    const start = this.symbolAt ? this.places.get(place) : undefined;
    const symbol = start === undefined ? "" : this.symbolAt(this.text, start);
    return symbol ? [symbol, new TextEncoder().encode(symbol).length] : null;
  }
}
