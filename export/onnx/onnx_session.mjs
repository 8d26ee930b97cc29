// Opens a model in ONNX Runtime: `runtime` is the module onnxruntime-node or onnxruntime-web, loaded.

const QUIET = 4;  // the level of ONNX Runtime's log at which it prints nothing

/** A session on the processor, for the bytes of a file. */
export function openSession(runtime, content) {
  const isWeb = runtime.env?.wasm && !runtime.listSupportedBackends;
  return runtime.InferenceSession.create(content, { executionProviders: [isWeb ? "wasm" : "cpu"], logSeverityLevel: QUIET });
}
