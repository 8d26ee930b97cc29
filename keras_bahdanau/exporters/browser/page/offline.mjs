// The start without a network: all that the page and its worker have used is kept by a service worker.

const FOLDER = new URL("./", location.href).href;
const CACHE = `keras_bahdanau ${FOLDER}`;  // as in service_worker.js

/** Keep the page, what it has used, and `files`, which are addresses; false where that is impossible. */
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
