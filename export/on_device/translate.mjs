// Translates with one .tflite file in Node: a line in, a line out.
//
//   npm install @litertjs/core
//   node translate.mjs [--greedy | [--nbest K] [--prefix TEXT]] MODEL.tflite [SENTENCE...]
//
// Reads vocabularies of characters or words, such as those of the preset "characters". The file's functions need no Node up to `main`: a page can import them.
//
// Exit codes: 0 all is translated; 2 the command line, the model or the input is wrong.

const PAD = 0, UNKNOWN = 1, START = 2, END = 3;
const SEAL = 64, DIRECTORY_END = 22;  // bytes at the end: the archive's comment, what is before it
const WORDS = 3, CHARACTERS = 4;  // model types of SentencePiece
const UNSEEN = " \u2047 ";
const LINE_LIMIT = 2 ** 20;  // bytes of one line of input

export class InputError extends Error {}

/** The files packed behind a model, by name, if the seal fits; `content` is a Uint8Array. */
export async function unpack(content) {
  const text = new TextDecoder();
  const digest = await crypto.subtle.digest("SHA-256", content.subarray(0, -SEAL));
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0"));
  if (content.length < SEAL + DIRECTORY_END || hex.join("") !== text.decode(content.slice(-SEAL))) {
    throw new InputError("A .tflite file must be as it was exported, with its vocabulary inside. " +
      "Received: last 64 bytes that are not its sha256. Copy it again, or write it with export_litert.");
  }
  const view = new DataView(content.buffer, content.byteOffset, content.length);
  const last = content.length - SEAL - DIRECTORY_END;
  const files = {};
  let place = view.getUint32(last + 16, true);
  for (let left = view.getUint16(last + 10, true); left > 0; --left) {
    const [size, name, extra, comment, local] = [
      view.getUint32(place + 20, true), view.getUint16(place + 28, true),
      view.getUint16(place + 30, true), view.getUint16(place + 32, true),
      view.getUint32(place + 42, true),
    ];
    const first = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const key = text.decode(content.subarray(place + 46, place + 46 + name));
    files[key] = content.slice(first, first + size);  // stored, never compressed
    place += 46 + name + extra + comment;
  }
  return files;
}

/** (number, value) of each field of a protocol buffer: a number, or bytes. */
function* fields(bytes) {
  let place = 0;
  const varint = () => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = bytes[place++];
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (place < bytes.length) {
    const key = varint();
    const kind = key & 7;
    if (kind === 0) {
      yield [key >> 3, varint()];
      continue;
    }
    const size = kind === 2 ? varint() : kind === 5 ? 4 : 8;
    yield [key >> 3, bytes.subarray(place, place += size)];
  }
}

/** Rules of a SentencePiece model from one text to another, such as from a syllable to its letters. */
class Rules {
  /** `bytes` are the size of a Darts trie, the trie, and texts that end with 0; undefined for no rule. */
  constructor(bytes = new Uint8Array(4)) {
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const size = bytes.length < 4 ? 0 : view.getUint32(0, true);
    this.trie = Uint32Array.from({ length: size / 4 }, (_, i) => view.getUint32(4 + 4 * i, true));
    this.texts = bytes.subarray(4 + size);
  }

  apply(text) {
    if (!this.trie.length) return text;
    const bytes = new TextEncoder().encode(text);
    const parts = [];
    for (let place = 0; place < bytes.length; ) {
      const { length, replacement } = this.longest(bytes, place);
      parts.push(replacement);
      place += length;
    }
    return new TextDecoder().decode(Uint8Array.from(parts.flatMap((part) => [...part])));
  }

  /** The longest rule at a place, or its one character as it is. */
  longest(bytes, place) {
    const below = (unit) => (unit >>> 10) << ((unit & 512) >>> 6);  // distance of a node's children
    let [node, length, value] = [below(this.trie[0]), 0, 0];
    for (let end = place; end < bytes.length; ++end) {
      const unit = this.trie[node ^= bytes[end]] ?? 0;
      if ((unit & 0x800000ff) !== bytes[end]) break;
      node ^= below(unit);
      if (unit & 256) [length, value] = [end + 1 - place, this.trie[node] & 0x7fffffff];
    }
    if (length) return { length, replacement: this.texts.subarray(value, this.texts.indexOf(0, value)) };
    length = bytes[place] < 0x80 ? 1 : bytes[place] < 0xe0 ? 2 : bytes[place] < 0xf0 ? 3 : 4;
    return { length, replacement: bytes.subarray(place, place + length) };
  }
}

/** A SentencePiece model of characters or words. */
export class Vocabulary {
  constructor(bytes) {
    const text = new TextDecoder();
    const parts = [...fields(bytes)];
    const settings = (number) => new Map(parts.flatMap(([n, part]) => n === number ? [...fields(part)] : []));
    const [trainer, normalizer, denormalizer] = [settings(2), settings(3), settings(5)];
    this.type = trainer.get(3) ?? 1;
    if (![WORDS, CHARACTERS].includes(this.type) || trainer.get(35)) {
      throw new InputError("A vocabulary must be one of characters or words, without bytes. " +
        `Received: model_type=${this.type}. Use translate.py, or train with --preset characters.`);
    }
    const pieces = parts.filter(([number]) => number === 1).map(([, part]) => new Map(fields(part)));
    this.pieces = pieces.map((piece) => text.decode(piece.get(1)));
    const kinds = pieces.map((piece) => piece.get(3) ?? 1);
    this.ids = new Map(this.pieces.flatMap((piece, id) => [2, 3].includes(kinds[id]) ? [] : [[piece, id]]));
    this.symbols = this.pieces.filter((_, id) => kinds[id] === 4).sort((a, b) => b.length - a.length);
    [this.reading, this.writing] = [normalizer, denormalizer].map((spec) => new Rules(spec.get(2)));
    this.prefix = normalizer.get(3) ?? 1;
    this.strip = normalizer.get(4) ?? 1;
  }

  encode(text) {
    text = this.reading.apply(text);
    if (this.strip) text = text.replace(/ +/g, " ").replace(/^ | $/g, "");
    if (text && this.prefix) text = ` ${text}`;
    const ids = this.split(text.replaceAll(" ", "\u2581")).map((piece) => this.ids.get(piece) ?? UNKNOWN);
    // unknown pieces side by side count as one
    return ids.filter((id, index) => id !== UNKNOWN || ids[index - 1] !== UNKNOWN);
  }

  split(text) {
    if (this.type === WORDS) return text.match(/\u2581?[^\u2581]+|\u2581/gu) ?? [];
    const pieces = [];
    for (let place = 0; place < text.length; place += pieces.at(-1).length) {
      const rest = text.slice(place);
      const symbol = this.symbols.find((one) => rest.startsWith(one));
      pieces.push(symbol ?? String.fromCodePoint(rest.codePointAt(0)));
    }
    return pieces;
  }

  decode(ids) {
    const pieces = ids.filter((id) => ![PAD, START, END].includes(id)).map(
      (id) => id === UNKNOWN ? UNSEEN : this.pieces[id]);
    const first = this.strip ? /^\u2581+/ : this.prefix ? /^\u2581/ : "";  // never the space of UNSEEN
    return this.writing.apply(pieces.join("").replace(first, "").replaceAll("\u2581", " "));
  }
}

/** Positions of an axis of a named tensor of a signature, if there is one. */
function sizeOf(details, name, axis) {
  return details?.find((tensor) => tensor.name === name)?.shape[axis];
}

/** A file at work: `litert` is the module @litertjs/core, loaded; `content` a Uint8Array. */
export class Translator {
  static async load(litert, content) {
    const files = await unpack(content);
    const card = JSON.parse(new TextDecoder().decode(files["card.json"]));
    const model = await litert.loadAndCompile(content, { accelerator: "wasm" });
    return new Translator(litert, model, card, files);
  }

  constructor(litert, model, card, files) {
    Object.assign(this, { litert, model, card });
    const { source, target } = card.vocabularies;
    if (!source) {
      throw new InputError("A file for text must hold the vocabulary of the source. Received: " +
        `verb=${card.verb}, without one. Use read_files.py.`);
    }
    [this.source, this.target] = [new Vocabulary(files[source]), new Vocabulary(files[target])];
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
    const [listing, completing] = ["_nbest", "_prefix"].map((kind) => this.model.signatures[this.card.verb + kind]);
    const most = sizeOf((listing ?? completing)?.getOutputDetails(), "ids", 1) ?? 1;
    if (!(Number.isInteger(nbest) && 1 <= nbest && nbest <= most)) {
      throw new InputError(`\`nbest\` must be from 1 to ${most} in this file. Received: nbest=${nbest}. ` +
        "Export it with the signature nbest, or with a wider beam.");
    }
    if (prefix && !completing) {
      throw new InputError("A file must have a signature for texts with a prefix. Received: one " +
        "without it. Export it with the signature prefix.");
    }
    const begun = this.target.encode(prefix);
    const longest = sizeOf(completing?.getInputDetails(), "prefix", 1) ?? 0;
    if (begun.length > longest) {
      throw new InputError(`A prefix may have ${longest} tokens in this file. Received: ${begun.length} ` +
        `tokens in '${[...prefix].slice(0, 80).join("")}'. Shorten it, or export with a larger max_target_length.`);
    }
    if (prefix || (nbest > 1 && !listing)) return ["_prefix", begun];
    return [nbest > 1 ? "_nbest" : "", []];
  }

  /**
   * [{text, score, finished}] of a sentence, best first, as many as there are.
   *
   * `kind` is "", "_greedy", "_nbest" or "_prefix", and `begun` the ids of that prefix.
   */
  async translate(sentence, kind = "", begun = []) {
    const ids = this.source.encode(sentence);
    if (ids.length) ids.push(END);
    const longest = this.card.max_source_length;
    if (ids.length > longest) {
      throw new InputError(`A sentence may have ${longest} tokens in this file. Received: ` +
        `${ids.length} tokens. Split it, or export with a larger max_source_length.`);
    }
    const key = this.signature(kind);
    const inputs = { source: this.tensor(ids, [1, longest]) };
    if (kind === "_prefix") {
      inputs.prefix = this.tensor(begun, [1, sizeOf(this.model.signatures[key].getInputDetails(), "prefix", 1)]);
      inputs.prefix_length = this.tensor([begun.length], [1]);
    }
    const outputs = await this.model.run(key, inputs);
    const read = (name) => outputs[name].toTypedArray();
    const [lengths, scores] = outputs.lengths ? [read("lengths"), read("scores")] : [read("length"), read("score")];
    const [rows, finished] = [read("ids"), read("finished")];
    const time = rows.length / lengths.length;
    const hypotheses = Array.from(lengths, (length, row) => ({
      text: this.target.decode([...rows.subarray(row * time, row * time + length)]),
      score: scores[row],
      finished: finished[row] === 1,
    })).filter((_, row) => row === 0 || lengths[row] > 0);
    [...Object.values(inputs), ...Object.values(outputs)].forEach((tensor) => tensor.delete());
    return hypotheses;
  }

  tensor(ids, shape) {
    return new this.litert.Tensor(Int32Array.from({ length: shape.at(-1) }, (_, i) => ids[i] ?? PAD), shape);
  }
}

/** The module @litertjs/core, which expects a browser, with its WebAssembly loaded in Node. */
async function litertInNode() {
  const [fs, vm, { createRequire }, { fileURLToPath, pathToFileURL }] = await Promise.all(
    ["fs", "vm", "module", "url"].map((name) => import(`node:${name}`)));
  const require = createRequire(`${process.cwd()}/`);
  let entry;
  try {
    entry = pathToFileURL(require.resolve("@litertjs/core"));
  } catch {
    throw new InputError("The package @litertjs/core must be installed. Received: none in " +
      `${process.cwd()} or NODE_PATH. Run npm install @litertjs/core`);
  }
  const wasm = fileURLToPath(new URL("../wasm/", entry));
  Object.assign(globalThis, { self: globalThis, require, __dirname: wasm });
  globalThis.importScripts = (path) => vm.runInThisContext(fs.readFileSync(path, "utf8"), { filename: path });
  globalThis.fetch = async (path) => new Response(fs.readFileSync(path), { headers: { "Content-Type": "application/wasm" } });
  const litert = await import(entry);
  await litert.loadLiteRt(wasm);
  return litert;
}

/** The lines of a stream of bytes: only "\n" ends one. */
async function* linesOf(stream) {
  let [rest, number] = [Buffer.alloc(0), 0];
  for await (const chunk of stream) {
    rest = Buffer.concat([rest, chunk]);
    for (let end; (end = rest.indexOf("\n") + 1) > 0; rest = rest.subarray(end)) {
      yield lineText(rest.subarray(0, end), ++number);
    }
    if (rest.length > LINE_LIMIT) break;
  }
  if (rest.length) yield lineText(rest, ++number);
}

/** The text of a line, without its end; the first one may begin with a byte order mark. */
function lineText(line, number) {
  if (line.length > LINE_LIMIT) {
    throw new InputError(`A line must have at most ${LINE_LIMIT.toLocaleString("en")} bytes. Received: line ${number}, ` +
      "which has more. Split it.");
  }
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: number > 1 }).decode(line).replace(/\r?\n?$/, "");
  } catch {
    throw new InputError(`The input must be UTF-8. Received: line ${number}, with bytes that UTF-8 ` +
      "does not allow. Convert it, with iconv for example.");
  }
}

async function main(words) {
  const [{ readFileSync }, { parseArgs }] = await Promise.all([import("node:fs"), import("node:util")]);
  const options = { greedy: { type: "boolean" }, nbest: { type: "string" }, prefix: { type: "string", default: "" } };
  const { values, positionals: [path, ...sentences] } = parseArgs({ args: words, options, allowPositionals: true });
  const { greedy, prefix } = values;
  const count = Number(values.nbest ?? 1);
  if (!path || !(Number.isInteger(count) && count > 0) || (greedy && (values.nbest || prefix))) {
    throw new InputError("The command line must name a model, --nbest a positive integer, and --greedy goes " +
      `with neither --nbest nor --prefix. Received: ${words.join(" ")}. Read the first lines of the program.`);
  }
  let content;
  try {
    content = new Uint8Array(readFileSync(path));
  } catch (error) {
    throw new InputError(`A file must be readable. Received: '${path}': ${error.message.split(",")[0]}. Correct the name.`);
  }
  const translator = await Translator.load(await litertInNode(), content);
  const search = greedy ? ["_greedy"] : translator.searchFor(count, prefix);
  translator.signature(search[0]);
  process.stdout.on("error", ({ code }) => process.exit(code === "EPIPE" ? 141 : 2));  // 141 after `head`
  let number = 0;
  for await (const line of sentences.length ? sentences : linesOf(process.stdin)) {
    const hypotheses = (await translator.translate(line, ...search)).slice(0, count);
    const texts = hypotheses.map(({ text, score }) => values.nbest ? `${number} ||| ${text} ||| ${score.toFixed(4)}` : text);
    number += 1;
    process.stdout.write(`${texts.join("\n")}\n`);
  }
}

/** True if Node was started with this file, by any name of it. */
async function isProgram() {
  const path = globalThis.process?.argv?.[1];
  if (!path || !import.meta.url.startsWith("file:")) return false;
  const [{ existsSync, realpathSync }, { fileURLToPath }] = await Promise.all([import("node:fs"), import("node:url")]);
  return existsSync(path) && realpathSync(path) === realpathSync(fileURLToPath(import.meta.url));
}

isProgram().then((started) => started && main(process.argv.slice(2))).catch((error) => {
  console.error(`error: ${String(error.message ?? error).split(/\s+/).join(" ")}`);
  process.exitCode = 2;  // and no exit, which may cut what a pipe has still to take
});
