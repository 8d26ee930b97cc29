// The model at work beside the page, which stays awake while the model is busy. A call is a message
// [name, ...arguments] with a port that gets its progress, and then its value or its error.
//
// A classic script, since LiteRT.js loads its program by importScripts, which modules do not have.

"use strict";

const modules = Promise.all([import("./loading.mjs"), import("./tflite_file.mjs")]);
let translator;

/** The facts of the model that the page needs, and the addresses of all that was loaded. */
async function load(site, say) {
  const [{ loadTranslator }] = await modules;
  translator = await loadTranslator(site, say);
  const { most, longestPrefix } = translator;
  const files = performance.getEntriesByType("resource").map(({ name }) => name);
  return { most, longestPrefix, files };
}

self.addEventListener("message", async ({ data: [name, ...given], ports: [port] }) => {
  const say = (...progress) => port.postMessage({ progress });
  try {
    const value = await (name === "load" ? load(...given, say) : translator[name](...given));
    port.postMessage({ value });
  } catch (error) {
    console.error(error);
    const { message = String(error), tokens, longest } = error;
    const [, { InputError }] = await modules.catch(() => [, {}]);
    port.postMessage({ error: { message, tokens, longest, forVisitors: Boolean(InputError && error instanceof InputError) } });
  }
});
