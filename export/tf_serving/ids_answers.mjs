// Checks the answers of a SavedModel of ids, and prints them as client_rest.py does.

const END_TOKEN = "</s>", UNKNOWN = "<unk>", NO_WORD = "\u2047", WORD_START = "\u2581";

const { isFinite, isInteger } = Number;
const listOf = (fits) => (value) => Array.isArray(value) && value.every(fits);
const FORMS = {  // outputs for one hypothesis
  ids: listOf(isInteger), length: (value) => isInteger(value) && value >= 0, score: isFinite, confidence: isFinite,
  finished: (value) => typeof value === "boolean", token_log_probs: listOf(isFinite),
  token_entropies: listOf(isFinite), token_words: listOf(isInteger), copied_from: listOf(isInteger),
  alignment: listOf(listOf(isFinite)),
};
const OF_TOKENS = ["ids", "token_log_probs", "token_entropies", "token_words", "copied_from", "alignment"];
const PLURALS = {
  length: "lengths", score: "scores", confidence: "confidences", target_length: "target_lengths",
  translation: "translations", text: "texts",
};

/** Return the name of the signature that the options select together. */
export function signatureFor({ nbest, prefix, alignment }) {
  const ending = alignment ? "_with_alignment" : "";
  if (prefix !== undefined) return `decode_ids_prefix${ending}`;
  if (nbest !== undefined) return `decode_ids_nbest${ending}`;
  return ending ? `decode_ids${ending}` : "serving_default";
}

function givesList(signature) {
  return /_(nbest|prefix)/.test(signature);
}

/** Return the name of an output in the answers of a signature, such as "scores" for "score". */
function nameIn(signature, name) {
  return givesList(signature) ? PLURALS[name] ?? name : name;
}

/** Return the outputs for each hypothesis in an answer, as the model gives them. */
function outputsOf(answer, signature) {
  const names = Object.keys(FORMS).filter((name) => name !== "alignment" || signature.endsWith("_with_alignment"));
  const given = names.map((name) => [name, answer[nameIn(signature, name)]]).filter(([, value]) => value !== undefined);
  if (!givesList(signature)) return [Object.fromEntries(given)];
  return answer.ids.map((_, place) => Object.fromEntries(given.map(([name, values]) => [name, values?.[place]])));
}

/** Return the name of an output that is missing or wrong in the answer to a source, or undefined. */
export function wrongOutput(answer, signature, columns) {
  if (!Array.isArray(answer?.ids) || (givesList(signature) && !answer.ids.length)) return "ids";
  const names = Object.keys(FORMS).map((name) => nameIn(signature, name));
  const uneven = names.find((name) => name in answer && answer[name]?.length !== answer.ids.length);
  if (givesList(signature) && uneven) return uneven;
  const aligned = signature.endsWith("_with_alignment");
  const sources = aligned ? answer.source_length : 0;
  if (!isInteger(sources) || sources < 0 || sources > columns) return "source_length";
  const needed = ["ids", "length", ...(givesList(signature) ? ["score"] : []), ...(aligned ? ["alignment"] : [])];
  for (const one of outputsOf(answer, signature)) {
    const wrong = [...needed, ...Object.keys(one)].find((name) => !FORMS[name](one[name]))
      ?? OF_TOKENS.find((name) => one[name]?.length < one.length)
      ?? (one.alignment?.some((row) => row.length < sources) ? "alignment" : undefined);
    if (wrong) return nameIn(signature, wrong);
  }
}

/** Return the hypotheses in a valid answer, best first, truncated to their lengths, without empty entries of a beam. */
export function hypothesesOf(answer, signature) {
  return outputsOf(answer, signature).map((one) => {
    for (const name of OF_TOKENS) one[name] = one[name]?.slice(0, one.length);
    one.alignment = one.alignment?.map((row) => row.slice(0, answer.source_length));
    return one;
  }).filter(({ length }, place) => place === 0 || length > 0);
}

/** Return the lines to print. `sources` are the source tokens, `words` the number of source words; `number` is from 0. */
export function toLines({ sources, words, hypotheses }, number, signature) {
  const sourceWords = sourceWordsOf(sources, words);
  return hypotheses.map((one) => [
    ...(givesList(signature) ? [number, one.text, one.score.toFixed(4)] : [one.text]),
    ...(one.alignment ? [wordLinks(sourceWords, one)] : []),
  ].join(" ||| "));
}

/** Return all outputs as JSON, with their names in a SavedModel of texts; `noun` is translation or text. */
export function toJson({ sources, hypotheses, truncated }, noun, signature) {
  const own = { [noun]: "text", target_tokens: "tokens", target_length: "length" };  // names that differ here
  const names = [noun, "score", "confidence", "finished", "target_tokens", "target_length", ...OF_TOKENS.slice(1)];
  const columns = names.map((name) => [name, hypotheses.map((one) => one[own[name] ?? name])]);
  const outputs = columns.filter(([, values]) => values[0] !== undefined)
    .map(([name, values]) => [nameIn(signature, name), givesList(signature) ? values : values[0]]);
  const source = hypotheses[0].alignment ? { source_tokens: sources, source_length: sources.length } : {};
  return JSON.stringify({ ...Object.fromEntries(outputs), ...source, truncated });
}

/** Return the alignment between words in Pharaoh format, as `word_links` in client_rest.py does. */
function wordLinks(sourceWords, { tokens, token_words: numbers, alignment }) {
  const links = [];
  for (const [target, rows] of targetWords(tokens, numbers)) {
    const weights = sourceWords.map(({ places: columns }) => {
      let sum = 0;
      for (const row of rows) for (const column of columns) sum += alignment[row][column];
      return sum;
    });
    if (!weights.some(Boolean)) continue;
    const source = weights.indexOf(weights.reduce((highest, weight) => Math.max(highest, weight)));
    if (isWord(sourceWords[source])) links.push([source, target]);
  }
  return links.sort(([a, b], [c, d]) => a - c || b - d).map((link) => link.join("-")).join(" ");
}

/** Return the source words. Only their number in the text shows whether an unknown piece is a word or part of one. */
function sourceWordsOf(tokens, count) {
  const words = wordsOf(tokens);
  if (count === undefined || words.filter(isWord).length === count) return words;
  return wordsOf(tokens.map((token) => token === UNKNOWN ? NO_WORD : token));
}

/**
 * Return the positions of the pieces of each target word: [[index of the word, positions]].
 *
 * The model gives these indices, since a copied character is part of a word; older models do not.
 */
function targetWords(tokens, numbers) {
  if (!numbers) return [...wordsOf(tokens).entries()].filter(([, one]) => isWord(one)).map(([number, { places }]) => [number, places]);
  const places = new Map();
  for (const [place, number] of numbers.entries()) {
    if (!places.has(number)) places.set(number, []);
    places.get(number).push(place);
  }
  return [...places].filter(([number]) => number >= 0);
}

function isWord({ word }) {
  return word !== END_TOKEN && word !== "";
}

/** Join tokens to words, and return the words and the positions of their pieces. */
function wordsOf(tokens) {
  const words = [];
  let ended = true;  // a piece that ends with the mark ends its word
  for (const [place, token] of tokens.entries()) {
    const last = words.at(-1)?.word ?? END_TOKEN;
    const alone = [token, last].some((one) => one === END_TOKEN || one === UNKNOWN);
    const begins = ended || alone || token.startsWith(WORD_START);
    if (last && begins) words.push({ word: "", places: [] });
    words.at(-1).word += token.replaceAll(WORD_START, "");
    words.at(-1).places.push(place);
    ended = token.endsWith(WORD_START);
  }
  return words;
}
