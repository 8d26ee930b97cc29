// Reads a text that the visitor types, and shows what the model says about it.

import { heatMap, label } from "./heat_map.mjs";
import { isBlank } from "./normalizer.mjs";
import { TooLong } from "./pipeline.mjs";
import { InputError } from "./tflite_file.mjs";

const MOST_CHARACTERS = 20_000;  // limit for a text: more would be too many tokens for any file
const MOST_UNKNOWN = 12;  // maximum number of unknown parts to list

export class Entry {
  nothing = "There is no text. Type one first.";
  waiting = "Still loading: your text is next.";

  constructor(page) {
    Object.assign(this, { page });
  }

  begin() {}

  /** Return the text; null if there is none. */
  async given() {
    const text = this.page.source.value;
    return isBlank(text) ? null : text;
  }

  /** Return {hypotheses, unknown}: the answers, and a list of the parts that are not in the vocabulary. */
  async ask(model, text, search) {
    const hypotheses = await within("text", text, () => model.translate(text, ...search));
    return { hypotheses, unknown: await model.unknown(text) };
  }

  map(hypothesis) {
    return heatMap(hypothesis);
  }
}

/** Return the result of `action`. If the text is too long, throw an error that visitors can understand. */
export async function within(name, given, action) {
  const refuse = (has, unit, most) => {
    throw new InputError(`The ${name} is too long: it has ${has} ${unit}, but this page accepts at most ${most}. Shorten it.`);
  };
  if (given.length > MOST_CHARACTERS) refuse(given.length, "characters", MOST_CHARACTERS);
  try {
    return await action();
  } catch (error) {
    if (!(error instanceof TooLong)) throw error;
    return refuse(error.tokens, "tokens (words, parts of words, or characters)", error.longest);
  }
}

/** Describe the parts of texts that are not in the vocabularies; the keys of `unknown` say which text it is. */
export function unknownParts(unknown) {
  const sentences = Object.entries(unknown).filter(([, parts]) => parts.length).map(([place, parts]) => {
    const some = parts.slice(0, MOST_UNKNOWN).map(label).join(" ");
    return `The model does not know${place}: ${some}${parts.length > MOST_UNKNOWN ? " …" : ""}.`;
  });
  return sentences.length ? [...sentences, "The answer may be wrong."].join(" ") : "";
}
