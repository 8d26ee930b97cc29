// Runs a .tflite or .onnx file of a Keras model in Node: reads lines of JSON, and prints a line of JSON for each. See
// USAGE below, or --help.
//
//   npm install @litertjs/core         for .tflite files
//   npm install onnxruntime-node       for .onnx files; or onnxruntime-web
//
// It imports modules from the checkout, so run it there.

import { ArrayModel, InputError, isOnnx } from "../browser/arrays/array_model.mjs";
import { onnxRuntime } from "../onnx/translate.mjs";
import { endWithOutput, linesOf, litertInNode, runProgram } from "./translate.mjs";

const USAGE = `Usage: node run_arrays.mjs [--signature NAME | --stream] MODEL

Runs a .tflite or .onnx file of a Keras model, which export_litert or export_onnx wrote. A line of standard input is a
request, a JSON object with nested lists of numbers for each input; a line of standard output is its answer, with
nested lists for each output:

  {"ids": [[4, 8, 15]]}  ->  {"mood": [[0.25, 0.75]]}

Integers outside of the range of an input are the nearest ones inside. NaN and infinite outputs are null.

  --signature NAME  Signature to run, the first of the export by default.
  --stream          Run \`step\`: states start at zero and are kept from line to line.
  --help            Show this text and exit.

Exit codes: 0 all is answered; 2 the command line, the model or a request is wrong.`;

const LINE_LIMIT = 2 ** 22;  // maximum number of bytes in a line of input

/** Parse the object in a line. */
function request(line) {
  let value;
  try {
    value = JSON.parse(line);
  } catch {
    value = null;
  }
  if (value !== null && typeof value === "object" && !Array.isArray(value)) return value;
  throw new InputError("A request must be a JSON object of an array for each input. Received: " +
    `'${[...line].slice(0, 80).join("")}'.`);
}

async function main(words) {
  const [{ readFileSync }, { parseArgs }, { unreadable }] = await Promise.all(
    ["node:fs", "node:util", "./file_input.mjs"].map((name) => import(name)));
  const options = { help: { type: "boolean" }, stream: { type: "boolean" }, signature: { type: "string" } };
  const { values, positionals: [path, ...others] } = parseArgs({ args: words, options, allowPositionals: true });
  const { help, stream, signature } = values;
  if (help) return console.log(USAGE);
  if (!path || others.length || (stream && signature !== undefined)) {
    throw new InputError("The command line must name one model, and not combine --stream and --signature. Received: " +
      `${words.join(" ") || "nothing"}. See --help.`);
  }
  let content;
  try {
    content = new Uint8Array(readFileSync(path));
  } catch (error) {
    throw unreadable(path, error);
  }
  const model = await ArrayModel.load(await (isOnnx(content) ? onnxRuntime() : litertInNode()), content);
  const name = signature ?? Object.keys(model.signatures)[0];
  const answer = stream ? model.stream() : (inputs) => model.run(inputs, name);
  if (!stream) model.check(name);
  endWithOutput();
  let number = 0;
  for await (const line of linesOf(process.stdin, LINE_LIMIT)) {
    number += 1;
    try {
      process.stdout.write(`${JSON.stringify(await answer(request(line)))}\n`);
    } catch (error) {
      throw error instanceof InputError ? new InputError(`line ${number}: ${error.message}`) : error;
    }
  }
}

runProgram(import.meta.url, main);
