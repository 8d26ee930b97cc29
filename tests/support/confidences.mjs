// Prints the confidence of a model, in Node, as JSON: for each text, a list of its confidence, the
// log-probabilities of its tokens, their entropies, and their words.
//
//   node confidences.mjs TRANSLATE.mjs MODEL.tflite KIND SENTENCE     (where @litertjs/core is installed)

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [program, model, kind, sentence] = process.argv.slice(2);
const { litertInNode, Translator } = await import(pathToFileURL(program));
const translator = await Translator.load(await litertInNode(), new Uint8Array(readFileSync(model)));
const found = await translator.translate(sentence, kind);
const rows = (one) => [one.tokenLogProbs, one.tokenEntropies, one.tokenWords].map((row) => [...row ?? []]);
console.log(JSON.stringify(found.map((one) => [one.confidence ?? null, ...rows(one)])));
