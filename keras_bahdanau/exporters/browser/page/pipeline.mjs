// Runs a .tflite file with LiteRT in WebAssembly: maps the features of one input to texts and attention.
//
// It depends neither on Node nor on a page: `litert` is the loaded module @litertjs/core.

import { textOf } from "./copying.mjs";
import { SentencePiece } from "./sentencepiece.mjs";
import { PAD } from "./special_ids.mjs";
import { InputError, unpack } from "./tflite_file.mjs";

const SHOWN = 80;  // number of characters of a text to show in an error
const ARRAYS = { float32: Float32Array, int32: Int32Array, uint8: Uint8Array };

/** Error for an input or a prefix with more tokens or positions than the file allows. */
export class TooLong extends InputError {
  constructor(message, tokens, longest) {
    super(message);
    Object.assign(this, { tokens, longest });
  }
}

/** Return {card, files} of a .tflite file; `files` maps the names of packed files to their bytes. */
export async function packedIn(content) {
  const files = await unpack(content);
  return { files, card: JSON.parse(new TextDecoder().decode(files["card.json"])) };
}

export class Pipeline {
  /** Load a file; `content` is a Uint8Array, and `packed` the result of `packedIn`, if it is known. */
  static async load(litert, content, packed) {
    const { card, files } = packed ?? await packedIn(content);
    this.check(card);
    const model = await litert.loadAndCompile(content, { accelerator: "wasm" });
    return new this(litert, model, card, files);
  }

  /** Throw an InputError unless this class can run a file with this card. */
  static check() {}

  constructor(litert, model, card, files) {
    Object.assign(this, { litert, model, card });
    this.target = new SentencePiece(files[card.vocabularies.target]);
    [this.listing, this.completing] = ["_nbest", "_prefix"].map((kind) => model.signatures[card.verb + kind]);
    /** Maximum number of texts in a list, and of tokens in a prefix; 1 and 0 if the file lacks the signatures. */
    this.most = sizeOf((this.listing ?? this.completing)?.getOutputDetails(), "ids", 1) ?? 1;
    this.longestPrefix = sizeOf(this.completing?.getInputDetails(), "prefix", 1) ?? 0;
  }

  /** Return the name of a signature; `kind` is "", "_greedy", "_nbest" or "_prefix". */
  signature(kind) {
    const name = `${this.card.verb}${kind}`;
    if (name in this.model.signatures) return name;
    throw new InputError(`A file must have the signature ${name}. Received: ` +
      `${Object.keys(this.model.signatures).join(", ")}. Export it with --signatures ${kind.slice(1)}.`);
  }

  /** Return the shape of an input of the main signature, including the batch axis of size 1. */
  shapeOf(name) {
    const details = this.model.signatures[this.signature("")].getInputDetails();
    return [...details.find((tensor) => tensor.name === name).shape];
  }

  /** Return [kind, begun], the arguments of `decode` for `nbest` texts that begin with `prefix`. */
  searchFor(nbest = 1, prefix = "") {
    if (!(Number.isInteger(nbest) && 1 <= nbest && nbest <= this.most)) {
      throw new InputError(`\`nbest\` must be from 1 to ${this.most} in this file. Received: nbest=${nbest}. ` +
        "Use such a number, or export it with the signature nbest or with a wider beam.");
    }
    if (prefix && !this.completing) {
      throw new InputError("A file must have a signature for texts with a prefix. Received: a file " +
        "that lacks it. Export it with the signature prefix.");
    }
    const begun = this.target.encode(prefix);
    if (begun.length > this.longestPrefix) {
      throw new TooLong(`A prefix may have at most ${this.longestPrefix} tokens in this file. Received: ${begun.length} ` +
        `tokens in '${shortened(prefix)}'. Shorten it, or export with a larger max_target_length.`,
        begun.length, this.longestPrefix);
    }
    if (prefix || (nbest > 1 && !this.listing)) return ["_prefix", begun];
    return [nbest > 1 ? "_nbest" : "", []];
  }

  /** Return the parts of a text that are not in the target vocabulary, each once. */
  unknown(text) {
    return [...new Set(this.target.unknownPieces(text))];
  }

  /**
   * Decode one input, and return all hypotheses, best first: [{text, score, confidence, finished, tokens,
   * tokenLogProbs, tokenEntropies, tokenWords, sourceTokens, alignment}].
   *
   * `features` maps the name of each input to its numbers, in the order of its axes, without a batch axis; they are
   * padded with 0. `sourceTokens` are the names of the columns of an alignment. `kind` is "", "_greedy", "_nbest" or
   * "_prefix"; for "_prefix", `begun` contains the ids of the prefix. `surfaces` are the texts that unknown tokens
   * may copy: see `surfacesOf` in copying.mjs.
   *
   * `tokens` ends with the end token. For each token, `alignment` contains a Float32Array with the weights of the
   * columns, and `tokenWords` the index of its word, or -1 if it belongs to none. Older files return no confidence,
   * log-probabilities, entropies and words. Calls may overlap; a worker must load its own pipeline.
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

  /** Return the hypotheses in the outputs of a signature. */
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
        "Received: a file that lacks it. Export it again.");
    }
    const time = rows.length / lengths.length;
    const columns = weights.length / rows.length;
    return Array.from(lengths, (length, hypothesis) => {
      const first = hypothesis * time;
      const ids = [...rows.subarray(first, first + length)];
      const other = ids.find((id) => !(id in this.target.pieces));
      if (other !== undefined) {
        throw new InputError(`A model must return ids in its vocabulary. Received: ${other}. Export it again.`);
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

/** Return the size of an axis of a named tensor, if there is such a tensor. */
function sizeOf(details, name, axis) {
  return details?.find((tensor) => tensor.name === name)?.shape[axis];
}

/** Return the beginning of a text, to show in an error. */
export function shortened(text) {
  return [...text].slice(0, SHOWN).join("");
}
