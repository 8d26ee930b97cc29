// A WAV or PNG file to the inputs of a model, bit for bit those of training.

#ifndef KERAS_BAHDANAU_FILE_FEATURES_H_
#define KERAS_BAHDANAU_FILE_FEATURES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "input_file.h"
#include "json.h"
#include "png_file.h"
#include "tflite_file.h"

namespace on_device {

constexpr size_t kRate = 16'000, kHop = 160;  // samples a second, and of a position
constexpr uint8_t kPaper = 255;
constexpr size_t kMostBytes = size_t{1} << 24;  // of a file

// The inputs of a model: one of samples or pixels, and `lengths`.
struct Features {
  std::string name;
  std::variant<std::vector<uint8_t>, std::vector<float>> values;  // in the order of the axes
  size_t length;                                                  // positions that count
};

inline InputError Refusal(const std::string& path, const std::string& wanted,
                          const std::string& received) {
  return InputError("This program takes " + wanted + ". Received: " + Quoted(path) + ", " +
                    received + ". Convert it, or use keras-bahdanau read.");
}

// A number whose lowest byte comes first.
inline uint32_t Number(std::string_view bytes) {
  uint32_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

// The numbers of the first "fmt " chunk of a WAV file, and the bytes of its first "data".
//
// As in training, no other size counts than those of the chunks, and of the file.
inline std::pair<std::string, std::string_view> FindChunks(std::string_view content) {
  constexpr size_t kForm = 16;  // bytes of these numbers
  std::optional<std::string_view> form, data;
  const bool riff = content.starts_with("RIFF") && content.find("WAVE", 8) == 8;
  for (size_t place = 12; riff && place + 8 <= content.size() && !(form && data);) {
    const std::string_view name = content.substr(place, 4);
    const size_t size = Number(content.substr(place + 4, 4));
    const std::string_view body = content.substr(place + 8, size);
    if (name == "fmt " && size >= kForm && !form) form = body;
    if (name == "data" && !data) data = body;
    place += 8 + size + size % 2;  // chunks begin at even places
  }
  std::string numbers(form.value_or("").substr(0, kForm));
  numbers.resize(kForm);
  return {numbers, data.value_or("")};
}

inline Features SoundFeatures(const std::string& path, std::string_view content) {
  constexpr uint32_t kPcm = 1;
  const auto [form, data] = FindChunks(content);
  const std::string_view numbers = form;
  const uint32_t tag = Number(numbers.substr(0, 2)), channels = Number(numbers.substr(2, 2));
  const uint32_t rate = Number(numbers.substr(4, 4)), bits = Number(numbers.substr(14, 2));
  if (tag != kPcm || channels != 1 || rate != kRate || bits != 16) {
    const std::string received = Grouped(rate) + " Hz, " + std::to_string(bits) + " bits, " +
                                 std::to_string(channels) + " channels";
    throw Refusal(path, "a WAV file of 16 kHz, 16 bits and one channel",
                  data.empty() ? "no samples" : received);
  }
  std::vector<float> samples(data.size() / 2);
  for (size_t i = 0; i < samples.size(); ++i) {
    samples[i] = static_cast<int16_t>(Number(data.substr(2 * i, 2))) / 32768.0f;
  }
  const size_t length = (samples.size() + kHop - 1) / kHop;
  return {"samples", std::move(samples), length};
}

// Reads all of a PNG file of that height, at most so wide.
inline void ReadImage(const std::string& path, PngFile& png, size_t height, size_t width) {
  if (!png.ReadHeader()) throw Refusal(path, "a whole PNG file", png.error());
  const std::string mode = png.mode();
  const bool plain = mode == "1" || mode == "L" || mode == "P" || mode == "RGB";
  if (png.height() != height || png.width() > width || !plain || png.has_transparency()) {
    const std::string wanted = "a PNG file " + std::to_string(height) + " pixels high, at most " +
                               std::to_string(width) + " wide, plain";
    throw Refusal(path, wanted,
                  std::to_string(png.width()) + " x " + std::to_string(png.height()) + ", " + mode);
  }
  if (!png.ReadPixels()) throw Refusal(path, "a whole PNG file", png.error());
}

// Red, green and blue to grey by shares in 256ths, rounded half to even.
inline uint8_t Grey(const uint8_t (&ink)[3]) {
  return static_cast<uint8_t>(std::nearbyint((77 * ink[0] + 150 * ink[1] + 29 * ink[2]) / 256.0f));
}

inline Features ImageFeatures(const std::string& path, std::string_view content,
                              const json::Value& card, size_t longest) {
  const json::Value& settings = card["source"]["config"];
  const size_t height = Setting(settings, "height", 1024), cell = Setting(settings, "cell", 64);
  const size_t width = Setting(settings, "width", 16'384);
  const size_t channels = Setting(settings, "channels", 3) == 1 ? 1 : 3;
  const auto* ink_of = settings["ink"].As<std::string>();
  const bool dark = ink_of != nullptr && *ink_of == "dark";
  PngFile png(content);
  ReadImage(path, png, height, width);

  const size_t rows = std::max<size_t>(height / cell, 1), columns = (png.width() + cell - 1) / cell;
  const size_t wide = std::max(columns, (longest + rows - 1) / rows) * cell;
  std::vector<uint8_t> pixels(height * wide * channels, kPaper);  // (height, wide, channels)
  const uint8_t* from = png.pixels().data();                      // (height, width, 1 or 3)
  for (size_t y = 0; y < height; ++y) {
    uint8_t* to = pixels.data() + y * wide * channels;
    for (size_t x = 0; x < png.width(); ++x, from += png.channels(), to += channels) {
      uint8_t ink[3];
      for (size_t c = 0; c < 3; ++c) {
        const uint8_t pixel = from[png.channels() == 3 ? c : 0];
        ink[c] = dark ? kPaper - pixel : pixel;
      }
      if (channels == 1) ink[0] = png.channels() == 3 ? Grey(ink) : ink[0];
      for (size_t c = 0; c < channels; ++c) to[c] = kPaper - ink[c];
    }
  }
  return {"pixels", std::move(pixels), rows * columns};
}

// The inputs of a model with that card for one file.
inline Features FeaturesOf(const std::string& path, const json::Value& card) {
  const auto* name = card["source"]["class_name"].As<std::string>();
  const std::string source = name ? *name : "text";
  if (source != "ImageSource" && source != "AudioSource") {
    throw InputError("A model must read images or sound. Received: a model of " + source +
                     ". Use translate for text.");
  }
  const std::string content = ReadFile(path, kMostBytes);
  if (content.size() > kMostBytes) {
    throw Refusal(path, "a file of at most " + Grouped(kMostBytes) + " bytes", "a larger one");
  }
  const size_t longest = Longest(card);
  Features features = source == "AudioSource" ? SoundFeatures(path, content)
                                              : ImageFeatures(path, content, card, longest);
  if (features.length > longest) {
    throw Refusal(path, "a file of at most " + std::to_string(longest) + " positions",
                  std::to_string(features.length));
  }
  return features;
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_FILE_FEATURES_H_
