// Images to the pixels that a model reads, as in training: one height, 255 for blank paper, cells column by column.

import { resized, roundedToEven } from "./scaling.mjs";

const PAPER = 255;
const GREY = [77, 150, 29];  // shares of red, green and blue, in 256ths
const FAINTEST = 8;  // of 255: an image holds nothing if all its pixels are as alike

export class ImageSource {
  /** `config` has the settings of the source, and `shapeOf` gives the sizes of an input of the file. */
  constructor({ height, width, channels, cell, ink }, shapeOf) {
    Object.assign(this, { height, width, channels, cell, ink });
    this.rows = height / cell;  // of cells
    this.wide = shapeOf("pixels")[2];  // of the file's input
  }

  /**
   * {features, labels, picture} of an image {data, width, height, channels}: bytes of 1 (grey), 3 (colours) or 4
   * channels (with alpha). An image that would be less than half a pixel high or wide has no positions, nor has one
   * of a single colour.
   */
  features({ data, width, height, channels }) {
    const [rows, columns] = this.scaled(height, width);
    const inks = rows && columns ? this.inkOf(data, width * height, channels) : [];
    const cells = this.isBlank(inks) ? 0 : Math.ceil(columns / this.cell);
    const labels = Array.from({ length: cells * this.rows }, (_, place) =>
      `${Math.floor(place / this.rows)},${place % this.rows}`);
    const drawn = Math.min(cells * this.cell, this.wide);  // a wider one is refused
    const pixels = new Uint8Array(this.height * drawn * this.channels).fill(PAPER);
    if (cells && cells * this.cell <= this.wide) {
      const ink = resized(inks, [height, width, this.channels], [rows, columns]);
      const above = Math.floor((this.height - rows) / 2);  // in the middle of the height
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

  /** [rows, columns] of an image of this size: the full height or the full width, the other side rounded. */
  scaled(high, wide) {
    if (!high || !wide) return [0, 0];
    const rows = Math.floor((2 * high * this.width + wide) / (2 * wide));
    const columns = Math.floor((2 * wide * this.height + high) / (2 * high));
    return [Math.min(rows, this.height), Math.min(columns, this.width)];
  }

  /** 256 times the ink on blank paper, `channels` numbers for each pixel. */
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

  /** Whether all pixels are of one colour. */
  isBlank(inks) {
    const [low, high] = [Infinity, -Infinity].map((bound) => new Array(this.channels).fill(bound));
    inks.forEach((value, place) => {
      const c = place % this.channels;
      if (value < low[c]) low[c] = value;
      if (value > high[c]) high[c] = value;
    });
    return low.every((least, c) => high[c] - least <= 256 * FAINTEST);
  }

  /** The pixels as wide as the input of the file, with paper at the right. */
  padded(pixels, drawn) {
    const [line, whole] = [drawn * this.channels, this.wide * this.channels];
    const found = new Uint8Array(this.height * whole).fill(PAPER);
    for (let y = 0; y < this.height; ++y) found.set(pixels.subarray(y * line, (y + 1) * line), y * whole);
    return found;
  }
}
