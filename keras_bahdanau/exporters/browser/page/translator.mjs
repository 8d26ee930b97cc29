// Runs a .tflite file for text: maps a text to texts and attention.

import { surfacesOf } from "./copying.mjs";
import { isBlank } from "./normalizer.mjs";
import { Pipeline, shortened, TooLong } from "./pipeline.mjs";
import { SentencePiece } from "./sentencepiece.mjs";
import { END } from "./special_ids.mjs";
import { InputError } from "./tflite_file.mjs";

export { TooLong };

export class Translator extends Pipeline {
  static check({ vocabularies, verb }) {
    if (vocabularies.source) return;
    throw new InputError("A file for text must contain the vocabulary of the source. Received: " +
      `verb=${verb}, without one. Use Reader in reader.mjs.`);
  }

  constructor(litert, model, card, files) {
    super(litert, model, card, files);
    this.source = new SentencePiece(files[card.vocabularies.source]);
  }

  /** Convert a text to ids with the end token; a blank text has no ids. */
  sourceIds(sentence) {
    const ids = isBlank(sentence) ? [] : this.source.encode(sentence);
    if (ids.length) ids.push(END);
    const longest = this.card.max_source_length;
    if (ids.length > longest) {
      throw new TooLong(`A sentence may have at most ${longest} tokens in this file. Received: ${ids.length} tokens ` +
        `in '${shortened(sentence)}'. Split it, or export with a larger max_source_length.`, ids.length, longest);
    }
    return ids;
  }

  /**
   * Return the parts of a text that are not in a vocabulary, each once: characters, or words if tokens are words.
   *
   * `side` is "source", or "target" for a prefix.
   */
  unknown(text, side = "source") {
    return side === "target" ? super.unknown(text) : [...new Set(this.source.unknownPieces(text))];
  }

  /** Translate a sentence: see `Pipeline.decode`. Both axes of an alignment end with the end token. */
  async translate(sentence, kind = "", begun = []) {
    const ids = this.sourceIds(sentence);
    return this.decode({ source: ids }, this.labels(ids), kind, begun, this.surfaces(sentence));
  }

  /** Return what unknown tokens may copy: the part of a text for each token; [] if the search copies nothing. */
  surfaces(sentence) {
    return this.card.search?.replace_unknown ? surfacesOf(this.source, sentence) : [];
  }

  /** Return the token for each column of an alignment. */
  labels(ids) {
    return ids.map((id) => this.source.pieces[id]);
  }
}
