// Compares the JavaScript implementation of SentencePiece with a conformance file. Prints JSON: the number
// of cases, and the first few that differ.
//
//   node conformance.mjs SENTENCEPIECE.mjs FILE.json

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [module, file] = process.argv.slice(2);
const { SentencePiece } = await import(pathToFileURL(module));
const { vocabularies } = JSON.parse(readFileSync(file, "utf8"));
const bytesOf = (text) => new Uint8Array(Buffer.from(text, "base64"));
const counts = { encodings: 0, decodings: 0 };
const wrong = [];

function hold(kind, name, given, received, expected) {
  counts[kind] += 1;
  const [one, other] = [received, expected].map((value) => JSON.stringify(value));
  if (one !== other) wrong.push({ kind, name, given, received, expected });
}

for (const { name, model, encodings, decodings } of vocabularies) {
  const vocabulary = new SentencePiece(bytesOf(model));
  for (const { text, bytes, ids } of encodings) {
    hold("encodings", name, text ?? bytes, vocabulary.encode(text ?? bytesOf(bytes)), ids);
  }
  for (const { ids, text } of decodings) hold("decodings", name, ids, vocabulary.decode(ids), text);
}
console.log(JSON.stringify({ ...counts, wrong: wrong.length, first: wrong.slice(0, 5) }));
