// Resizes images as `tf.image.resize` does: bilinear, with antialiasing when they become smaller.

/** Round to the nearest integer, and ties to even. */
export function roundedToEven(value) {
  const nearest = Math.round(value);
  return nearest - value === 0.5 && nearest % 2 ? nearest - 1 : nearest;
}

/**
 * Resize the numbers of an image of size [high, wide, channels] to [rows, columns], with the same channels.
 *
 * Each new pixel is a weighted mean of the old pixels around it. The weights fall linearly with the distance, to 0 at
 * a distance of one pixel of the old image or of the new one, whichever is larger.
 */
export function resized(numbers, [high, wide, channels], [rows, columns]) {
  if (high === rows && wide === columns) return numbers;
  const vertical = weightsOf(high, rows);
  const between = new Float32Array(rows * wide * channels);  // (rows, wide, channels)
  const line = wide * channels;
  vertical.forEach(({ first, weights }, y) => weights.forEach((weight, place) => {
    const from = (first + place) * line;
    for (let x = 0; x < line; ++x) between[y * line + x] += weight * numbers[from + x];
  }));
  const horizontal = weightsOf(wide, columns);
  const found = new Float32Array(rows * columns * channels);  // (rows, columns, channels)
  for (let y = 0; y < rows; ++y) {
    horizontal.forEach(({ first, weights }, x) => {
      for (let c = 0; c < channels; ++c) {
        let sum = 0;
        weights.forEach((weight, place) => { sum += weight * between[y * line + (first + place) * channels + c]; });
        found[(y * columns + x) * channels + c] = sum;
      }
    });
  }
  return found;
}

/** Return {first, weights} for each new pixel: the index of the first old pixel that counts, and the weights. */
function weightsOf(before, after) {
  const step = before / after;
  const reach = Math.max(step, 1);  // in old pixels
  return Array.from({ length: after }, (_, place) => {
    const middle = (place + 0.5) * step;
    const first = Math.max(Math.ceil(middle - reach - 0.5), 0);
    const last = Math.min(Math.floor(middle + reach - 0.5), before - 1);
    const weights = Array.from({ length: last - first + 1 }, (_, old) =>
      Math.max(1 - Math.abs(first + old + 0.5 - middle) / reach, 0));
    const sum = weights.reduce((a, b) => a + b, 0);
    return { first, weights: weights.map((weight) => weight / sum) };
  });
}
