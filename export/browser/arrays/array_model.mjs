// Runs a .tflite file of a Keras model with LiteRT in WebAssembly: maps named nested lists to named nested lists.
//
// It depends neither on Node nor on a page: `litert` is the loaded module @litertjs/core.

import { InputError, unpack } from "../../../keras_bahdanau/exporters/browser/page/tflite_file.mjs";

export { InputError };

const ARRAYS = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array };
const RANGES = { int32: [-(2 ** 31), 2 ** 31 - 1], uint8: [0, 255] };
const SHOWN = 80;  // number of characters of a text to show in an error

/**
 * A loaded file.
 *
 * `signatures` contains the inputs and outputs of each signature by name, such as { ids: "int32 (1, any)" }. `labels`
 * contains the names of the classes, or is null. Calls may overlap; they take turns.
 */
export class ArrayModel {
  /** Load a file; `content` is a Uint8Array. Throws InputError. */
  static async load(litert, content) {
    const card = await cardOf(content);
    try {
      return new this(litert, await litert.loadAndCompile(content, { accelerator: "wasm" }), card);
    } catch (cause) {
      throw new InputError("A .tflite file must contain a model that LiteRT can load. Received: another one " +
        `(${inOneLine(cause)}). Install a newer @litertjs/core, or export again.`, { cause });
    }
  }

  constructor(litert, model, card) {
    Object.assign(this, { litert, model, card });
    this.signatures = card.tensors;
    this.labels = card.labels ?? null;
    this.turn = Promise.resolve();
  }

  /** Throw an InputError unless the file has a signature and all of its tensors have fixed shapes. */
  check(signature) {
    const names = Object.keys(this.signatures);
    if (!names.includes(signature) || !Object.hasOwn(this.model.signatures, signature)) {
      throw new InputError(`The signature must be one of ${names.join(", ")}. Received: ${shown(signature)}. Correct it.`);
    }
    const runner = this.model.signatures[signature];
    for (const { name, shape, dtype } of [...runner.getInputDetails(), ...runner.getOutputDetails()]) {
      if (shape.every((size) => size > 0)) continue;  // LiteRT.js can't resize a model
      throw new InputError(`A tensor must have a fixed shape for LiteRT.js. Received: '${name}', ${dtype} ${described(shape)}. ` +
        "Export the model with a fixed length, such as length=40; add real_length=True for shorter inputs.");
    }
  }

  /** Return the outputs, nested lists by name, for nested lists of numbers for each input. Throws InputError. */
  async run(inputs, signature = Object.keys(this.signatures)[0]) {
    this.check(signature);
    const details = this.model.signatures[signature].getInputDetails();
    checkNames(inputs, details.map(({ name }) => name), signature);
    const arrays = details.map((detail) => packed(detail, inputs[detail.name]));
    const before = this.turn;
    const { promise, resolve } = deferred();
    this.turn = promise;
    await before;
    try {
      return await this.runArrays(signature, arrays);
    } finally {
      resolve();
    }
  }

  async runArrays(signature, arrays) {
    const tensors = [];
    try {
      for (const { numbers, shape } of arrays) tensors.push(new this.litert.Tensor(numbers, shape));
      const outputs = await this.model.signatures[signature].run(tensors);
      tensors.push(...outputs);
      const names = this.model.signatures[signature].getOutputDetails().map(({ name }) => name);
      return Object.fromEntries(outputs.map((tensor, index) => [names[index], nested(tensor)]));
    } catch (cause) {
      if (cause instanceof InputError) throw cause;
      const shapes = arrays.map(({ name, shape }) => `${name} ${described(shape)}`).join(", ");
      throw new InputError("Inputs must have shapes that the model accepts. Received: " +
        `${shapes} (${inOneLine(cause)}).`, { cause });
    } finally {
      tensors.forEach((tensor) => tensor.delete());
    }
  }

  /** Return a function of the inputs of one time step, which keeps the states; they begin as zeros. Throws InputError. */
  stream() {
    const names = Object.keys(this.signatures);
    if (!names.includes("step")) {
      throw new InputError(`A model to stream must have the signature 'step'. Received: signatures ${names.join(", ")}. ` +
        "Export it with signatures=('step',).");
    }
    this.check("step");
    let states = this.zeroStates();
    return async (inputs) => {
      const asked = Object.keys(this.signatures.step.inputs).filter((name) => !Object.hasOwn(states, name));
      checkNames(inputs, asked, "step");
      const outputs = await this.run({ ...inputs, ...states }, "step");
      states = Object.fromEntries(Object.keys(states).map((name) => [name, outputs[name]]));
      return Object.fromEntries(Object.entries(outputs).filter(([name]) => !Object.hasOwn(states, name)));
    };
  }

  /** Return the states before the first step: nested lists of zeros, by name. */
  zeroStates() {
    const details = this.model.signatures.step.getInputDetails();
    const states = details.filter(({ name }) => this.card.states?.includes(name));
    return Object.fromEntries(states.map(({ name, shape }) => [name, filled([...shape])]));
  }
}

/** Return the card of a file of a Keras model. */
async function cardOf(content) {
  let why = "its card.json does not describe a Keras model";
  try {
    const card = JSON.parse(new TextDecoder().decode((await unpack(content))["card.json"]));
    if (card?.tensors && Object.keys(card.tensors).length) return card;
  } catch (error) {
    why = error instanceof InputError ? "its last 64 bytes are not its sha256" : "its archive is damaged";
  }
  throw new InputError("A .tflite file of arrays must be from a Keras model, and unchanged since its export. Received: another " +
    `file (${why}). Copy it again, or write it with export_litert.`);
}

function checkNames(inputs, names, signature) {
  const received = Object.keys(inputs);
  if (received.length === names.length && names.every((name) => Object.hasOwn(inputs, name))) return;
  throw new InputError(`The inputs of '${signature}' must be ${names.join(", ")}. Received: ` +
    `${[...received.join(", ")].slice(0, SHOWN).join("") || "none"}.`);
}

/** Return {name, numbers, shape} for an input: the numbers in nested lists as a typed array. */
function packed({ name, shape: expected, dtype }, value) {
  const shape = [];
  for (let first = value; Array.isArray(first) && shape.length <= expected.length; [first] = first) shape.push(first.length);
  if (shape.length !== expected.length || shape.some((size, axis) => !size || (expected[axis] !== size))) {
    throw new InputError(`The input '${name}' must be ${dtype} ${described(expected)}. Received: shape ${described(shape)}.`);
  }
  const numbers = new ARRAYS[dtype](shape.reduce((product, size) => product * size, 1));
  let place = 0;
  const collect = (item, axis) => {
    if (axis === shape.length) {
      numbers[place++] = number(name, dtype, item);
      return;
    }
    if (!Array.isArray(item) || item.length !== shape[axis]) {
      throw new InputError(`The lists of an axis of the input '${name}' must have equal lengths. Received: ${shape[axis]} and ` +
        `${Array.isArray(item) ? item.length : "no list"}.`);
    }
    item.forEach((each) => collect(each, axis + 1));
  };
  collect(value, 0);
  return { name, numbers, shape };
}

/** Convert a number to the range of a dtype; integers out of range become the nearest one in range. */
function number(name, dtype, value) {
  const real = typeof value === "boolean" ? Number(value) : value;
  const fits = dtype === "float32" ? Number.isFinite(Math.fround(real)) : Number.isInteger(real);
  if (typeof real === "number" && fits) {
    const [least, most] = RANGES[dtype] ?? [real, real];
    return Math.min(Math.max(real, least), most);
  }
  throw new InputError(`The input '${name}' must contain ${dtype === "float32" ? "finite" : "integer"} ${dtype} values. ` +
    `Received: ${typeof real === "number" ? real : "no number"}.`);
}

/** Convert a tensor to nested lists. */
function nested(tensor) {
  let items = [...tensor.toTypedArray()];
  for (const size of [...tensor.type.layout.dimensions].slice(1).reverse()) {
    items = Array.from({ length: items.length / size }, (_, index) => items.slice(index * size, (index + 1) * size));
  }
  return items;
}

/** Return nested lists of zeros. */
export function filled([size, ...rest]) {
  return size === undefined ? 0 : Array.from({ length: size }, () => filled(rest));
}

function described(shape) {
  return `(${[...shape].map((size) => (size < 0 ? "any" : size)).join(", ")})`;
}

function shown(text) {
  return `'${[...String(text)].slice(0, SHOWN).join("")}'`;
}

function inOneLine(error) {
  return [...String(error?.message ?? error).split(/\s+/).join(" ")].slice(0, 200).join("");
}

function deferred() {
  let resolve;
  const promise = new Promise((settle) => { resolve = settle; });
  return { promise, resolve };
}
