// A text that a search found, with its scores, and the lines that programs print for it.

#ifndef KERAS_BAHDANAU_HYPOTHESIS_H_
#define KERAS_BAHDANAU_HYPOTHESIS_H_

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "json.h"
#include "program.h"

namespace on_device {

// Older files lack the optional fields.
struct Hypothesis {
  std::string text;
  float score;
  std::optional<float> confidence;  // 0 to 1: probability that the text is correct, if calibrated
  bool finished;                    // with its end token
  std::vector<std::string> tokens;  // including the end token
  std::optional<std::vector<float>> token_log_probs;  // of each token, in nats
  std::optional<std::vector<float>> token_entropies;
  std::optional<std::vector<int32_t>> token_words;  // index of the word, or -1 for none
  std::vector<std::vector<float>> alignment;  // for each token: a weight per source position
};

inline std::string Json(const std::string& text) { return json::Quoted(text); }

inline std::string Json(bool value) { return value ? "true" : "false"; }

inline std::string Json(int32_t number) { return std::to_string(number); }

// Writes a number, or null for NaN and infinity, which JSON lacks.
inline std::string Json(float number) {
  std::ostringstream text;
  text << std::setprecision(9) << number;  // enough digits to preserve a float32
  return std::isfinite(number) ? text.str() : "null";
}

template <typename T>
std::string Json(const std::vector<T>& list) {
  std::string text;
  for (const T& one : list) text += (text.empty() ? "" : ", ") + Json(one);
  return '[' + text + ']';
}

template <typename T>
std::string Json(const std::optional<T>& value) {
  return value ? Json(*value) : "null";
}

// Writes an object with the names in `keras-bahdanau translate --json`.
inline std::string Json(const Hypothesis& one) {
  return "{\"text\": " + Json(one.text) + ", \"score\": " + Json(one.score) +
         ", \"confidence\": " + Json(one.confidence) + ", \"finished\": " + Json(one.finished) +
         ", \"tokens\": " + Json(one.tokens) +
         ", \"token_log_probs\": " + Json(one.token_log_probs) +
         ", \"token_entropies\": " + Json(one.token_entropies) +
         ", \"token_words\": " + Json(one.token_words) + '}';
}

// Returns the texts for an input, one per line, or one line of JSON.
inline std::string Lines(const Options& options, size_t number,
                         const std::vector<Hypothesis>& found) {
  if (options.json) return "{\"hypotheses\": " + Json(found) + "}\n";
  std::ostringstream lines;
  lines << std::fixed << std::setprecision(4);
  for (const Hypothesis& one : found) {
    if (options.nbest) {
      lines << number << " ||| " << one.text << " ||| " << one.score << '\n';
    } else {
      lines << one.text << '\n';
    }
  }
  return lines.str();
}

// Prints the lines. Throws InputError if the output fails.
inline void Print(const Options& options, size_t number, const std::vector<Hypothesis>& found) {
  if (std::cout << Lines(options, number, found) << std::flush) return;
  throw InputError("Standard output must accept all lines. Received: an error at input " +
                   std::to_string(number + 1) +
                   ". Free some space, or redirect it to another file.");
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_HYPOTHESIS_H_
