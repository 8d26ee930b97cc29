// Runs a .tflite file of a Keras model: maps a JSON object of named nested lists to another one.

#ifndef KERAS_BAHDANAU_ARRAY_MODEL_H_
#define KERAS_BAHDANAU_ARRAY_MODEL_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iomanip>
#include <limits>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "array_runner.h"
#include "input_file.h"
#include "json.h"
#include "tflite_file.h"

namespace on_device {

// Joins names with commas, for an error.
inline std::string Listed(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list.empty() ? "none" : list;
}

inline std::string Described(const litert::Shape& shape) {
  std::string sizes;
  for (const int32_t size : shape) {
    sizes += (sizes.empty() ? "" : ", ") + (size < 0 ? "any" : std::to_string(size));
  }
  return '(' + sizes + ')';
}

// Returns NumPy's name for the dtype of a tensor.
inline std::string DtypeOf(const litert::TensorSpec& spec) {
  switch (spec.type.element_type) {
    case kLiteRtElementTypeFloat32: return "float32";
    case kLiteRtElementTypeInt32: return "int32";
    case kLiteRtElementTypeUInt8: return "uint8";
    default: return "int8";
  }
}

// Reads the array of an input from a JSON value. Throws InputError if it doesn't match the input.
class ArrayReader {
 public:
  explicit ArrayReader(const litert::TensorSpec& spec) : spec_(spec) {}

  litert::Array Read(const json::Value& value) {
    const json::Value* first = &value;
    for (const json::Array* list; (list = first->As<json::Array>()); first = &list->front()) {
      shape_.push_back(static_cast<int32_t>(list->size()));
      if (list->empty() || shape_.size() > spec_.shape().size()) break;
    }
    const litert::Shape expected = spec_.shape();
    const auto fits = [](int32_t size, int32_t actual) {
      return actual > 0 && (size < 0 || size == actual);
    };
    if (!std::ranges::equal(expected, shape_, fits)) {
      throw InputError("The input " + Quoted(spec_.name) + " must be " + DtypeOf(spec_) + ' ' +
                       Described(expected) + ". Received: shape " + Described(shape_) + ".");
    }
    litert::Array array{shape_, litert::Zeros(spec_.type.element_type, litert::Elements(shape_))};
    std::visit(
        [&](auto& values) {
          auto* next = values.data();
          Collect(value, 0, next);
        },
        array.values);
    return array;
  }

 private:
  // Appends the numbers of an axis and of all axes after it.
  template <typename T>
  void Collect(const json::Value& value, size_t axis, T*& next) const {
    if (axis == shape_.size()) {
      *next++ = Number<T>(value);
      return;
    }
    const auto* list = value.As<json::Array>();
    if (list == nullptr || list->size() != static_cast<size_t>(shape_[axis])) {
      throw InputError("The lists of an axis of the input " + Quoted(spec_.name) +
                       " must have equal lengths. Received: " + std::to_string(shape_[axis]) +
                       " and " + (list == nullptr ? "no list" : std::to_string(list->size())) +
                       ".");
    }
    for (const json::Value& item : *list) Collect(item, axis + 1, next);
  }

  // Converts a number to a type; integers out of range become the nearest one in range.
  template <typename T>
  T Number(const json::Value& value) const {
    std::optional<double> number;
    if (const auto* integer = value.As<int64_t>()) number = static_cast<double>(*integer);
    if (const auto* real = value.As<double>()) number = *real;
    if (const auto* truth = value.As<bool>()) number = *truth;
    constexpr double kLeast = std::numeric_limits<T>::lowest();
    constexpr double kMost = std::numeric_limits<T>::max();
    if constexpr (std::is_floating_point_v<T>) {
      if (number && std::abs(*number) <= kMost) return static_cast<T>(*number);
    } else if (number && *number == std::floor(*number)) {
      return static_cast<T>(std::clamp(*number, kLeast, kMost));
    }
    throw InputError("The input " + Quoted(spec_.name) + " must contain " +
                     (std::is_floating_point_v<T> ? "finite " : "integer ") + DtypeOf(spec_) +
                     " values. Received: " +
                     (number ? Text(*number) : "no number") + ".");
  }

  static std::string Text(double number) {
    std::ostringstream text;
    text << number;
    return text.str();
  }

  const litert::TensorSpec& spec_;
  litert::Shape shape_;
};

// Writes an array as nested JSON lists, with null for NaN and infinity, which JSON lacks.
inline std::string Json(const litert::Array& array) {
  std::ostringstream text;
  text << std::setprecision(9);  // enough digits to preserve a float32
  std::visit(
      [&](const auto& values) {
        for (size_t place = 0; place < values.size(); ++place) {
          size_t block = 1;  // number of elements in this axis and the following axes
          std::string opened, closed;
          for (size_t axis = array.shape.size(); axis-- > 0;) {
            block *= static_cast<size_t>(array.shape[axis]);
            if (place % block == 0) opened += '[';
            if ((place + 1) % block == 0) closed += ']';
          }
          text << (place > 0 ? ", " : "") << opened;
          if (std::isfinite(static_cast<double>(values[place]))) {
            text << +values[place];
          } else {
            text << "null";
          }
          text << closed;
        }
      },
      array.values);
  return text.str();
}

// A file of a Keras model, loaded for one signature.
class ArrayModel {
 public:
  // Without a name, it is the first signature in the file. If `streams` is true, it is `step`, and
  // this object keeps the states, which start at zero. Throws InputError.
  ArrayModel(const std::string& path, const std::optional<std::string>& signature, bool streams,
             int threads)
      : file_(path, kKerasModel), runner_(Load(Chosen(signature, streams), threads)) {
    if (!streams) return;
    const auto* names = file_.card()["states"].As<json::Array>();
    for (const litert::TensorSpec& spec : runner_.inputs()) {
      const auto is_name = [&](const json::Value& name) {
        return name.As<std::string>() && *name.As<std::string>() == spec.name;
      };
      if (names == nullptr || std::ranges::none_of(*names, is_name)) continue;
      const litert::Shape shape = spec.shape();
      states_[spec.name] = {shape,
                            litert::Zeros(spec.type.element_type, litert::Elements(shape))};
    }
  }

  // Returns the answer to a request; both are JSON.
  std::string Answer(std::string_view request) {
    litert::Arrays outputs = Run(Parsed(request));
    std::string text;
    for (auto& [name, array] : outputs) {
      if (const auto state = states_.find(name); state != states_.end()) {
        state->second = std::move(array);
      } else {
        text += (text.empty() ? "" : ", ") + json::Quoted(name) + ": " + Json(array);
      }
    }
    return '{' + text + '}';
  }

 private:
  std::string Chosen(const std::optional<std::string>& signature, bool streams) const {
    std::vector<std::string> names;
    for (const auto& [name, tensors] : *file_.card()["tensors"].As<json::Object>()) {
      names.push_back(name);
    }
    const auto* first = file_.card()["verb"].As<std::string>();
    const std::string name =
        streams ? "step" : signature.value_or(first == nullptr ? names.front() : *first);
    if (std::ranges::count(names, name) > 0) return name;
    if (streams) {
      throw InputError("A model to stream must have the signature 'step'. Received: signatures " +
                       Listed(names) + ". Export it with signatures=('step',).");
    }
    throw InputError("--signature must be one of " + Listed(names) + ". Received: " +
                     Quoted(utf8::FirstCharacters(name, 80)) + ". Correct it.");
  }

  litert::ArrayRunner Load(const std::string& signature, int threads) const {
    try {
      return {file_.content(), signature, threads};
    } catch (const litert::Error& error) {
      throw InputError("A .tflite file must contain a model that LiteRT can load. Received: path=" +
                       Quoted(file_.path()) + " (" + error.what() +
                       "). Install a newer LiteRT, or export again.");
    }
  }

  // Returns the arrays of a request, including states.
  litert::Arrays Parsed(std::string_view request) const {
    json::Value value;
    try {
      value = json::Parse(request);
    } catch (const std::invalid_argument&) {
    }
    const auto* object = value.As<json::Object>();
    if (object == nullptr) {
      throw InputError("A request must be a JSON object of an array for each input. Received: " +
                       Quoted(utf8::FirstCharacters(request, 80)) + ".");
    }
    CheckNames(*object);
    litert::Arrays arrays = states_;
    for (const litert::TensorSpec& spec : runner_.inputs()) {
      if (states_.contains(spec.name)) continue;
      arrays[spec.name] = ArrayReader(spec).Read(object->at(spec.name));
    }
    return arrays;
  }

  void CheckNames(const json::Object& request) const {
    std::vector<std::string> expected, received;
    for (const litert::TensorSpec& spec : runner_.inputs()) {
      if (!states_.contains(spec.name)) expected.push_back(spec.name);
    }
    for (const auto& [name, value] : request) received.push_back(name);
    std::ranges::sort(expected);  // the names in a request are sorted
    if (received == expected) return;
    throw InputError("The inputs must be " + Listed(expected) + ". Received: " +
                     std::string(utf8::FirstCharacters(Listed(received), 200)) + ".");
  }

  litert::Arrays Run(const litert::Arrays& arrays) const {
    try {
      return runner_.Run(arrays);
    } catch (const litert::Error& error) {
      std::string shapes;
      for (const auto& [name, array] : arrays) {
        shapes += (shapes.empty() ? "" : ", ") + name + ' ' + Described(array.shape);
      }
      throw InputError("Inputs must have shapes that the model accepts. Received: " + shapes +
                       " (" + error.what() + ").");
    }
  }

  TfliteFile file_;
  litert::ArrayRunner runner_;
  litert::Arrays states_;
};

}  // namespace on_device

#endif  // KERAS_BAHDANAU_ARRAY_MODEL_H_
