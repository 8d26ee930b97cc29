// Computes features of files with the JavaScript programs. Prints a list with, for each file, {labels, names of inputs
// with their bytes in base64} or {refused: message}. A file whose name ends in .image is JSON, {data in base64, width,
// height, channels}: an image of any size.
//
//   node features.mjs CARD.json FILE...     (CARD has `shapes`, the sizes of each input by name)

import { readFileSync } from "node:fs";

import { inputOf } from "../../export/on_device/file_input.mjs";
import { AudioSource } from "../../keras_bahdanau/exporters/browser/page/audio_source.mjs";
import { ImageSource } from "../../keras_bahdanau/exporters/browser/page/image_source.mjs";
import { InkSource } from "../../keras_bahdanau/exporters/browser/page/ink_source.mjs";

const [file, ...paths] = process.argv.slice(2);
const card = JSON.parse(readFileSync(file, "utf8"));
const { class_name: name, config } = card.source;
const source = new { AudioSource, ImageSource, InkSource }[name](config, (input) => card.shapes[input]);
const base64 = (array) => Buffer.from(array.buffer, array.byteOffset, array.byteLength).toString("base64");

function given(path) {
  if (!path.endsWith(".image")) return inputOf(path, card);
  const image = JSON.parse(readFileSync(path, "utf8"));
  return { ...image, data: new Uint8Array(Buffer.from(image.data, "base64")) };
}

console.log(JSON.stringify(paths.map((path) => {
  try {
    const { features, labels } = source.features(given(path));
    const { lengths, ...arrays } = features();
    return { labels, lengths, ...Object.fromEntries(Object.entries(arrays).map(([key, array]) => [key, base64(array)])) };
  } catch (error) {
    return { refused: error.message };
  }
})));
