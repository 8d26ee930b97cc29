// Web workers for pages that are opened as files, where browsers refuse them: the search runs in
// a hidden frame instead. Events and `postMessage` are those of a worker; `importScripts` gives a
// promise, since a frame loads scripts later.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      const load = (source) =>
        new Promise((resolve, reject) => {
          const script = this.inner.document.createElement("script");
          script.onload = resolve;
          script.onerror = () => reject(new Error(`A script must load. Received: ${source}`));
          script.src = source;
          this.inner.document.body.append(script);
        });
      this.inner.importScripts = (...sources) =>
        sources.reduce((before, source) => before.then(() => load(source)), Promise.resolve());
      this.inner.postMessage = (data) =>
        this.dispatchEvent(new MessageEvent("message", { data }));
      this.loaded = load(url);
    }
    postMessage(data) {
      this.loaded.then(() =>
        this.inner.dispatchEvent(new MessageEvent("message", { data })),
      );
    }
    terminate() {
      this.inner.frameElement.remove();
    }
  };
}
