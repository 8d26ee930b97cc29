// Runtimes of `ArrayModel`: LiteRT.js for .tflite files, ONNX Runtime for .onnx files.
//
// An engine has `inputs(signature)`, a list of { name, shape, dtype } with -1 for an axis of any size, and `run`, which
// returns nested lists by the names of the outputs.

import { InputError, unpack } from "../../../keras_bahdanau/exporters/browser/page/tflite_file.mjs";
import { unpackOnnx } from "../../onnx/onnx_file.mjs";
import { openSession } from "../../onnx/onnx_session.mjs";

/** A .tflite file; `runtime` is the module @litertjs/core, loaded. */
export class LiteRTEngine {
  static form = "A .tflite file";
  static runtime = "LiteRT";
  static packages = "@litertjs/core";
  static writer = "export_litert";

  static async card(content) {
    return JSON.parse(new TextDecoder().decode((await unpack(content))["card.json"]));
  }

  static async open(runtime, content) {
    return new this(runtime, await runtime.loadAndCompile(content, { accelerator: "wasm" }));
  }

  constructor(runtime, model) {
    Object.assign(this, { runtime, model });
  }

  has(signature) {
    return Object.hasOwn(this.model.signatures, signature);
  }

  inputs(signature) {
    return this.model.signatures[signature].getInputDetails();
  }

  /** Throw an InputError unless all tensors of a signature have fixed shapes: LiteRT.js can't resize a model. */
  check(signature) {
    const runner = this.model.signatures[signature];
    for (const { name, shape, dtype } of [...runner.getInputDetails(), ...runner.getOutputDetails()]) {
      if (shape.every((size) => size > 0)) continue;
      throw new InputError(`A tensor must have a fixed shape for LiteRT.js. Received: '${name}', ${dtype} ${described(shape)}. ` +
        "Export the model with a fixed length, such as length=40; add real_length=True for shorter inputs.");
    }
  }

  async run(signature, arrays) {
    const runner = this.model.signatures[signature];
    const tensors = [];
    try {
      for (const { numbers, shape } of arrays) tensors.push(new this.runtime.Tensor(numbers, shape));
      const outputs = await runner.run(tensors);
      tensors.push(...outputs);
      const names = runner.getOutputDetails().map(({ name }) => name);
      return Object.fromEntries(outputs.map((tensor, index) =>
        [names[index], nested(tensor.toTypedArray(), tensor.type.layout.dimensions)]));
    } finally {
      tensors.forEach((tensor) => tensor.delete());
    }
  }
}

/** An .onnx file, which has one signature; `runtime` is the module onnxruntime-node or onnxruntime-web, loaded. */
export class OnnxEngine {
  static form = "An .onnx file";
  static runtime = "ONNX Runtime";
  static packages = "onnxruntime-node or onnxruntime-web";
  static writer = "export_onnx";

  static async card(content) {
    return (await unpackOnnx(content)).card;
  }

  static async open(runtime, content, card) {
    return new this(runtime, await openSession(runtime, content), card);
  }

  constructor(runtime, session, { tensors }) {
    const [[signature, { outputs }]] = Object.entries(tensors);
    Object.assign(this, { runtime, session, signature, outputs });
  }

  has(signature) {
    return signature === this.signature;
  }

  inputs() {
    return this.session.inputMetadata.map(({ name, type, shape }) =>
      ({ name, dtype: type, shape: shape.map((size) => typeof size === "number" ? size : -1) }));
  }

  check() {}

  async run(signature, arrays) {
    const tensors = arrays.map(({ name, dtype, numbers, shape }) => [name, new this.runtime.Tensor(dtype, numbers, shape)]);
    const results = await this.session.run(Object.fromEntries(tensors));
    return Object.fromEntries(Object.entries(results).map(([name, { data, dims }]) =>
      [this.nameOf(name), nested(data, dims)]));
  }

  /** Return the original name of an output; the export appends `_out` if an input has the same name. */
  nameOf(name) {
    let original = name;
    while (!Object.hasOwn(this.outputs, original) && original.endsWith("_out")) original = original.slice(0, -4);
    return original;
  }
}

/** Convert a tensor to nested lists. */
function nested(numbers, shape) {
  let items = [...numbers];
  for (const size of [...shape].slice(1).reverse()) {
    items = Array.from({ length: items.length / size }, (_, index) => items.slice(index * size, (index + 1) * size));
  }
  return items;
}

/** Format a shape, such as (1, any, 4). */
export function described(shape) {
  return `(${[...shape].map((size) => (size < 0 ? "any" : size)).join(", ")})`;
}
