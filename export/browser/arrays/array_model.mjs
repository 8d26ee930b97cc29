// Runs a .tflite or .onnx file of a Keras model: maps named nested lists to named nested lists.
//
// It depends neither on Node nor on a page.

import { InputError } from "../../../keras_bahdanau/exporters/browser/page/tflite_file.mjs";
import { isOnnx } from "../../onnx/onnx_file.mjs";
import { described, LiteRTEngine, OnnxEngine } from "./array_engines.mjs";

export { InputError, isOnnx };

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
  /**
   * Load a file; `content` is a Uint8Array, and `runtime` the loaded module that runs it: onnxruntime-node or
   * onnxruntime-web if it `isOnnx`, else @litertjs/core. Throws InputError.
   */
  static async load(runtime, content) {
    const Engine = isOnnx(content) ? OnnxEngine : LiteRTEngine;
    const card = await cardOf(Engine, content);
    try {
      return new this(await Engine.open(runtime, content, card), card);
    } catch (cause) {
      throw new InputError(`${Engine.form} must contain a model that ${Engine.runtime} can load. Received: another one ` +
        `(${inOneLine(cause)}). Install a newer ${Engine.packages}, or export again.`, { cause });
    }
  }

  constructor(engine, card) {
    Object.assign(this, { engine, card });
    this.signatures = card.tensors;
    this.labels = card.labels ?? null;
    this.turn = Promise.resolve();
  }

  /** Throw an InputError unless the file has a signature that the runtime can run. */
  check(signature) {
    const names = Object.keys(this.signatures);
    if (!names.includes(signature) || !this.engine.has(signature)) {
      throw new InputError(`The signature must be one of ${names.join(", ")}. Received: ${shown(signature)}. Correct it.`);
    }
    this.engine.check(signature);
  }

  /** Return the outputs, nested lists by name, for nested lists of numbers for each input. Throws InputError. */
  async run(inputs, signature = Object.keys(this.signatures)[0]) {
    this.check(signature);
    const details = this.engine.inputs(signature);
    checkNames(inputs, details.map(({ name }) => name), signature);
    const arrays = details.map((detail) => packed(detail, inputs[detail.name]));
    checkRows(details, arrays, signature);
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
    try {
      return await this.engine.run(signature, arrays);
    } catch (cause) {
      throw new InputError("Inputs must have shapes that the model accepts. Received: " +
        `${shapesOf(arrays)} (${inOneLine(cause)}).`, { cause });
    }
  }

  /**
   * Return a function of the inputs of one time step, which keeps the states; they start at zero. `rows` is the number
   * of rows in a step, for a file that accepts any number of rows. Throws InputError.
   */
  stream(rows = 1) {
    const names = Object.keys(this.signatures);
    if (!names.includes("step")) {
      throw new InputError(`A model to stream must have the signature 'step'. Received: signatures ${names.join(", ")}. ` +
        "Export it with signatures=('step',).");
    }
    this.check("step");
    let states = this.zeroStates(rows);
    return async (inputs) => {
      const asked = Object.keys(this.signatures.step.inputs).filter((name) => !Object.hasOwn(states, name));
      checkNames(inputs, asked, "step");
      const outputs = await this.run({ ...inputs, ...states }, "step");
      states = Object.fromEntries(Object.keys(states).map((name) => [name, outputs[name]]));
      return Object.fromEntries(Object.entries(outputs).filter(([name]) => !Object.hasOwn(states, name)));
    };
  }

  /** Return the states before the first step: nested lists of zeros, by name. */
  zeroStates(rows) {
    const states = this.engine.inputs("step").filter(({ name }) => this.card.states?.includes(name));
    return Object.fromEntries(states.map(({ name, shape: [first, ...axes] }) =>
      [name, filled([first < 0 ? rows : first, ...axes.map((size) => Math.max(size, 1))])]));
  }
}

/** Return the card of a file of a Keras model. */
async function cardOf(Engine, content) {
  let why = "its card.json does not describe a Keras model";
  try {
    const card = await Engine.card(content);
    if (card?.tensors && Object.keys(card.tensors).length) return card;
  } catch (error) {
    why = error instanceof InputError ? "its last 64 bytes are not its sha256" : "its card can't be read";
  }
  throw new InputError(`${Engine.form} of arrays must be from a Keras model, and unchanged since its export. Received: another ` +
    `file (${why}). Copy it again, or write it with ${Engine.writer}.`);
}

function checkNames(inputs, names, signature) {
  const received = Object.keys(inputs);
  if (received.length === names.length && names.every((name) => Object.hasOwn(inputs, name))) return;
  throw new InputError(`The inputs of '${signature}' must be ${names.join(", ")}. Received: ` +
    `${[...received.join(", ")].slice(0, SHOWN).join("") || "none"}.`);
}

/** Throw an InputError if the inputs have different numbers of rows, which a runtime may broadcast. */
function checkRows(details, arrays, signature) {
  const rows = arrays.filter((_, index) => details[index].shape[0] < 0).map(({ shape }) => shape[0]);
  if (new Set(rows).size < 2) return;
  throw new InputError(`The inputs of '${signature}' must have equally many rows. Received: ${shapesOf(arrays)}.`);
}

function shapesOf(arrays) {
  return arrays.map(({ name, shape }) => `${name} ${described(shape)}`).join(", ");
}

/** Return {name, dtype, numbers, shape} for an input: the numbers in nested lists as a typed array. */
function packed({ name, shape: expected, dtype }, value) {
  const shape = [];
  for (let first = value; Array.isArray(first) && shape.length <= expected.length; [first] = first) shape.push(first.length);
  const misfits = (size, axis) => !size || (expected[axis] >= 0 && expected[axis] !== size);
  if (shape.length !== expected.length || shape.some(misfits)) {
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
  return { name, dtype, numbers, shape };
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

/** Return nested lists of zeros. */
export function filled([size, ...rest]) {
  return size === undefined ? 0 : Array.from({ length: size }, () => filled(rest));
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
