// Runs an .onnx file with ONNX Runtime for Node or for browsers: maps an input to texts and attention.
//
// It depends neither on Node nor on a page: `runtime` is the loaded module onnxruntime-node or onnxruntime-web.

import { Reader } from "../../keras_bahdanau/exporters/browser/page/reader.mjs";
import { Translator } from "../../keras_bahdanau/exporters/browser/page/translator.mjs";
import { packedIn } from "./onnx_file.mjs";
import { openSession } from "./onnx_session.mjs";

const ARRAYS = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array };
const NAMES = { target_lengths: "lengths" };  // names of outputs -> names in `Pipeline`
const PREFIX = "prefix", LENGTH = "_length";

/** Load a file, a Uint8Array, as a translator for text or a reader for images, sound or ink. */
export async function loadOnnx(runtime, content) {
  const { card, files } = await packedIn(content);
  const kind = card.vocabularies.source ? OnnxTranslator : OnnxReader;
  kind.check(card);
  const session = await openSession(runtime, content);
  return new kind(runtime, modelOf(session, card), card, files);
}

/** A session with the interface of a LiteRT.js model that `Pipeline` uses: signatures with inputs and outputs. */
function modelOf(session, card) {
  const inputs = session.inputMetadata.map((input) => ({ ...input, shape: sizesOf(input, card), dtype: input.type }));
  const outputs = session.outputMetadata;
  const signature = { getInputDetails: () => inputs, getOutputDetails: () => outputs };
  const kinds = ["", "_nbest", ...(session.inputNames.includes(PREFIX) ? ["_prefix"] : [])];
  const signatures = Object.fromEntries(kinds.map((kind) => [`${card.verb}${kind}`, signature]));
  return { session, inputs, signatures };
}

/** Return the shape of an input; 0 for an axis of any size. */
function sizesOf({ name, shape }, { source, max_target_length: longest }) {
  if (name === PREFIX) return [1, longest];
  const { width, cell } = source?.config ?? {};
  const wide = shape.length === 4 ? Math.ceil(width / cell) * cell : 0;  // width of images
  return shape.map((size, axis) => typeof size === "number" ? size : axis === 0 ? 1 : wide);
}

/** Create a subclass of one of the page's pipelines that runs files with ONNX Runtime. */
const byOnnx = (Base) => class extends Base {
  /** See `Pipeline.decode`. There is one graph, which returns all texts. */
  async decode(features, sourceTokens, kind = "", begun = [], surfaces = []) {
    this.signature(kind);
    const prefix = kind === "_prefix" ? begun : [];
    const numbers = { ...features, prefix, prefix_length: [prefix.length] };
    const inputs = {};
    for (const { name, shape, dtype } of this.model.inputs) {
      const length = numbers[name.slice(0, -LENGTH.length)]?.length;
      inputs[name] = this.tensor(numbers[name] ?? [length], name === PREFIX ? [1, 0] : [...shape], dtype);
    }
    const results = await this.model.session.run(inputs);
    const outputs = Object.fromEntries(Object.entries(results).map(
      ([name, { data }]) => [NAMES[name] ?? name, { toTypedArray: () => data }]));
    const hypotheses = this.hypotheses(outputs, sourceTokens, surfaces);
    return kind ? hypotheses : hypotheses.slice(0, 1);
  }

  tensor(numbers, shape, dtype) {
    const known = shape.reduce((product, size) => product * (size || 1), 1);
    const sizes = shape.map((size) => size || Math.max(1, numbers.length / known));
    const array = new ARRAYS[dtype](sizes.reduce((product, size) => product * size, 1));
    array.set(numbers);
    return new this.litert.Tensor(dtype, array, sizes);
  }
};

export const OnnxTranslator = byOnnx(Translator);
export const OnnxReader = byOnnx(Reader);
