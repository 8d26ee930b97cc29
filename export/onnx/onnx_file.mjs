// Reads an .onnx file that `export_onnx` wrote: a model whose metadata contains a card and, for a pipeline, vocabularies.
//
// It does not depend on Node, so pages can use it, too.

import { fields, message } from "../../keras_bahdanau/exporters/browser/page/protobuf.mjs";
import { InputError, sha256 } from "../../keras_bahdanau/exporters/browser/page/tflite_file.mjs";

const SEAL = 64;  // bytes at the end of a file: the SHA-256 of all preceding bytes
const METADATA = 14, KEY = 1, VALUE = 2;  // field numbers
const VERSION = 8;  // first byte of a model: the key of field 1

/** True if the bytes begin with the version of an ONNX model and aren't a .tflite file. */
export function isOnnx(content) {
  return content[0] === VERSION && new TextDecoder().decode(content.subarray(4, 8)) !== "TFL3";
}

/** Return {card, files} of a file, a Uint8Array; `files` maps the names of packed files to their bytes. */
export async function unpackOnnx(content) {
  const text = new TextDecoder();
  const isWhole = content.length > SEAL
    && await sha256(content.subarray(0, -SEAL)) === text.decode(content.subarray(-SEAL));
  if (!isWhole) {
    throw new InputError("An .onnx file must be unchanged since its export, and contain its card. " +
      "Received: last 64 bytes that are not its sha256. Copy it again, or write it with export_onnx.");
  }
  const entries = fields(content).filter(([number]) => number === METADATA).map(([, entry]) => message(entry));
  const metadata = new Map(entries.map((entry) => [text.decode(entry.get(KEY)), text.decode(entry.get(VALUE))]));
  const files = {};
  for (const [name, value] of metadata) {
    if (name.startsWith("file:")) files[name.slice(5)] = Uint8Array.from(atob(value), (char) => char.charCodeAt(0));
  }
  return { card: JSON.parse(metadata.get("card.json") ?? "null"), files };
}

/** Return {card, files} of the file of a pipeline. */
export async function packedIn(content) {
  const { card, files } = await unpackOnnx(content);
  if (!card?.verb || !(card.vocabularies?.target in files)) {
    throw new InputError("An .onnx file must contain a pipeline, with its vocabularies. Received: a file without them. " +
      "Write it with export_onnx.");
  }
  return { card, files };
}
