// An .onnx file as `export_onnx` writes it: the model, and in its metadata a card and vocabularies.
//
// Nothing here needs Node: a page reads a file by it, too.

import { fields, message } from "../../keras_bahdanau/exporters/browser/page/protobuf.mjs";
import { InputError, sha256 } from "../../keras_bahdanau/exporters/browser/page/tflite_file.mjs";

const SEAL = 64;  // bytes at the end of a file: the sha256 of all bytes before
const METADATA = 14, KEY = 1, VALUE = 2;  // numbers of fields

/** {card, files} of a file, a Uint8Array: its card, and the bytes of what is packed in it by name. */
export async function packedIn(content) {
  const text = new TextDecoder();
  const isWhole = content.length > SEAL
    && await sha256(content.subarray(0, -SEAL)) === text.decode(content.subarray(-SEAL));
  if (!isWhole) {
    throw new InputError("An .onnx file must be unchanged since its export, and contain its vocabulary. " +
      "Received: last 64 bytes that are not its sha256. Copy it again, or write it with export_onnx.");
  }
  const entries = fields(content).filter(([number]) => number === METADATA).map(([, entry]) => message(entry));
  const metadata = new Map(entries.map((entry) => [text.decode(entry.get(KEY)), text.decode(entry.get(VALUE))]));
  const files = {};
  for (const [name, value] of metadata) {
    if (name.startsWith("file:")) files[name.slice(5)] = Uint8Array.from(atob(value), (char) => char.charCodeAt(0));
  }
  const card = JSON.parse(metadata.get("card.json") ?? "null");
  if (!card?.verb || !(card.vocabularies?.target in files)) {
    throw new InputError("An .onnx file must contain a pipeline, with its vocabularies. Received: a file without them. " +
      "Write it with export_onnx.");
  }
  return { card, files };
}
