// The command line of both programs, `MODEL.tflite INPUT...`, and their exit codes.

#ifndef KERAS_BAHDANAU_PROGRAM_H_
#define KERAS_BAHDANAU_PROGRAM_H_

#include <charconv>
#include <cstddef>
#include <cstdio>
#include <exception>
#include <iostream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "input_file.h"
#include "utf8.h"

namespace on_device {

struct Options {
  std::string model;
  std::vector<std::string> inputs;
  bool greedy = false;
  std::optional<int> nbest;  // number of texts for each input, printed as a list
  std::string prefix;        // the beginning of each text
  int threads = 1;
  bool json = false;  // print a line of JSON for each input
  bool help = false;
};

// Throws InputError if a text is not valid UTF-8.
inline void CheckUtf8(std::string_view text, const std::string& name) {
  const size_t place = utf8::FirstBadByte(text);
  if (place == text.size()) return;
  char byte[5];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[place]));
  throw InputError("The input must be UTF-8. Received: " + name + ", with the byte " + byte +
                   " where UTF-8 allows none. Convert it, with iconv for example.");
}

// Returns the beginning of a UTF-8 text, for an error.
inline std::string_view Shortened(std::string_view text) {
  return utf8::FirstCharacters(text, 80);
}

inline int ParseNumber(const std::string& option, std::string_view text) {
  constexpr int kMost = 1024;
  int number = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, number);
  if (error != std::errc() || end != last || number < 1 || number > kMost) {
    throw InputError(option + " must be an integer from 1 to " + Grouped(kMost) + ". Received: " +
                     Quoted(text.substr(0, 80)) + ". Use another number.");
  }
  return number;
}

// Returns the value of an option, `--option VALUE` or `--option=VALUE`, if `place` is at it, and
// advances `place`.
inline std::optional<std::string> ValueOf(const std::string& option,
                                          const std::vector<std::string>& arguments,
                                          size_t& place) {
  const std::string& one = arguments[place];
  if (one.starts_with(option + "=")) return one.substr(option.size() + 1);
  if (one == option && place + 1 < arguments.size()) return arguments[++place];
  return std::nullopt;
}

// Throws InputError if options can't be combined.
inline void CheckOptions(const Options& options) {
  CheckUtf8(options.prefix, "--prefix");
  if (options.greedy && (options.nbest || !options.prefix.empty())) {
    throw InputError("--nbest and --prefix need the search, which --greedy leaves out. Received: "
                     "--greedy with them. Leave it out.");
  }
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
    } else if (one == "--json") {
      options.json = true;
    } else if (const auto threads = ValueOf("--threads", arguments, i)) {
      options.threads = ParseNumber("--threads", *threads);
    } else if (const auto nbest = ValueOf("--nbest", arguments, i)) {
      options.nbest = ParseNumber("--nbest", *nbest);
    } else if (const auto prefix = ValueOf("--prefix", arguments, i)) {
      options.prefix = *prefix;
    } else {
      throw InputError("An option must be known. Received: " + Quoted(one) + ". See --help.");
    }
  }
  if (options.help) return options;
  CheckOptions(options);
  if (places.empty()) {
    throw InputError("The command line must name a model. Received: none. See --help.");
  }
  options.model = places[0];
  options.inputs.assign(places.begin() + 1, places.end());
  return options;
}

// Reads the lines of a stream, with line endings and without a byte order mark.
class LineReader {
 public:
  // Throws InputError for lines of more than `most` bytes.
  LineReader(std::istream& input, size_t most) : input_(input), most_(most) {}

  // Returns the next line, or nothing at the end of the input.
  std::optional<std::string> Next() {
    ++number_;
    std::string line;
    for (int next; line.size() <= most_ && (next = input_.get()) != EOF;) {
      line += static_cast<char>(next);
      if (next == '\n') break;
    }
    if (std::ferror(stdin)) {
      throw InputError("Standard input must be readable. Received: an error at " + name() +
                       ". Redirect another file.");
    }
    if (line.size() > most_) {
      throw InputError("A line must have at most " + Grouped(most_) + " bytes. Received: " +
                       name() + ", which has more. Split it.");
    }
    if (line.empty()) return std::nullopt;
    constexpr std::string_view kMark = "\xef\xbb\xbf";  // byte order mark, from some programs
    if (number_ == 1 && line.starts_with(kMark)) line.erase(0, kMark.size());
    return line;
  }

  // Returns the name of the last line, for an error.
  std::string name() const { return "line " + std::to_string(number_); }

 private:
  std::istream& input_;
  size_t most_, number_ = 0;
};

// Prints an error on one line.
inline void Complain(const std::exception& error) {
  std::istringstream words(error.what());
  std::string line = "error:";
  for (std::string word; words >> word;) line += " " + word;
  std::cerr << line << std::endl;
}

// Runs an action; returns 0, or 2 after an error.
template <typename Action>
int Guarded(Action action) {
  try {
    action();
    return 0;
  } catch (const std::exception& error) {
    Complain(error);
    return 2;
  }
}

// Runs `run(options)`; returns 0, or 2 after an error.
template <typename Run>
int Main(int count, char** arguments, std::string_view help, Run run) {
  return Guarded([&] {
    const Options options = ParseOptions({arguments + (count > 0), arguments + count});
    if (options.help) {
      std::cout << help;
    } else {
      run(options);
    }
  });
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_PROGRAM_H_
