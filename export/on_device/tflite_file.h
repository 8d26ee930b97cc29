// Reads an exported .tflite file: the model, followed by a zip archive and the seal of both.

#ifndef KERAS_BAHDANAU_TFLITE_FILE_H_
#define KERAS_BAHDANAU_TFLITE_FILE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "input_file.h"
#include "json.h"
#include "sha256.h"

namespace on_device {

// Returns a positive number in a card. Throws InputError if it is above a limit.
inline size_t Setting(const json::Value& settings, const std::string& name, int64_t most) {
  const auto* number = settings[name].As<int64_t>();
  if (number == nullptr || *number < 1 || *number > most) {
    throw InputError("`" + name + "` of a card must be an integer from 1 to " + Grouped(most) +
                     ". Received: another one. Export the model again.");
  }
  return static_cast<size_t>(*number);
}

// Returns the maximum number of source positions.
inline size_t Longest(const json::Value& card) {
  return Setting(card, "max_source_length", 100'000);
}

class TfliteFile;

// A use of a file: what the file must be, and a function that throws std::invalid_argument for the
// card of an unsuitable file.
struct Use {
  const char* demand;
  void (*check)(const TfliteFile& file);
};
inline void CheckPipeline(const TfliteFile& file);
inline void CheckKerasModel(const TfliteFile& file);
inline constexpr Use kPipeline{
    "A .tflite file to translate with must contain its vocabulary, and be unchanged since its "
    "export.", CheckPipeline};
inline constexpr Use kKerasModel{
    "A .tflite file of arrays must be from a Keras model, and unchanged since its export.",
    CheckKerasModel};

// The contents of a file. Throws InputError if it has changed since its export.
class TfliteFile {
 public:
  explicit TfliteFile(const std::string& path, const Use& use = kPipeline)
      : path_(path), content_(ReadFile(path, kLargest)) {
    try {
      Require(content_.size() <= kLargest, "it is larger than 2 GiB");
      Require(sha256::IsSealed(content_), "its last 64 bytes are not its sha256");
      Unpack();
      card_ = json::Parse(File("card.json"));
      use.check(*this);
    } catch (const std::invalid_argument& error) {
      throw InputError(std::string(use.demand) + " Received: path=" + Quoted(path) + " (" +
                       error.what() + "). Copy it again, or write it with export_litert.");
    }
  }
  TfliteFile(const TfliteFile&) = delete;  // its views refer to its content
  TfliteFile& operator=(const TfliteFile&) = delete;

  const std::string& path() const { return path_; }
  std::string_view content() const { return content_; }
  const json::Value& card() const { return card_; }

  // Returns the bytes of a packed file.
  std::string_view File(std::string_view name) const {
    const auto found = files_.find(name);
    Require(found != files_.end(), "it lacks " + std::string(name));
    return found->second;
  }

  static void Require(bool condition, const std::string& otherwise) {
    if (!condition) throw std::invalid_argument(otherwise);
  }

 private:
  static constexpr size_t kLargest = size_t{1} << 31;  // limit for a FlatBuffer
  static constexpr size_t kSeal = 64;                  // size of the archive's comment
  static constexpr size_t kEnd = 22, kEntry = 46, kHeader = 30;  // sizes of the archive's records


  std::string_view Slice(size_t place, size_t size) const {
    const bool inside = place <= content_.size() && size <= content_.size() - place;
    Require(inside, "its archive is damaged");
    return std::string_view(content_).substr(place, size);
  }

  // Reads a little-endian number in the archive.
  size_t Number(size_t place, size_t size) const {
    size_t number = 0;
    for (const char byte : Slice(place, size)) {
      number = number >> 8 | size_t{static_cast<unsigned char>(byte)} << 8 * (size - 1);
    }
    return number;
  }

  // Finds the packed files, which are not compressed, in the archive's directory.
  void Unpack() {
    Require(content_.size() >= kEnd + kSeal, "it has no archive");
    const size_t end = content_.size() - kEnd - kSeal;
    Require(Slice(end, 4) == "PK\5\6" && Number(end + 20, 2) == kSeal, "it has no archive");
    size_t entry = Number(end + 16, 4);
    for (size_t left = Number(end + 10, 2); left > 0; --left) {
      Require(Slice(entry, 4) == "PK\1\2", "its archive is damaged");
      const size_t size = Number(entry + 24, 4), header = Number(entry + 42, 4);
      const bool stored = Number(entry + 10, 2) == 0 && Number(entry + 20, 4) == size;
      Require(stored, "its archive is compressed");
      const size_t data = header + kHeader + Number(header + 26, 2) + Number(header + 28, 2);
      const size_t name_size = Number(entry + 28, 2);
      files_[std::string(Slice(entry + kEntry, name_size))] = Slice(data, size);
      entry += kEntry + name_size + Number(entry + 30, 2) + Number(entry + 32, 2);
    }
  }

  std::string path_, content_;
  std::map<std::string, std::string_view, std::less<>> files_;
  json::Value card_;
};

inline void CheckPipeline(const TfliteFile& file) {
  const json::Value& card = file.card();
  const auto* names = card["vocabularies"].As<json::Object>();
  file.Require(card["verb"].As<std::string>() && names, "its card.json does not say how to run it");
  file.Require(card["max_source_length"].As<int64_t>(),
               "its card.json has no max_source_length");
  file.Require(names->contains("target"), "it lacks the target vocabulary");
  for (const auto& [side, name] : *names) {
    file.Require(name.As<std::string>(), "its card.json lacks the file name of a vocabulary");
    file.File(*name.As<std::string>());
  }
}

inline void CheckKerasModel(const TfliteFile& file) {
  const auto* signatures = file.card()["tensors"].As<json::Object>();
  file.Require(signatures && !signatures->empty(), "its card.json does not describe a Keras model");
}

}  // namespace on_device

#endif  // KERAS_BAHDANAU_TFLITE_FILE_H_
