// Runs an exported .tflite file: maps the inputs of a signature to text.

#ifndef KERAS_BAHDANAU_ON_DEVICE_H_
#define KERAS_BAHDANAU_ON_DEVICE_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "copying.h"
#include "hypothesis.h"
#include "litert_runner.h"
#include "program.h"
#include "sentencepiece_processor.h"
#include "tflite_file.h"

namespace on_device {

constexpr int kPad = 0, kUnknown = 1, kStart = 2, kEnd = 3;

// A loaded file. Throws InputError if it has changed since its export.
//
// Threads that share an object must hold `Turn()` from the first `Write` to the end of `Decode`.
class Pipeline {
 public:
  explicit Pipeline(const Options& options)
      : file_(options.model),
        target_(Vocabulary("target")),
        nbest_(options.nbest.value_or(1)),
        runner_(Load(file_, options)) {
    CheckNbest();
    if (!options.prefix.empty() || runner_.FindInput("prefix")) WritePrefix(options.prefix);
  }

  const json::Value& card() const { return file_.card(); }

  // Maximum number of source positions.
  size_t longest() const { return Longest(card()); }

  // True if unknown tokens copy characters of the source.
  bool copies() const {
    const auto* setting = card()["search"]["replace_unknown"].As<bool>();
    return setting != nullptr && *setting;
  }

  // Returns the SentencePiece model for a side, "source" or "target".
  std::unique_ptr<sentencepiece::SentencePieceProcessor> Vocabulary(const std::string& side) const {
    const auto* name = card()["vocabularies"][side].As<std::string>();
    if (name == nullptr) {
      throw InputError("A file for text must contain the vocabulary of the " + side +
                       ". Received: " + Quoted(file_.path()) + ", which has none. Use read_files "
                       "for images and sound, and translate.mjs for ink.");
    }
    auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
    if (!processor->LoadFromSerializedProto(file_.File(*name)).ok()) {
      throw InputError("A .tflite file must contain vocabularies that SentencePiece can load. "
                       "Received: path=" + Quoted(file_.path()) + " with an invalid " +
                       Quoted(*name) + ". Export it again.");
    }
    return processor;
  }

  // Returns a lock that only one thread can hold at a time.
  [[nodiscard]] std::unique_lock<std::mutex> Turn() { return std::unique_lock(turn_); }

  // Sets an input, padded with 0.
  template <typename T>
  void Write(const std::string& input, const std::vector<T>& values) {
    runner_.Input(input).Write(values);
  }

  // Returns the best text for the inputs.
  std::string Decode() { return DecodeNbest().front().text; }

  // Returns the best few texts for the inputs, best first: at most the number in the options.
  //
  // Unknown tokens copy from `surfaces`.
  std::vector<Hypothesis> DecodeNbest(const Surfaces& surfaces = {}) {
    runner_.Run();
    const bool lists = runner_.FindOutput("lengths") != nullptr;
    const auto ids = runner_.Output("ids").Read<int32_t>();  // (1, [K,] T)
    const auto lengths = runner_.Output(lists ? "lengths" : "length").Read<int32_t>();
    const auto scores = runner_.Output(lists ? "scores" : "score").Read<float>();
    const auto finished = runner_.Output("finished").Read<int32_t>();
    const auto confidences = Optional<float>(lists ? "confidences" : "confidence");
    const auto log_probs = Optional<float>("token_log_probs");
    const auto entropies = Optional<float>("token_entropies");
    const auto words = Optional<int32_t>("token_words");
    const auto copied = Optional<int32_t>("copied_from");
    if (copies() && !copied) {
      throw InputError("A file that copies characters must have the output copied_from. "
                       "Received: path=" + Quoted(file_.path()) +
                       ", which lacks it. Export it again.");
    }
    const auto weights = runner_.Output("alignment").Read<float>();  // (1, [K,] T, S)
    const size_t time = ids.size() / Most();
    std::vector<Hypothesis> found;
    for (size_t row = 0; row < Most() && found.size() < nbest_; ++row) {
      if (row > 0 && lengths.at(row) < 1) continue;  // an empty entry: there are fewer hypotheses
      const size_t length = std::clamp<int64_t>(lengths.at(row), 0, time);
      const size_t first = row * time;
      const std::vector<int32_t> tokens = Part(ids, first, length);
      const auto alignment = Rows(weights, weights.size() / ids.size(), first, length);
      const auto positions = Part(copied, first, length).value_or(std::vector<int32_t>{});
      found.push_back({Text(tokens, positions, surfaces), scores.at(row),
                       confidences ? std::optional(confidences->at(row)) : std::nullopt,
                       finished.at(row) == 1, Pieces(tokens), Part(log_probs, first, length),
                       Part(entropies, first, length), Part(words, first, length), alignment});
    }
    return found;
  }

 private:
  // Returns the values of an output, if the file has it.
  template <typename T>
  std::optional<std::vector<T>> Optional(const std::string& name) const {
    const litert::Tensor* output = runner_.FindOutput(name);
    return output == nullptr ? std::nullopt : std::optional(output->Read<T>());
  }

  template <typename T>
  static std::vector<T> Part(const std::vector<T>& all, size_t first, size_t length) {
    if (all.size() < first + length) return {};
    return {all.begin() + first, all.begin() + first + length};
  }

  template <typename T>
  static std::optional<std::vector<T>> Part(const std::optional<std::vector<T>>& all, size_t first,
                                            size_t length) {
    return all ? std::optional(Part(*all, first, length)) : std::nullopt;
  }

  // Returns rows of a flat matrix. Columns after the last source position are 0.
  static std::vector<std::vector<float>> Rows(const std::vector<float>& matrix, size_t columns,
                                              size_t first, size_t length) {
    std::vector<std::vector<float>> rows;
    for (size_t row = first; row < first + length; ++row) {
      rows.push_back(Part(matrix, row * columns, columns));
    }
    return rows;
  }

  // Opens the main signature, or one for several texts or a prefix if the file has it.
  static litert::Runner Load(const TfliteFile& file, const Options& options) {
    const std::string verb = *file.card()["verb"].As<std::string>();
    std::vector<std::string> signatures = {verb + (options.greedy ? "_greedy" : "")};
    if (!options.prefix.empty()) {
      signatures = {verb + "_prefix", verb + "_nbest", verb};
    } else if (options.nbest.value_or(1) > 1) {
      signatures = {verb + "_nbest", verb + "_prefix", verb};  // with an empty prefix
    }
    try {
      return {file.content(), signatures, options.threads};
    } catch (const litert::Error& error) {
      throw InputError("A .tflite file must contain a model that LiteRT can load. Received: path=" +
                       Quoted(file.path()) + " (" + error.what() +
                       "). Install a newer LiteRT, or export again.");
    }
  }

  // Maximum number of texts: K, the beam width of the file's search, or 1.
  size_t Most() const {
    const litert::Tensor* lengths = runner_.FindOutput("lengths");
    return lengths == nullptr ? 1 : lengths->size();
  }

  void CheckNbest() const {
    if (nbest_ >= 1 && nbest_ <= Most()) return;
    throw InputError("`nbest` must be from 1 to " + std::to_string(Most()) + " in this file. "
                     "Received: nbest=" + std::to_string(nbest_) +
                     ". Use such a number, or export it with the signature nbest or with a "
                     "wider beam.");
  }

  // Sets the prefix of all texts, for all runs.
  void WritePrefix(const std::string& prefix) {
    if (runner_.FindInput("prefix") == nullptr) {
      throw InputError("A file must have a signature for texts with a prefix. Received: path=" +
                       Quoted(file_.path()) +
                       ", which lacks it. Export it with the signature prefix.");
    }
    std::vector<int> ids;
    const auto status = target_->Encode(prefix, &ids);
    if (!status.ok()) throw InputError("--prefix: " + status.ToString());
    const size_t longest = runner_.Input("prefix").size();
    if (ids.size() > longest) {
      throw InputError("A prefix may have at most " + std::to_string(longest) +
                       " tokens in this file. Received: " + std::to_string(ids.size()) +
                       " tokens in " + Quoted(Shortened(prefix)) +
                       ". Shorten it, or export with a larger max_target_length.");
    }
    Write("prefix", ids);
    Write("prefix_length", std::vector<int32_t>{static_cast<int32_t>(ids.size())});
  }

  // Converts tokens to text. Unknown tokens copy the surfaces at the given positions, if any.
  std::string Text(const std::vector<int>& tokens, const std::vector<int32_t>& copied,
                   const Surfaces& surfaces) const {
    std::vector<int> ids;
    std::string pieces;  // with copies instead of unknown pieces
    for (size_t place = 0; place < tokens.size(); ++place) {
      const int id = tokens[place];
      if (id == kPad || id == kStart || id == kEnd) continue;
      if (id < 0 || id >= target_->GetPieceSize()) {
        throw InputError("A model must return ids in its vocabulary. Received: " +
                         std::to_string(id) + ". Export it again.");
      }
      ids.push_back(id);
      const int32_t position = place < copied.size() ? copied[place] : -1;
      pieces += id == kUnknown ? Copied(surfaces, position) : target_->IdToPiece(id);
    }
    if (!surfaces.empty() && std::ranges::count(ids, kUnknown) > 0) return Spaced(pieces, kMark);
    std::string text;
    const auto status = target_->Decode(ids, &text);
    if (!status.ok()) throw InputError(status.ToString());
    return text;
  }

  // Returns the piece for each id; `Text` has checked that the ids are in the vocabulary.
  std::vector<std::string> Pieces(const std::vector<int>& ids) const {
    std::vector<std::string> pieces;
    for (const int id : ids) pieces.push_back(id == kPad ? "" : target_->IdToPiece(id));
    return pieces;
  }

  TfliteFile file_;
  std::unique_ptr<sentencepiece::SentencePieceProcessor> target_;
  size_t nbest_;
  litert::Runner runner_;
  std::mutex turn_;
};

}  // namespace on_device

#endif  // KERAS_BAHDANAU_ON_DEVICE_H_
