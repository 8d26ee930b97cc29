// Runs a signature whose tensors may have axes of any size: maps named arrays to named arrays.

#ifndef KERAS_BAHDANAU_ARRAY_RUNNER_H_
#define KERAS_BAHDANAU_ARRAY_RUNNER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "litert_runner.h"

namespace litert {

using Shape = std::vector<int32_t>;  // -1 for an axis of any size
using Values = std::variant<std::vector<float>, std::vector<int32_t>, std::vector<uint8_t>,
                            std::vector<int8_t>>;

struct Array {
  Shape shape;
  Values values;  // in the order of the axes: the last one changes fastest
};
using Arrays = std::map<std::string, Array, std::less<>>;  // by name

// The declaration of an input or output in the model.
struct TensorSpec {
  std::string name;
  LiteRtRankedTensorType type;

  Shape shape() const {
    return {type.layout.dimensions, type.layout.dimensions + type.layout.rank};
  }
};

// Returns zeros of a LiteRT element type. Throws Error for unsupported types.
inline Values Zeros(int element_type, size_t count) {
  switch (element_type) {
    case kLiteRtElementTypeFloat32: return std::vector<float>(count);
    case kLiteRtElementTypeInt32: return std::vector<int32_t>(count);
    case kLiteRtElementTypeUInt8: return std::vector<uint8_t>(count);
    case kLiteRtElementTypeInt8: return std::vector<int8_t>(count);
    default: throw Error("a tensor of the model has an unsupported type");
  }
}

// Returns the number of elements of a shape. Throws Error for an unknown size or too many elements.
inline size_t Elements(const Shape& shape) {
  constexpr size_t kMost = size_t{1} << 31;
  size_t elements = 1;
  for (const int32_t size : shape) {
    if (size < 1 || elements > kMost / size) throw Error("a tensor has no fixed size");
    elements *= static_cast<size_t>(size);
  }
  return elements;
}

class ArrayRunner {
 public:
  // See `Signature`.
  ArrayRunner(std::string_view model, const std::string& signature, int threads)
      : signature_(model, {signature}, threads) {
    for (size_t i = 0; i < signature_.input_count(); ++i) {
      inputs_.push_back(SpecOf(signature_.InputName(i), signature_.Input(i)));
    }
    for (size_t i = 0; i < signature_.output_count(); ++i) {
      outputs_.push_back(SpecOf(signature_.OutputName(i), signature_.Output(i)));
    }
  }

  const std::vector<TensorSpec>& inputs() const { return inputs_; }
  const std::vector<TensorSpec>& outputs() const { return outputs_; }

  // Returns the outputs for one array per input. Throws Error if the model rejects the shapes.
  Arrays Run(const Arrays& inputs) const {
    std::vector<Memory> written;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      const auto found = inputs.find(inputs_[i].name);
      if (found == inputs.end()) throw Error("the input " + inputs_[i].name + " is missing");
      written.push_back(Written(i, found->second));
    }
    const std::vector<size_t> capacities = Capacities(inputs);
    std::vector<Memory> outputs;
    for (size_t i = 0; i < outputs_.size(); ++i) outputs.push_back(Marked(i, capacities[i]));
    Check(signature_.Run(Buffers(written), Buffers(outputs)));
    return Read(outputs, capacities);
  }

 private:
  using Memory = Owned<LiteRtTensorBuffer, LiteRtDestroyTensorBuffer>;
  // The largest size of an output's axis, relative to the longest axis of the inputs.
  static constexpr int32_t kTimes = 8, kMore = 1024;
  static constexpr unsigned char kMark = 0xa5;  // the first bytes, until a run overwrites them
  static constexpr size_t kMarked = 64;

  static TensorSpec SpecOf(std::string name, LiteRtTensor tensor) {
    const auto type = Get<LiteRtRankedTensorType>(LiteRtGetRankedTensorType, tensor);
    if (type.layout.rank > std::size(type.layout.dimensions)) throw Error("a tensor has no shape");
    Zeros(type.element_type, 0);
    return {std::move(name), type};
  }

  static std::vector<LiteRtTensorBuffer> Buffers(const std::vector<Memory>& memories) {
    std::vector<LiteRtTensorBuffer> buffers;
    for (const Memory& memory : memories) buffers.push_back(memory.get());
    return buffers;
  }

  static size_t ElementSize(int element_type) {
    return element_type == kLiteRtElementTypeFloat32 || element_type == kLiteRtElementTypeInt32 ? 4
                                                                                               : 1;
  }

  // Allocates host memory for an array of a type.
  Memory Allocate(int element_type, const Shape& shape) const {
    LiteRtRankedTensorType type{element_type, {}};
    type.layout.rank = static_cast<unsigned>(shape.size());
    std::copy(shape.begin(), shape.end(), type.layout.dimensions);
    return Memory(Get<LiteRtTensorBuffer>(LiteRtCreateManagedTensorBuffer, signature_.environment(),
                                          kLiteRtTensorBufferTypeHostMemory, &type,
                                          Elements(shape) * ElementSize(element_type)));
  }

  // Copies the array of an input to memory, and resizes the model to its shape.
  Memory Written(size_t index, const Array& array) const {
    const Shape declared = inputs_[index].shape();
    if (std::count(declared.begin(), declared.end(), -1) > 0) {
      Check(LiteRtCompiledModelResizeInputTensor(signature_.compiled(), signature_.index(), index,
                                                 array.shape.data(), array.shape.size()));
    }
    Memory memory = Allocate(inputs_[index].type.element_type, array.shape);
    std::visit(
        [&](const auto& values) {
          if (values.size() != Elements(array.shape)) throw Error("an array has the wrong shape");
          std::memcpy(Lock(memory, kLiteRtTensorBufferLockModeWrite), values.data(),
                      values.size() * sizeof(values[0]));
        },
        array.values);
    Check(LiteRtUnlockTensorBuffer(memory.get()));
    return memory;
  }

  // Allocates memory for an output, and sets its first bytes to the mark.
  Memory Marked(size_t index, size_t elements) const {
    const int type = outputs_[index].type.element_type;
    Memory memory = Allocate(type, {static_cast<int32_t>(elements)});
    std::memset(Lock(memory, kLiteRtTensorBufferLockModeWrite), kMark,
                std::min(kMarked, elements * ElementSize(type)));
    Check(LiteRtUnlockTensorBuffer(memory.get()));
    return memory;
  }

  // Returns the number of elements to allocate for each output. The library knows the size of some
  // axes only after a run, and writes to the memory without a check, so it must be large enough.
  std::vector<size_t> Capacities(const Arrays& inputs) const {
    int32_t longest = 1;  // the longest axis of unknown size
    for (const TensorSpec& spec : inputs_) {
      const Shape declared = spec.shape(), actual = inputs.find(spec.name)->second.shape;
      for (size_t axis = 0; axis < declared.size(); ++axis) {
        if (declared[axis] < 0) longest = std::max(longest, actual.at(axis));
      }
    }
    std::vector<size_t> capacities;
    const std::vector<LiteRtLayout> layouts = Layouts();  // of the previous run
    for (size_t i = 0; i < layouts.size(); ++i) {
      Shape shape(layouts[i].dimensions, layouts[i].dimensions + layouts[i].rank);
      const Shape declared = outputs_[i].shape();
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const bool any = axis < declared.size() && declared[axis] < 0;
        shape[axis] = std::max(shape[axis], any ? kTimes * longest + kMore : 1);
      }
      capacities.push_back(Elements(shape));
    }
    return capacities;
  }

  Arrays Read(const std::vector<Memory>& outputs, const std::vector<size_t>& capacities) const {
    Arrays arrays;
    const std::vector<LiteRtLayout> layouts = Layouts();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const LiteRtLayout& layout = layouts[i];
      Array array{{layout.dimensions, layout.dimensions + layout.rank}, {}};
      const size_t elements = Elements(array.shape);
      if (elements > capacities[i]) {  // the run has overwritten other memory
        std::fputs("error: An output must be at most 8 times as long as the inputs. Received: a "
                   "longer one. Export the model with a fixed length.\n", stderr);
        std::_Exit(2);
      }
      array.values = Zeros(outputs_[i].type.element_type, elements);
      std::visit([&](auto& values) { CopyFrom(outputs[i], outputs_[i].name, values); },
                 array.values);
      arrays.emplace(outputs_[i].name, std::move(array));
    }
    return arrays;
  }

  // Copies an output. Throws Error if the run did not write it.
  template <typename T>
  static void CopyFrom(const Memory& output, const std::string& name, std::vector<T>& values) {
    const size_t bytes = values.size() * sizeof(T);
    const auto* first =
        static_cast<const unsigned char*>(Lock(output, kLiteRtTensorBufferLockModeRead));
    const bool written = std::any_of(first, first + std::min(kMarked, bytes),
                                     [](unsigned char byte) { return byte != kMark; });
    std::memcpy(values.data(), first, bytes);
    Check(LiteRtUnlockTensorBuffer(output.get()));
    if (!written && sizeof(T) > 1) {
      throw Error("the library does not return the output " + name +
                  ", whose size is unknown before a run; export the model with a fixed length");
    }
  }

  static void* Lock(const Memory& memory, int mode) {
    void* address = nullptr;
    Check(LiteRtLockTensorBuffer(memory.get(), &address, mode));
    return address;
  }

  // Returns the layouts of the outputs in the last run, or as declared, with 1 for any size.
  std::vector<LiteRtLayout> Layouts() const {
    std::vector<LiteRtLayout> layouts(outputs_.size());
    Check(LiteRtGetCompiledModelOutputTensorLayouts(signature_.compiled(), signature_.index(),
                                                    layouts.size(), layouts.data(), false));
    for (const LiteRtLayout& layout : layouts) {
      if (layout.rank > std::size(layout.dimensions)) throw Error("a tensor has no shape");
    }
    return layouts;
  }

  Signature signature_;
  std::vector<TensorSpec> inputs_, outputs_;
};

}  // namespace litert

#endif  // KERAS_BAHDANAU_ARRAY_RUNNER_H_
