// Asks a SavedModel of ids on TensorFlow Serving, over REST, and splits texts itself: a line in, a line out.
// See USAGE below, or --help. A line out is that of client_rest.py. Nothing but Node and this checkout is needed.

import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { InputError, endWithOutput, linesOf } from "../on_device/translate.mjs";
import { SentencePiece } from "../../keras_bahdanau/exporters/browser/page/sentencepiece.mjs";

const USAGE = `Usage: node client_ids.mjs [OPTIONS] ASSETS [SENTENCE...]

Asks a SavedModel of ids on TensorFlow Serving: a line in, a line out. ASSETS is the directory assets.extra
of the version that is served, with its card and vocabularies. Without a sentence it reads standard input.

  --server URL       REST address of the server.  [default: http://localhost:8501]
  --model NAME       Name of the model there.  [default: translator]
  --label LABEL      Label of a version, such as stable.  [default: the newest version]
  --timeout SECONDS  Time that an answer may take.  [default: 30]
  --help             Show this text and exit.

Exit codes: 0 all is translated; 1 the server can't be reached, has refused or answers wrongly;
2 the command line, the files or the input are wrong.`;

const END = 3;
const ROWS = 32, ANSWER_LIMIT = 2 ** 28, DAY = 86_400;  // of a request; bytes; seconds
const SHOWN = 200;  // characters of what a server says, in an error
const UNPRINTABLE = /[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]/gu;  // as in client_rest.py

class ServerError extends Error {}

/** A served model of ids with its vocabularies. */
class IdsClient {
  constructor({ server, model, label, timeout }, folder) {
    const path = label ? `/labels/${encodeURIComponent(label)}` : "";
    this.url = `${server.replace(/\/+$/, "")}/v1/models/${encodeURIComponent(model)}${path}:predict`;
    this.timeout = timeout;
    const card = cardOf(folder);
    const read = (side) => new SentencePiece(vocabularyOf(folder, card, side));
    [this.source, this.target] = ["source", "target"].map(read);
  }

  /** [{text, truncated}] of some sentences. */
  async translate(sentences) {
    const rows = sentences.map((sentence) => {
      const ids = this.source.encode(sentence);
      return ids.length ? [...ids, END] : [];
    });
    const width = Math.max(1, ...rows.map((row) => row.length));  // no row may have no column
    const instances = rows.map((row) => ({
      source: [...row, ...Array(width - row.length).fill(0)],
      source_length: row.length,
    }));
    const answers = await this.ask({ instances });
    if (!Array.isArray(answers) || answers.length !== rows.length || !answers.every(isAnswer)) {
      throw new ServerError(`A server must answer each row with ids and their length. Received: something else ` +
        `from ${this.url}. Serve a SavedModel of ids there.`);
    }
    return answers.map(({ ids, length, truncated }) => ({
      text: this.target.decode(ids.slice(0, length).filter((id) => id !== END)),
      truncated: truncated === true,
    }));
  }

  /** The predictions for a request. */
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

function isAnswer(answer) {
  const { ids, length } = answer ?? {};
  return Array.isArray(ids) && ids.every(Number.isInteger) && Number.isInteger(length) && 0 <= length && length <= ids.length;
}

function fileOf(folder, name) {
  try {
    return readFileSync(join(folder, name));
  } catch (error) {
    throw new InputError(`A file must be readable. Received: '${join(folder, name)}': ${error.message.split(",")[0]}. ` +
      "Name the directory assets.extra of the version.");
  }
}

/** The card in a directory. */
function cardOf(folder) {
  const content = fileOf(folder, "card.json");
  try {
    const { vocabularies, vocabulary_sha256: hashes } = JSON.parse(content);
    return { vocabularies, hashes };
  } catch {
    throw new InputError(`A card must be an object of JSON. Received: '${join(folder, "card.json")}', which is none. ` +
      "Copy assets.extra again.");
  }
}

/** The bytes of the vocabulary of a side, if they are those of the card. */
function vocabularyOf(folder, { vocabularies, hashes }, side) {
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

async function main(words) {
  const options = {
    server: { type: "string", default: "http://localhost:8501" }, model: { type: "string", default: "translator" },
    label: { type: "string" }, timeout: { type: "string", default: "30" }, help: { type: "boolean" },
  };
  const { values, positionals: [folder, ...sentences] } = parseArgs({ args: words, options, allowPositionals: true });
  if (values.help) return console.log(USAGE);
  const timeout = Number(values.timeout);
  if (!folder || !URL.canParse(values.server) || !(0 < timeout && timeout <= DAY)) {
    throw new InputError("The command line must name a directory, --server a URL, and --timeout seconds up to a day. " +
      `Received: ${words.join(" ")}. See --help.`);
  }
  const client = new IdsClient({ ...values, timeout }, folder);
  endWithOutput();
  let [waiting, number] = [[], 0];
  const flush = async () => {
    for (const { text, truncated } of waiting.length ? await client.translate(waiting) : []) {
      number += 1;
      if (truncated) console.error(`warning: line ${number} is too long and was cut`);
      process.stdout.write(`${text.replace(UNPRINTABLE, escaped)}\n`);
    }
    waiting = [];
  };
  for await (const line of sentences.length ? sentences : linesOf(process.stdin)) {
    if (waiting.push(line) === ROWS) await flush();
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
