// Vectors as strips of coloured cells.

import { html } from "./elements.mjs";

const BELOW = [44, 108, 196], ABOVE = [206, 62, 50];  // blue and red, which all eyes tell apart

/** A canvas with a pixel for each number, which the style sheet makes larger. */
export function strip(vector, limit, name) {
  const canvas = html("canvas", { class: "strip", width: Math.max(1, vector.length), height: 1, role: "img", "aria-label": name, title: name });
  paint(canvas, vector, limit);
  return canvas;
}

/** Draw other numbers of the same length: strong colours for `limit`, none for 0. */
export function paint(canvas, vector, limit) {
  if (!vector.length) return;
  const context = canvas.getContext("2d");
  const image = context.createImageData(vector.length, 1);
  vector.forEach((value, place) => {
    const color = value < 0 ? BELOW : ABOVE;
    image.data.set([...color, 255 * Math.min(1, Math.abs(value) / limit)], 4 * place);
  });
  context.putImageData(image, 0, 0);
}
