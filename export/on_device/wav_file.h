// Reads the samples of a WAV file in memory, averaged over channels: PCM of 8 to 32 bits or floats.

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

// Reads a little-endian number.
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
    // a sample takes an equal part of a block: 24 bits may be the high bytes of four
    const uint64_t block = Number(numbers.substr(12, 2)), least = (bits_ + 7) / 8;
    width_ = block > 0 && channels_ > 0 ? block / channels_ : least;
    const bool extensible = Number(numbers.substr(0, 2)) == kExtensible;
    const uint64_t tag = Number(numbers.substr(extensible ? 24 : 0, 2));
    floating_ = tag == kFloat;
    const bool floats = floating_ && width() == least && (least == 4 || least == 8);
    const bool known = tag == kPcm ? width() >= least && width() <= 4 : floats;
    const bool fits = least >= 1 && (block == 0 || block == width() * channels_);
    is_known_ = known && fits && channels_ >= 1 && channels_ <= 64 && rate_ >= 1000 &&
                rate_ <= 192'000;
  }

  // Returns whether the file has a supported format; if not, it has no frames.
  bool is_known() const { return is_known_; }
  bool is_cut() const { return data_.data() == nullptr; }  // it ends before its data does
  bool is_empty() const { return data_.empty() || (is_known_ && frames() == 0); }
  uint64_t rate() const { return rate_; }
  uint64_t bits() const { return bits_; }
  uint64_t channels() const { return channels_; }
  size_t frames() const { return is_known_ ? data_.size() / (channels_ * width()) : 0; }

  // Returns the mean of the channels, full scale 1.
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

  size_t width() const { return width_; }  // bytes per number

  static bool IsText(std::string_view name) {
    return !name.empty() &&
           std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; });
  }

  // Returns the bytes of samples at the beginning of a content; null if its end is missing.
  //
  // A stream declares a size of 0, or the largest possible size. Then all of the content counts,
  // unless another chunk follows those 0 bytes. `total` is the size in a "ds64" chunk, or 0.
  static std::string_view DataOf(std::string_view content, uint64_t declared, uint64_t total) {
    constexpr uint64_t kStreamed = 0x7fff'0000, kCountedIn = 44, kMostData = uint64_t{1} << 40;
    const bool wide = declared == 0xffff'ffff && total > 0 && total < kMostData;
    const uint64_t size = wide ? total : declared;
    const bool followed = content.size() >= 8 && IsText(content.substr(0, 4)) &&
                          Number(content.substr(4, 4)) + 8 <= content.size();
    if (size == 0 && !followed) return content;
    const bool whole = size <= content.size() + kCountedIn || (size >= kStreamed && !wide);
    return whole ? content.substr(0, size) : std::string_view();
  }

  float Value(std::string_view bytes) const {
    const uint64_t number = Number(bytes);
    if (floating_) {
      const double value = width() == 8 ? std::bit_cast<double>(number)
                                        : std::bit_cast<float>(static_cast<uint32_t>(number));
      if (!std::isfinite(value)) return 0;
      return static_cast<float>(std::clamp<double>(value, -kLoudest, kLoudest));
    }
    if (width() == 1) return static_cast<float>(number) / 128 - 1;
    const auto shift = static_cast<int>(64 - 8 * width());  // moves the sign to the highest bit
    const int64_t whole = static_cast<int64_t>(number << shift) >> shift;
    return static_cast<float>(whole) / static_cast<float>(uint64_t{1} << (8 * width() - 1));
  }

  // Reads the numbers in the first "fmt " chunk, and the bytes of the first "data" chunk.
  //
  // As in training, only the sizes of the chunks and of the file count.
  static std::pair<std::string, std::string_view> FindChunks(std::string_view content) {
    constexpr size_t kLeast = 16, kForm = 40;  // sizes in bytes of the numbers
    constexpr int kMostChunks = 256;
    std::optional<std::string_view> form, data;
    const bool riff = content.starts_with("RIFF") || content.starts_with("RF64") ||
                      content.starts_with("BW64");
    uint64_t total = 0;
    size_t place = riff && content.find("WAVE", 8) == 8 ? 12 : content.size();
    for (int i = 0; i < kMostChunks && place + 8 <= content.size() && !(form && data); ++i) {
      const std::string_view name = content.substr(place, 4);
      const size_t size = Number(content.substr(place + 4, 4));
      const std::string_view rest = content.substr(place + 8), body = rest.substr(0, size);
      if (name == "fmt " && size >= kLeast && !form) form = body;
      if (name == "data" && !data) data = DataOf(rest, size, total);
      if (name == "ds64") total = Number(rest.substr(std::min<size_t>(8, rest.size()), 7));
      const bool padded = size % 2 && !(size < rest.size() && IsText(rest.substr(size, 1)));
      place += 8 + size + padded;
    }
    std::string numbers(form.value_or("").substr(0, kForm));
    numbers.resize(kForm);
    return {numbers, data.value_or(std::string_view(""))};
  }

  std::string_view data_;
  uint64_t channels_ = 0, rate_ = 0, bits_ = 0, width_ = 0;
  bool floating_ = false, is_known_ = false;
};

}  // namespace on_device

#endif  // KERAS_BAHDANAU_WAV_FILE_H_
