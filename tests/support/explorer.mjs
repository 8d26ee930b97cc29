// Visits a page of the explorer in headless Chromium. Prints what a reader sees as a JSON object.
//
//   node explorer.mjs PAGE [SCREENSHOTS]
//
// Needs @sparticuz/chromium and puppeteer-core, installed in the working directory or NODE_PATH.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [file, pictures] = process.argv.slice(2);
const require = createRequire(`${process.cwd()}/`);
const installed = async (name) => (await import(pathToFileURL(require.resolve(name)))).default;
const [chromium, puppeteer] = await Promise.all(["@sparticuz/chromium", "puppeteer-core"].map(installed));
const browser = await puppeteer.launch({
  args: [...chromium.args, "--no-sandbox"],
  executablePath: await chromium.executablePath(),
  headless: "shell",
});
const page = await browser.newPage();
const [errors, requests] = [[], []];
page.on("pageerror", (error) => errors.push(String(error)));
page.on("console", (message) => ["error", "warning"].includes(message.type()) && errors.push(message.text()));
page.on("request", (request) => request.url().startsWith("data:") || requests.push(request.url()));
await page.emulateMediaFeatures([{ name: "prefers-reduced-motion", value: "reduce" }]);

const address = pathToFileURL(file).href;
const textOf = (selector) => page.$eval(selector, (element) => element.textContent);
const textsOf = (selector) => page.$$eval(selector, (all) => all.map((one) => one.textContent));
const settled = () => page.evaluate(() => new Promise((next) => requestAnimationFrame(() => requestAnimationFrame(next))));

/** Click a choice, if the page has it. */
const choose = (selector) => page.click(selector).catch(() => {});

/** Return what the page shows for a step. */
async function stepAt(fragment) {
  await page.evaluate((hash) => { location.hash = hash; }, fragment);
  return seen();
}

async function seen() {
  await settled();
  return {
    fragment: await page.evaluate(() => location.hash.slice(1)),
    narration: await textOf("#narration"),
    current: await textsOf(".panel.chosen [aria-current] bdi"),
    chosen: await textsOf("#writing .chosen bdi"),
    sources: await textsOf("#comparing tbody th bdi"),
    cells: await page.$$eval("#weights tbody tr", (rows) => rows.map((row) => row.querySelectorAll("td").length)),
    map: await page.$$eval("#weights tbody tr", (rows) => rows.map(
      (row) => [...row.querySelectorAll("td")].map((one) => Number(one.style.getPropertyValue("--weight"))))),
    bars: await page.$$eval("#comparing tbody .weight", (all) => all.map(
      (one) => one.firstElementChild.getBoundingClientRect().width / one.getBoundingClientRect().width)),
    sums: await textsOf("#comparing .sum"),
    shares: (await page.$$("#comparing tbody td:last-child canvas")).length,
    introduction: await textOf("#introduction"),
    scores: await textsOf("#comparing tbody td:nth-child(3) .figure"),
    chances: await page.$$eval("#writing .chance", (all) => all.map(
      (one) => one.firstElementChild.getBoundingClientRect().width / one.getBoundingClientRect().width)),
    widths: await page.$$eval(".panel.chosen .curve.now", (all) => all.map((one) => Number(one.getAttribute("stroke-width")))),
    whatIf: await textsOf(".what-if .text"),
    panels: await textsOf(".panel h2"),
    nodes: await page.$$eval(".node", (all) => all.map((one) => one.classList[1])),
    regions: (await page.$$(".region")).length,
    headings: await page.$$eval("section h2", (all) => all.filter((one) => one.offsetParent).map((one) => one.textContent)),
    importance: await page.$$eval("#importance tbody tr", (rows) => rows.map((row) => [...row.querySelectorAll("td")].map(
      (one) => (one.classList.contains("below") ? -1 : 1) * Number(one.style.getPropertyValue("--weight"))))),
    colors: await page.$$eval("#importance td.measure", (all) => all.slice(0, 2).map((one) => getComputedStyle(one).backgroundColor)),
    effects: await textsOf("#comparing .measure + .figure"),
    hint: await textOf("#importance-hint"),
    labels: await page.$$eval("#importance td.measure", (all) => all.map((one) => one.getAttribute("aria-label"))),
    direction: await page.$$eval(".tokens", (all) => all.map((one) => getComputedStyle(one).direction)),
  };
}

await page.goto(`${address}#1.1.2`);
const found = { inputs: await textsOf("#inputs option"), first: await seen() };
await page.keyboard.press("ArrowRight");
found.right = await seen();
await page.keyboard.press("End");
found.end = await seen();
await page.keyboard.press("Home");
found.home = (await seen()).fragment;
await page.click("#weights tbody tr:nth-child(3) td:nth-of-type(2)");
found.clicked = (await seen()).fragment;
await page.$eval("#slider", (slider) => { slider.value = 2; slider.dispatchEvent(new Event("input", { bubbles: true })); });
found.slid = (await seen()).fragment;
await page.mouse.move(0, 0);
await settled();
await page.focus(".panel.chosen .source .chip");
found.pointed = await page.$$eval(".pointed", (all) => [...new Set(all.map((one) => one.tagName.toLowerCase()))].sort());
await page.focus(".panel.chosen .target .chip:last-child");
found.peeked = await page.$$eval(".panel.chosen .curve.pointed", (all) => all.map((one) => Number(one.getAttribute("stroke-width"))));
await page.evaluate(() => document.activeElement.blur());
await page.$eval(".node", (node) => node.focus());
for (const key of ["ArrowRight", "ArrowDown"]) await page.keyboard.press(key);
found.node = await textOf("#tree .detail");
await page.evaluate(() => document.activeElement.blur());
await page.keyboard.press("Home");
await page.keyboard.press("Space");
found.playing = await page.$eval("#play", (button) => [button.textContent, button.getAttribute("aria-pressed")]);
while (!(await page.evaluate(() => location.hash)).endsWith(".2")) await new Promise((next) => setTimeout(next, 50));
await page.keyboard.press("Space");
found.played = (await seen()).fragment;
found.second = await stepAt("1.2.1");
found.others = [];
for (let input = 2; input <= found.inputs.length; ++input) found.others.push(await stepAt(`${input}.1.1`));
await stepAt("7.1.2");
await choose("#measure-choice label:nth-of-type(2) input");
found.gradient = await seen();
found.arrays = await stepAt("8.1.1");
await stepAt("7.1.2");
await choose("#measure-choice label:last-of-type input");
found.without = await seen();
await choose("#measure-choice label:nth-of-type(1) input");
found.measures = await textsOf("#measure-choice label");
found.nowhere = (await stepAt("99.9.9")).fragment;
found.nonsense = (await stepAt("<b>")).fragment;

await stepAt("1.1.2");
found.stops = [];
for (let count = 0; count < 60; ++count) {
  await page.keyboard.press("Tab");
  found.stops.push(await page.evaluate(() => document.activeElement.id || document.activeElement.getAttribute("class") || document.activeElement.tagName));
}
found.unnamed = [];
(function visit({ role, name, children = [] }) {
  if (["button", "slider", "combobox", "radio", "link", "image"].includes(role) && !name) found.unnamed.push(role);
  children.forEach(visit);
})(await page.accessibility.snapshot());
found.wider = [];
for (const [name, width, scheme] of [["wide", 1280, "light"], ["narrow", 360, "light"], ["dark", 1280, "dark"], ["night", 360, "dark"]]) {
  await page.setViewport({ width, height: 800 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  for (let input = 1; input <= found.inputs.length; ++input) {
    await page.evaluate((hash) => { location.hash = hash; }, `${input}.1.2`);
    await settled();
    found.wider.push(await page.evaluate(() => document.scrollingElement.scrollWidth - innerWidth));
    if (pictures) await page.screenshot({ path: join(pictures, `${name}${input}.png`), fullPage: true });
  }
}
console.log(JSON.stringify({ ...found, errors, requests: requests.filter((one) => !one.startsWith("file:")) }));
await browser.close();
process.exit(0);
