// The page: passes input to the model, and shows the answers and their attention.

import { fetched } from "./loading.mjs";
import { keepOffline } from "./offline.mjs";
import { Entry as TextEntry, unknownParts, within } from "./text_entry.mjs";
import { InputError } from "./tflite_file.mjs";
import { WorkingPipeline } from "./working.mjs";

const MOST_SUGGESTIONS = 5;
const ENTRIES = {  // by the class of the model's source, which is an attribute of the body
  TextSource: async () => ({ Entry: TextEntry }),
  ImageSource: () => import("./image_entry.mjs"),
  AudioSource: () => import("./sound_entry.mjs"),
  InkSource: () => import("./ink_entry.mjs"),
};
const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));

/** Load the model, and answer the visitor's input. */
async function start() {
  const { Entry } = await ENTRIES[document.body.dataset.source]();
  const entry = new Entry(page);
  const loading = load();
  listen(loading, entry);
  page.copy.addEventListener("click", copy);
  const model = await loading;
  entry.begin(model);
  if (await keepOffline(model.files).catch(() => false)) page.offline.textContent = "It now works without a network.";
}

/** Load the model of this site, and get the page ready for it. */
async function load() {
  const site = await (await fetched("./site.json")).json();
  document.title = page.title.textContent = site.title;
  const model = await WorkingPipeline.load(site, progress);
  page.loading.hidden = true;
  page.beginning.hidden = !model.longestPrefix;
  page.run.disabled = false;
  say("Ready.");
  return model;
}

/** Answer the visitor's input. Input that is entered before the model is loaded is answered afterwards. */
function listen(loading, entry) {
  let [last, waiting] = [loading, false];
  page.form.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!page.loading.hidden) say(entry.waiting);
    if (waiting) return;
    waiting = true;
    last = last.then(() => {  // one request at a time, with the input at that moment
      waiting = false;
      return show(async () => answer(await loading, entry));
    }, () => {});  // loading has failed, and the error is already shown
  });
  page.form.dataset.listens = "";  // for start.js, which handles the Enter key
  if ("entered" in page.form.dataset) page.form.requestSubmit();
}

function progress(stage, share) {
  page.stage.textContent = stage;
  page.progress.value = share;
}

function say(text) {
  page.status.textContent = text;
}

/** Run a function, and show its error if it throws one. */
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

/** Show the answers to the current input. */
async function answer(model, entry) {
  const prefix = page.prefix.value;
  page.answer.hidden = true;
  say("Working.");
  const begun = performance.now();
  const given = await entry.given();
  if (given === null) return say(entry.nothing);
  const count = Math.min(MOST_SUGGESTIONS, model.most);
  const search = await within("beginning of the answer", prefix, () => model.searchFor(count, prefix));
  const { hypotheses: found, picture, unknown = [] } = await entry.ask(model, given, search);
  const seconds = (performance.now() - begun) / 1000;
  const hypotheses = found.slice(0, count);
  if (!hypotheses[0].sourceTokens.length) return say(entry.nothing);  // the model ignores all of it
  const select = (index) => choose(index, hypotheses, entry, picture);
  page.others.replaceChildren(...hypotheses.map((one, index) => suggestion(one, () => select(index))));
  page.others.hidden = hypotheses.length < 2;
  page.unknown.textContent = unknownParts({ "": unknown, " in the beginning": await model.unknown(prefix, "target") });
  page.unknown.hidden = !page.unknown.textContent;
  page.answer.hidden = false;
  select(0);
  say(`Answered in ${seconds.toPrecision(2)} s.`);
}

/** Create an entry in the list of suggestions. */
function suggestion({ text, score }, select) {
  const [item, button] = ["li", "button"].map((name) => document.createElement(name));
  const [words, number] = ["span", "span"].map((name) => document.createElement(name));
  Object.assign(words, { textContent: text || "(empty)", dir: "auto" });
  Object.assign(number, { textContent: rounded(score), className: "hint", title: "score: higher is more probable" });
  button.type = "button";
  button.append(words, number);
  button.addEventListener("click", select);
  item.append(button);
  return item;
}

/** Show one of the hypotheses and its attention. */
function choose(index, hypotheses, entry, picture) {
  const one = hypotheses[index];
  page.text.textContent = one.text;
  page.copy.textContent = "Copy";
  page.copy.disabled = !one.text;
  const sure = one.confidence === undefined ? "" : `, confidence ${Math.round(100 * one.confidence)}%`;
  page.measures.textContent = `Score ${rounded(one.score)}${sure}.`;
  page.map.replaceChildren(entry.map(one, picture));
  page.unfinished.hidden = one.finished;
  [...page.others.children].forEach((item, place) => {
    item.firstChild.setAttribute("aria-pressed", String(place === index));
  });
}

function rounded(score) {
  return score.toFixed(2).replace("-0.00", "0.00");
}

async function copy() {
  try {
    await navigator.clipboard.writeText(page.text.textContent);
    page.copy.textContent = "Copied";
    say("Copied.");
  } catch {
    getSelection().selectAllChildren(page.text);
    say("The browser does not let this page copy text. The text is selected: press Ctrl+C.");
  }
}

show(start);
