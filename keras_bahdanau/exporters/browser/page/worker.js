// The model at work beside the page, which stays awake while the model is busy. A call is a message
// [name, ...arguments] with a port that gets its progress, and then its value or its error.
//
// A classic script, since LiteRT.js loads its program by importScripts, which modules do not have.

"use strict";

const modules = Promise.all([import("./loading.mjs"), import("./tflite_file.mjs")]);
let pipeline;

/** The facts of the model that the page needs, and the addresses of all that was loaded. */
async function load(site, say) {
  const [{ loadModel }] = await modules;
  pipeline = await loadModel(site, say);
  const { most, longestPrefix, card: { max_source_length: longest, source } } = pipeline;
  const files = performance.getEntriesByType("resource").map(({ name }) => name);
  return { most, longestPrefix, longest, settings: source?.config, files };
}

self.addEventListener("message", async ({ data: [name, ...given], ports: [port] }) => {
  const say = (...progress) => port.postMessage({ progress });
  try {
    const value = await (name === "load" ? load(...given, say) : pipeline[name](...given));
    port.postMessage({ value });
  } catch (error) {
    console.error(error);
    const { message = String(error), tokens, longest } = error;
    const [, { InputError }] = await modules.catch(() => [, {}]);
    port.postMessage({ error: { message, tokens, longest, forVisitors: Boolean(InputError && error instanceof InputError) } });
  }
});
