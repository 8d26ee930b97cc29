// A .tflite file of images, sound or ink at work: such an input in, texts and attention out.

import { AudioSource } from "./audio_source.mjs";
import { ImageSource } from "./image_source.mjs";
import { InkSource } from "./ink_source.mjs";
import { packedIn, Pipeline, TooLong } from "./pipeline.mjs";
import { InputError } from "./tflite_file.mjs";
import { Translator } from "./translator.mjs";

const SOURCES = { AudioSource, ImageSource, InkSource };  // by the name of the class in a card

/** Load a file of any source: a `Translator` of text, or a `Reader`. */
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
    /** What makes features of an input; see the modules of the sources. */
    this.source = new SOURCES[name](config, (input) => this.shapeOf(input));
  }

  /**
   * {hypotheses, picture} of an input of the source: `hypotheses` as of `Pipeline.decode`, and what to draw their
   * attention on, with `positions` of the source, `reduction` of them for each column of an alignment.
   */
  async read(given, kind = "", begun = []) {
    const { features, labels, picture } = this.source.features(given);
    const longest = this.card.max_source_length;
    if (labels.length > longest) {
      throw new TooLong(`An input may have ${longest} positions in this file. Received: ${labels.length}. ` +
        "Shorten it, or export with a larger max_source_length.", labels.length, longest);
    }
    const reduction = this.card.reduction ?? 1;
    const hypotheses = await this.decode(features(), labels.filter((_, place) => place % reduction === 0), kind, begun);
    return { hypotheses, picture: { ...picture, positions: labels.length, reduction } };
  }
}
