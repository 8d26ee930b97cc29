// A WAV file in memory to samples, the mean of its channels: PCM of 8 to 32 bits and floats.

#ifndef KERAS_BAHDANAU_WAV_FILE_H_
#define KERAS_BAHDANAU_WAV_FILE_H_

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "resampling.h"

namespace on_device {

// A number whose lowest byte comes first.
inline uint64_t Number(std::string_view bytes) {
  uint64_t number = 0;
  for (size_t i = bytes.size(); i-- > 0;) number = number << 8 | static_cast<uint8_t>(bytes[i]);
  return number;
}

class WavFile {
 public:
  explicit WavFile(std::string_view content) {
    const auto [form, data] = FindChunks(content);
    const std::string_view numbers = form;
    data_ = data;
    channels_ = Number(numbers.substr(2, 2));
    rate_ = Number(numbers.substr(4, 4));
    bits_ = Number(numbers.substr(14, 2));
    const bool extensible = Number(numbers.substr(0, 2)) == kExtensible;
    const uint64_t tag = Number(numbers.substr(extensible ? 24 : 0, 2));
    floating_ = tag == kFloat;
    const bool known = tag == kPcm ? width() >= 1 && width() <= 4
                                   : tag == kFloat && (width() == 4 || width() == 8);
    is_known_ = known && channels_ >= 1 && channels_ <= 64 && rate_ >= 1000 && rate_ <= 192'000;
  }

  // Whether this is a sound of a form that is read here; if not, it has no frames.
  bool is_known() const { return is_known_; }
  bool is_empty() const { return data_.empty(); }
  uint64_t rate() const { return rate_; }
  uint64_t bits() const { return bits_; }
  uint64_t channels() const { return channels_; }
  size_t frames() const { return is_known_ ? data_.size() / (channels_ * width()) : 0; }

  // The mean of the channels, full scale 1.
  std::vector<float> Samples() const {
    std::vector<float> samples(frames());
    size_t place = 0;
    for (float& sample : samples) {
      for (uint64_t channel = 0; channel < channels_; ++channel, place += width()) {
        sample += Value(data_.substr(place, width()));
      }
      sample /= static_cast<float>(channels_);
    }
    return samples;
  }

 private:
  static constexpr uint64_t kPcm = 1, kFloat = 3, kExtensible = 0xfffe;

  size_t width() const { return (bits_ + 7) / 8; }  // bytes of a number

  float Value(std::string_view bytes) const {
    const uint64_t number = Number(bytes);
    if (floating_) {
      const double value = width() == 8 ? std::bit_cast<double>(number)
                                        : std::bit_cast<float>(static_cast<uint32_t>(number));
      if (!std::isfinite(value)) return 0;
      return static_cast<float>(std::clamp<double>(value, -kLoudest, kLoudest));
    }
    if (width() == 1) return static_cast<float>(number) / 128 - 1;
    const auto shift = static_cast<int>(64 - 8 * width());  // the sign is in the highest byte
    const int64_t whole = static_cast<int64_t>(number << shift) >> shift;
    return static_cast<float>(whole) / static_cast<float>(uint64_t{1} << (8 * width() - 1));
  }

  // The numbers of the first "fmt " chunk, and the bytes of the first "data".
  //
  // As in training, no other size counts than those of the chunks, and of the file.
  static std::pair<std::string, std::string_view> FindChunks(std::string_view content) {
    constexpr size_t kLeast = 16, kForm = 40;  // bytes of these numbers
    constexpr int kMostChunks = 256;
    std::optional<std::string_view> form, data;
    const bool riff = content.starts_with("RIFF") || content.starts_with("RF64");
    size_t place = riff && content.find("WAVE", 8) == 8 ? 12 : content.size();
    for (int i = 0; i < kMostChunks && place + 8 <= content.size() && !(form && data); ++i) {
      const std::string_view name = content.substr(place, 4);
      const size_t size = Number(content.substr(place + 4, 4));
      const std::string_view body = content.substr(place + 8, size);
      if (name == "fmt " && size >= kLeast && !form) form = body;
      if (name == "data" && !data) data = body;
      place += 8 + size + size % 2;  // chunks begin at even places
    }
    std::string numbers(form.value_or("").substr(0, kForm));
    numbers.resize(kForm);
    return {numbers, data.value_or("")};
  }

  std::string_view data_;
  uint64_t channels_ = 0, rate_ = 0, bits_ = 0;
  bool floating_ = false, is_known_ = false;
};

}  // namespace on_device

#endif  // KERAS_BAHDANAU_WAV_FILE_H_
