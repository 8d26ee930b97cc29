// The command line of both programs, `MODEL.tflite INPUT...`, and their exit codes.

#ifndef KERAS_BAHDANAU_PROGRAM_H_
#define KERAS_BAHDANAU_PROGRAM_H_

#include <charconv>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "input_file.h"

namespace on_device {

struct Options {
  std::string model;
  std::vector<std::string> inputs;
  bool greedy = false;
  int threads = 1;
  bool help = false;
};

inline int ParseThreads(std::string_view text) {
  constexpr int kMost = 1024;
  int number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || number < 1 || number > kMost) {
    throw InputError("--threads must be an integer from 1 to " + Grouped(kMost) + ". Received: " +
                     Quoted(text.substr(0, 80)) + ". Give another one.");
  }
  return number;
}

inline Options ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  std::vector<std::string> places;  // the model and the inputs
  bool named = true;                // until "--"
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& one = arguments[i];
    if (!named || one.size() < 2 || one[0] != '-') {
      places.push_back(one);
    } else if (one == "--") {
      named = false;
    } else if (one == "--help" || one == "-h") {
      options.help = true;
    } else if (one == "--greedy") {
      options.greedy = true;
    } else if (one.starts_with("--threads=")) {
      options.threads = ParseThreads(std::string_view(one).substr(10));
    } else if (one == "--threads" && i + 1 < arguments.size()) {
      options.threads = ParseThreads(arguments[++i]);
    } else {
      throw InputError("An option must be known. Received: " + Quoted(one) + ". See --help.");
    }
  }
  if (options.help) return options;
  if (places.empty()) {
    throw InputError("The command line must name a model. Received: none. See --help.");
  }
  options.model = places[0];
  options.inputs.assign(places.begin() + 1, places.end());
  return options;
}

// An error in one line.
inline void Complain(const std::exception& error) {
  std::istringstream words(error.what());
  std::string line = "error:";
  for (std::string word; words >> word;) line += " " + word;
  std::cerr << line << std::endl;
}

// Runs `run(options)`; returns 0, or 2 after an error.
template <typename Run>
int Main(int count, char** arguments, std::string_view help, Run run) {
  try {
    const Options options = ParseOptions({arguments + (count > 0), arguments + count});
    if (options.help) {
      std::cout << help;
    } else {
      run(options);
    }
    return 0;
  } catch (const std::exception& error) {
    Complain(error);
    return 2;
  }
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_PROGRAM_H_
