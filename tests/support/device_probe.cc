// Reads files with the headers of export/on_device, and prints a line for each: `probe KIND FILE...`.
//
//   features  name, length and sha256 of a model's inputs; the first file is the model's card
//   numbers   name, length and bytes, in hexadecimal digits, of a model's inputs
//   archives  the size of card.json in a .tflite file
//   json      the value, with strings in hexadecimal digits
//
// The line begins with "refused" if the file is refused.

#include <cstdio>
#include <iostream>
#include <string>
#include <variant>

#include "file_features.h"
#include "tflite_file.h"

namespace {

std::string Digits(const std::string& text) {
  std::string digits;
  for (const unsigned char byte : text) {
    digits += "0123456789abcdef"[byte >> 4];
    digits += "0123456789abcdef"[byte & 15];
  }
  return digits;
}

std::string Shown(const json::Value& value) {
  std::string shown;
  if (const auto* one = value.As<bool>()) return *one ? "true" : "false";
  if (const auto* one = value.As<int64_t>()) return std::to_string(*one);
  if (const auto* one = value.As<std::string>()) return "'" + Digits(*one) + "'";
  if (const auto* one = value.As<double>()) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g.", *one);
    return digits;
  }
  if (const auto* array = value.As<json::Array>()) {
    for (const json::Value& one : *array) shown += Shown(one) + ",";
    return "[" + shown + "]";
  }
  if (const auto* object = value.As<json::Object>()) {
    for (const auto& [name, one] : *object) shown += Digits(name) + ":" + Shown(one) + ",";
    return "{" + shown + "}";
  }
  return "null";
}

std::string Line(const std::string& kind, const std::string& path, const std::string& card) {
  constexpr size_t kMost = 1 << 24;
  if (kind == "json") return Shown(json::Parse(on_device::ReadFile(path, kMost)));
  if (kind == "archives") {
    const on_device::TfliteFile file(path);
    return "card.json " + std::to_string(file.File("card.json").size());
  }
  const on_device::Features features = on_device::FeaturesOf(path, json::Parse(card));
  const auto bytes = [](const auto& values) {
    return std::string_view(reinterpret_cast<const char*>(values.data()),
                            values.size() * sizeof values[0]);
  };
  const std::string_view values = std::visit(bytes, features.values);
  return features.name + " " + std::to_string(features.length) + " " +
         (kind == "numbers" ? Digits(std::string(values)) : sha256::Hex(values));
}

}  // namespace

int main(int count, char** arguments) {
  const std::string kind = arguments[1];
  const bool with_card = kind == "features" || kind == "numbers";
  const std::string card = with_card ? on_device::ReadFile(arguments[2], 1 << 20) : "";
  for (int i = with_card ? 3 : 2; i < count; ++i) {
    try {
      std::cout << Line(kind, arguments[i], card) << std::endl;
    } catch (const on_device::InputError& error) {
      std::cout << "refused: " << error.what() << std::endl;
    } catch (const std::invalid_argument& error) {
      std::cout << "refused: " << error.what() << std::endl;
    }
  }
}
