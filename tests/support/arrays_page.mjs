// Visits export/browser/arrays in headless Chromium. Prints a JSON object with the answers to those requests of an
// array conformance file that the page can answer, its messages about invalid input, and its errors.
//
//   node arrays_page.mjs PYTHON DIRECTORY      (which contains export, keras_bahdanau, node_modules and arrays.json)

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const PATIENCE = 60_000;  // milliseconds
const [python, directory] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/`);
const installed = async (name) => (await import(pathToFileURL(require.resolve(name)))).default;
const [chromium, puppeteer] = await Promise.all(["@sparticuz/chromium", "puppeteer-core"].map(installed));
const server = spawn(python, ["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", directory, "0"],
  { stdio: ["ignore", "pipe", "ignore"] });
const [line] = await once(createInterface({ input: server.stdout }), "line");
const address = `http://127.0.0.1:${line.match(/port (\d+)/)[1]}/export/browser/arrays/index.html`;
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE);
const errors = [];
const noted = [];
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (message) => message.type() === "error" && noted.push(message.text()));

const textOf = (selector) => page.$eval(selector, (element) => element.textContent);

/** Wait until the page shows an answer or a problem, and return its text. */
async function outcome() {
  for (const last = Date.now() + PATIENCE; ;) {
    const [status, problem] = await Promise.all(["#status", "#problem"].map(textOf));
    if (/^(Ready|Answered)/.test(status)) return status;
    if (await page.$eval("#problem", (element) => !element.hidden)) return textOf("#problem");
    if (Date.now() > last) throw new Error(`The page says '${status}' and '${problem}'.`);
    await new Promise((next) => setTimeout(next, 20));
  }
}

async function open(file) {
  await page.goto(`${address}?model=${encodeURIComponent(`/${file}`)}`);
  return outcome();
}

/** Open a file that the page must accept. */
async function load(file) {
  const said = await open(file);
  if (said !== "Ready.") throw new Error(`The page says '${said}' of ${file}. ${noted.join(" ")}`);
}

/** Fill in some fields, run the model, and return the outputs or the problem. */
async function ask(texts) {
  for (const [name, text] of Object.entries(texts)) {
    await page.$eval(`#input-${name}`, (field, value) => { field.value = value; }, text);
  }
  await page.$eval("#status", (element) => { element.textContent = ""; });
  await page.$eval("#run", (button) => button.click());
  const said = await outcome();
  if (!said.startsWith("Answered")) return said;
  return page.$$eval("#outputs output", (all) => Object.fromEntries(
    all.map(({ id, textContent }) => [id.slice("output-".length), JSON.parse(textContent)])));
}

const seen = { answers: [], problems: {} };
for (const { file, signature, streams, requests } of JSON.parse(readFileSync(join(directory, "arrays.json")))) {
  await load(file);
  if (signature ?? streams) await page.select("#signature", signature ?? "step");
  const answers = [];
  for (const request of requests) {  // the fields already contain the states of the previous answer
    answers.push(await ask(Object.fromEntries(Object.entries(request).map(([name, value]) => [name, JSON.stringify(value)]))));
    if (typeof answers.at(-1) === "string") break;
  }
  seen.answers.push(answers);
}
await load("bounded.tflite");
await ask({ ids: JSON.stringify([[1, 2, ...Array(10).fill(0)]]), length: "[2]" });
seen.labels = await page.$$eval("#outputs li", (all) => all.map(({ textContent }) => textContent.split(":")[0]));
await load("two.tflite");
for (const text of ["[[NaN]]", "[[0.5]]", "[1]", "[[1], [2]]", "", "{", "[[\"a\"]]", "null"]) {
  seen.problems[text] = await ask({ ids: text });
}
for (const file of ["damaged.tflite", "damaged.onnx", "none.tflite", "arrays.json"]) seen.problems[file] = await open(file);
console.log(JSON.stringify({ ...seen, errors }));
await browser.close();
server.kill();
process.exit(0);
