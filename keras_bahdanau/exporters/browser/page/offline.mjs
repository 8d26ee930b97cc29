// Makes the page work without a network: a service worker caches all files that the page and its worker use.

const FOLDER = new URL("./", location.href).href;
const CACHE = `keras_bahdanau ${FOLDER}`;  // as in service_worker.js

/** Cache the page, the files that it has loaded, and `files`, a list of URLs. Returns false if that is impossible. */
export async function keepOffline(files) {
  if (!("serviceWorker" in navigator)) return false;
  await navigator.serviceWorker.register("./service_worker.js");
  await navigator.serviceWorker.ready;
  const used = [...performance.getEntriesByType("resource").map(({ name }) => name), ...files];
  const own = new Set([FOLDER, `${FOLDER}index.html`, ...used.filter((name) => name.startsWith(FOLDER))]);
  const cache = await caches.open(CACHE);
  await cache.addAll([...own]);
  for (const request of await cache.keys()) if (!own.has(request.url)) await cache.delete(request);
  return true;
}
