// Visits examples/keyboards in headless Chromium. Prints what a user who types sees as a JSON object.
//
//   node keyboard_page.mjs PYTHON DIRECTORY MODEL WORD [SITE]
//
// DIRECTORY is served; it contains examples, keras_bahdanau and node_modules. MODEL and SITE are addresses in it.
// Needs @sparticuz/chromium and puppeteer-core, installed in the working directory or NODE_PATH.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const PATIENCE = 60_000;  // milliseconds
const [python, directory, model, word, site] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/`);
const installed = async (name) => (await import(pathToFileURL(require.resolve(name)))).default;
const [chromium, puppeteer] = await Promise.all(["@sparticuz/chromium", "puppeteer-core"].map(installed));
const server = spawn(python, ["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", directory, "0"],
  { stdio: ["ignore", "pipe", "ignore"] });
const [line] = await once(createInterface({ input: server.stdout }), "line");
const address = `http://127.0.0.1:${line.match(/port (\d+)/)[1]}/examples/keyboards/`;
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE);
const errors = [];
page.on("pageerror", (error) => errors.push(String(error)));

const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
const written = () => page.$eval("#text", (field) => field.value);
const suggestions = () => page.$$eval("#suggestions button", (all) => all.map((button) => button.textContent));

/** Wait until `done()` is true, by polling from Node. */
async function until(done, what) {
  for (const latest = Date.now() + PATIENCE; !(await done());) {
    if (Date.now() > latest) throw new Error(`No ${what}. The page says '${await textOf("#status")}${await textOf("#problem")}'.`);
    await new Promise((next) => setTimeout(next, 10));
  }
}

async function open(name) {
  await page.goto(`${address}?model=${encodeURIComponent(`/${name}`)}`);
  await until(async () => /^Ready|^$/.test(await textOf("#status")), "model");
}

/** Type letters after the text; return the suggestions and the milliseconds after each letter. */
async function type(letters) {
  const seen = [];
  let typed = "";
  for (const letter of letters) {
    typed += letter;
    await page.type("#text", letter);
    const label = () => page.$eval("#suggestions", (list) => list.getAttribute("aria-label"));
    await until(async () => await label() === `Suggestions for ${typed}`, `suggestions for ${typed}`);
    seen.push({ texts: await suggestions(), milliseconds: Number((await textOf("#status")).match(/[\d.]+/)?.[0]) });
  }
  return seen;
}

/** Press a key, and return the text once it has changed. */
async function press(key) {
  const before = await written();
  await page.keyboard.press(key);
  await until(async () => await written() !== before, "other text");
  await new Promise((next) => setTimeout(next, 50));  // time in which a suggestion is inserted
  return written();
}

async function clear() {
  await page.$eval("#text", (field) => { field.value = ""; });
  await page.focus("#text");
  await page.keyboard.press("Space");
}

const seen = {};
await open(model);
seen.keystrokes = await type(word);
seen.space = await press("Space");
await clear();
await type(word);
seen.second = await press("2");
await clear();
await type(word);
await page.keyboard.press("Escape");
seen.escaped = await press("Space");
await clear();
await type(word);
await page.click("#letters button:nth-child(2)");
await until(async () => await page.$$eval("#letters [aria-pressed=true]", (all) => all.length) === 2, "kept letters");
seen.kept = { texts: await suggestions(), comma: await press(",") };
await clear();
await page.type("#text", `${word} ${word}.`);  // faster than answers arrive
await until(async () => !(await written()).includes(word), "words");
seen.fast = await written();
await clear();
await page.type("#text", "x".repeat(100));
await until(async () => await page.$eval("#problem", (element) => !element.hidden), "problem");
seen.long = { problem: await textOf("#problem"), text: await press("Space") };
await open("none.tflite");
seen.missing = await textOf("#problem");
if (site) {
  await open(site);
  seen.site = { keystrokes: await type(word), space: await press("Space"), workers: page.workers().length };
}
console.log(JSON.stringify({ ...seen, errors }));
await browser.close();
server.kill();
process.exit(0);
