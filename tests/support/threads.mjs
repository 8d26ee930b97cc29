// Runs Node workers with separate translators whose calls overlap. Prints JSON: how many of 2,000 answers equal those
// of the main thread, which calls its translator sequentially.
//
//   node threads.mjs TRANSLATE.mjs MODEL.tflite WORD...      (where @litertjs/core is installed)

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";
import { isMainThread, parentPort, Worker, workerData } from "node:worker_threads";

const WORKERS = 8, CALLS = 250;
const [program, model, ...words] = isMainThread ? process.argv.slice(2) : workerData;
const { litertInNode, Translator } = await import(pathToFileURL(program));
const translator = await Translator.load(await litertInNode(), new Uint8Array(readFileSync(model)));

async function answer(number) {
  const found = await translator.translate(words[number % words.length], number % 2 ? "_nbest" : "");
  return found.map(({ text }) => text).join("|");
}

if (isMainThread) {
  const alone = [];
  for (let number = 0; number < 2 * words.length; ++number) alone.push(await answer(number));
  const workers = Array.from({ length: WORKERS }, () => new Worker(new URL(import.meta.url), { workerData: process.argv.slice(2) }));
  const lists = await Promise.all(workers.map((worker) => new Promise((resolve, reject) => {
    worker.once("message", resolve).once("error", reject).once("exit", () => reject(new Error("no answer")));
  })));
  const right = lists.flatMap((list) => list.filter((text, number) => text === alone[number % alone.length]));
  console.log(JSON.stringify({ right: right.length, texts: new Set(right).size }));
} else {
  parentPort.postMessage(await Promise.all(Array.from({ length: CALLS }, (_, number) => answer(number))));
}
