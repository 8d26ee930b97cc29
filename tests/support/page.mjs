// Visits an exported site in headless Chromium. Prints what a visitor sees as a JSON object.
//
//   node page.mjs PYTHON SITE TEXT LONG_TEXT [SCREENSHOTS]
//
// Needs @sparticuz/chromium and puppeteer-core, installed in the working directory or NODE_PATH. Python's
// http.server serves the site. At the end, the server is stopped, and the page is reloaded.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const PATIENCE = 30_000;  // milliseconds
const [python, site, text, longText, pictures] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/`);
const installed = async (name) => (await import(pathToFileURL(require.resolve(name)))).default;
const [chromium, puppeteer] = await Promise.all(["@sparticuz/chromium", "puppeteer-core"].map(installed));

const server = spawn(python, ["-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", site, "0"],
  { stdio: ["ignore", "pipe", "ignore"] });
const lines = createInterface({ input: server.stdout });
const [line] = await once(lines, "line");
const address = `http://127.0.0.1:${line.match(/port (\d+)/)[1]}/`;
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const ofBrowser = `/proc/${browser.process().pid}`;  // this Chromium runs as one process
const [errors, hosts] = [[], new Set()];
const context = browser.defaultBrowserContext();
await context.overridePermissions(new URL(address).origin, ["clipboard-read", "clipboard-write", "clipboard-sanitized-write"]);
const page = await browser.newPage();
page.setDefaultTimeout(PATIENCE);
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (message) => message.text().match(/Security Policy|Refused/) && errors.push(message.text()));
page.on("request", (request) => request.url().startsWith("blob:") || hosts.add(new URL(request.url()).host));

const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
const isShown = (selector) => page.$eval(selector, (element) => element.checkVisibility());

/** Wait for a text in the status line, by polling from Node: the page's policy forbids eval. */
async function untilSaid(words, place = "#status") {
  const last = Date.now() + PATIENCE;
  for (;;) {
    const [said, problem] = await Promise.all([place, "#problem"].map(textOf));
    if (said.includes(words)) return;
    if (Date.now() > last) throw new Error(`The page did not say '${words}'. It says '${said}', and '${problem}'.`);
    await new Promise((next) => setTimeout(next, 20));
  }
}

/** Type a text, press Enter, and return the answer. */
async function ask(given, prefix = "") {
  await page.$eval("#source", (field) => { field.value = ""; });
  await page.$eval("#status", (place) => { place.textContent = ""; });
  if (await isShown("#prefix")) {
    await page.$eval("#prefix", (field) => { field.value = ""; });
    await page.type("#prefix", prefix);
  }
  await page.type("#source", given);
  await page.keyboard.press("Enter");
  await untilSaid("Answered");
  return {
    text: await textOf("#text"),
    suggestions: await page.$$eval("#others button", (all) => all.map((one) => one.firstChild.textContent)),
    columns: await page.$$eval("#map thead th", (all) => all.map((one) => one.textContent)),
    rows: await page.$$eval("#map tbody th", (all) => all.map((one) => one.textContent)),
    weights: await page.$$eval("#map tbody tr", (rows) => rows.map(
      (row) => [...row.querySelectorAll("td")].map((one) => Number(one.style.getPropertyValue("--weight"))))),
  };
}

async function picture(name, width, height, scheme = "light") {
  await page.setViewport({ width, height });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  if (pictures) await page.screenshot({ path: join(pictures, `${name}.png`), fullPage: true });
  return page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth);
}

/** Return the problem that another visit shows after `change` has modified the browser. */
async function refused(url, change) {
  const other = await browser.newPage();
  await other.evaluateOnNewDocument(change);
  await other.goto(url);
  await other.waitForSelector("#problem:not([hidden])", { timeout: PATIENCE });
  const words = await other.$eval("#problem", (place) => place.textContent);
  await other.close();
  return words;
}

/** Return the result of a text that is entered before the delayed model is loaded. */
async function enteredEarly() {
  const other = await browser.newPage();
  other.setDefaultTimeout(PATIENCE);
  await other.evaluateOnNewDocument(() => {
    const { postMessage } = Worker.prototype;
    Worker.prototype.postMessage = function post(call, ports) {
      if (call[0] !== "load" || globalThis.begins) postMessage.call(this, call, ports);
      else setTimeout(() => post.call(this, call, ports), 20);
    };
  });
  await other.goto(address);
  await other.type("#source", text);
  await other.keyboard.press("Enter");
  await other.waitForSelector("#form[data-listens]");
  const found = {
    said: await other.$eval("#status", (place) => place.textContent),
    field: await other.$eval("#source", (field) => field.value),
  };
  await other.evaluate(() => { globalThis.begins = true; });
  await other.waitForSelector("#answer:not([hidden])");
  found.text = await other.$eval("#text", (place) => place.textContent);
  await other.close();
  return found;
}

/** Return the message about a server that sends modules with the wrong content type. */
async function withWrongType() {
  const other = await browser.newPage();
  await other.setBypassServiceWorker(true);
  await other.setRequestInterception(true);
  other.on("request", (request) => request.url().endsWith("/app.mjs")
    ? request.respond({ contentType: "application/octet-stream", body: readFileSync(join(site, "app.mjs")) })
    : request.continue());
  await other.goto(address);
  await other.waitForSelector("#problem:not([hidden])", { timeout: PATIENCE });
  const words = await other.$eval("#problem", (place) => place.textContent);
  await other.close();
  return words;
}

const seen = {};
await page.evaluateOnNewDocument(() => {
  globalThis.shares = new Set();
  setInterval(() => shares.add(document.querySelector("#progress")?.value), 5);
});
const processor = () => readFileSync(`${ofBrowser}/stat`, "utf8").split(" ").slice(13, 15).reduce((a, b) => a + Number(b), 0) / 100;
let [began, busy] = [performance.now(), processor()];
await page.goto(address);
await page.waitForSelector("#run:not([disabled])");
await page.waitForSelector("#loading", { hidden: true });
seen.title = await page.title();
seen.shares = await page.evaluate(() => [...shares].filter((share) => 0 < share && share < 1).length);
seen.answer = await ask(text);
seen.seconds = (performance.now() - began) / 1000;
seen.processorSeconds = processor() - busy;
seen.wider = { wide: await picture("wide", 1000, 600), narrow: await picture("narrow", 360, 600) };
seen.wider.dark = await picture("dark", 1000, 900, "dark");
await page.click("#copy");
await untilSaid("Copied.");
seen.copied = await page.evaluate(() => navigator.clipboard.readText()).catch(() => null);
if (seen.answer.suggestions.length > 1) {
  await page.focus("#others li:nth-child(2) button");
  await page.keyboard.press("Enter");
  seen.second = await textOf("#text");
  seen.pressed = await page.$$eval("#others button", (all) => all.map((one) => one.getAttribute("aria-pressed")));
  seen.begun = await ask(text, seen.second.slice(0, 3));
}
await page.$eval("#source", (field, value) => { field.value = value; }, longText);
await page.focus("#source");
await page.keyboard.press("Enter");
await page.waitForSelector("#problem:not([hidden])");
seen.problem = await textOf("#problem");
seen.answerIsHidden = !await isShown("#answer");
seen.again = (await ask(text)).text;
seen.known = await isShown("#unknown") ? await textOf("#unknown") : "";
await ask(`${text} ☃`);
seen.unknown = await isShown("#unknown") ? await textOf("#unknown") : "";
await ask(text, "☃");
seen.unknownBeginning = await textOf("#unknown");
await ask(text);
seen.workers = page.workers().length;
seen.stops = [];
await page.evaluate(() => document.activeElement.blur());
for (let count = 0; count < 12; ++count) {
  await page.keyboard.press("Tab");
  seen.stops.push(await page.evaluate(() => document.activeElement.id || document.activeElement.tagName));
}
const tree = await page.accessibility.snapshot();
seen.unnamed = [];
(function visit({ role, name, children = [] }) {
  if (["button", "textbox", "table", "region"].includes(role) && !name && role !== "table") seen.unnamed.push(role);
  children.forEach(visit);
})(tree);

await page.$eval("#source", (field) => { field.value = " "; });
await page.focus("#source");
await page.keyboard.press("Enter");
await untilSaid("There is no text.");
seen.emptyIsHidden = !await isShown("#answer");
seen.early = await enteredEarly();
seen.wrongType = await withWrongType();
seen.lacking = await refused(address, () => Object.defineProperty(globalThis, "crypto", { value: {} }));
seen.fromFile = await refused(pathToFileURL(join(site, "index.html")).href, () => {});
await untilSaid("without a network", "#offline");
seen.caches = await page.evaluate(() => caches.keys());
seen.ownCache = `keras_bahdanau ${address}`;
server.kill();
await once(server, "exit");
began = performance.now();
await page.reload();
await page.waitForSelector("#run:not([disabled])");
seen.offline = await ask(text);
seen.offlineSeconds = (performance.now() - began) / 1000;
seen.milliseconds = await page.evaluate(async () => {
  const times = [];
  for (let count = 0; count < 30; ++count) {
    document.querySelector("#status").textContent = "";
    const start = performance.now();
    document.querySelector("#form").requestSubmit();
    while (!document.querySelector("#status").textContent.includes("Answered")) await new Promise((next) => setTimeout(next));
    times.push(performance.now() - start);
  }
  return times.sort((a, b) => a - b)[15];
});
// MiB
seen.peak = Number(readFileSync(`${ofBrowser}/status`, "utf8").match(/VmHWM:\s+(\d+)/)[1]) / 1024;
const last = { errors: [...errors], hosts: hosts.size };
seen.workerIsRefused = await page.workers()[0].evaluate(() => new Promise((resolve) => {
  self.addEventListener("securitypolicyviolation", ({ effectiveDirective }) => resolve(effectiveDirective));
  fetch("http://localhost:1/").catch(() => setTimeout(() => resolve("nothing"), 1000));
}));
console.log(JSON.stringify({ ...seen, ...last }));
await browser.close();
process.exit(0);
