// Resamples sound to 16 kHz, band-limited as in training: cuts off the spectrum, or pads it with 0.

import { RATE } from "../../keras_bahdanau/exporters/browser/page/audio_source.mjs";

const LOUDEST = 1e3;  // largest magnitude of a sample
const ROLL_OFF = 0.95, MARGIN = 50;  // where the spectrum begins to fade; 1 / MARGIN s of silence follow

/** Resample a Float32Array to 16 kHz: ceil(samples * 16000 / rate) samples. */
export function resampled(values, rate) {
  if (rate === RATE || !values.length) return values;
  const common = commonDivisor(rate, RATE);
  // both lengths are integers if the length at the old rate is a multiple of rate / common
  const multiple = Math.ceil((values.length + Math.floor(rate / MARGIN)) * common / rate);
  const [before, after] = [multiple * rate / common, multiple * RATE / common];
  const { re, im } = transformed({ re: values, im: new Float64Array(values.length) }, before);
  const kept = Math.min(before, after);
  for (let bin = 0; bin <= kept / 2; ++bin) {
    const fading = Math.min(Math.max((2 * bin / kept - ROLL_OFF) / (1 - ROLL_OFF), 0), 1);
    const gain = (0.5 + 0.5 * Math.cos(Math.PI * fading)) / before;
    re[bin] *= bin ? 2 * gain : gain;  // negative frequencies are symmetric
    im[bin] *= bin ? -2 * gain : -gain;  // the inverse transform is the transform of the conjugates
  }
  const bins = Math.floor(kept / 2) + 1;
  const found = transformed({ re: re.subarray(0, bins), im: im.subarray(0, bins) }, after).re;
  const count = Math.ceil(values.length * RATE / rate);
  return Float32Array.from(found.subarray(0, count), (value) => Math.min(Math.max(value, -LOUDEST), LOUDEST));
}

function commonDivisor(one, other) {
  return other ? commonDivisor(other, one % other) : one;
}

function complex(size) {
  return { re: new Float64Array(size), im: new Float64Array(size) };
}

/** Compute the discrete Fourier transform of any size, with padding by 0 (Bluestein 1970). */
function transformed(given, size) {
  const chirp = complex(size);  // exp(-i pi k^2 / size)
  for (let k = 0; k < size; ++k) {
    const angle = Math.PI * (k * k % (2 * size)) / size;
    [chirp.re[k], chirp.im[k]] = [Math.cos(angle), -Math.sin(angle)];
  }
  let length = 1;
  while (length < 2 * size) length *= 2;
  const [one, other] = [complex(length), complex(length)];
  for (let k = 0; k < given.re.length; ++k) {
    one.re[k] = given.re[k] * chirp.re[k] - given.im[k] * chirp.im[k];
    one.im[k] = given.re[k] * chirp.im[k] + given.im[k] * chirp.re[k];
  }
  for (let k = 0; k < size; ++k) {
    const mirrored = (length - k) % length;
    other.re[k] = other.re[mirrored] = chirp.re[k];
    other.im[k] = other.im[mirrored] = -chirp.im[k];
  }
  const twiddles = twiddlesOf(length);
  transform(one, twiddles);
  transform(other, twiddles);
  for (let k = 0; k < length; ++k) {  // conjugate of the product, for the inverse transform
    const [a, b, c, d] = [one.re[k], one.im[k], other.re[k], other.im[k]];
    [one.re[k], one.im[k]] = [(a * c - b * d) / length, -(a * d + b * c) / length];
  }
  transform(one, twiddles);
  for (let k = 0; k < size; ++k) {
    const [a, b, c, d] = [one.re[k], -one.im[k], chirp.re[k], chirp.im[k]];
    [chirp.re[k], chirp.im[k]] = [a * c - b * d, a * d + b * c];
  }
  return chirp;
}

/** Return exp(-2 pi i k / length) for the lower half of k. */
function twiddlesOf(length) {
  const found = complex(length / 2);
  for (let k = 0; k < length / 2; ++k) {
    [found.re[k], found.im[k]] = [Math.cos(2 * Math.PI * k / length), -Math.sin(2 * Math.PI * k / length)];
  }
  return found;
}

/** Compute the Fourier transform in place; the size is a power of two (Cooley and Tukey 1965). */
function transform({ re, im }, twiddles) {
  const length = re.length;
  for (let k = 1, mirrored = 0; k < length; ++k) {  // `mirrored` has the bits of k in reverse order
    let bit = length >> 1;
    for (; mirrored & bit; bit >>= 1) mirrored ^= bit;
    mirrored ^= bit;
    if (k < mirrored) {
      [re[k], re[mirrored]] = [re[mirrored], re[k]];
      [im[k], im[mirrored]] = [im[mirrored], im[k]];
    }
  }
  for (let half = 1; half < length; half *= 2) {
    const step = length / (2 * half);
    for (let begin = 0; begin < length; begin += 2 * half) {
      for (let k = 0; k < half; ++k) {
        const [low, high, turn] = [begin + k, begin + k + half, k * step];
        const a = re[high] * twiddles.re[turn] - im[high] * twiddles.im[turn];
        const b = re[high] * twiddles.im[turn] + im[high] * twiddles.re[turn];
        re[high] = re[low] - a;
        im[high] = im[low] - b;
        re[low] += a;
        im[low] += b;
      }
    }
  }
}
