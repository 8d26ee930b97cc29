// Runs a .tflite file of a Keras model: reads lines of JSON, and prints a line of JSON for each.

#include <cstddef>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "array_model.h"
#include "program.h"

namespace {

using on_device::InputError;

constexpr char kHelp[] =
    R"(usage: run_arrays [--signature NAME | --stream] [--threads N] MODEL.tflite

Runs a Keras model that export_litert wrote. A line of standard input is a request, a JSON object
with nested lists of numbers for each input; a line of standard output is its answer, with nested
lists for each output:

  {"ids": [[4, 8, 15]]}  ->  {"mood": [[0.25, 0.75]]}

Integers outside of the range of an input are the nearest ones inside. NaN and infinite outputs are
null.

  --signature NAME  signature to run, the first of the export by default
  --stream          run `step`: states start at zero and are kept from line to line
  --threads N       processor threads, 1 by default

Exit codes: 0 all is answered; 2 the command line, the model or a request is wrong.
)";
constexpr size_t kMostBytes = 1 << 22;  // limit for a line of input

struct ArrayOptions {
  std::optional<std::string> signature;
  std::optional<std::string> model;
  bool streams = false;
  bool help = false;
  int threads = 1;
};

ArrayOptions Parsed(const std::vector<std::string>& arguments) {
  ArrayOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == "--help" || word == "-h") {
      options.help = true;
    } else if (word == "--stream") {
      options.streams = true;
    } else if (const auto threads = on_device::ValueOf("--threads", arguments, i)) {
      options.threads = on_device::ParseNumber("--threads", *threads);
    } else if (const auto signature = on_device::ValueOf("--signature", arguments, i)) {
      options.signature = *signature;
    } else if (word.starts_with("-") || options.model) {
      throw InputError("The command line must be known options and one model. Received: " +
                       on_device::Quoted(on_device::Shortened(word)) + ". See --help.");
    } else {
      options.model = word;
    }
  }
  if (options.streams && options.signature) {
    throw InputError("--stream runs the signature step. Received: --signature with it. Leave "
                     "one out.");
  }
  if (!options.model && !options.help) {
    throw InputError("The command line must name a model. Received: none. See --help.");
  }
  return options;
}

void Run(const ArrayOptions& options) {
  on_device::ArrayModel model(*options.model, options.signature, options.streams, options.threads);
  on_device::LineReader lines(std::cin, kMostBytes);
  while (const auto line = lines.Next()) {
    std::string answer;
    try {
      answer = model.Answer(*line);
    } catch (const InputError& error) {
      throw InputError(lines.name() + ": " + error.what());
    }
    if (!(std::cout << answer << '\n' << std::flush)) {
      throw InputError("Standard output must accept all lines. Received: an error at " +
                       lines.name() + ". Free some space, or redirect it to another file.");
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  return on_device::Guarded([&] {
    const ArrayOptions options = Parsed({arguments + (count > 0), arguments + count});
    if (options.help) {
      std::cout << kHelp;
    } else {
      Run(options);
    }
  });
}
