// Runs the Node runner inside a page of a headless Chromium. It reads one word per line, and writes
// {"hypotheses": [{"text", "score"}], "milliseconds"} for each. The times are measured inside the page,
// so they don't include the transfer to and from it.
//
//   npm install @litertjs/core @sparticuz/chromium puppeteer-core
//   node browser.mjs [--greedy | --nbest K] MODEL.tflite

import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const ROOT = join(dirname(fileURLToPath(import.meta.url)), "..", "..");
const KIT = join(ROOT, "keras_bahdanau", "exporters", "browser", "page");
const TYPES = { mjs: "text/javascript", js: "text/javascript", wasm: "application/wasm" };
const PAGE = `<!doctype html><body><script type="importmap">
{"imports": {"@litertjs/wasm-utils": "/npm/@litertjs/wasm-utils/dist/index.js"}}</script>`;

const require = createRequire(`${process.cwd()}/`);
const installed = async (name) => (await import(pathToFileURL(require.resolve(name)))).default;
const [chromium, puppeteer] = await Promise.all(["@sparticuz/chromium", "puppeteer-core"].map(installed));
const npm = join(dirname(require.resolve("@litertjs/core")), "..", "..", "..");
const options = { greedy: { type: "boolean" }, nbest: { type: "string", default: "1" } };
const { values: { greedy, nbest }, positionals: [path] } = parseArgs({ options, allowPositionals: true });

function served(url) {
  if (url === "/model") return path;
  return url.startsWith("/npm/") ? join(npm, url.slice(5)) : join(KIT, url);
}

const server = createServer(({ url }, response) => {
  if (url === "/") return response.setHeader("Content-Type", "text/html").end(PAGE);
  const file = served(url);
  if (!existsSync(file)) return response.writeHead(404).end();
  response.setHeader("Content-Type", TYPES[file.split(".").at(-1)] ?? "application/octet-stream");
  return response.end(readFileSync(file));
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));

const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const page = await browser.newPage();
await page.goto(`http://127.0.0.1:${server.address().port}/`);
await page.evaluate(async (greedy, nbest) => {
  const litert = await import("/npm/@litertjs/core/dist/index.js");
  const { Translator } = await import("/translator.mjs");
  await litert.loadLiteRt("/npm/@litertjs/core/wasm/");
  const content = await (await fetch("/model")).arrayBuffer();
  const translator = await Translator.load(litert, new Uint8Array(content));
  const search = greedy ? ["_greedy"] : translator.searchFor(nbest);
  globalThis.answer = async (word) => (await translator.translate(word, ...search)).slice(0, nbest);
}, greedy, Number(nbest));
for await (const word of createInterface({ input: process.stdin })) {
  const found = await page.evaluate(async (word) => {
    const start = performance.now();
    const hypotheses = (await answer(word)).map(({ text, score }) => ({ text, score }));
    return { hypotheses, milliseconds: performance.now() - start };
  }, word);
  process.stdout.write(`${JSON.stringify(found)}\n`);
}
await browser.close();
process.exit(0);
