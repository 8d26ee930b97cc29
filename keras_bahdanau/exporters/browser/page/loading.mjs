// Loads the model and LiteRT with its WebAssembly, with progress, in the worker of the page.

import { loadPipeline } from "./reader.mjs";
import { InputError, sha256 } from "./tflite_file.mjs";

const LITERT = new URL("./litert/core/", import.meta.url).href;  // not relative to the worker, which has a blob address

/** Load the pipeline of this site. `say(stage, share)` reports progress; `share` is from 0 to 1. */
export async function loadModel({ model, bytes: sizes, sha256: digests }, say) {
  const litert = await import(`${LITERT}dist/index.js`);
  const kind = await litert.supportsFeature("relaxedSimd") ? "" : "compat_";
  const program = `litert/core/wasm/litert_wasm_${kind}internal.wasm`;
  const total = sizes[model] + sizes[program];
  let before = 0;
  const load = async (name) => {
    const content = await download(name, sizes[name], (bytes) => say("Loading the model", (before + bytes) / total));
    if (await sha256(content) !== digests[name]) {
      throw new InputError(`The files of this page are damaged: ${name} has changed since its export. Load the page ` +
        "again, or copy its directory again.");
    }
    before += sizes[name];
    return content;
  };
  const content = await load(model);
  await load(program);  // LiteRT requests it again, and gets it from the browser's cache
  say("Starting", 1);
  globalThis.Module = { locateFile: (name) => `${LITERT}wasm/${name}` };
  await litert.loadLiteRt(`${LITERT}wasm/`);
  return loadPipeline(litert, content).catch((cause) => {
    throw new InputError("The model of this page does not start. Load the page again, or use another browser.", { cause });
  });
}

/** Request the current version of a file of the site from its server, and return the response. */
export async function fetched(name) {
  const response = await fetch(new URL(name, import.meta.url), { cache: "no-cache" }).catch(() => null);
  if (response?.ok) return response;
  throw new InputError(`A file of this page could not be loaded: ${name}. Load the page again, now or later.`);
}

/** Download a file of the site, and return its bytes. */
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
