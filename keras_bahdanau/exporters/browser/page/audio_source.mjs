// Sound to the samples that a model reads: 16,000 a second of one channel, full scale 1.

import { InputError } from "./tflite_file.mjs";

export const RATE = 16_000, HOP = 160;  // samples a second, and of a position
const LOUDEST = 1e3;  // of a sample

/** Seconds of so many positions. */
export function secondsOf(positions) {
  return positions * HOP / RATE;
}

export class AudioSource {
  /** {features, labels, picture} of {samples}, a Float32Array; a label is the second in which its position begins. */
  features({ samples }) {
    if (!(samples instanceof Float32Array)) throw new InputError("Sound must be a Float32Array. Received: another object.");
    const known = samples.map((value) => Number.isFinite(value) ? Math.min(Math.max(value, -LOUDEST), LOUDEST) : 0);
    const labels = Array.from({ length: Math.ceil(known.length / HOP) }, (_, place) => secondsOf(place).toFixed(2));
    return {
      features: () => ({ samples: known, lengths: [labels.length] }),
      labels,
      picture: { samples: known },
    };
  }
}
