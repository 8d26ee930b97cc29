// Enters input in an exported site that reads images, sound or ink, in headless Chromium. Prints the texts that the
// page shows as a JSON object.
//
//   node entering.mjs PYTHON SITE [FILE...]
//
// Draws a plus on the paper with the keyboard, if there is a paper; chooses each file; and records the beeps of a
// fake microphone, if there is a button. Needs @sparticuz/chromium and puppeteer-core, like page.mjs.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const PATIENCE = 240_000;  // milliseconds
const [python, site, ...files] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/`);
const installed = async (name) => (await import(pathToFileURL(require.resolve(name)))).default;
const [chromium, puppeteer] = await Promise.all(["@sparticuz/chromium", "puppeteer-core"].map(installed));

const server = spawn(python, ["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", site, "0"],
  { stdio: ["ignore", "pipe", "ignore"] });
const [line] = await once(createInterface({ input: server.stdout }), "line");
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
  protocolTimeout: PATIENCE,
  timeout: PATIENCE,
});
const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE);
const errors = [];
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (message) => message.text().match(/Security Policy|Refused/) && errors.push(message.text()));
const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
const isShown = (selector) => page.$eval(selector, (element) => element.checkVisibility());

/** Wait until an element has text or the page shows a problem, and return the text. */
async function said(place, words = "") {
  const last = Date.now() + PATIENCE;
  for (;;) {
    if (await isShown("#problem")) return textOf("#problem");
    const text = await textOf(place);
    if (text && text.includes(words)) return text;
    if (Date.now() > last) throw new Error(`The page did not say '${words}'. It says '${text}'.`);
    await new Promise((next) => setTimeout(next, 50));
  }
}

/** Run the model, and return the parts of its answer that the page shows. */
async function answered(start = () => page.$eval("#form", (form) => form.requestSubmit())) {
  await page.$eval("#status", (place) => { place.textContent = ""; });
  await page.$eval("#problem", (place) => { place.hidden = true; });
  await start();
  for (let words = ""; !/Answered|There is no|Nothing/.test(words);) {
    words = await said("#status");
    if (await isShown("#problem")) return { problem: await textOf("#problem") };
    if (/There is no|Nothing/.test(words)) return { nothing: words };
  }
  return {
    text: await textOf("#text"),
    measures: await textOf("#measures"),
    names: await page.$$eval("#map figcaption, #map tbody th", (all) => all.map((one) => one.textContent)),
    places: await page.$$eval("#map [role=img], #map .hidden", (all) => all.map((one) => one.ariaLabel ?? one.textContent)),
    weights: await page.$$eval("#map [data-weight]", (all) => all.map((one) => Number(one.dataset.weight))),
  };
}

await page.goto(`http://127.0.0.1:${line.match(/port (\d+)/)[1]}/`);
await page.waitForSelector("#run:not([disabled])");
const seen = { empty: await answered(), files: [] };
seen.fields = await page.$$eval("#form [id]", (all) => all.filter((one) => one.checkVisibility()).map((one) => one.id));
if (await isShown("#paper")) {
  await page.focus("#paper");
  const press = async (key, count) => { for (let left = count; left > 0; --left) await page.keyboard.press(key); };
  for (const [key, count] of [["Space", 1], ["ArrowRight", 20], ["Space", 1], ["ArrowLeft", 10], ["ArrowUp", 10],
    ["Space", 1], ["ArrowDown", 20], ["Space", 1]]) await press(key, count);
  seen.pen = await textOf("#pen");
  seen.drawn = await answered(() => page.keyboard.press("Enter"));
}
for (const file of files) {
  const [field] = (await page.$$("input[type=file]")).slice(await isShown("#sound") ? 1 : 0);
  await field.uploadFile(file);
  seen.files.push(await answered());
}
if (await isShown("#record")) {
  await page.click("#record");
  await said("#recorded", "Recording.");
  await new Promise((next) => setTimeout(next, 1500));
  await page.click("#record");
  seen.recorded = await said("#recorded", "Recorded");
  seen.heard = await answered();
}
const tree = await page.accessibility.snapshot();
seen.unnamed = [];
(function visit({ role, name, children = [] }) {
  if (["button", "textbox", "application", "region", "img", "image"].includes(role) && !name) seen.unnamed.push(role);
  children.forEach(visit);
})(tree);
seen.wider = await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
console.log(JSON.stringify({ ...seen, errors }));
await browser.close();
server.kill();
process.exit(0);
