// Reads an image from the visitor: a file, or a drawing on the canvas.

import { Drawing, drawStrokes, PEN } from "./drawing.mjs";
import { TooLong } from "./pipeline.mjs";
import { imageMaps } from "./picture_maps.mjs";
import { InputError } from "./tflite_file.mjs";

const BORDER = 16;  // width in pixels of the border around a drawing
const MOST_BYTES = 2 ** 24, MOST_PIXELS = 2 ** 24;  // limits for a file

export class Entry {
  nothing = "There is no image. Choose a file, or draw on the paper.";
  waiting = "Still loading: your image is next.";

  constructor(page) {
    Object.assign(this, { page });
    this.drawing = new Drawing(page, () => { page.image.value = ""; });  // the last input counts
    page.image.addEventListener("change", () => this.preview());
  }

  begin({ settings }) {
    this.settings = settings;
  }

  /** Show the file on the canvas instead of the drawing. */
  async preview() {
    this.drawing.strokes = [];
    this.drawing.showBehind(await this.decoded().catch(() => null));
  }

  /** Return {data, width, height, channels} of the image, in RGBA; null if there is none. */
  async given() {
    const bitmap = await this.decoded();
    if (!bitmap) return this.drawing.strokes.length ? this.drawn() : null;
    const context = contextOf(bitmap.width, bitmap.height);
    context.drawImage(bitmap, 0, 0);
    bitmap.close();
    return pixelsOf(context);
  }

  /** Decode the chosen file to an `ImageBitmap`; null if there is none. */
  async decoded() {
    const [file] = this.page.image.files;
    if (!file) return null;
    if (file.size > MOST_BYTES) {
      throw new InputError(`The file is too large: it has ${file.size.toLocaleString("en")} bytes, but this page ` +
        `accepts at most ${MOST_BYTES.toLocaleString("en")}. Make it smaller.`);
    }
    const plain = { premultiplyAlpha: "none", colorSpaceConversion: "none" };
    const bitmap = await createImageBitmap(file, plain).catch(() => {
      throw new InputError("The file is not an image that this browser can read. Choose another one, such as PNG or JPEG.");
    });
    if (bitmap.width * bitmap.height > MOST_PIXELS) {
      throw new InputError(`The image is too large: it has ${bitmap.width} x ${bitmap.height} pixels, but this page ` +
        `accepts at most ${MOST_PIXELS.toLocaleString("en")}. Make it smaller.`);
    }
    return bitmap;
  }

  /** Return the strokes as an image with a narrow border: dark on white, or light on black if the model needs that. */
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
        `but this page accepts at most ${widthOf(error.longest)}. Crop it.`);
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
