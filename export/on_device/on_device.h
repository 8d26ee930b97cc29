// An exported .tflite file at work: the inputs of its main signature in, text out.

#ifndef KERAS_BAHDANAU_ON_DEVICE_H_
#define KERAS_BAHDANAU_ON_DEVICE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "litert_runner.h"
#include "program.h"
#include "sentencepiece_processor.h"
#include "tflite_file.h"

namespace on_device {

constexpr int kPad = 0, kStart = 2, kEnd = 3;

// One file, loaded. Throws InputError if it is not as it was exported.
class Pipeline {
 public:
  explicit Pipeline(const Options& options)
      : file_(options.model),
        target_(Vocabulary("target")),
        runner_(Load(file_, options)) {}

  const json::Value& card() const { return file_.card(); }

  // Positions that a source may have.
  size_t longest() const { return Longest(card()); }

  // The SentencePiece model of a side, "source" or "target".
  std::unique_ptr<sentencepiece::SentencePieceProcessor> Vocabulary(const std::string& side) const {
    const auto* name = card()["vocabularies"][side].As<std::string>();
    if (name == nullptr) {
      throw InputError("A file for text must hold the vocabulary of the " + side + ". Received: " +
                       Quoted(file_.path()) + ", which holds none. Use read_files.");
    }
    auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
    if (!processor->LoadFromSerializedProto(file_.File(*name)).ok()) {
      throw InputError("A .tflite file must hold vocabularies that SentencePiece can load. "
                       "Received: path=" + Quoted(file_.path()) + " with another " +
                       Quoted(*name) + ". Export it again.");
    }
    return processor;
  }

  // Sets an input, padded with 0.
  template <typename T>
  void Write(const std::string& input, const std::vector<T>& values) {
    runner_.Input(input).Write(values);
  }

  // The best text for the inputs.
  std::string Decode() {
    runner_.Run();
    std::vector<int> ids = runner_.Output("ids").Read<int32_t>();
    const int32_t length = runner_.Output("length").Read<int32_t>().at(0);
    ids.resize(std::clamp<size_t>(length, 0, ids.size()));
    std::erase_if(ids, [](int id) { return id == kPad || id == kStart || id == kEnd; });
    std::string text;
    const auto status = target_->Decode(ids, &text);
    if (!status.ok()) throw InputError(status.ToString());
    return text;
  }

 private:
  static litert::Runner Load(const TfliteFile& file, const Options& options) {
    const std::string signature = *file.card()["verb"].As<std::string>();
    try {
      return {file.content(), signature + (options.greedy ? "_greedy" : ""), options.threads};
    } catch (const litert::Error& error) {
      throw InputError("A .tflite file must hold a model that LiteRT can load. Received: path=" +
                       Quoted(file.path()) + " (" + error.what() +
                       "). Install a newer LiteRT, or export again.");
    }
  }

  TfliteFile file_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> target_;
  litert::Runner runner_;
};

}  // namespace on_device

#endif  // KERAS_BAHDANAU_ON_DEVICE_H_
