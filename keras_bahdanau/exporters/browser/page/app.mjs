// The page: what is typed goes to the translator, its answers and their attention onto the page.

import { heatMap, label } from "./heat_map.mjs";
import { fetched } from "./loading.mjs";
import { keepOffline } from "./offline.mjs";
import { InputError } from "./tflite_file.mjs";
import { TooLong } from "./translator.mjs";
import { WorkingTranslator } from "./working.mjs";

const MOST_SUGGESTIONS = 5;
const MOST_CHARACTERS = 20_000;  // of a text, which no file takes as tokens
const NO_TEXT = "There is no text. Type one first.";
const IS_NEXT = "Still loading: your text is next.";
const MOST_UNKNOWN = 12;  // parts of a text that are named
const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));

/** Load the model, and answer what is typed. */
async function start() {
  const loading = load();
  listen(loading);
  page.copy.addEventListener("click", copy);
  const { files } = await loading;
  if (await keepOffline(files).catch(() => false)) page.offline.textContent = "It works without a network now.";
}

/** The translator of this site, with the page made ready for it. */
async function load() {
  const site = await (await fetched("./site.json")).json();
  document.title = page.title.textContent = site.title;
  const translator = await WorkingTranslator.load(site, progress);
  page.loading.hidden = true;
  page.beginning.hidden = !translator.longestPrefix;
  page.run.disabled = false;
  say("Ready.");
  return translator;
}

/** Answer what is entered; what is entered before the model is there, as soon as it is. */
function listen(loading) {
  let [last, waiting] = [loading, false];
  page.form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!page.loading.hidden) say(IS_NEXT);
    if (waiting) return;
    waiting = true;
    last = last.then(() => {  // one at a time, and what is typed by then
      waiting = false;
      return show(async () => answer(await loading));
    }, () => {});  // an error of the loading, which is shown
  });
  page.form.dataset.listens = "";  // to start.js, which has the key Enter
  if ("entered" in page.form.dataset) page.form.requestSubmit();
}

function progress(stage, share) {
  page.stage.textContent = stage;
  page.progress.value = share;
}

function say(text) {
  page.status.textContent = text;
}

/** Run a function, and show the error if it has one. */
async function show(action) {
  page.problem.hidden = true;
  try {
    await action();
  } catch (error) {
    page.loading.hidden = true;
    say("");
    page.problem.textContent = error instanceof InputError ? error.message
      : `Something went wrong: ${error.message ?? error}. Load the page again.`;
    page.problem.hidden = false;
    console.error(error);
  }
}

/** Show the answers to what is typed. */
async function answer(translator) {
  const [text, prefix] = [page.source.value, page.prefix.value];
  page.answer.hidden = true;
  if (!text.trim()) return say(NO_TEXT);
  const count = Math.min(MOST_SUGGESTIONS, translator.most);
  say("Working.");
  const begun = performance.now();
  const search = await within("beginning of the answer", prefix, () => translator.searchFor(count, prefix));
  const found = await within("text", text, () => translator.translate(text, ...search));
  const seconds = (performance.now() - begun) / 1000;
  const hypotheses = found.slice(0, count);
  if (!hypotheses[0].sourceTokens.length) return say(NO_TEXT);  // but what the vocabulary leaves out
  page.others.replaceChildren(...hypotheses.map((one, index) => suggestion(one, index, hypotheses)));
  page.others.hidden = hypotheses.length < 2;
  choose(0, hypotheses);
  warn({ "": await translator.unknown(text), " in the beginning": await translator.unknown(prefix, "target") });
  page.answer.hidden = false;
  say(`Answered in ${seconds.toPrecision(2)} s.`);
}

/** What `action` makes of a text that is typed, or an error in words for visitors if it is too long. */
async function within(name, given, action) {
  const refuse = (has, unit, most) => {
    throw new InputError(`The ${name} is too long: it has ${has} ${unit}, and this page takes ${most} at most. Shorten it.`);
  };
  if (given.length > MOST_CHARACTERS) refuse(given.length, "characters", MOST_CHARACTERS);
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
    return refuse(error.tokens, "tokens (words, parts of words, or characters)", error.longest);
  }
}

/** Name the parts of texts that the vocabularies lack: lists of them by the place of the text. */
function warn(unknown) {
  const sentences = Object.entries(unknown).filter(([, parts]) => parts.length).map(([place, parts]) => {
    const some = parts.slice(0, MOST_UNKNOWN).map(label).join(" ");
    return `The model does not know${place}: ${some}${parts.length > MOST_UNKNOWN ? " …" : ""}.`;
  });
  page.unknown.textContent = [...sentences, "The answer may be wrong."].join(" ");
  page.unknown.hidden = !sentences.length;
}

/** An entry of the list of suggestions. */
function suggestion({ text, score }, index, hypotheses) {
  const [item, button] = ["li", "button"].map((name) => document.createElement(name));
  const [words, number] = ["span", "span"].map((name) => document.createElement(name));
  Object.assign(words, { textContent: text || "(empty)", dir: "auto" });
  Object.assign(number, { textContent: score.toFixed(2).replace("-0.00", "0.00"), className: "hint", title: "score: the higher, the more probable" });
  button.type = "button";
  button.append(words, number);
  button.addEventListener("click", () => choose(index, hypotheses));
  item.append(button);
  return item;
}

/** Show one of the hypotheses and its attention. */
function choose(index, hypotheses) {
  const one = hypotheses[index];
  page.text.textContent = one.text;
  page.copy.textContent = "Copy";
  page.copy.disabled = !one.text;
  page.map.replaceChildren(heatMap(one));
  page.unfinished.hidden = one.finished;
  [...page.others.children].forEach((item, place) => {
    item.firstChild.setAttribute("aria-pressed", String(place === index));
  });
}

async function copy() {
  try {
    await navigator.clipboard.writeText(page.text.textContent);
    page.copy.textContent = "Copied";
    say("Copied.");
  } catch {
    getSelection().selectAllChildren(page.text);
    say("The browser does not let this page copy. The text is selected: press Ctrl and C.");
  }
}

show(start);
