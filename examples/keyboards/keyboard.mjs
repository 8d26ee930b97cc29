// A field in which Latin letters become words of another script, with suggestions after each keystroke.
//
// `?model=ADDRESS` loads another model: a .tflite file, which runs in this page by the modules of the checkout, or the
// directory of an exported page (`export --format browser`), whose worker runs it.

const MODULES = "../../keras_bahdanau/exporters/browser/page";
const WASM = new URL("../../node_modules/@litertjs/core/wasm/", import.meta.url).href;
const MOST_SUGGESTIONS = 5;
const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });
const pending = new Set();  // words that have ended and wait for their suggestions
let loading;  // promise of the model
let word = null;  // the word that is being typed: {start, letters, beginning, suggestions}, the last a promise
let last = Promise.resolve();  // of the suggestions that were asked for last
let litert;  // promise of LiteRT.js

/** The model at an address. */
async function load(address) {
  const place = new URL(address, location.href).href.replace(/\/$/, "");
  if (!place.endsWith(".tflite")) {
    const site = await (await fetched(`${place}/site.json`)).json();
    const { WorkingPipeline } = await import(`${place}/working.mjs`);
    return WorkingPipeline.load(site, (stage) => say(`${stage}.`));
  }
  const [content, { Translator }] = await Promise.all([fetched(place), import(`${MODULES}/translator.mjs`)]);
  litert ??= import("@litertjs/core").then((core) => core.loadLiteRt(WASM).then(() => core));
  return Translator.load(await litert, new Uint8Array(await content.arrayBuffer()));
}

async function fetched(address) {
  const response = await fetch(address).catch(() => null);
  if (response?.ok) return response;
  throw new Error(`A model must be on this server. Received: '${address}'. Correct the address.`);
}

function say(text) {
  page.status.textContent = text;
}

function showProblem(error) {
  page.problem.textContent = error?.message ?? "";
  page.problem.hidden = !error;
  if (error) say("");
}

/** Begin with a model; words that are typed before it has come are answered as soon as it has. */
function use(address) {
  say("Loading.");
  showProblem(null);
  leave();
  loading = load(address);
  loading.then(() => say("Ready."), showProblem);
}

/** The best words for Latin letters, which begin with `beginning`; none if the model can't read the letters. */
async function answer({ letters, beginning }) {
  try {
    const model = await loading;
    const began = performance.now();
    const search = await model.searchFor(Math.min(MOST_SUGGESTIONS, model.most), beginning);
    const hypotheses = await model.translate(letters.toLowerCase(), ...search);
    say(`Answered in ${(performance.now() - began).toFixed(1)} ms.`);
    showProblem(null);
    return hypotheses.slice(0, MOST_SUGGESTIONS).map(({ text }) => text);
  } catch (error) {
    showProblem(error);
    return [];
  }
}

/** Ask for suggestions, one word at a time; letters that have changed by then are left out. */
function suggest(start, letters, beginning) {
  const typed = word = { start, letters, beginning };
  typed.suggestions = last = last.then(() => typed === word || pending.has(typed) ? answer(typed) : []);
  typed.suggestions.then((texts) => typed === word && show(typed, texts));
}

/** Write a suggestion where the letters of a word are; the caret stays where it is in the text. */
async function take(typed, index) {
  pending.add(typed);
  const text = (await typed.suggestions)[index];
  pending.delete(typed);
  const end = typed.start + typed.letters.length;
  if (!text || page.text.value.slice(typed.start, end) !== typed.letters) return;
  page.text.setRangeText(text, typed.start, end, "preserve");
  for (const later of [...pending, word]) {
    if (later?.start > typed.start) later.start += text.length - typed.letters.length;
  }
}

/** End the word that is being typed. */
function leave() {
  word = null;
  page.suggestions.replaceChildren();
  page.beginning.hidden = true;
}

function choose(index) {
  take(word, index);
  leave();
  page.text.focus();
}

function show({ letters }, texts) {
  page.suggestions.setAttribute("aria-label", `Suggestions for ${letters}`);
  page.suggestions.replaceChildren(...texts.map((text, index) => {
    const item = document.createElement("li");
    item.append(button(text, () => choose(index)));
    return item;
  }));
  const [best = ""] = texts;
  page.letters.replaceChildren(...Array.from(graphemes.segment(best), (letter) => letterOf(best, letter)));
  page.beginning.hidden = !best;
}

/** A letter of the first suggestion: choosing it keeps all up to it, choosing the last kept one frees all. */
function letterOf(text, { segment, index }) {
  const [end, { start, letters, beginning }] = [index + segment.length, word];
  const element = button(segment, () => {
    suggest(start, letters, end === beginning.length ? "" : text.slice(0, end));
    page.text.focus();
  });
  element.setAttribute("aria-pressed", String(end <= beginning.length));
  return element;
}

function button(text, press) {
  const element = document.createElement("button");
  Object.assign(element, { type: "button", textContent: text });
  element.addEventListener("click", press);
  return element;
}

page.text.addEventListener("input", () => {
  const caret = page.text.selectionStart;
  const [letters] = page.text.value.slice(0, caret).match(/[A-Za-z]*$/);
  const start = caret - letters.length;
  if (letters) return suggest(start, letters, word?.start === start ? word.beginning : "");
  if (word && caret > word.start + word.letters.length) take(word, 0);  // a space or a mark has ended it
  return leave();
});
page.text.addEventListener("keydown", (event) => {
  if (!word || event.ctrlKey || event.altKey || event.metaKey) return;
  if (event.key === "Escape") leave();
  if (!/^[1-9]$/.test(event.key) || event.key > page.suggestions.childElementCount) return;
  event.preventDefault();
  choose(Number(event.key) - 1);
});
page.language.addEventListener("change", () => use(page.language.value));

use(new URLSearchParams(location.search).get("model") ?? page.language.value);
