// A text that is typed: what the page of a translator gives to the model, and what it says of it.

import { heatMap, label } from "./heat_map.mjs";
import { isBlank } from "./normalizer.mjs";
import { TooLong } from "./pipeline.mjs";
import { InputError } from "./tflite_file.mjs";

const MOST_CHARACTERS = 20_000;  // of a text, which no file takes as tokens
const MOST_UNKNOWN = 12;  // parts of a text that are named

export class Entry {
  nothing = "There is no text. Type one first.";
  waiting = "Still loading: your text is next.";

  constructor(page) {
    Object.assign(this, { page });
  }

  begin() {}

  /** The text; null for none. */
  async given() {
    const text = this.page.source.value;
    return isBlank(text) ? null : text;
  }

  /** {hypotheses, unknown}: the answers, and lists of the parts that a vocabulary lacks, by the place of the text. */
  async ask(model, text, search) {
    const hypotheses = await within("text", text, () => model.translate(text, ...search));
    return { hypotheses, unknown: await model.unknown(text) };
  }

  map(hypothesis) {
    return heatMap(hypothesis);
  }
}

/** What `action` makes of a text that is typed, or an error in words for visitors if it is too long. */
export async function within(name, given, action) {
  const refuse = (has, unit, most) => {
    throw new InputError(`The ${name} is too long: it has ${has} ${unit}, and this page takes ${most} at most. Shorten it.`);
  };
  if (given.length > MOST_CHARACTERS) refuse(given.length, "characters", MOST_CHARACTERS);
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
    return refuse(error.tokens, "tokens (words, parts of words, or characters)", error.longest);
  }
}

/** Words about the parts of texts that the vocabularies lack: lists of them by the place of the text. */
export function unknownParts(unknown) {
  const sentences = Object.entries(unknown).filter(([, parts]) => parts.length).map(([place, parts]) => {
    const some = parts.slice(0, MOST_UNKNOWN).map(label).join(" ");
    return `The model does not know${place}: ${some}${parts.length > MOST_UNKNOWN ? " …" : ""}.`;
  });
  return sentences.length ? [...sentences, "The answer may be wrong."].join(" ") : "";
}
