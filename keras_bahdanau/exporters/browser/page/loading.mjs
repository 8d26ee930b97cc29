// Loading, with progress, by the worker of the page: the model, and LiteRT with its WebAssembly.

import { loadPipeline } from "./reader.mjs";
import { InputError, sha256 } from "./tflite_file.mjs";

const LITERT = new URL("./litert/core/", import.meta.url).href;  // the worker's own address is of no use

/** The pipeline of this site; `say(stage, share)` is called with a share from 0 to 1. */
export async function loadModel({ model, bytes: sizes, sha256: digests }, say) {
  const litert = await import(`${LITERT}dist/index.js`);
  const kind = await litert.supportsFeature("relaxedSimd") ? "" : "compat_";
  const program = `litert/core/wasm/litert_wasm_${kind}internal.wasm`;
  const total = sizes[model] + sizes[program];
  let before = 0;
  const load = async (name) => {
    const content = await download(name, sizes[name], (bytes) => say("Loading the model", (before + bytes) / total));
    if (await sha256(content) !== digests[name]) {
      throw new InputError(`The files of this page are damaged: ${name} is not as it was exported. Load the page again, ` +
        "or copy its directory again.");
    }
    before += sizes[name];
    return content;
  };
  const content = await load(model);
  await load(program);  // which LiteRT asks for by itself, and gets from the cache of the browser
  say("Starting", 1);
  globalThis.Module = { locateFile: (name) => `${LITERT}wasm/${name}` };
  await litert.loadLiteRt(`${LITERT}wasm/`);
  return loadPipeline(litert, content).catch((cause) => {
    throw new InputError("The model of this page does not start here. Load the page again, or use another browser.", { cause });
  });
}

/** The response to the request of a file of the site, as its server has it now. */
export async function fetched(name) {
  const response = await fetch(new URL(name, import.meta.url), { cache: "no-cache" }).catch(() => null);
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
