// A .tflite file at work, by LiteRT in WebAssembly: the features of one input in, texts and attention out.
//
// Nothing here needs Node or a page: `litert` is the module @litertjs/core, loaded.

import { textOf } from "./copying.mjs";
import { SentencePiece } from "./sentencepiece.mjs";
import { PAD } from "./special_ids.mjs";
import { InputError, unpack } from "./tflite_file.mjs";

const SHOWN = 80;  // characters of a text in an error
const ARRAYS = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array };

/** An input or a prefix of more tokens, or of more positions, than the file takes. */
export class TooLong extends InputError {
  constructor(message, tokens, longest) {
    super(message);
    Object.assign(this, { tokens, longest });
  }
}

/** {card, files} of a file: its card, and the bytes of what is packed in it by name. */
export async function packedIn(content) {
  const files = await unpack(content);
  return { files, card: JSON.parse(new TextDecoder().decode(files["card.json"])) };
}

export class Pipeline {
  /** Load a file; `content` is a Uint8Array, `packed` what `packedIn` gives of it, where that is known. */
  static async load(litert, content, packed) {
    const { card, files } = packed ?? await packedIn(content);
    this.check(card);
    const model = await litert.loadAndCompile(content, { accelerator: "wasm" });
    return new this(litert, model, card, files);
  }

  /** Throw an InputError unless this class runs files with such a card. */
  static check() {}

  constructor(litert, model, card, files) {
    Object.assign(this, { litert, model, card });
    this.target = new SentencePiece(files[card.vocabularies.target]);
    [this.listing, this.completing] = ["_nbest", "_prefix"].map((kind) => model.signatures[card.verb + kind]);
    /** Most texts of a list, and most tokens of a prefix; 1 and 0 without these signatures. */
    this.most = sizeOf((this.listing ?? this.completing)?.getOutputDetails(), "ids", 1) ?? 1;
    this.longestPrefix = sizeOf(this.completing?.getInputDetails(), "prefix", 1) ?? 0;
  }

  /** Name of the signature of a kind, which is "", "_greedy", "_nbest" or "_prefix". */
  signature(kind) {
    const name = `${this.card.verb}${kind}`;
    if (name in this.model.signatures) return name;
    throw new InputError(`A file must have the signature ${name}. Received: ` +
      `${Object.keys(this.model.signatures).join(", ")}. Export it with --signatures ${kind.slice(1)}.`);
  }

  /** The sizes of the axes of an input of the main signature, the batch of 1 included. */
  shapeOf(name) {
    const details = this.model.signatures[this.signature("")].getInputDetails();
    return [...details.find((tensor) => tensor.name === name).shape];
  }

  /** [kind, begun] for `decode`: `nbest` texts that begin with `prefix`. */
  searchFor(nbest = 1, prefix = "") {
    if (!(Number.isInteger(nbest) && 1 <= nbest && nbest <= this.most)) {
      throw new InputError(`\`nbest\` must be from 1 to ${this.most} in this file. Received: nbest=${nbest}. ` +
        "Give such a number, or export it with the signature nbest, or with a wider beam.");
    }
    if (prefix && !this.completing) {
      throw new InputError("A file must have a signature for texts with a prefix. Received: one " +
        "without it. Export it with the signature prefix.");
    }
    const begun = this.target.encode(prefix);
    if (begun.length > this.longestPrefix) {
      throw new TooLong(`A prefix may have ${this.longestPrefix} tokens in this file. Received: ${begun.length} ` +
        `tokens in '${shortened(prefix)}'. Shorten it, or export with a larger max_target_length.`,
        begun.length, this.longestPrefix);
    }
    if (prefix || (nbest > 1 && !this.listing)) return ["_prefix", begun];
    return [nbest > 1 ? "_nbest" : "", []];
  }

  /** The parts of a text that the vocabulary of the target lacks, each once. */
  unknown(text) {
    return [...new Set(this.target.unknownPieces(text))];
  }

  /**
   * [{text, score, confidence, finished, tokens, tokenLogProbs, tokenEntropies, tokenWords, sourceTokens,
   * alignment}] of one input, best first, as many as there are.
   *
   * `features` has numbers by the name of an input, in the order of its axes, without a batch; 0 follows
   * them. `sourceTokens` are the names of the columns of an alignment. `kind` is "", "_greedy", "_nbest" or
   * "_prefix", and `begun` the ids of that prefix. `alignment` has a Float32Array of weights of the columns for each
   * of `tokens`, which end with the end token. `tokenWords` has the number of the word of each, from 0, and -1 for
   * those of none. Older files give no confidence, no log-probabilities, no entropies and no words of tokens.
   * `surfaces` is what an unknown token may copy: see `surfacesOf` of copying.mjs. Calls may overlap; a worker
   * loads a pipeline of its own.
   */
  async decode(features, sourceTokens, kind = "", begun = [], surfaces = []) {
    const key = this.signature(kind);
    const prefix = kind === "_prefix" ? { prefix: begun, prefix_length: [begun.length] } : {};
    const given = { ...features, ...prefix };
    const inputs = {};
    let outputs = {};
    try {
      for (const { name, shape, dtype } of this.model.signatures[key].getInputDetails()) {
        inputs[name] = this.tensor(given[name], [...shape], dtype);
      }
      outputs = await this.model.run(key, inputs);
      return this.hypotheses(outputs, sourceTokens, surfaces);
    } finally {
      [...Object.values(inputs), ...Object.values(outputs)].forEach((tensor) => tensor.delete());
    }
  }

  /** The hypotheses in the outputs of a signature. */
  hypotheses(outputs, sourceTokens, surfaces) {
    const read = (name) => outputs[name].toTypedArray();
    const [lengths, scores] = outputs.lengths ? [read("lengths"), read("scores")] : [read("length"), read("score")];
    const [rows, finished, weights] = [read("ids"), read("finished"), read("alignment")];
    const given = (name) => outputs[name] && read(name);
    const confidences = given("confidences") ?? given("confidence");
    const [logProbs, entropies, words] = ["token_log_probs", "token_entropies", "token_words"].map(given);
    const copied = given("copied_from");
    if (surfaces.length && !copied) {
      throw new InputError("A file that copies characters must have the output copied_from. " +
        "Received: a file without it. Export it again.");
    }
    const time = rows.length / lengths.length;
    const columns = weights.length / rows.length;
    return Array.from(lengths, (length, hypothesis) => {
      const first = hypothesis * time;
      const ids = [...rows.subarray(first, first + length)];
      const other = ids.find((id) => !(id in this.target.pieces));
      if (other !== undefined) {
        throw new InputError(`A model must give ids of its vocabulary. Received: ${other}. Export it again.`);
      }
      const alignment = ids.map((_, step) => {
        const row = (first + step) * columns;
        return weights.slice(row, row + sourceTokens.length);
      });
      return {
        text: textOf(this.target, ids, copied?.slice(first, first + length), surfaces),
        score: scores[hypothesis],
        confidence: confidences?.[hypothesis],
        tokenLogProbs: logProbs?.slice(first, first + length),
        tokenEntropies: entropies?.slice(first, first + length),
        tokenWords: words?.slice(first, first + length),
        finished: finished[hypothesis] === 1,
        tokens: ids.map((id) => id === PAD ? "" : this.target.pieces[id]),
        sourceTokens,
        alignment,
      };
    }).filter(({ tokens }, hypothesis) => hypothesis === 0 || tokens.length);
  }

  tensor(numbers, shape, dtype) {
    const array = new ARRAYS[dtype](shape.reduce((product, size) => product * size, 1));
    array.set(numbers);
    return new this.litert.Tensor(array, shape);
  }
}

/** Positions of an axis of a named tensor of a signature, if there is one. */
function sizeOf(details, name, axis) {
  return details?.find((tensor) => tensor.name === name)?.shape[axis];
}

/** The beginning of a text, for an error. */
export function shortened(text) {
  return [...text].slice(0, SHOWN).join("");
}
