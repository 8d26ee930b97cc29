// Converts sound to the samples that a model reads: one channel, 16,000 samples per second, full scale 1.

import { InputError } from "./tflite_file.mjs";

export const RATE = 16_000, HOP = 160;  // samples per second, and per position
const LOUDEST = 1e3;  // largest magnitude of a sample
const STILL = 2 / 2 ** 15;  // largest range of the samples in silence: 16-bit dither

/** Return the samples of a sound, or no samples for digital silence. */
export function withoutSilence(samples) {
  let [low, high] = [Infinity, -Infinity];
  for (const value of samples) [low, high] = [Math.min(low, value), Math.max(high, value)];
  return high - low <= STILL ? new Float32Array(0) : samples;
}

/** Convert a number of positions to seconds. */
export function secondsOf(positions) {
  return positions * HOP / RATE;
}

export class AudioSource {
  /** Return {features, labels, picture} for {samples}, a Float32Array. Labels are the start times of positions, in s. */
  features({ samples }) {
    if (!(samples instanceof Float32Array)) throw new InputError("Sound must be a Float32Array. Received: a different object.");
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
