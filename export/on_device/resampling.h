// Resamples sound to 16 kHz, band-limited as in training: cuts off the spectrum, or pads it with 0.

#ifndef KERAS_BAHDANAU_RESAMPLING_H_
#define KERAS_BAHDANAU_RESAMPLING_H_

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <utility>
#include <vector>

namespace on_device {

constexpr uint64_t kRate = 16'000;  // samples per second
constexpr float kLoudest = 1e3f;    // largest magnitude of a sample, where full scale is 1
using Spectrum = std::vector<std::complex<double>>;

// Computes the Fourier transform in place; the size is a power of two (Cooley and Tukey 1965).
inline void TransformPowerOfTwo(Spectrum& values) {
  const size_t length = values.size();
  for (size_t k = 1, mirrored = 0; k < length; ++k) {
    size_t bit = length >> 1;  // `mirrored` has the bits of k in reverse order
    for (; mirrored & bit; bit >>= 1) mirrored ^= bit;
    mirrored ^= bit;
    if (k < mirrored) std::swap(values[k], values[mirrored]);
  }
  Spectrum turns(length / 2);
  for (size_t k = 0; k < turns.size(); ++k) {
    turns[k] = std::polar(1.0, -2 * std::numbers::pi * static_cast<double>(k) / length);
  }
  for (size_t half = 1; half < length; half *= 2) {
    for (size_t begin = 0; begin < length; begin += 2 * half) {
      for (size_t k = begin; k < begin + half; ++k) {
        const auto high = values[k + half] * turns[(k - begin) * (length / (2 * half))];
        values[k + half] = values[k] - high;
        values[k] += high;
      }
    }
  }
}

// Computes the discrete Fourier transform of any size, with padding by 0 (Bluestein 1970).
inline Spectrum Transformed(const Spectrum& given, size_t size) {
  Spectrum chirp(size);  // exp(-i pi k^2 / size)
  for (uint64_t k = 0; k < size; ++k) {
    const auto turns = static_cast<double>(k * k % (2 * size));
    chirp[k] = std::polar(1.0, -std::numbers::pi * turns / size);
  }
  size_t length = 1;
  while (length < 2 * size) length *= 2;
  Spectrum one(length), other(length);
  for (size_t k = 0; k < given.size(); ++k) one[k] = given[k] * chirp[k];
  for (size_t k = 0; k < size; ++k) other[k] = other[(length - k) % length] = std::conj(chirp[k]);
  TransformPowerOfTwo(one);
  TransformPowerOfTwo(other);
  // the inverse transform is the transform of the conjugates
  for (size_t k = 0; k < length; ++k) one[k] = std::conj(one[k] * other[k]);
  TransformPowerOfTwo(one);
  for (size_t k = 0; k < size; ++k) {
    chirp[k] *= std::conj(one[k]) / static_cast<double>(length);
  }
  return chirp;
}

// Resamples to 16 kHz: ceil(samples * 16000 / rate) samples.
inline std::vector<float> Resampled(const std::vector<float>& samples, uint64_t rate) {
  constexpr double kRollOff = 0.95;  // relative to the highest frequency: where fading begins
  constexpr uint64_t kMargin = 50;   // a fiftieth of a second of silence
  const uint64_t count = samples.size();
  if (rate == kRate || count == 0) return samples;
  const uint64_t common = std::gcd(rate, kRate);
  // both lengths are integers if the length at the old rate is a multiple of rate / common
  const uint64_t multiple = ((count + rate / kMargin) * common + rate - 1) / rate;
  const uint64_t before = multiple * (rate / common), after = multiple * (kRate / common);
  const uint64_t kept = std::min(before, after);
  Spectrum spectrum = Transformed(Spectrum(samples.begin(), samples.end()), before);
  spectrum.resize(kept / 2 + 1);
  for (uint64_t bin = 0; bin < spectrum.size(); ++bin) {
    const double share = 2 * static_cast<double>(bin) / kept;
    const double fading = std::clamp((share - kRollOff) / (1 - kRollOff), 0.0, 1.0);
    const double gain = (0.5 + 0.5 * std::cos(std::numbers::pi * fading)) / before;
    // negative frequencies are symmetric, and only the real part of the sum counts
    spectrum[bin] = std::conj(spectrum[bin]) * (bin == 0 ? gain : 2 * gain);
  }
  const Spectrum found = Transformed(spectrum, after);
  std::vector<float> resampled((count * kRate + rate - 1) / rate);
  for (size_t i = 0; i < resampled.size(); ++i) {
    resampled[i] = std::clamp(static_cast<float>(found[i].real()), -kLoudest, kLoudest);
  }
  return resampled;
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_RESAMPLING_H_
