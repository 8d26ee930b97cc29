// Reads the samples of WAV files as in training: PCM of 8 to 32 bits or floats, averaged over channels.

const MOST_CHANNELS = 64, MOST_CHUNKS = 256;
const FORM = 16, EXTENDED = 26;  // sizes in bytes of a "fmt " chunk: the necessary part, and the part up to the subformat
const PCM = 1, FLOAT = 3, EXTENSIBLE = 0xfffe;
const RATES = [1000, 192_000];
const LOUDEST = 1e3;
const STREAMED = 2 ** 31 - 2 ** 16;  // data of this declared size or more comes from a stream of unknown size
const COUNTED_IN = 44;  // size of the usual header, which some writers add to the size of the data
const MOST_DATA = 2 ** 40;  // maximum number of bytes that a "ds64" chunk may declare

/**
 * Return {rate, channels, bits, samples} of a WAV file; null if it has no samples or an unknown format; {cut} if it
 * ends before its data does. `content` is a Uint8Array.
 */
export function readWav(content) {
  const view = new DataView(content.buffer, content.byteOffset, content.length);
  const { form, start, end } = chunksOf(view);
  if (end === undefined && start !== undefined) return { cut: true };
  if (form === undefined || start === undefined) return null;
  const number = (place, size) => size === 2 ? view.getUint16(form + place, true) : view.getUint32(form + place, true);
  const [tag, channels, rate, block, bits] = [number(0, 2), number(2, 2), number(4, 4), number(12, 2), number(14, 2)];
  const declared = view.getUint32(form - 4, true);
  const within = Math.min(declared, content.length - form) >= EXTENDED ? number(24, 2) : 0;
  const least = Math.floor((bits + 7) / 8);
  // a sample takes an equal part of a block: 24 bits may be the high bytes of four
  const width = block && channels ? Math.floor(block / channels) : least;
  const format = tag === EXTENSIBLE ? within : tag;
  const read = readerOf(view, format, width);
  const fits = least && (!block || block === width * channels) && (width === least || width > least && format === PCM);
  if (!read || !fits || channels < 1 || channels > MOST_CHANNELS || rate < RATES[0] || rate > RATES[1]) return null;
  const samples = new Float32Array(Math.floor((end - start) / (channels * width)));
  if (!samples.length) return null;
  for (let frame = 0, place = start; frame < samples.length; ++frame) {
    let sum = 0;
    for (let channel = 0; channel < channels; ++channel, place += width) sum += read(place);
    samples[frame] = sum / channels;
  }
  return { rate, channels, bits, samples };
}

/** Return {form, start, end}: where the first "fmt " and "data" chunks begin; no `end` if the data is incomplete. */
function chunksOf(view) {
  const name = (place) => String.fromCharCode(...[0, 1, 2, 3].map((byte) => view.getUint8(place + byte)));
  const found = {};
  const size = view.byteLength;
  if (size < 12 || !["RIFF", "RF64", "BW64"].includes(name(0)) || name(8) !== "WAVE") return found;
  let total = 0;
  for (let place = 12, count = 0; place + 8 <= size && count < MOST_CHUNKS; ++count) {
    const [kind, declared, body] = [name(place), view.getUint32(place + 4, true), place + 8];
    if (kind === "fmt " && declared >= FORM && body + FORM <= size) found.form ??= body;
    if (kind === "data" && found.start === undefined) {
      found.start = body;
      const length = dataLength(view, body, declared, total);
      if (length !== undefined) found.end = body + length;
    }
    if (kind === "ds64" && body + 16 <= size) {
      total = view.getUint32(body + 8, true) + 2 ** 32 * (view.getUint32(body + 12, true) & 0xffffff);
    }
    if (found.form !== undefined && found.start !== undefined) break;
    const end = body + declared;
    place = end + (declared % 2 && !isText(view, end, 1) ? 1 : 0);
  }
  return found;
}

/**
 * Return the number of bytes of samples after `body`; undefined if the end of the file is missing.
 *
 * A stream declares a size of 0, or the largest possible size. Then all bytes that follow count, unless another chunk
 * follows those 0 bytes. `total` is the size in a "ds64" chunk, 0 if there is none.
 */
function dataLength(view, body, declared, total) {
  const available = view.byteLength - body;
  const wide = declared === 2 ** 32 - 1 && total > 0 && total < MOST_DATA;
  const size = wide ? total : declared;
  const followed = available >= 8 && isText(view, body, 4) && view.getUint32(body + 4, true) + 8 <= available;
  if (size === 0 && !followed) return available;
  const whole = size <= available + COUNTED_IN || size >= STREAMED && !wide;
  return whole ? Math.min(size, available) : undefined;
}

/** Return whether all bytes are characters that the name of a chunk may contain. */
function isText(view, place, count) {
  if (place + count > view.byteLength) return false;
  return Array.from({ length: count }, (_, byte) => view.getUint8(place + byte)).every((byte) => byte >= 32 && byte <= 126);
}

/** Return a function from a position to a sample, full scale 1; undefined for an unsupported format. */
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
