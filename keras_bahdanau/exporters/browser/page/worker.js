// Runs the model in a worker, so that the page stays responsive. A call is a message [name, ...arguments] with a port
// that receives its progress, and then its value or error.
//
// A classic script, since LiteRT.js loads its program with importScripts, which modules don't support.

"use strict";

const modules = Promise.all([import("./loading.mjs"), import("./tflite_file.mjs")]);
let pipeline;

/** Load the model, and return its properties that the page needs, and the URLs of all loaded files. */
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
