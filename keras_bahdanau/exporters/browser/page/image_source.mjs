// Converts images to the pixels that a model reads, as in training: a fixed height, 255 for blank paper, and cells
// column by column.

import { resized, roundedToEven } from "./scaling.mjs";

const PAPER = 255;
const GREY = [77, 150, 29];  // weights of red, green and blue, in 256ths
const FAINTEST = 8;  // of 255: an image is blank if its pixels differ by no more than this

export class ImageSource {
  /** The first argument is the config of the source. `shapeOf` returns the shape of an input of the file. */
  constructor({ height, width, channels, cell, ink }, shapeOf) {
    Object.assign(this, { height, width, channels, cell, ink });
    this.rows = height / cell;  // number of cells in a column
    this.wide = shapeOf("pixels")[2];  // width of the file's input
  }

  /**
   * Return {features, labels, picture} for an image {data, width, height, channels} with 1 (gray), 3 (color) or 4
   * channels (with alpha). An image has no positions if it has a single color, or if it would be less than half a
   * pixel high or wide.
   */
  features({ data, width, height, channels }) {
    const [rows, columns] = this.scaled(height, width);
    const inks = rows && columns ? this.inkOf(data, width * height, channels) : [];
    const cells = this.isBlank(inks) ? 0 : Math.ceil(columns / this.cell);
    const labels = Array.from({ length: cells * this.rows }, (_, place) =>
      `${Math.floor(place / this.rows)},${place % this.rows}`);
    const drawn = Math.min(cells * this.cell, this.wide);  // a wider image is rejected
    const pixels = new Uint8Array(this.height * drawn * this.channels).fill(PAPER);
    if (cells && cells * this.cell <= this.wide) {
      const ink = resized(inks, [height, width, this.channels], [rows, columns]);
      const above = Math.floor((this.height - rows) / 2);  // centered vertically
      for (let y = 0; y < rows; ++y) {
        for (let x = 0; x < columns * this.channels; ++x) {
          const value = roundedToEven(ink[y * columns * this.channels + x] / 256);
          pixels[(above + y) * drawn * this.channels + x] = PAPER - Math.min(Math.max(value, 0), PAPER);
        }
      }
    }
    return {
      features: () => ({ pixels: this.padded(pixels, drawn), lengths: [labels.length] }),
      labels,
      picture: { pixels, width: drawn, height: this.height, channels: this.channels, cell: this.cell },
    };
  }

  /** Scale an image to the full height or width, and return [rows, columns]; the other side is rounded. */
  scaled(high, wide) {
    if (!high || !wide) return [0, 0];
    const rows = Math.floor((2 * high * this.width + wide) / (2 * wide));
    const columns = Math.floor((2 * wide * this.height + high) / (2 * high));
    return [Math.min(rows, this.height), Math.min(columns, this.width)];
  }

  /** Return 256 times the ink on blank paper, `channels` numbers for each pixel. */
  inkOf(data, size, depth) {
    const found = new Float32Array(size * this.channels);
    const ink = [0, 0, 0];
    for (let pixel = 0; pixel < size; ++pixel) {
      for (let c = 0; c < 3; ++c) {
        const value = data[pixel * depth + (depth === 1 ? 0 : c)];
        ink[c] = this.ink === "dark" ? PAPER - value : value;
        if (depth === 4) {  // alpha * ink / 255, rounded
          const product = ink[c] * data[pixel * depth + 3] + 128;
          ink[c] = (product + (product >> 8)) >> 8;
        }
      }
      if (this.channels === 3) ink.forEach((value, c) => { found[3 * pixel + c] = 256 * value; });
      else found[pixel] = depth === 1 ? 256 * ink[0] : GREY[0] * ink[0] + GREY[1] * ink[1] + GREY[2] * ink[2];
    }
    return found;
  }

  /** Return whether all pixels have the same color. */
  isBlank(inks) {
    const [low, high] = [Infinity, -Infinity].map((bound) => new Array(this.channels).fill(bound));
    inks.forEach((value, place) => {
      const c = place % this.channels;
      if (value < low[c]) low[c] = value;
      if (value > high[c]) high[c] = value;
    });
    return low.every((least, c) => high[c] - least <= 256 * FAINTEST);
  }

  /** Pad the pixels on the right with paper to the width of the file's input. */
  padded(pixels, drawn) {
    const [line, whole] = [drawn * this.channels, this.wide * this.channels];
    const found = new Uint8Array(this.height * whole).fill(PAPER);
    for (let y = 0; y < this.height; ++y) found.set(pixels.subarray(y * line, (y + 1) * line), y * whole);
    return found;
  }
}
