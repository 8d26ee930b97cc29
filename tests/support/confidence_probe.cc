// Shows how sure a model is: `probe MODEL NBEST ID...`, with a line for each text: its confidence,
// the log-probabilities of its tokens, their entropies, their words, and their alignment.

#include <iostream>
#include <string>
#include <vector>

#include "on_device.h"

int main(int count, char** arguments) {
  on_device::Options options;
  options.model = arguments[1];
  options.nbest = std::stoi(arguments[2]);
  on_device::Pipeline pipeline(options);
  std::vector<int> ids;
  for (int i = 3; i < count; ++i) ids.push_back(std::stoi(arguments[i]));
  pipeline.Write("source", ids);
  for (const on_device::Hypothesis& one : pipeline.DecodeNbest()) {
    std::cout << one.confidence;
    for (const float value : one.token_log_probs) std::cout << ' ' << value;
    for (const float value : one.token_entropies) std::cout << ' ' << value;
    for (const int32_t value : one.token_words) std::cout << ' ' << value;
    for (const std::vector<float>& row : one.alignment) {
      for (const float value : row) std::cout << ' ' << value;
    }
    std::cout << '\n';
  }
}
