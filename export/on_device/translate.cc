// Translates with one .tflite file, line by line.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "on_device.h"
#include "utf8.h"

namespace {

using on_device::InputError;

constexpr char kHelp[] =
    R"(usage: translate [--greedy | [--nbest K] [--prefix TEXT]] [--threads N] [--json]
                 MODEL.tflite [SENTENCE...]

Translates the sentences of the command line or, without any, of standard input in UTF-8: a line in,
a line out; a blank line gives an empty one.

  --greedy       no beam search: faster, a little worse
  --nbest K      print the K best texts of each input as 'number ||| text ||| score'
  --prefix TEXT  what each text begins with
  --threads N    processor threads, 1 by default
  --json         print a line of JSON for each input: texts, scores, confidences, tokens

Exit codes: 0 all is translated; 2 the command line, the model or the input is wrong.
)";
constexpr size_t kMostBytes = 1 << 20;  // limit for a line of input

// Any number of threads may share an object; they take turns in the model.
class Translator {
 public:
  explicit Translator(const on_device::Options& options)
      : pipeline_(options), source_(pipeline_.Vocabulary("source")) {}

  // Returns the best translations of a sentence, which may include a line ending.
  std::vector<on_device::Hypothesis> Translate(std::string_view sentence, const std::string& name) {
    if (sentence.ends_with('\n')) sentence.remove_suffix(1);
    if (sentence.ends_with('\r')) sentence.remove_suffix(1);
    on_device::CheckUtf8(sentence, name);
    if (utf8::IsBlank(sentence)) sentence = {};
    sentencepiece::ImmutableSentencePieceText encoded;
    const auto status = source_->Encode(sentence, encoded.mutable_proto());
    if (!status.ok()) throw InputError(name + ": " + status.ToString());
    std::vector<int> ids;
    for (const auto& piece : encoded.pieces()) ids.push_back(static_cast<int>(piece.id()));
    on_device::Surfaces surfaces;  // unknown tokens of the answer copy from these
    for (const auto& piece : encoded.pieces()) {
      if (!pipeline_.copies()) continue;
      const size_t begin = piece.begin(), size = piece.end() - begin;
      surfaces.push_back(on_device::Surface(sentence.substr(begin, size)));
    }
    if (!ids.empty()) ids.push_back(on_device::kEnd);
    const size_t longest = pipeline_.longest();
    if (ids.size() > longest) {
      throw InputError(name + ": A sentence may have at most " + std::to_string(longest) +
                       " tokens in this file. Received: " + std::to_string(ids.size()) +
                       " tokens in " + on_device::Quoted(on_device::Shortened(sentence)) +
                       ". Split it, or export with a larger max_source_length.");
    }
    const auto turn = pipeline_.Turn();
    pipeline_.Write("source", ids);
    return pipeline_.DecodeNbest(surfaces);
  }

 private:
  on_device::Pipeline pipeline_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> source_;
};

void Run(const on_device::Options& options) {
  Translator translator(options);
  size_t number = 0;
  const auto translate = [&](std::string_view sentence, const std::string& kind) {
    const std::string name = kind + " " + std::to_string(number + 1);
    on_device::Print(options, number++, translator.Translate(sentence, name));
  };
  for (const std::string& sentence : options.inputs) translate(sentence, "sentence");
  if (!options.inputs.empty()) return;
  on_device::LineReader lines(std::cin, kMostBytes);
  while (const auto line = lines.Next()) translate(*line, "line");
}

}  // namespace

int main(int count, char** arguments) { return on_device::Main(count, arguments, kHelp, Run); }
