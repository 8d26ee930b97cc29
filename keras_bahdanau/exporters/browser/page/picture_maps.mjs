// Shows the attention of an answer on a picture: a copy of the picture for each token, colored by the weights.

import { label } from "./heat_map.mjs";

const SCALE = 2;  // canvas pixels for each image pixel
const WIDEST = 480, MARGIN = 12, LINE = 3, DOT = 9;  // sizes in a drawing, in pixels
const STRONGEST = 0.75;  // maximum opacity of the color, so that the picture remains visible

/** Create a list of maps for a hypothesis, on the pixels that the model read. */
export function imageMaps(hypothesis, { pixels, width, height, channels, cell, positions, reduction }) {
  const image = new ImageData(width, height);
  for (let pixel = 0; pixel < width * height; ++pixel) {
    for (let c = 0; c < 3; ++c) image.data[4 * pixel + c] = pixels[pixel * channels + (channels === 1 ? 0 : c)];
    image.data[4 * pixel + 3] = 255;
  }
  const paper = Object.assign(document.createElement("canvas"), { width, height });
  paper.getContext("2d").putImageData(image, 0, 0);
  const rows = height / cell;
  const places = Array.from({ length: positions }, (_, place) => [Math.floor(place / rows) * cell, place % rows * cell]);
  return maps(hypothesis, { width: width * SCALE, height: height * SCALE, reduction }, places.map(([x, y]) => ({
    x: (x + cell / 2) * SCALE, y: (y + cell / 2) * SCALE,
    fill: (context) => context.fillRect(x * SCALE, y * SCALE, cell * SCALE, cell * SCALE),
  })), (context) => context.drawImage(paper, 0, 0, width * SCALE, height * SCALE));
}

/** Create a list of maps for a hypothesis, on the path of the pen. */
export function inkMaps(hypothesis, { points, reduction }) {
  const [xs, ys] = [points.map(({ x }) => x), points.map(({ y }) => y)];
  const [left, top] = [Math.min(...xs), Math.min(...ys)];
  const [wide, high] = [Math.max(...xs) - left, Math.max(...ys) - top];
  const scale = Math.min((WIDEST - 2 * MARGIN) / Math.max(wide, 1), (WIDEST / 2 - 2 * MARGIN) / Math.max(high, 1));
  const [width, height] = [wide, high].map((side) => Math.ceil(side * scale + 2 * MARGIN));
  const places = points.map(({ x, y, on }) => ({ x: (x - left) * scale + MARGIN, y: (y - top) * scale + MARGIN, on }));
  return maps(hypothesis, { width, height, reduction }, places.map(({ x, y }) => ({
    x, y,
    fill: (context) => {
      context.beginPath();
      context.arc(x, y, DOT, 0, 2 * Math.PI);
      context.fill();
    },
  })), (context) => {
    Object.assign(context, { lineWidth: LINE, lineCap: "round", lineJoin: "round", strokeStyle: "#1c2430" });
    context.beginPath();
    places.forEach(({ x, y }, place) => places[place - 1]?.on ? context.lineTo(x, y) : context.moveTo(x, y));
    context.stroke();
  });
}

/**
 * Create an ordered list with a canvas for each token, on which `draw` draws the picture.
 *
 * `places` are the positions of the source, {x, y, fill}. Each weight belongs to `reduction` consecutive positions.
 */
function maps({ tokens, alignment }, { width, height, reduction }, places, draw) {
  const list = Object.assign(document.createElement("ol"), { className: "pictures" });
  const colour = getComputedStyle(document.body).getPropertyValue("--map-color");
  list.append(...tokens.map((token, row) => {
    const [item, figure, caption, canvas] = ["li", "figure", "figcaption", "canvas"].map((name) => document.createElement(name));
    Object.assign(canvas, { width, height });
    const context = canvas.getContext("2d");
    context.fillStyle = "#fff";
    context.fillRect(0, 0, width, height);
    draw(context);
    const weights = alignment[row];
    const most = weights.reduce((high, weight) => Math.max(high, weight), 0);
    weights.forEach((weight, column) => {
      context.fillStyle = `rgba(${colour}, ${(STRONGEST * weight / (most || 1)).toFixed(3)})`;
      places.slice(column * reduction, (column + 1) * reduction).forEach(({ fill }) => fill(context));
    });
    const words = strongest(weights, most, places, { width, height, reduction });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${label(token)}: ${words}`);
    Object.assign(canvas, { title: words });
    canvas.dataset.weight = most.toFixed(3);
    Object.assign(caption, { textContent: label(token), dir: "auto" });
    figure.append(caption, canvas);
    item.append(figure);
    return item;
  }));
  return list;
}

/** Describe the position with the largest weight. */
function strongest(weights, most, places, { width, height, reduction }) {
  const place = places[weights.indexOf(most) * reduction];
  if (!place) return "nowhere";
  const [x, y] = [place.x / width, place.y / height].map((share) => Math.round(100 * share));
  return `most at ${x}% from the left and ${y}% from the top, ${Math.round(100 * most)}%`;
}
