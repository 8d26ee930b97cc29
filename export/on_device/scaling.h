// Resizes images as `tf.image.resize` does: bilinear, with antialiasing when they become smaller.

#ifndef KERAS_BAHDANAU_SCALING_H_
#define KERAS_BAHDANAU_SCALING_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

namespace on_device {

// Numbers with the shape (high, wide, channels).
struct Image {
  size_t high, wide, channels;
  std::vector<float> numbers;
};

// The first old pixel that counts for a new pixel, and the weights from there on.
//
// The weights fall linearly with the distance, to 0 at a distance of one old or one new pixel,
// whichever is larger.
inline std::pair<size_t, std::vector<float>> WeightsOf(size_t place, size_t before, size_t after) {
  const float step = 1 / (static_cast<float>(after) / static_cast<float>(before));
  const float reach = std::max(step, 1.0f);  // in old pixels
  const float middle = (static_cast<float>(place) + 0.5f) * step;
  const auto first = static_cast<size_t>(std::max(std::ceil(middle - reach - 0.5f), 0.0f));
  const auto last = static_cast<size_t>(
      std::min(std::floor(middle + reach - 0.5f), static_cast<float>(before - 1)));
  std::vector<float> weights;
  float sum = 0;
  for (size_t old = first; old <= last; ++old) {
    const float distance = std::abs(static_cast<float>(old) + 0.5f - middle) / reach;
    weights.push_back(std::max(1 - distance, 0.0f));
    sum += weights.back();
  }
  for (float& weight : weights) weight /= sum;
  return {first, weights};
}

// -> (rows, columns, channels)
inline Image Resized(const Image& image, size_t rows, size_t columns) {
  const size_t line = image.wide * image.channels;
  std::vector<float> between(rows * line);  // (rows, wide, channels)
  for (size_t y = 0; y < rows; ++y) {
    const auto [first, weights] = WeightsOf(y, image.high, rows);
    for (size_t i = 0; i < weights.size(); ++i) {
      const float* from = image.numbers.data() + (first + i) * line;
      for (size_t x = 0; x < line; ++x) between[y * line + x] += weights[i] * from[x];
    }
  }
  Image found{rows, columns, image.channels,
              std::vector<float>(rows * columns * image.channels)};
  for (size_t x = 0; x < columns; ++x) {
    const auto [first, weights] = WeightsOf(x, image.wide, columns);
    for (size_t y = 0; y < rows; ++y) {
      const float* from = between.data() + y * line + first * image.channels;
      float* to = found.numbers.data() + (y * columns + x) * image.channels;
      for (size_t i = 0; i < weights.size(); ++i) {
        for (size_t c = 0; c < image.channels; ++c) to[c] += weights[i] * *from++;
      }
    }
  }
  return found;
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_SCALING_H_
