// Translates, reads or transcribes with one .tflite file in Node: prints a line for each line or file. See USAGE below,
// or --help.
//
//   npm install @litertjs/core
//
// It reads every kind of vocabulary in the package. It imports modules of the page that
// `keras-bahdanau export --format browser` writes from the checkout, so run it there.
//
import { TooLong } from "../../keras_bahdanau/exporters/browser/page/pipeline.mjs";
import { loadPipeline, Reader } from "../../keras_bahdanau/exporters/browser/page/reader.mjs";
import { InputError } from "../../keras_bahdanau/exporters/browser/page/tflite_file.mjs";
import { Translator } from "../../keras_bahdanau/exporters/browser/page/translator.mjs";

export { InputError, loadPipeline, Reader, Translator };

const USAGE = `Usage: node translate.mjs [OPTIONS] MODEL.tflite [SENTENCE...]
       node translate.mjs [OPTIONS] MODEL.tflite FILE...

Translates with one .tflite file: a line in, a line out. Without a sentence it reads standard input.
A model of images reads PNG files of any size, one of speech WAV files of 1 to 192 kHz, one of ink JSON files of
strokes, [[[x, y], ...], ...]: a file in, a line out.

  --greedy       Take the best token at each step, without a beam.
  --nbest K      Print the best K texts of each line, as 'number ||| text ||| score'.
  --prefix TEXT  Text that each translation begins with.
  --json         Print a line of JSON for each input: texts, scores, confidences, tokens.
  --help         Show this text and exit.

Exit codes: 0 all is translated; 2 the command line, the model or the input is wrong.`;

const LINE_LIMIT = 2 ** 20;  // maximum number of bytes in a line of input

/** Load the module @litertjs/core, which expects a browser, and its WebAssembly in Node. */
export async function litertInNode() {
  const [fs, vm, { createRequire }, { fileURLToPath, pathToFileURL }] = await Promise.all(
    ["fs", "vm", "module", "url"].map((name) => import(`node:${name}`)));
  const require = createRequire(`${process.cwd()}/`);
  let entry;
  try {
    entry = pathToFileURL(require.resolve("@litertjs/core"));
  } catch {
    throw new InputError("The package @litertjs/core must be installed. Received: none in " +
      `${process.cwd()} or NODE_PATH. Run npm install @litertjs/core`);
  }
  const wasm = fileURLToPath(new URL("../wasm/", entry));
  Object.assign(globalThis, { self: globalThis, require, __dirname: wasm });
  globalThis.importScripts = (path) => vm.runInThisContext(fs.readFileSync(path, "utf8"), { filename: path });
  globalThis.fetch = async (path) => new Response(fs.readFileSync(path), { headers: { "Content-Type": "application/wasm" } });
  const litert = await import(entry);
  await litert.loadLiteRt(wasm);
  return litert;
}

/** Return all hypotheses for one input as JSON, with the names in `keras-bahdanau translate --json`. */
function jsonOf(found) {
  const list = (row) => row ? [...row] : null;  // null if an older file lacks it
  return JSON.stringify({ hypotheses: found.map((one) => ({
    text: one.text,
    score: one.score,
    confidence: one.confidence ?? null,
    finished: one.finished,
    tokens: one.tokens,
    token_log_probs: list(one.tokenLogProbs),
    token_entropies: list(one.tokenEntropies),
    token_words: list(one.tokenWords),
  })) });
}

/** End the program if its output fails: with exit code 141 after `head`, else with an error. */
export function endWithOutput() {
  process.stdout.on("error", ({ code, message }) => {
    if (code === "EPIPE") process.exit(141);
    console.error(`error: Standard output must accept all lines. Received: ${message}. Free some space, or redirect it to ` +
      "another file.");
    process.exit(2);
  });
}

/** Yield the lines of a stream of bytes, up to a maximum length; only "\n" ends a line. */
export async function* linesOf(stream, limit = LINE_LIMIT) {
  let [rest, number] = [Buffer.alloc(0), 0];
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk]);
    for (let end; (end = rest.indexOf("\n") + 1) > 0; rest = rest.subarray(end)) {
      yield lineText(rest.subarray(0, end), ++number, limit);
    }
    if (rest.length > limit) break;
  }
  if (rest.length) yield lineText(rest, ++number, limit);
}

/** Return the text of a line without its ending and, in the first line, without a byte order mark. */
function lineText(line, number, limit) {
  if (line.length > limit) {
    throw new InputError(`A line must have at most ${limit.toLocaleString("en")} bytes. Received: line ${number}, ` +
      "which has more. Split it.");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: number > 1 }).decode(line).replace(/\r?\n?$/, "");
  } catch {
    throw new InputError(`The input must be UTF-8. Received: line ${number}, with bytes that UTF-8 ` +
      "does not allow. Convert it, with iconv for example.");
  }
}

/** Run the command line of a program that `load`s the content of a file, a Uint8Array. */
export async function main(words, usage = USAGE, load = async (content) => loadPipeline(await litertInNode(), content)) {
  const [{ readFileSync }, { parseArgs }, { inputOf, unreadable }] = await Promise.all(
    ["node:fs", "node:util", "./file_input.mjs"].map((name) => import(name)));
  const options = {
    greedy: { type: "boolean" }, json: { type: "boolean" }, help: { type: "boolean" },
    nbest: { type: "string" }, prefix: { type: "string", default: "" },
  };
  const { values, positionals: [path, ...given] } = parseArgs({ args: words, options, allowPositionals: true });
  if (values.help) return console.log(usage);
  const { greedy, prefix } = values;
  if (words.some((word) => word.includes("\ufffd"))) {  // Node replaces invalid UTF-8 with this
    throw new InputError(`The command line must be UTF-8. Received: ${words.join(" ")}. Convert it, with iconv for example.`);
  }
  const count = /^[0-9]+$/.test(values.nbest ?? "1") ? Number(values.nbest ?? 1) : 0;
  if (!path || count < 1 || (greedy && (values.nbest || prefix))) {
    throw new InputError("The command line must name a model, --nbest a positive integer, and --greedy goes " +
      `with neither --nbest nor --prefix. Received: ${words.join(" ")}. See --help.`);
  }
  let content;
  try {
    content = new Uint8Array(readFileSync(path));
  } catch (error) {
    throw unreadable(path, error);
  }
  const pipeline = await load(content);
  const search = greedy ? ["_greedy"] : pipeline.searchFor(count, prefix);
  pipeline.signature(search[0]);
  const ofFiles = pipeline instanceof Reader;
  if (ofFiles && !given.length) {
    throw new InputError(`The command line must name files for a model of ${pipeline.card.source.class_name}. ` +
      `Received: ${words.join(" ")}. See --help.`);
  }
  let number = 0;
  const answerTo = async (one) => {
    if (ofFiles) return (await pipeline.read(inputOf(one, pipeline.card), ...search)).hypotheses;
    try {
      return await pipeline.translate(one, ...search);
    } catch (error) {
      if (error instanceof TooLong) error.message = `${given.length ? "sentence" : "line"} ${number + 1}: ${error.message}`;
      throw error;
    }
  };
  endWithOutput();
  const sentences = ofFiles ? given : given.map((one) => one.replace(/\r?\n?$/, ""));  // as for lines
  for await (const one of given.length ? sentences : linesOf(process.stdin)) {
    const found = (await answerTo(one)).slice(0, count);
    const texts = found.map(({ text, score }) => values.nbest ? `${number} ||| ${text} ||| ${score.toFixed(4)}` : text);
    number += 1;
    process.stdout.write(`${values.json ? jsonOf(found) : texts.join("\n")}\n`);
  }
}

/** Return true if Node was started with this file, under any of its names. */
async function isProgram(url) {
  const path = globalThis.process?.argv?.[1];
  if (!path || !url.startsWith("file:")) return false;
  const [{ existsSync, realpathSync }, { fileURLToPath }] = await Promise.all([import("node:fs"), import("node:url")]);
  return existsSync(path) && realpathSync(path) === realpathSync(fileURLToPath(url));
}

/** Run a function of the command line's words if Node was started with the module at this URL. */
export function runProgram(url, run) {
  isProgram(url).then((started) => started && run(process.argv.slice(2))).catch((error) => {
    console.error(`error: ${String(error.message ?? error).split(/\s+/).join(" ")}`);
    process.exitCode = 2;  // not process.exit(), which may lose output to a pipe
  });
}

runProgram(import.meta.url, main);
