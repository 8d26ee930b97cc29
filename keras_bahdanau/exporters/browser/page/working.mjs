// Gives the page access to the model in its worker, and checks that the browser supports both.

import { TooLong } from "./pipeline.mjs";
import { InputError } from "./tflite_file.mjs";

const WORKER = new URL("./worker.js", import.meta.url).href;
const WRONG_TYPE = "Load it again; its server may send it with a wrong type: see export/browser/README.md.";  // as in start.js
const NEEDS = {
  "WebAssembly": () => typeof WebAssembly === "object",
  "workers": () => typeof Worker === "function",
  "a secure address (https, or localhost)": () => Boolean(globalThis.crypto?.subtle),
};

/** The methods of `Translator` and `Reader` that the page calls; each returns a promise. */
export class WorkingPipeline {
  /** Load the model of a site. `say(stage, share)` reports progress; `share` is from 0 to 1. */
  static async load(site, say) {
    for (const [need, has] of Object.entries(NEEDS)) {
      if (!has()) throw new InputError(`This page needs ${need}, which this browser does not provide here. Use another one.`);
    }
    const pipeline = new WorkingPipeline();
    // most, longestPrefix, longest, settings, files
    return Object.assign(pipeline, await pipeline.ask(["load", site], say));
  }

  constructor() {
    const script = new Blob([`importScripts(${JSON.stringify(WORKER)});`], { type: "text/javascript" });
    this.worker = new Worker(URL.createObjectURL(script));  // a worker from a blob has the policy of the page
  }

  searchFor(...given) {
    return this.ask(["searchFor", ...given]);
  }

  translate(...given) {
    return this.ask(["translate", ...given]);
  }

  read(...given) {
    return this.ask(["read", ...given]);
  }

  unknown(...given) {
    return this.ask(["unknown", ...given]);
  }

  /** Call a method in the worker, and return its value. */
  ask(call, say) {
    const { port1, port2 } = new MessageChannel();
    return new Promise((resolve, reject) => {
      const fail = () => reject(new InputError(`A part of this page did not load: worker.js. ${WRONG_TYPE}`));
      this.worker.addEventListener("error", fail, { once: true });
      port1.onmessage = ({ data: { progress, error, value } }) => {
        if (progress) return say(...progress);
        this.worker.removeEventListener("error", fail);
        port1.close();
        return error ? reject(errorOf(error)) : resolve(value);
      };
      this.worker.postMessage(call, [port2]);
    });
  }
}

/** Restore the class of an error from the worker, which a message does not preserve. */
function errorOf({ message, tokens, longest, forVisitors }) {
  if (tokens !== undefined) return new TooLong(message, tokens, longest);
  return new (forVisitors ? InputError : Error)(message);
}
