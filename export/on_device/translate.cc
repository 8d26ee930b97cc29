// Translates with one .tflite file: a line in, a line out.

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "on_device.h"
#include "utf8.h"

namespace {

using on_device::InputError;

constexpr char kHelp[] =
    R"(usage: translate [--greedy] [--threads N] MODEL.tflite [SENTENCE...]

Translates the sentences of the command line or, without any, of standard input in UTF-8: a line in,
a line out; an empty line stays empty.

  --greedy     no beam search: faster, a little worse
  --threads N  processor threads, 1 by default

Exit codes: 0 all is translated; 2 the command line, the model or the input is wrong.
)";
constexpr size_t kMostBytes = 1 << 20;  // of one line of input
constexpr size_t kShown = 80;           // characters of a sentence in an error

// Throws InputError if any of a text is no UTF-8.
void CheckUtf8(std::string_view text, const std::string& name) {
  const size_t place = utf8::FirstBadByte(text);
  if (place == text.size()) return;
  char byte[5];
  std::snprintf(byte, sizeof byte, "0x%02x", static_cast<unsigned char>(text[place]));
  throw InputError("The input must be UTF-8. Received: " + name + ", with the byte " + byte +
                   " where UTF-8 allows none. Convert it, with iconv for example.");
}

std::string_view FirstCharacters(std::string_view text, size_t count) {
  size_t place = 0;
  for (; count > 0 && place < text.size(); --count) {
    place += utf8::CharacterSize(text.substr(place));
  }
  return text.substr(0, place);
}

// The next line with its end; an empty one at the end of the input.
std::string NextLine(std::istream& input, size_t number) {
  std::string line;
  for (int next; line.size() <= kMostBytes && (next = input.get()) != EOF;) {
    line += static_cast<char>(next);
    if (next == '\n') break;
  }
  if (line.size() > kMostBytes) {
    throw InputError("A line must have at most " + on_device::Grouped(kMostBytes) +
                     " bytes. Received: line " + std::to_string(number) +
                     ", which has more. Split it.");
  }
  return line;
}

class Translator {
 public:
  explicit Translator(const on_device::Options& options)
      : pipeline_(options), source_(pipeline_.Vocabulary("source")) {}

  // The best translation of a sentence, which may end with the end of a line.
  std::string Translate(std::string_view sentence, const std::string& name) {
    if (sentence.ends_with('\n')) sentence.remove_suffix(1);
    if (sentence.ends_with('\r')) sentence.remove_suffix(1);
    CheckUtf8(sentence, name);
    std::vector<int> ids;
    const auto status = source_->Encode(sentence, &ids);
    if (!status.ok()) throw InputError(name + ": " + status.ToString());
    if (!ids.empty()) ids.push_back(on_device::kEnd);
    const size_t longest = pipeline_.longest();
    if (ids.size() > longest) {
      throw InputError(name + ": A sentence may have " + std::to_string(longest) +
                       " tokens in this file. Received: " + std::to_string(ids.size()) +
                       " tokens in " + on_device::Quoted(FirstCharacters(sentence, kShown)) +
                       ". Split it, or export with a larger max_source_length.");
    }
    pipeline_.Write("source", ids);
    return pipeline_.Decode();
  }

 private:
  on_device::Pipeline pipeline_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> source_;
};

void Run(const on_device::Options& options) {
  Translator translator(options);
  size_t number = 0;
  for (const std::string& sentence : options.inputs) {
    const std::string name = "sentence " + std::to_string(++number);
    std::cout << translator.Translate(sentence, name) << std::endl;
  }
  if (!options.inputs.empty()) return;
  for (std::string line; !(line = NextLine(std::cin, ++number)).empty();) {
    constexpr std::string_view kMark = "\xef\xbb\xbf";  // some programs begin a file with
    if (number == 1 && line.starts_with(kMark)) line.erase(0, kMark.size());
    std::cout << translator.Translate(line, "line " + std::to_string(number)) << std::endl;
  }
}

}  // namespace

int main(int count, char** arguments) { return on_device::Main(count, arguments, kHelp, Run); }
