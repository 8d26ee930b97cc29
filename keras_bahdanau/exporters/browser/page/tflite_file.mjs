// Reads a .tflite file that `export_litert` wrote: a model, and a zip archive with its card and vocabularies.

const SEAL = 64, DIRECTORY_END = 22;  // bytes at the end: the comment of the archive, and the record before it

/** Error for an invalid file, text or command, with a one-line message. */
export class InputError extends Error {}

/** Return the SHA-256 of a Uint8Array as 64 hexadecimal digits. */
export async function sha256(content) {
  const digest = await crypto.subtle.digest("SHA-256", content);
  return [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Return true if the last 64 bytes of a Uint8Array are the SHA-256 of all preceding bytes. */
async function sealFits(content) {
  return await sha256(content.subarray(0, -SEAL)) === new TextDecoder().decode(content.subarray(-SEAL));
}

/** Return the files packed after a model, by name; `content` is a Uint8Array. Throws InputError for a wrong seal. */
export async function unpack(content) {
  const text = new TextDecoder();
  if (content.length < SEAL + DIRECTORY_END || !await sealFits(content)) {
    throw new InputError("A .tflite file must be unchanged since its export, and contain its vocabulary. " +
      "Received: last 64 bytes that are not its sha256. Copy it again, or write it with export_litert.");
  }
  const view = new DataView(content.buffer, content.byteOffset, content.length);
  const last = content.length - SEAL - DIRECTORY_END;
  const files = {};
  let place = view.getUint32(last + 16, true);
  for (let left = view.getUint16(last + 10, true); left > 0; --left) {
    const [size, name, extra, comment, local] = [
      view.getUint32(place + 20, true), view.getUint16(place + 28, true),
      view.getUint16(place + 30, true), view.getUint16(place + 32, true),
      view.getUint32(place + 42, true),
    ];
    const first = local + 30 + view.getUint16(local + 26, true) + view.getUint16(local + 28, true);
    const key = text.decode(content.subarray(place + 46, place + 46 + name));
    files[key] = content.slice(first, first + size);  // files are never compressed
    place += 46 + name + extra + comment;
  }
  return files;
}
