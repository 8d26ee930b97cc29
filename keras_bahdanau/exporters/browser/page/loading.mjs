// What the page loads: the model and LiteRT with its WebAssembly, with progress; and what it needs of a browser.

import { InputError } from "./tflite_file.mjs";
import { Translator } from "./translator.mjs";

const LITERT = "./litert/core/";
const FOLDER = new URL("./", location.href).href;
const CACHE = `keras_bahdanau ${FOLDER}`;  // as in service_worker.js
const NEEDS = {
  "WebAssembly": () => typeof WebAssembly === "object",
  "import maps": () => HTMLScriptElement.supports?.("importmap"),
  "a secure address (https, or localhost)": () => Boolean(globalThis.crypto?.subtle),
};

/** The translator of this site; `say(stage, share)` is called with a share from 0 to 1. */
export async function loadTranslator({ model, bytes: sizes }, say) {
  for (const [need, has] of Object.entries(NEEDS)) {
    if (!has()) throw new InputError(`This page needs ${need}, which this browser does not offer here. Use another one.`);
  }
  const litert = await import(`${LITERT}dist/index.js`);
  const kind = await litert.supportsFeature("relaxedSimd") ? "" : "compat_";
  const program = `litert/core/wasm/litert_wasm_${kind}internal.wasm`;
  const total = sizes[model] + sizes[program];
  let before = 0;
  const load = async (name) => {
    const content = await download(name, sizes[name], (bytes) => say("Loading the model", (before + bytes) / total));
    before += sizes[name];
    return content;
  };
  const content = await load(model);
  await load(program);  // which LiteRT asks for by itself, and gets from the cache of the browser
  say("Starting", 1);
  await litert.loadLiteRt(`${LITERT}wasm/`);
  return Translator.load(litert, content).catch((cause) => {
    throw new InputError("The model of this page does not start here. Load the page again, or use another browser.", { cause });
  });
}

/** The response to the request of a file of the site. */
export async function fetched(name) {
  const response = await fetch(name).catch(() => null);
  if (response?.ok) return response;
  throw new InputError(`A file of this page did not arrive: ${name}. Load the page again, or later.`);
}

/** The bytes of a file of the site. */
async function download(name, size, report) {
  const response = await fetched(name);
  const content = new Uint8Array(size);
  let bytes = 0;
  for (const reader = response.body.getReader(); ;) {
    const { done, value } = await reader.read();
    if (done) break;
    if (bytes + value.length > size) throw new InputError(`A file of this page has changed: ${name}. Load the page again.`);
    content.set(value, bytes);
    report(bytes += value.length);
  }
  return content.subarray(0, bytes);
}

/** Keep all that the page has used for a start without a network; false where that is impossible. */
export async function keepOffline() {
  if (!("serviceWorker" in navigator)) return false;
  await navigator.serviceWorker.register("./service_worker.js");
  await navigator.serviceWorker.ready;
  const used = performance.getEntriesByType("resource").map(({ name }) => name);
  const own = new Set([FOLDER, `${FOLDER}index.html`, ...used.filter((name) => name.startsWith(FOLDER))]);
  const cache = await caches.open(CACHE);
  await cache.addAll([...own]);
  for (const request of await cache.keys()) if (!own.has(request.url)) await cache.delete(request);
  return true;
}
