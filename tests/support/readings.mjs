// Reads files with a model for images, sound or ink, in Node. Prints the best hypotheses as a JSON list of {labels,
// alignment, confidence, positions, reduction}.
//
//   node readings.mjs TRANSLATE.mjs MODEL.tflite FILE...     (where @litertjs/core is installed)

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [program, model, ...files] = process.argv.slice(2);
const { litertInNode, Reader } = await import(pathToFileURL(program));
const { inputOf } = await import(new URL("./file_input.mjs", pathToFileURL(program)));
const reader = await Reader.load(await litertInNode(), new Uint8Array(readFileSync(model)));
const found = [];
for (const file of files) {
  const { hypotheses: [best], picture: { positions, reduction } } = await reader.read(inputOf(file, reader.card));
  const { confidence, alignment, sourceTokens: labels } = best;
  found.push({ labels, confidence, positions, reduction, alignment: alignment.map((row) => [...row]) });
}
console.log(JSON.stringify(found));
