// The page: what is typed goes to the translator, its answers and their attention onto the page.

import { heatMap } from "./heat_map.mjs";
import { fetched, keepOffline, loadTranslator } from "./loading.mjs";
import { InputError } from "./tflite_file.mjs";
import { TooLong } from "./translator.mjs";

const MOST_SUGGESTIONS = 5;
const MOST_CHARACTERS = 20_000;  // of a text, which no file takes as tokens
const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));

/** Load the model, and then answer what is typed. */
async function start() {
  const site = await (await fetched("./site.json")).json();
  document.title = page.title.textContent = site.title;
  const translator = await loadTranslator(site, progress);
  page.loading.hidden = true;
  page.beginning.hidden = !translator.longestPrefix;
  page.run.disabled = false;
  let last = Promise.resolve();
  page.form.addEventListener("submit", (event) => {
    event.preventDefault();
    last = last.then(() => show(() => answer(translator)));  // one at a time
  });
  page.source.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    page.form.requestSubmit();
  });
  page.copy.addEventListener("click", copy);
  say("Ready.");
  if (await keepOffline().catch(() => false)) page.offline.textContent = "It works without a network now.";
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
  const count = Math.min(MOST_SUGGESTIONS, translator.most);
  say("Working.");
  await new Promise((next) => setTimeout(next));  // so that it is painted
  const begun = performance.now();
  const search = await within("beginning of the answer", prefix, () => translator.searchFor(count, prefix));
  const found = await within("text", text, () => translator.translate(text, ...search));
  const seconds = (performance.now() - begun) / 1000;
  const hypotheses = found.slice(0, count);
  if (!hypotheses[0].sourceTokens.length) return say("There is no text. Type one first.");
  page.others.replaceChildren(...hypotheses.map((one, index) => suggestion(one, index, hypotheses)));
  page.others.hidden = hypotheses.length < 2;
  choose(0, hypotheses);
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
