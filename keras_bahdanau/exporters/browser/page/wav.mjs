// WAV files to samples, as in training: PCM of 8 to 32 bits and floats, the mean of the channels.

const MOST_CHANNELS = 64, MOST_CHUNKS = 256;
const FORM = 16, EXTENDED = 26;  // bytes of a "fmt " chunk: all that is needed, and up to the format within
const PCM = 1, FLOAT = 3, EXTENSIBLE = 0xfffe;
const RATES = [1000, 192_000];
const LOUDEST = 1e3;
const STREAMED = 2 ** 31 - 2 ** 16;  // bytes of data: as many, or more, say that a stream had no known size
const COUNTED_IN = 44;  // bytes of the usual header, which some writers add to the size of the data
const MOST_DATA = 2 ** 40;  // bytes that a "ds64" chunk may declare

/**
 * {rate, channels, bits, samples} of a WAV file, or null if it is none of a known form, or has no samples; {cut} if it
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
  // a sample is as wide as a block leaves room for: 24 bits may lie in the high bytes of four
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

/** {form, start, end}: the places of the first "fmt " chunk, and of the bytes of the first "data"; no end if cut. */
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
 * Bytes of samples from `body` on, undefined where the end of the file is missing.
 *
 * A stream declares 0, or as much as a size can hold: all that is there counts then, unless another chunk follows
 * those 0 bytes. `total` is the size in a "ds64" chunk, 0 without one.
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

/** Whether there are characters such as those of the name of a chunk. */
function isText(view, place, count) {
  if (place + count > view.byteLength) return false;
  return Array.from({ length: count }, (_, byte) => view.getUint8(place + byte)).every((byte) => byte >= 32 && byte <= 126);
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
