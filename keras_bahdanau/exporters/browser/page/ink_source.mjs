// Converts pen strokes to the frames that a model reads, bit for bit as `pen_frames` does in Python.
//
// So sums, distances and interpolated points are computed in the same order as in NumPy.

import { roundedToEven } from "./scaling.mjs";
import { InputError } from "./tflite_file.mjs";

const SIZE = 8;  // numbers in a frame: x, y, dx, dy, ddx, ddy, on, up
const STEP = 0.15;  // length of the path between two frames, relative to the size of a stroke
const MOST_POINTS = 100_000, MOST_FRAMES = 512;  // maximum points in an input, and frames in a stroke
const FARTHEST = 1e9;

export class InkSource {
  /** Return {features, labels, picture} for {strokes}, lists of points [x, y]; y points down. */
  features({ strokes }) {
    checkStrokes(strokes);
    const values = penFrames(strokes);
    const labels = Array.from({ length: values.length / SIZE }, (_, place) => String(place));
    const points = labels.map((_, place) => ({
      x: 10 * values[SIZE * place], y: 10 * values[SIZE * place + 1], on: values[SIZE * place + 6] > 0.5,
    }));
    return { features: () => ({ values, lengths: [labels.length] }), labels, picture: { points } };
  }
}

/** Throw an InputError unless this is a list of strokes. */
export function checkStrokes(strokes) {
  const isNumber = (one) => Number.isFinite(one) && Math.abs(one) < FARTHEST;
  const isPoint = (point) => Array.isArray(point) && point.length === 2 && point.every(isNumber);
  const wrong = Array.isArray(strokes)
    ? strokes.find((stroke) => !Array.isArray(stroke) || !stroke.every(isPoint)) : strokes ?? null;
  if (wrong !== undefined) {
    throw new InputError("Ink must be a list of strokes, each a list of points [x, y] of numbers below 1e9. Received: " +
      `${JSON.stringify(wrong).slice(0, 80)}. Correct it.`);
  }
  const points = strokes.reduce((sum, stroke) => sum + stroke.length, 0);
  if (points > MOST_POINTS) {
    throw new InputError(`Ink must have at most ${MOST_POINTS.toLocaleString("en")} points. Received: ` +
      `${points.toLocaleString("en")}. Split it.`);
  }
}

/** Return the frames of ink, a Float32Array with 8 numbers for each: see `InkSource` in Python. */
export function penFrames(strokes) {
  const drawn = strokes.filter((stroke) => stroke.length);
  if (!drawn.length) return new Float32Array(0);
  const sizes = drawn.map(extent);
  const unit = Math.max(pairwiseSum(sizes, 0, sizes.length) / sizes.length, 1e-3 * extent(drawn.flat())) || 1;
  const parts = drawn.map((stroke) => sampled(stroke.map(([x, y]) => [x / unit, y / unit])));
  const ends = new Set();
  parts.reduce((count, part) => (ends.add(count + part.length - 1), count + part.length), 0);
  const points = parts.flat();
  const middle = [0, 1].map((axis) => {
    const [low, high] = range(points, axis);
    return (low + high) / 2;
  });
  const move = (place, axis) => place + 1 < points.length ? points[place + 1][axis] - points[place][axis] : 0;
  const frames = new Float32Array(SIZE * points.length);
  points.forEach((point, place) => {
    const moves = [0, 1].map((axis) => move(place, axis));
    const turns = moves.map((now, axis) => place ? now - move(place - 1, axis) : 0);
    const up = Number(ends.has(place));
    frames.set([...point.map((value, axis) => (value - middle[axis]) / 10), ...moves, ...turns, 1 - up, up], SIZE * place);
  });
  return frames;
}

/** Return points at equal distances along a stroke, including its ends. */
function sampled(stroke) {
  const way = [0];  // length of the path up to each point
  for (let place = 1; place < stroke.length; ++place) {
    const [before, point] = [stroke[place - 1], stroke[place]];
    way.push(way[place - 1] + distance(point[0] - before[0], point[1] - before[1]));
  }
  const whole = way.at(-1);
  const count = Math.min(Math.max(roundedToEven(whole / STEP), 1), MOST_FRAMES - 1);
  const step = whole / count;
  let place = 0;
  return Array.from({ length: count + 1 }, (_, number) => {
    const reached = number === count ? whole : number * step;
    while (place + 1 < way.length && way[place + 1] <= reached) ++place;
    const [point, next] = [stroke[place], stroke[place + 1]];
    if (!next || way[place] === reached) return point;
    return point.map((value, axis) =>
      (next[axis] - value) / (way[place + 1] - way[place]) * (reached - way[place]) + value);
  });
}

/** Return the square root of x² + y², corrected for rounding (Borges 2019, "An improved algorithm for hypot(a, b)"). */
function distance(x, y) {
  const [large, small] = [Math.abs(x), Math.abs(y)].sort((a, b) => b - a);
  const root = Math.sqrt(large * large + small * small);
  if (!(small > large * 2 ** -54)) return large + small;  // also if both are 0
  let excess;  // root² - x² - y²
  if (root <= 2 * small) {
    const rest = root - small;
    excess = large * (2 * rest - large) + (rest - 2 * (large - small)) * rest;
  } else {
    const rest = root - large;
    excess = 2 * rest * (large - 2 * small) + ((4 * rest - small) * small + rest * rest);
  }
  return root - excess / (2 * root);
}

/** Add numbers in the order of NumPy: eight at a time, and by halves if there are more than 128. */
function pairwiseSum(numbers, first, count) {
  if (count > 128) {
    const half = Math.floor(count / 2) - Math.floor(count / 2) % 8;
    return pairwiseSum(numbers, first, half) + pairwiseSum(numbers, first + half, count - half);
  }
  const whole = count < 8 ? 0 : count - count % 8;
  const sums = numbers.slice(first, first + Math.min(whole, 8));
  for (let place = 8; place < whole; ++place) sums[place % 8] += numbers[first + place];
  let sum = whole ? ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7])) : 0;
  for (let place = whole; place < count; ++place) sum += numbers[first + place];
  return sum;
}

/** Return the longer side of the bounding box of points. */
function extent(points) {
  return Math.max(...[0, 1].map((axis) => {
    const [low, high] = range(points, axis);
    return high - low;
  }));
}

/** Return [smallest, largest] coordinate of points along an axis. */
function range(points, axis) {
  let [low, high] = [Infinity, -Infinity];
  for (const point of points) [low, high] = [Math.min(low, point[axis]), Math.max(high, point[axis])];
  return [low, high];
}
