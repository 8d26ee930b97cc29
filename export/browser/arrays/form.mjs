// The page: a field for each input of a signature, and its outputs. `?model=ADDRESS` loads a file from the server.

import { ArrayModel, InputError, filled, isOnnx } from "./array_model.mjs";

const WASM = new URL("../../../node_modules/@litertjs/core/wasm/", import.meta.url).href;
const page = Object.fromEntries([...document.querySelectorAll("[id]")].map((element) => [element.id, element]));
const runtimes = {};  // promises by package, once a file needs it
let model;

async function loadLiteRt() {
  const core = await import("@litertjs/core");
  await core.loadLiteRt(WASM);
  return core;
}

/** Load the runtime for a file. */
async function runtimeOf(content) {
  const [name, load] = isOnnx(content)
    ? ["onnxruntime-web", () => import("onnxruntime-web")] : ["@litertjs/core", loadLiteRt];
  try {
    return await (runtimes[name] ??= load());
  } catch (cause) {
    console.error(cause);
    throw new InputError(`${name} must start here. Received: none. Run npm install ${name} in the directory that the ` +
      "server gives, and use a browser with WebAssembly.", { cause });
  }
}

/** Run an action, and show its error if it throws one. */
async function show(action) {
  page.problem.hidden = true;
  page.answer.hidden = true;
  try {
    await action();
  } catch (error) {
    if (!(error instanceof InputError)) console.error(error);
    page.problem.textContent = error.message ?? String(error);
    page.problem.hidden = false;
    page.status.textContent = "";
  }
}

async function open(buffer) {
  page.status.textContent = "Loading the model.";
  page.loaded.hidden = true;
  const content = new Uint8Array(buffer);
  model = await ArrayModel.load(await runtimeOf(content), content);
  page.signature.replaceChildren(...Object.keys(model.signatures).map((name) => new Option(name)));
  page.loaded.hidden = false;
  describe();
  page.status.textContent = "Ready.";
}

/** Create the fields for the chosen signature; axes of any size have one position at first. */
function describe() {
  const inputs = model.signatures[page.signature.value].inputs;
  page.inputs.replaceChildren(...Object.entries(inputs).flatMap(([name, words]) => {
    const [label, field] = ["label", "textarea"].map((tag) => document.createElement(tag));
    const shape = words.replace(/^.*\(|\).*$/g, "").split(",").map((size) => Number(size) || 1);
    Object.assign(label, { textContent: `${name}: ${words}`, htmlFor: `input-${name}` });
    Object.assign(field, { id: label.htmlFor, name, rows: 3, spellcheck: false, value: JSON.stringify(filled(shape)) });
    return [label, field];
  }));
  page.answer.hidden = true;
}

async function run() {
  page.status.textContent = "Working.";
  const fields = [...page.inputs.querySelectorAll("textarea")];
  const inputs = Object.fromEntries(fields.map(({ name, value }) => [name, parsed(name, value)]));
  const begun = performance.now();
  const outputs = await model.run(inputs, page.signature.value);
  const seconds = (performance.now() - begun) / 1000;
  page.outputs.replaceChildren(...Object.entries(outputs).flatMap(shown));
  page.answer.hidden = false;
  const states = fields.filter(({ name }) => model.card.states?.includes(name) && name in outputs);
  states.forEach((field) => { field.value = JSON.stringify(outputs[field.name]); });
  page.status.textContent = `Answered in ${seconds.toPrecision(2)} s.` + (states.length ? " The new states are in the fields." : "");
}

function parsed(name, text) {
  try {
    return JSON.parse(text);
  } catch {
    throw new InputError(`The input '${name}' must be nested lists of numbers. Received: '${[...text].slice(0, 80).join("")}'.`);
  }
}

/** Return the elements that show an output: its numbers, and the labels of classes. */
function shown([name, value]) {
  const [term, description, numbers] = ["dt", "dd", "output"].map((tag) => document.createElement(tag));
  term.textContent = `${name}: ${model.signatures[page.signature.value].outputs[name] ?? ""}`;
  Object.assign(numbers, { id: `output-${name}`, textContent: JSON.stringify(value) });
  description.append(numbers);
  const row = Array.isArray(value[0]) && !Array.isArray(value[0][0]) ? value[0] : [];
  if (model.labels?.length === row.length) {
    const list = document.createElement("ul");
    list.append(...row.map((number, index) => {
      const item = document.createElement("li");
      item.textContent = `${model.labels[index]}: ${number?.toPrecision(3)}`;
      return item;
    }));
    description.append(list);
  }
  return [term, description];
}

page.form.addEventListener("submit", (event) => {
  event.preventDefault();
  if (model) show(run);
});
page.signature.addEventListener("change", describe);
page.file.addEventListener("change", () => {
  const [file] = page.file.files;
  if (file) show(async () => open(await file.arrayBuffer()));
});

const address = new URLSearchParams(location.search).get("model");
if (address) {
  show(async () => {
    const response = await fetch(address).catch(() => null);
    if (!response?.ok) {
      throw new InputError(`The address of a model must be on this server. Received: '${address}'. Correct it.`);
    }
    await open(await response.arrayBuffer());
  });
} else {
  page.status.textContent = "Choose a model.";
}
