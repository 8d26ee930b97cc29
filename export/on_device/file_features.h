// Converts a WAV or PNG file to the inputs of a model, as in training except for rounding.

#ifndef KERAS_BAHDANAU_FILE_FEATURES_H_
#define KERAS_BAHDANAU_FILE_FEATURES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "input_file.h"
#include "json.h"
#include "png_file.h"
#include "resampling.h"
#include "scaling.h"
#include "tflite_file.h"
#include "wav_file.h"

namespace on_device {

constexpr size_t kHop = 160;  // samples per position
constexpr uint8_t kPaper = 255;
constexpr float kFaintest = 8;        // of 255: largest range of the pixels in a blank image
constexpr float kStill = 2 / 32768.;  // largest range of the samples in silence
constexpr size_t kMostBytes = size_t{1} << 24, kMostPixels = size_t{1} << 24;  // limits

// The inputs of a model: samples or pixels, and `lengths`.
struct Features {
  std::string name;
  std::variant<std::vector<uint8_t>, std::vector<float>> values;  // the last axis changes fastest
  size_t length;                                                  // number of real positions
};

inline InputError Refusal(const std::string& path, const std::string& wanted,
                          const std::string& received) {
  return InputError("This program reads " + wanted + ". Received: " + Quoted(path) + ", " +
                    received + ". Convert it, or use keras-bahdanau read.");
}

inline void CheckLength(const std::string& path, uint64_t count, size_t longest) {
  if (count <= longest) return;
  throw Refusal(path, "a file of at most " + std::to_string(longest) + " positions",
                std::to_string(count));
}

inline Features SoundFeatures(const std::string& path, std::string_view content, size_t longest) {
  const WavFile wav(content);
  if (wav.is_cut()) {
    throw Refusal(path, "a whole WAV file", "one that ends before its data does");
  }
  if (!wav.is_known() || wav.is_empty()) {
    const std::string received = Grouped(wav.rate()) + " Hz, " + std::to_string(wav.bits()) +
                                 " bits, " + std::to_string(wav.channels()) + " channels";
    throw Refusal(path, "a WAV file of 1 to 192 kHz, PCM of 8 to 32 bits or floats",
                  wav.is_empty() ? "no samples" : received);
  }
  const uint64_t position = wav.rate() * kHop;
  const uint64_t length = (wav.frames() * kRate + position - 1) / position;
  CheckLength(path, length, longest);
  const std::vector<float> samples = wav.Samples();
  const auto [low, high] = std::minmax_element(samples.begin(), samples.end());
  if (*high - *low <= kStill) return {"samples", std::vector<float>(), 0};  // digital silence
  return {"samples", Resampled(samples, wav.rate()), static_cast<size_t>(length)};
}

// Reads a whole PNG file.
inline void ReadImage(const std::string& path, PngFile& png) {
  if (!png.ReadHeader()) throw Refusal(path, "a whole PNG file", png.error());
  if (uint64_t{png.width()} * png.height() > kMostPixels) {
    throw Refusal(path, "a PNG file of at most " + Grouped(kMostPixels) + " pixels",
                  std::to_string(png.width()) + " x " + std::to_string(png.height()));
  }
  if (!png.ReadPixels()) throw Refusal(path, "a whole PNG file", png.error());
}

// Returns 256 times the ink on blank paper, with one channel or three.
inline Image InkOf(const PngFile& png, size_t channels, bool dark) {
  constexpr uint32_t kGrey[] = {77, 150, 29};  // weights of red, green and blue, in 256ths
  Image image{png.height(), png.width(), channels, {}};
  image.numbers.resize(png.height() * png.width() * channels);
  float* to = image.numbers.data();
  for (size_t place = 0; place < png.pixels().size(); place += 4, to += channels) {
    const uint8_t* pixel = png.pixels().data() + place;
    for (size_t c = 0; c < 3; ++c) {
      const uint32_t ink = dark ? kPaper - pixel[c] : pixel[c];
      const uint32_t product = ink * pixel[3] + 128;
      const uint32_t seen = (product + (product >> 8)) >> 8;  // alpha * ink / 255, rounded
      // sums of integers below 2^16 are exact
      to[channels == 3 ? c : 0] += static_cast<float>((channels == 3 ? 256 : kGrey[c]) * seen);
    }
  }
  return image;
}

// Returns whether an image has a single color: then it is blank.
inline bool IsBlank(const Image& ink) {
  for (size_t c = 0; c < ink.channels; ++c) {
    float low = ink.numbers[c], high = low;
    for (size_t i = c; i < ink.numbers.size(); i += ink.channels) {
      low = std::min(low, ink.numbers[i]);
      high = std::max(high, ink.numbers[i]);
    }
    if (high - low > 256 * kFaintest) return false;
  }
  return true;
}

inline Features ImageFeatures(const std::string& path, std::string_view content,
                              const json::Value& card, size_t longest) {
  const json::Value& settings = card["source"]["config"];
  const size_t height = Setting(settings, "height", 1024), cell = Setting(settings, "cell", 64);
  const size_t width = Setting(settings, "width", 16'384);
  const size_t channels = Setting(settings, "channels", 3) == 1 ? 1 : 3;
  const auto* ink_of = settings["ink"].As<std::string>();
  PngFile png(content);
  ReadImage(path, png);

  // scale to the full height or the full width, and round the other side
  const uint64_t high = png.height(), wide = png.width();
  const size_t rows = std::min<uint64_t>((2 * high * width + wide) / (2 * wide), height);
  const size_t columns = std::min<uint64_t>((2 * wide * height + high) / (2 * high), width);
  const size_t grid = std::max<size_t>(height / cell, 1);
  const bool dark = ink_of != nullptr && *ink_of == "dark";
  Image ink = InkOf(png, channels, dark);
  const size_t cells = rows > 0 && !IsBlank(ink) ? (columns + cell - 1) / cell : 0;
  CheckLength(path, cells * grid, longest);
  const size_t line = (longest + grid - 1) / grid * cell * channels;
  std::vector<uint8_t> pixels(height * line, kPaper);  // (height, whole width, channels)
  if (cells == 0) return {"pixels", std::move(pixels), 0};

  ink = Resized(std::move(ink), rows, columns);
  const size_t above = (height - rows) / 2;  // centered vertically
  for (size_t y = 0; y < rows; ++y) {
    for (size_t x = 0; x < columns * channels; ++x) {
      const float number = std::nearbyint(ink.numbers[y * columns * channels + x] / 256);
      const auto seen = static_cast<uint8_t>(std::clamp<float>(number, 0, kPaper));
      pixels[(above + y) * line + x] = kPaper - seen;
    }
  }
  return {"pixels", std::move(pixels), cells * grid};
}

// Returns the inputs for one file, of a model with this card.
inline Features FeaturesOf(const std::string& path, const json::Value& card) {
  const auto* name = card["source"]["class_name"].As<std::string>();
  const std::string source = name ? *name : "text";
  if (source != "ImageSource" && source != "AudioSource") {
    throw InputError("A model must read images or sound. Received: a model of " + source +
                     ". Use translate for text, and translate.mjs for ink.");
  }
  const std::string content = ReadFile(path, kMostBytes);
  if (content.size() > kMostBytes) {
    throw Refusal(path, "a file of at most " + Grouped(kMostBytes) + " bytes", "a larger one");
  }
  const size_t longest = Longest(card);
  return source == "AudioSource" ? SoundFeatures(path, content, longest)
                                 : ImageFeatures(path, content, card, longest);
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_FILE_FEATURES_H_
