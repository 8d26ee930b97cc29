// Translates, reads or transcribes with one .onnx file in Node: prints a line for each line or file. See USAGE, or
// --help.
//
//   npm install onnxruntime-node        or onnxruntime-web, which is WebAssembly and also runs in pages
//
// It imports modules of this directory, of ../on_device and of the page that `keras-bahdanau export --format browser`
// writes from the checkout, so run it there.

import { InputError, main, runProgram } from "../on_device/translate.mjs";
import { loadOnnx } from "./onnx_pipeline.mjs";

const PACKAGES = ["onnxruntime-node", "onnxruntime-web"];
const USAGE = `Usage: node translate.mjs [OPTIONS] MODEL.onnx [SENTENCE...]
       node translate.mjs [OPTIONS] MODEL.onnx FILE...

Translates with one .onnx file: a line in, a line out. Without a sentence it reads standard input.
A model of images reads PNG files of any size, one of speech WAV files of 1 to 192 kHz, one of ink JSON files of
strokes, [[[x, y], ...], ...]: a file in, a line out.

  --nbest K      Print the best K texts of each line, as 'number ||| text ||| score'.
  --prefix TEXT  Text that each translation begins with; the file must be exported with --signatures prefix.
  --json         Print a line of JSON for each input: texts, scores, confidences, tokens.
  --help         Show this text and exit.

Exit codes: 0 all is translated; 2 the command line, the model or the input is wrong.`;

/** Load ONNX Runtime from the first of its packages that is installed; the variable ONNXRUNTIME overrides this. */
export async function onnxRuntime() {
  const [{ createRequire }, { pathToFileURL }] = await Promise.all([import("node:module"), import("node:url")]);
  const require = createRequire(pathToFileURL(`${process.cwd()}/`));
  const names = process.env.ONNXRUNTIME ? [process.env.ONNXRUNTIME] : PACKAGES;
  for (const name of names) {
    try {
      return require(name);
    } catch (error) {
      if (error.code !== "MODULE_NOT_FOUND") throw error;
    }
  }
  throw new InputError(`The package ${names.join(" or ")} must be installed. Received: none in ` +
    `${process.cwd()} or NODE_PATH. Run npm install ${names[0]}`);
}

runProgram(import.meta.url, (words) => main(words, USAGE, async (content) => loadOnnx(await onnxRuntime(), content)));
