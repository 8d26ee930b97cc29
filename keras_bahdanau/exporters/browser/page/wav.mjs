// WAV files to samples, as in training: PCM of 8 to 32 bits and floats, the mean of the channels.

const MOST_CHANNELS = 64, MOST_CHUNKS = 256;
const FORM = 16, EXTENDED = 26;  // bytes of a "fmt " chunk: all that is needed, and up to the format within
const PCM = 1, FLOAT = 3, EXTENSIBLE = 0xfffe;
const RATES = [1000, 192_000];
const LOUDEST = 1e3;

/**
 * {rate, channels, bits, samples} of a WAV file, whatever its header says about sizes, or null if it is none of a
 * known form; `content` is a Uint8Array. What is declared beyond the end of the file is not there.
 */
export function readWav(content) {
  const view = new DataView(content.buffer, content.byteOffset, content.length);
  const { form, start, end } = chunksOf(view);
  if (form === undefined || start === undefined) return null;
  const number = (place, size) => size === 2 ? view.getUint16(form + place, true) : view.getUint32(form + place, true);
  const [tag, channels, rate, bits] = [number(0, 2), number(2, 2), number(4, 4), number(14, 2)];
  const declared = view.getUint32(form - 4, true);
  const within = Math.min(declared, content.length - form) >= EXTENDED ? number(24, 2) : 0;
  const width = Math.floor((bits + 7) / 8);
  const read = readerOf(view, tag === EXTENSIBLE ? within : tag, width);
  if (!read || channels < 1 || channels > MOST_CHANNELS || rate < RATES[0] || rate > RATES[1]) return null;
  const samples = new Float32Array(Math.floor((end - start) / (channels * width)));
  for (let frame = 0, place = start; frame < samples.length; ++frame) {
    let sum = 0;
    for (let channel = 0; channel < channels; ++channel, place += width) sum += read(place);
    samples[frame] = sum / channels;
  }
  return { rate, channels, bits, samples };
}

/** {form, start, end}: the places of the first "fmt " chunk, and of the bytes of the first "data". */
function chunksOf(view) {
  const name = (place) => String.fromCharCode(...[0, 1, 2, 3].map((byte) => view.getUint8(place + byte)));
  const found = {};
  const size = view.byteLength;
  if (size < 12 || !["RIFF", "RF64"].includes(name(0)) || name(8) !== "WAVE") return found;
  for (let place = 12, count = 0; place + 8 <= size && count < MOST_CHUNKS; ++count) {
    const [kind, declared, body] = [name(place), view.getUint32(place + 4, true), place + 8];
    if (kind === "fmt " && declared >= FORM && body + FORM <= size) found.form ??= body;
    if (kind === "data" && found.start === undefined) [found.start, found.end] = [body, Math.min(body + declared, size)];
    if (found.form !== undefined && found.start !== undefined) break;
    place = body + declared + declared % 2;  // chunks begin at even places
  }
  return found;
}

/** The function from a place to a sample, full scale 1; undefined for a form that nothing here reads. */
function readerOf(view, tag, width) {
  const bounded = (value) => Number.isFinite(value) ? Math.min(Math.max(value, -LOUDEST), LOUDEST) : 0;
  return {
    [PCM]: {
      1: (place) => view.getUint8(place) / 2 ** 7 - 1,
      2: (place) => view.getInt16(place, true) / 2 ** 15,
      3: (place) => (view.getUint16(place, true) + 2 ** 16 * view.getInt8(place + 2)) / 2 ** 23,
      4: (place) => view.getInt32(place, true) / 2 ** 31,
    },
    [FLOAT]: {
      4: (place) => bounded(view.getFloat32(place, true)),
      8: (place) => bounded(view.getFloat64(place, true)),
    },
  }[tag]?.[width];
}
