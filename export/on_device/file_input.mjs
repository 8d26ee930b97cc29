// Converts a PNG, WAV or JSON file to an input of a `Reader`, as `read_files.py` does.

import { closeSync, openSync, readSync } from "node:fs";

import { HOP, RATE, withoutSilence } from "../../keras_bahdanau/exporters/browser/page/audio_source.mjs";
import { checkStrokes } from "../../keras_bahdanau/exporters/browser/page/ink_source.mjs";
import { InputError } from "../../keras_bahdanau/exporters/browser/page/tflite_file.mjs";
import { readWav } from "../../keras_bahdanau/exporters/browser/page/wav.mjs";
import { PngFile } from "./png_file.mjs";
import { resampled } from "./resampling.mjs";

const MOST_BYTES = 2 ** 24, MOST_PIXELS = 2 ** 24;  // limits for a file
const READERS = { AudioSource: soundOf, ImageSource: imageOf, InkSource: inkOf };

/** Return the input in a file, for a model with this card. */
export function inputOf(path, { source, max_source_length: longest }) {
  const content = contentOf(path);
  if (content.length > MOST_BYTES) {
    throw refusal(path, `a file of at most ${MOST_BYTES.toLocaleString("en")} bytes`, "a larger one");
  }
  return READERS[source.class_name](path, content, longest);
}

/** Return the error for a file that can't be read. */
export function unreadable(path, error) {
  return new InputError(`A file must be readable. Received: '${path}': ${error.message.split(",")[0]}. Correct the name.`);
}

/** Return the bytes of a file, up to one more than the limit. */
function contentOf(path) {
  let file;
  try {
    file = openSync(path);
    const content = Buffer.alloc(MOST_BYTES + 1);
    let size = 0;
    for (let read = 1; read > 0 && size < content.length; size += read) {
      read = readSync(file, content, size, content.length - size);
    }
    return content.subarray(0, size);
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Return {samples} of a WAV file at 16 kHz, with channels mixed. */
function soundOf(path, content, longest) {
  const found = readWav(content);
  if (!found) throw refusal(path, "a WAV file of 1 to 192 kHz, PCM of 8 to 32 bits or floats", "no such sound");
  if (found.cut) throw refusal(path, "a whole WAV file", "one that ends before its data does");
  const { rate } = found;
  const samples = withoutSilence(found.samples);
  const positions = Math.ceil(samples.length * RATE / (rate * HOP));
  if (positions > longest) throw refusal(path, `a sound of at most ${longest} positions in this file`, positions);
  return { samples: resampled(samples, rate) };
}

/** Return the image in a PNG file. */
function imageOf(path, content) {
  let png;
  try {
    png = new PngFile(content);
  } catch (error) {
    throw refusal(path, "a whole PNG file", error.message);
  }
  if (png.width * png.height > MOST_PIXELS) {
    throw refusal(path, `a PNG file of at most ${MOST_PIXELS.toLocaleString("en")} pixels`, `${png.width} x ${png.height}`);
  }
  try {
    return png.image();
  } catch (error) {
    throw refusal(path, "a whole PNG file", error.message);
  }
}

/** Return {strokes} in a JSON file, [[[x, y], ...], ...]. */
function inkOf(path, content) {
  const wanted = "ink as JSON, a list of strokes, each a list of points [x, y]";
  let strokes;
  try {
    strokes = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(content));
  } catch (error) {
    throw refusal(path, wanted, error.message);
  }
  try {
    checkStrokes(strokes);
  } catch ({ message }) {
    throw new InputError(message.replace("Received: ", `Received: '${path}', `));
  }
  return { strokes };
}

function refusal(path, wanted, received) {
  return new InputError(`This program reads ${wanted}. Received: '${path}', ${received}. ` +
    "Convert it, or use keras-bahdanau read.");
}
