// An image for a model of images: a file, or what is drawn on the paper.

import { Drawing, drawStrokes, PEN } from "./drawing.mjs";
import { TooLong } from "./pipeline.mjs";
import { imageMaps } from "./picture_maps.mjs";
import { InputError } from "./tflite_file.mjs";

const BORDER = 16;  // pixels of paper around what is drawn
const MOST_BYTES = 2 ** 24, MOST_PIXELS = 2 ** 24;  // of a file

export class Entry {
  nothing = "There is no image. Choose a file, or draw on the paper.";
  waiting = "Still loading: your image is next.";

  constructor(page) {
    Object.assign(this, { page });
    this.drawing = new Drawing(page, () => { page.image.value = ""; });  // what was entered last counts
    page.image.addEventListener("change", () => this.preview());
  }

  begin({ settings }) {
    this.settings = settings;
  }

  /** Show the file on the paper, in place of what was drawn. */
  async preview() {
    this.drawing.strokes = [];
    this.drawing.showBehind(await this.decoded().catch(() => null));
  }

  /** {data, width, height, channels} of the image, in colours with alpha; null for none. */
  async given() {
    const bitmap = await this.decoded();
    if (!bitmap) return this.drawing.strokes.length ? this.drawn() : null;
    const context = contextOf(bitmap.width, bitmap.height);
    context.drawImage(bitmap, 0, 0);
    bitmap.close();
    return pixelsOf(context);
  }

  /** The chosen file as an `ImageBitmap`, null for none. */
  async decoded() {
    const [file] = this.page.image.files;
    if (!file) return null;
    if (file.size > MOST_BYTES) {
      throw new InputError(`The file is too large: it has ${file.size.toLocaleString("en")} bytes, and this page takes ` +
        `${MOST_BYTES.toLocaleString("en")} at most. Make it smaller.`);
    }
    const plain = { premultiplyAlpha: "none", colorSpaceConversion: "none" };
    const bitmap = await createImageBitmap(file, plain).catch(() => {
      throw new InputError("The file is no image that this browser can read. Choose another one, such as PNG or JPEG.");
    });
    if (bitmap.width * bitmap.height > MOST_PIXELS) {
      throw new InputError(`The image is too large: it has ${bitmap.width} x ${bitmap.height} pixels, and this page takes ` +
        `${MOST_PIXELS.toLocaleString("en")} at most. Make it smaller.`);
    }
    return bitmap;
  }

  /** The strokes as an image with a narrow border: dark on white, or light on black for a model that reads these. */
  drawn() {
    const points = this.drawing.strokes.flat();
    const [left, top] = [0, 1].map((axis) => points.reduce((low, point) => Math.min(low, point[axis]), Infinity) - BORDER);
    const [right, bottom] = [0, 1].map((axis) => points.reduce((high, point) => Math.max(high, point[axis]), -Infinity) + BORDER);
    const context = contextOf(Math.ceil(right - left), Math.ceil(bottom - top));
    const [paper, ink] = this.settings.ink === "light" ? ["#000", "#fff"] : ["#fff", "#000"];
    context.fillStyle = paper;
    context.fillRect(0, 0, context.canvas.width, context.canvas.height);
    context.translate(-left, -top);
    drawStrokes(context, this.drawing.strokes, ink, PEN);
    return pixelsOf(context);
  }

  async ask(model, given, search) {
    try {
      return await model.read(given, ...search);
    } catch (error) {
      if (!(error instanceof TooLong)) throw error;
      const { height, cell } = this.settings;
      const widthOf = (cells) => Math.floor(cells * cell / height) * cell;
      throw new InputError(`The image is too wide: with a height of ${height} pixels it is ${widthOf(error.tokens)} wide, ` +
        `and this page takes ${widthOf(error.longest)} at most. Cut it.`);
    }
  }

  map(hypothesis, picture) {
    return imageMaps(hypothesis, picture);
  }
}

function contextOf(width, height) {
  const canvas = Object.assign(document.createElement("canvas"), { width, height });
  return canvas.getContext("2d", { willReadFrequently: true });
}

function pixelsOf(context) {
  const { width, height } = context.canvas;
  return { data: context.getImageData(0, 0, width, height).data, width, height, channels: 4 };
}
