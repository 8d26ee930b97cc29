// A .tflite file of texts at work, by LiteRT in WebAssembly: a text in, texts and attention out.
//
// Nothing here needs Node or a page: `litert` is the module @litertjs/core, loaded.

import { SentencePiece } from "./sentencepiece.mjs";
import { InputError, unpack } from "./tflite_file.mjs";

const PAD = 0, START = 2, END = 3;
const SHOWN = 80;  // characters of a text in an error

/** A text or a prefix of more tokens than the file takes. */
export class TooLong extends InputError {
  constructor(message, tokens, longest) {
    super(message);
    Object.assign(this, { tokens, longest });
  }
}

export class Translator {
  /** Load a file; `content` is a Uint8Array. */
  static async load(litert, content) {
    const files = await unpack(content);
    const card = JSON.parse(new TextDecoder().decode(files["card.json"]));
    const { source, target } = card.vocabularies;
    if (!source) {
      throw new InputError("A file for text must hold the vocabulary of the source. Received: " +
        `verb=${card.verb}, without one. Use read_files.py.`);
    }
    const model = await litert.loadAndCompile(content, { accelerator: "wasm" });
    return new Translator(litert, model, card, ...[source, target].map((name) => new SentencePiece(files[name])));
  }

  constructor(litert, model, card, source, target) {
    Object.assign(this, { litert, model, card, source, target });
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

  /** [kind, begun] for `translate`: `nbest` texts that begin with `prefix`. */
  searchFor(nbest = 1, prefix = "") {
    if (!(Number.isInteger(nbest) && 1 <= nbest && nbest <= this.most)) {
      throw new InputError(`\`nbest\` must be from 1 to ${this.most} in this file. Received: nbest=${nbest}. ` +
        "Export it with the signature nbest, or with a wider beam.");
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

  /** The ids of a text, with the end token unless it is empty. */
  sourceIds(sentence) {
    const ids = this.source.encode(sentence);
    if (ids.length) ids.push(END);
    const longest = this.card.max_source_length;
    if (ids.length > longest) {
      throw new TooLong(`A sentence may have ${longest} tokens in this file. Received: ${ids.length} tokens in ` +
        `'${shortened(sentence)}'. Split it, or export with a larger max_source_length.`, ids.length, longest);
    }
    return ids;
  }

  /**
   * The parts of a text that a vocabulary lacks, each once: characters, or words where these are the tokens.
   *
   * `side` is "source", or "target" for a prefix.
   */
  unknown(text, side = "source") {
    return [...new Set(this[side].unknownPieces(text))];
  }

  /**
   * [{text, score, confidence, finished, tokens, tokenLogProbs, tokenEntropies, sourceTokens, alignment}] of a
   * sentence, best first, as many as there are.
   *
   * `kind` is "", "_greedy", "_nbest" or "_prefix", and `begun` the ids of that prefix. `alignment` has a
   * Float32Array of weights of the source tokens for each of `tokens`; both end with the end token. Older files give
   * no confidence, no log-probabilities and no entropies of tokens.
   */
  async translate(sentence, kind = "", begun = []) {
    const ids = this.sourceIds(sentence);
    const key = this.signature(kind);
    const inputs = { source: this.tensor(ids, [1, this.card.max_source_length]) };
    if (kind === "_prefix") {
      inputs.prefix = this.tensor(begun, [1, this.longestPrefix]);
      inputs.prefix_length = this.tensor([begun.length], [1]);
    }
    let outputs = {};
    try {
      outputs = await this.model.run(key, inputs);
      return this.read(outputs, ids);
    } finally {
      [...Object.values(inputs), ...Object.values(outputs)].forEach((tensor) => tensor.delete());
    }
  }

  /** The hypotheses in the outputs of a signature. */
  read(outputs, sourceIds) {
    const read = (name) => outputs[name].toTypedArray();
    const [lengths, scores] = outputs.lengths ? [read("lengths"), read("scores")] : [read("length"), read("score")];
    const [rows, finished, weights] = [read("ids"), read("finished"), read("alignment")];
    const given = (name) => outputs[name] && read(name);
    const confidences = given("confidences") ?? given("confidence");
    const [logProbs, entropies] = [given("token_log_probs"), given("token_entropies")];
    const time = rows.length / lengths.length;
    const columns = weights.length / rows.length;
    const sourceTokens = this.joined(sourceIds.map((id) => this.source.pieces[id]));
    return Array.from(lengths, (length, hypothesis) => {
      const first = hypothesis * time;
      const ids = [...rows.subarray(first, first + length)];
      return {
        text: this.target.decode(ids.filter((id) => ![PAD, START, END].includes(id))),
        score: scores[hypothesis],
        confidence: confidences?.[hypothesis],
        tokenLogProbs: logProbs?.slice(first, first + length),
        tokenEntropies: entropies?.slice(first, first + length),
        finished: finished[hypothesis] === 1,
        tokens: ids.map((id) => id === PAD ? "" : this.target.pieces[id]),
        sourceTokens,
        alignment: ids.map((_, step) => {
          const row = (first + step) * columns;
          return weights.slice(row, row + sourceTokens.length);
        }),
      };
    }).filter(({ tokens }, hypothesis) => hypothesis === 0 || tokens.length);
  }

  /** The tokens of each column of an alignment, which an encoder may have made fewer. */
  joined(tokens) {
    const size = this.card.reduction ?? 1;
    const columns = Math.ceil(tokens.length / size);
    return Array.from({ length: columns }, (_, i) => tokens.slice(i * size, (i + 1) * size).join(""));
  }

  tensor(ids, shape) {
    return new this.litert.Tensor(Int32Array.from({ length: shape.at(-1) }, (_, i) => ids[i] ?? PAD), shape);
  }
}

/** Positions of an axis of a named tensor of a signature, if there is one. */
function sizeOf(details, name, axis) {
  return details?.find((tensor) => tensor.name === name)?.shape[axis];
}

function shortened(text) {
  return [...text].slice(0, SHOWN).join("");
}
