// Translates line by line with a SavedModel of ids on TensorFlow Serving over REST, and tokenizes texts itself. See
// USAGE below, or --help. The output is that of client_rest.py. It needs only Node and this checkout.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { InputError, endWithOutput, linesOf } from "../on_device/translate.mjs";
import { surfacesOf, textOf } from "../../keras_bahdanau/exporters/browser/page/copying.mjs";
import { isBlank } from "../../keras_bahdanau/exporters/browser/page/normalizer.mjs";
import { SentencePiece } from "../../keras_bahdanau/exporters/browser/page/sentencepiece.mjs";
import { END, PAD } from "../../keras_bahdanau/exporters/browser/page/special_ids.mjs";
import { hypothesesOf, signatureFor, toJson, toLines, wrongOutput } from "./ids_answers.mjs";

const USAGE = `Usage: node client_ids.mjs [OPTIONS] ASSETS [SENTENCE...]

Translates line by line with a SavedModel of ids on TensorFlow Serving. ASSETS is the directory assets.extra of
the version that is served, with its card and vocabularies. Without a sentence it reads standard input.

  --alignment        Append ' ||| 0-0 1-2', the linked words.
  --nbest K          Print the best K texts of each line, as 'number ||| text ||| score'.
  --prefix TEXT      Beginning of each translation; prints the whole beam as --nbest does.
  --json             Print all outputs, an object per line.
  --server URL       REST address of the server.  [default: http://localhost:8501]
  --model NAME       Name of the model there.  [default: translator]
  --label LABEL      Label of a version, such as stable.  [default: the newest version]
  --timeout SECONDS  Time limit for an answer.  [default: 30]
  --help             Show this text and exit.

Exit codes: 0 if everything is translated; 1 if the server can't be reached, rejects the request or gives an
invalid answer; 2 if the command line, the files or the input are wrong.`;

const ROWS = 32, ANSWER_LIMIT = 2 ** 28, DAY = 86_400;  // rows of a request; bytes; seconds
const SHOWN = 200;  // number of characters of a server's message to show in an error
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu;  // as in client_rest.py

class ServerError extends Error {}

/** A client for one signature of a served model of ids, with its vocabularies. */
class IdsClient {
  constructor({ server, model, label, timeout, nbest, prefix, alignment }, folder) {
    const path = label ? `/labels/${encodeURIComponent(label)}` : "";
    this.url = `${server.replace(/\/+$/, "")}/v1/models/${encodeURIComponent(model)}${path}:predict`;
    this.card = cardOf(folder);
    this.copies = this.card.search?.replace_unknown === true;  // unknown tokens copy characters
    this.signature = signatureFor({ nbest, prefix, alignment });
    checkCard(this.card, this.signature, nbest);
    const read = (side) => new SentencePiece(vocabularyOf(folder, this.card, side));
    [this.source, this.target] = ["source", "target"].map(read);
    this.begun = prefix === undefined ? {} : given("prefix", this.target.encode(prefix));
    Object.assign(this, { timeout, nbest });
  }

  /** Translate sentences, and return [{sources, hypotheses, truncated}]: see `toLines` in ids_answers.mjs. */
  async translate(sentences) {
    const rows = sentences.map((sentence) => {
      const ids = isBlank(sentence) ? [] : this.source.encode(sentence);
      return ids.length ? [...ids, END] : [];
    });
    const width = Math.max(...rows.map((row) => row.length));
    const instances = rows.map((row) => ({ ...given("source", row, width), ...this.begun }));
    const answers = await this.ask({ signature_name: this.signature, instances });
    if (!Array.isArray(answers) || answers.length !== rows.length) throw this.wrong("another number of answers");
    return answers.map((answer, place) => this.read(answer, this.columns(rows[place]), sentences[place]));
  }

  /** Read the answer to a sentence with these tokens. */
  read(answer, columns, sentence) {
    const wrong = wrongOutput(answer, this.signature, columns.length);
    if (wrong) throw this.wrong(`no valid ${wrong}`);
    const hypotheses = hypothesesOf(answer, this.signature);
    if (hypotheses.some(({ ids }) => ids.some((id) => !(id in this.target.pieces)))) {
      throw this.wrong("ids outside of the vocabulary");
    }
    if (this.copies && hypotheses.some((one) => !one.copied_from)) throw this.wrong("no copied_from");
    const surfaces = this.copies ? surfacesOf(this.source, sentence) : [];
    const read = ({ copied_from: copiedFrom, ...one }) => ({
      ...one,
      text: textOf(this.target, one.ids, copiedFrom, surfaces),
      tokens: one.ids.map((id) => id === PAD ? "" : this.target.pieces[id]),
    });
    return {
      sources: columns.slice(0, answer.source_length),
      words: sentence.split(/\s+/).filter(Boolean).length,
      hypotheses: hypotheses.slice(0, this.nbest).map(read),
      truncated: answer.truncated === true,
    };
  }

  /** Return the token of each column of an alignment: the model adds an end token to truncated sources. */
  columns(ids) {
    const { max_source_length: longest } = this.card;
    const real = ids.length > longest ? [...ids.slice(0, longest - 1), END] : ids;
    return real.map((id) => this.source.pieces[id]);
  }

  wrong(received) {
    return new ServerError(`A server must answer each row as ${this.signature} does. Received: ${received} from ` +
      `${this.url}. Serve a SavedModel of ids there.`);
  }

  /** Send a request, and return its predictions. */
  async ask(request) {
    const signal = AbortSignal.timeout(Math.ceil(1000 * this.timeout));
    try {
      const response = await fetch(this.url, { method: "POST", body: JSON.stringify(request), redirect: "error", signal });
      const parts = [];
      let bytes = 0;
      for await (const part of response.body) {
        if ((bytes += part.length) > ANSWER_LIMIT) throw new Error("more than 256 MiB");
        parts.push(part);
      }
      const { predictions, error } = JSON.parse(Buffer.concat(parts).toString("utf8"));
      if (response.status !== 200) throw new Error(`${response.status} ${error}`);
      return predictions;
    } catch (error) {
      const why = [...String(error.cause?.message || error.cause?.code || error.message)].slice(0, SHOWN).join("");
      throw new ServerError(`A server must answer at ${this.url}. Received: ${why}. Start it, or correct --server, ` +
        "--model and --label.");
    }
  }
}

/** Return the inputs for a row of ids, padded to at least one column: a server can't pad a row without columns. */
function given(name, ids, width = ids.length) {
  const padding = Array(Math.max(1, width) - ids.length).fill(PAD);
  return { [name]: [...ids, ...padding], [`${name}_length`]: ids.length };
}

function fileOf(folder, name) {
  try {
    return readFileSync(join(folder, name));
  } catch (error) {
    throw new InputError(`A file must be readable. Received: '${join(folder, name)}': ${error.message.split(",")[0]}. ` +
      "Name the directory assets.extra of the version.");
  }
}

/** Read the card in a directory. */
function cardOf(folder) {
  const content = fileOf(folder, "card.json");
  try {
    const { ...card } = JSON.parse(content);  // fails for null
    return card;
  } catch {
    throw new InputError(`A card must be an object of JSON. Received: '${join(folder, "card.json")}', which is none. ` +
      "Copy assets.extra again.");
  }
}

/** Throw an error unless the model has the signature, and its beam is wide enough. */
function checkCard({ signatures, search }, signature, nbest) {
  if (signatures && !(signature in signatures)) {
    const asked = ["prefix", "alignment"].filter((kind) => signature.includes(kind));
    const options = asked.map((kind) => ` --signatures ${kind === "prefix" ? kind : "alignments"}`).join("");
    throw new InputError(`A model must have the signature ${signature}. Received: ` +
      `${Object.keys(signatures).join(", ")}. Export it with --format saved-model-ids${options}.`);
  }
  if (nbest > search?.beam_width) {
    throw new InputError(`--nbest must be at most ${search.beam_width}, the width of the model's beam. Received: ` +
      `--nbest ${nbest}. Ask for fewer texts, or export a model that searches with a wider beam.`);
  }
}

/** Return the bytes of the vocabulary for a side, after comparing their hash with the card. */
function vocabularyOf(folder, { vocabularies, vocabulary_sha256: hashes }, side) {
  const name = vocabularies?.[side];
  if (typeof name !== "string") {
    throw new InputError(`A card must name the vocabulary of the ${side}. Received: none. Serve a model for text, ` +
      "exported with --format saved-model-ids.");
  }
  const content = fileOf(folder, name);
  if (createHash("sha256").update(content).digest("hex") !== hashes?.[side]) {
    throw new InputError(`A vocabulary must be the one of its card. Received: ${name}, which is another. Copy ` +
      "assets.extra again.");
  }
  return new Uint8Array(content);
}

/** Parse a command line, and return its options, directory and sentences; undefined if it asks for help. */
function parsed(words) {
  const options = {
    server: { type: "string", default: "http://localhost:8501" }, model: { type: "string", default: "translator" },
    label: { type: "string" }, timeout: { type: "string", default: "30" }, help: { type: "boolean" },
    nbest: { type: "string" }, prefix: { type: "string" },
    ...Object.fromEntries(["alignment", "json"].map((name) => [name, { type: "boolean" }])),
  };
  const { values, positionals: [folder, ...sentences] } = parseArgs({ args: words, options, allowPositionals: true });
  if (values.help) return;
  if (words.some((word) => word.includes("\ufffd"))) {  // Node replaces invalid UTF-8 with this
    throw new InputError(`The command line must be UTF-8. Received: ${words.join(" ")}. Convert it, with iconv for example.`);
  }
  const timeout = Number(values.timeout);
  const nbest = values.nbest && (/^[0-9]+$/.test(values.nbest) ? Number(values.nbest) : 0);
  const right = URL.canParse(values.server) && 0 < timeout && timeout <= DAY && (nbest === undefined || nbest >= 1);
  if (!folder || !right) {
    throw new InputError("The command line must name a directory, --server a URL, --timeout seconds up to a day, and " +
      `--nbest a positive integer. Received: ${words.join(" ")}. See --help.`);
  }
  return { options: { ...values, timeout, nbest }, folder, sentences };
}

async function main(words) {
  const asked = parsed(words);
  if (!asked) return console.log(USAGE);
  const { options, folder, sentences } = asked;
  const client = new IdsClient(options, folder);
  const noun = client.card.verb === "translate" ? "translation" : "text";
  endWithOutput();
  const rows = !sentences.length && process.stdin.isTTY ? 1 : ROWS;  // on a terminal, each line is answered immediately
  let [waiting, number] = [[], 0];
  const flush = async () => {
    for (const row of waiting.length ? await client.translate(waiting) : []) {
      const lines = options.json ? [toJson(row, noun, client.signature)] : toLines(row, number, client.signature);
      number += 1;
      if (row.truncated) console.error(`warning: line ${number} is too long and was cut`);
      process.stdout.write(lines.map((line) => `${line.replace(UNPRINTABLE, escaped)}\n`).join(""));
    }
    waiting = [];
  };
  for await (const line of sentences.length ? sentences : linesOf(process.stdin)) {
    if (waiting.push(line) === rows) await flush();
  }
  await flush();
}

function escaped(character) {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

main(process.argv.slice(2)).catch((error) => {
  console.error(`error: ${String(error.message ?? error).split(/\s+/).join(" ").replace(UNPRINTABLE, escaped)}`);
  process.exitCode = error instanceof ServerError ? 1 : 2;
});
