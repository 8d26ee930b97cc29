// Prints the confidence of a model: `probe MODEL NBEST ID...` prints a line for each text with its
// confidence and, for its tokens, log-probabilities, entropies, words and alignment.

#include <cmath>
#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

#include "on_device.h"

template <typename T>
void Print(const std::vector<T>& values) {
  for (const T value : values) std::cout << ' ' << value;
}

int main(int count, char** arguments) {
  on_device::Options options;
  options.model = arguments[1];
  options.nbest = std::stoi(arguments[2]);
  on_device::Pipeline pipeline(options);
  std::vector<int> ids;
  for (int i = 3; i < count; ++i) ids.push_back(std::stoi(arguments[i]));
  pipeline.Write("source", ids);
  for (const on_device::Hypothesis& one : pipeline.DecodeNbest()) {
    std::cout << one.confidence.value_or(NAN);
    if (one.token_log_probs) Print(*one.token_log_probs);
    if (one.token_entropies) Print(*one.token_entropies);
    if (one.token_words) Print(*one.token_words);
    for (const std::vector<float>& row : one.alignment) Print(row);
    std::cout << '\n';
  }
}
