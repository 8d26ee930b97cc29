// Reads handwriting from the visitor: strokes on the canvas, and the attention on them.

import { Drawing } from "./drawing.mjs";
import { TooLong } from "./pipeline.mjs";
import { inkMaps } from "./picture_maps.mjs";
import { InputError } from "./tflite_file.mjs";

export class Entry {
  nothing = "Nothing is drawn. Draw on the paper first.";
  waiting = "Still loading: your ink is next.";

  constructor(page) {
    this.drawing = new Drawing(page);
  }

  begin() {}

  async given() {
    const { strokes } = this.drawing;
    return strokes.length ? { strokes } : null;
  }

  async ask(model, given, search) {
    try {
      return await model.read(given, ...search);
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      throw new InputError(`The ink is too long: it has ${error.tokens} parts of strokes, but this page accepts at ` +
        `most ${error.longest}. Draw less.`);
    }
  }

  map(hypothesis, picture) {
    return inkMaps(hypothesis, picture);
  }
}
