// Sound to the samples that a model reads: 16,000 a second of one channel, full scale 1.

import { InputError } from "./tflite_file.mjs";

export const RATE = 16_000, HOP = 160;  // samples a second, and of a position
const LOUDEST = 1e3;  // of a sample
const STILL = 2 / 2 ** 15;  // from the lowest to the highest sample of silence: dither of 16 bits

/** The samples of a sound, none of digital silence, in which nothing is said. */
export function withoutSilence(samples) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of samples) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return high - low <= STILL ? new Float32Array(0) : samples;
}

/** Seconds of so many positions. */
export function secondsOf(positions) {
  return positions * HOP / RATE;
}

export class AudioSource {
  /** {features, labels, picture} of {samples}, a Float32Array; a label is the second in which its position begins. */
  features({ samples }) {
    if (!(samples instanceof Float32Array)) throw new InputError("Sound must be a Float32Array. Received: another object.");
    const known = withoutSilence(
      samples.map((value) => Number.isFinite(value) ? Math.min(Math.max(value, -LOUDEST), LOUDEST) : 0));
    const labels = Array.from({ length: Math.ceil(known.length / HOP) }, (_, place) => secondsOf(place).toFixed(2));
    return {
      features: () => ({ samples: known, lengths: [labels.length] }),
      labels,
      picture: { samples: known },
    };
  }
}
