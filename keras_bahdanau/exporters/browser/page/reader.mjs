// Runs a .tflite file for images, sound or ink: maps an input to texts and attention.

import { AudioSource } from "./audio_source.mjs";
import { ImageSource } from "./image_source.mjs";
import { InkSource } from "./ink_source.mjs";
import { packedIn, Pipeline, TooLong } from "./pipeline.mjs";
import { InputError } from "./tflite_file.mjs";
import { Translator } from "./translator.mjs";

const SOURCES = { AudioSource, ImageSource, InkSource };  // keys: class names in a card

/** Load a file with any source, as a `Translator` for text or a `Reader` for other sources. */
export async function loadPipeline(litert, content) {
  const packed = await packedIn(content);
  return (packed.card.vocabularies.source ? Translator : Reader).load(litert, content, packed);
}

export class Reader extends Pipeline {
  static check({ source }) {
    const name = source?.class_name ?? "text";
    if (name in SOURCES) return;
    throw new InputError(`A file must read ${Object.keys(SOURCES).join(", ")}. Received: a model of ${name}. ` +
      "Use OnDevicePipeline in Python.");
  }

  constructor(litert, model, card, files) {
    super(litert, model, card, files);
    const { class_name: name, config } = card.source;
    /** The object that computes the features of an input: see the modules of the sources. */
    this.source = new SOURCES[name](config, (input) => this.shapeOf(input));
  }

  /**
   * Decode an input of the source, and return {hypotheses, picture}. `hypotheses` are as in `Pipeline.decode`.
   * `picture` is what to draw their attention on. It has `positions`, the number of source positions, and
   * `reduction`, the number of positions for each column of an alignment.
   */
  async read(given, kind = "", begun = []) {
    const { features, labels, picture } = this.source.features(given);
    const longest = this.card.max_source_length;
    if (labels.length > longest) {
      throw new TooLong(`An input may have at most ${longest} positions in this file. Received: ${labels.length}. ` +
        "Shorten it, or export with a larger max_source_length.", labels.length, longest);
    }
    const reduction = this.card.reduction ?? 1;
    const hypotheses = await this.decode(features(), labels.filter((_, place) => place % reduction === 0), kind, begun);
    return { hypotheses, picture: { ...picture, positions: labels.length, reduction } };
  }
}
