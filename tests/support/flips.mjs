// Visits an exported site in headless Chromium repeatedly, each time with a flipped bit in a file. Prints a JSON list of
// what each visitor reads: the answer to a text as {answer}, or the text of a problem as {problem}.
//
//   node flips.mjs SITE TEXT < FLIPS.json      [[name, position, bit], ...]; the name "" flips nothing
//
// Needs @sparticuz/chromium and puppeteer-core, installed in the working directory or NODE_PATH.

import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join } from "node:path";
import { pathToFileURL } from "node:url";

const PATIENCE = 30_000;  // milliseconds
const POLLING = { polling: 50 };  // milliseconds: puppeteer would poll with frames, which this Chromium may not draw
const TYPES = { ".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".mjs": "text/javascript" };
const [site, text] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/`);
const installed = async (name) => (await import(pathToFileURL(require.resolve(name)))).default;
const [chromium, puppeteer] = await Promise.all(["@sparticuz/chromium", "puppeteer-core"].map(installed));
const flips = JSON.parse(readFileSync(0));
let flip;

const server = createServer(({ url }, response) => {
  const name = new URL(url, "http://host").pathname.slice(1) || "index.html";
  const content = readFileSync(join(site, name));
  if (name === flip[0]) content[flip[1]] ^= 1 << flip[2];
  response.setHeader("Cache-Control", "no-store");
  response.setHeader("Content-Type", TYPES[extname(name)] ?? "application/octet-stream").end(content);
}).listen(0, "127.0.0.1");
await once(server, "listening");
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});

const page = await browser.newPage();  // this Chromium runs as one process, which exits when a context is closed
page.setDefaultTimeout(PATIENCE);
await page.setBypassServiceWorker(true);

/** Return the first visible element that matches a selector. */
const shown = (selector) => [...document.querySelectorAll(selector)].find((element) => element.checkVisibility());

/** Return what a visitor without a cache reads in the end. */
async function visit() {
  try {
    await page.goto(`http://127.0.0.1:${server.address().port}/`);
    const ends = "#problem:not([hidden]), .unstarted, #run:not([disabled]), body > p:not([id])";
    const ended = await page.waitForFunction(shown, POLLING, ends);
    if (await ended.evaluate(({ id }) => id) !== "run") return { problem: await ended.evaluate((place) => place.textContent) };
    await page.type("#source", text);
    await page.keyboard.press("Enter");
    await page.waitForFunction(shown, POLLING, "#answer:not([hidden])");
    return { answer: await page.$eval("#text", (place) => place.textContent) };
  } catch (error) {
    return { error: String(error) };
  }
}

const seen = [];
for (flip of flips) seen.push(await visit());
console.log(JSON.stringify(seen));
await browser.close();
process.exit(0);
