// Runs a signature of a .tflite model with LiteRT's C API. Handles own their objects.

#ifndef KERAS_BAHDANAU_LITERT_RUNNER_H_
#define KERAS_BAHDANAU_LITERT_RUNNER_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "litert.h"

namespace litert {

// Error: a function of the library failed, or the model has an unexpected tensor.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline void Check(LiteRtStatus status) {
  if (status != kLiteRtStatusOk) throw Error("LiteRT gives status " + std::to_string(status));
}

// Returns the result of a library function that writes it to its last argument.
template <typename Result, typename Function, typename... Arguments>
Result Get(Function function, Arguments... arguments) {
  Result result{};
  Check(function(arguments..., &result));
  return result;
}

template <auto destroy>
struct Destroy {
  template <typename Object>
  void operator()(Object* object) const {
    destroy(object);
  }
};

// A handle that owns and destroys an object.
template <typename Handle, auto destroy>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<destroy>>;

// An input or output, in memory that the library owns.
class Tensor {
 public:
  Tensor(LiteRtEnvironment environment, LiteRtTensor tensor,
         LiteRtTensorBufferRequirements requirements)
      : type_(Get<LiteRtRankedTensorType>(LiteRtGetRankedTensorType, tensor)),
        buffer_(Get<LiteRtTensorBuffer>(LiteRtCreateManagedTensorBufferFromRequirements,
                                        environment, &type_, requirements)) {
    constexpr size_t kMost = size_t{1} << 31;
    if (type_.layout.rank > std::size(type_.layout.dimensions)) throw Error("a tensor has no shape");
    for (unsigned axis = 0; axis < type_.layout.rank; ++axis) {
      const int32_t positions = type_.layout.dimensions[axis];
      if (positions < 1 || size_ > kMost / positions) throw Error("a tensor has no fixed size");
      size_ *= static_cast<size_t>(positions);
    }
  }

  LiteRtTensorBuffer buffer() const { return buffer_.get(); }

  // Sets the first elements to the given values, and all others to 0.
  template <typename T>
  void Write(const std::vector<T>& values) const {
    CheckType<T>();
    if (values.size() > size_) {
      throw Error("a tensor of the model has " + std::to_string(size_) + " elements, not " +
                  std::to_string(values.size()));
    }
    T* first = Lock<T>(kLiteRtTensorBufferLockModeWrite);
    std::fill(std::copy(values.begin(), values.end(), first), first + size_, T{});
    Check(LiteRtUnlockTensorBuffer(buffer()));
  }

  template <typename T>
  std::vector<T> Read() const {
    CheckType<T>();
    const T* first = Lock<T>(kLiteRtTensorBufferLockModeRead);
    std::vector<T> values(first, first + size_);
    Check(LiteRtUnlockTensorBuffer(buffer()));
    return values;
  }

  size_t size() const { return size_; }

 private:
  template <typename T>
  void CheckType() const {
    constexpr int type = std::is_same_v<T, float>     ? kLiteRtElementTypeFloat32
                         : std::is_same_v<T, int32_t> ? kLiteRtElementTypeInt32
                                                      : kLiteRtElementTypeUInt8;
    static_assert(type != kLiteRtElementTypeUInt8 || std::is_same_v<T, uint8_t>);
    if (type_.element_type != type) throw Error("a tensor of the model has an unexpected type");
  }

  template <typename T>
  T* Lock(int mode) const {
    void* address = nullptr;
    Check(LiteRtLockTensorBuffer(buffer(), &address, mode));
    return static_cast<T*>(address);
  }

  LiteRtRankedTensorType type_;
  Owned<LiteRtTensorBuffer, LiteRtDestroyTensorBuffer> buffer_;
  size_t size_ = 1;  // number of elements
};

// A model, compiled for one of its signatures.
class Signature {
 public:
  // Uses the first of the given signatures that the model has. The bytes of the model, and all
  // bytes after it, must outlive this object.
  Signature(std::string_view model, const std::vector<std::string>& keys, int threads)
      : environment_(Get<LiteRtEnvironment>(LiteRtCreateEnvironment, 2, kEnvironmentOptions)),
        model_(Get<LiteRtModel>(LiteRtCreateModelFromBuffer, environment_.get(), model.data(),
                                model.size())),
        index_(IndexOf(keys)),
        signature_(Get<LiteRtSignature>(LiteRtGetModelSignature, model_.get(), index_)),
        compiled_(Compile(threads)) {}

  LiteRtEnvironment environment() const { return environment_.get(); }
  LiteRtCompiledModel compiled() const { return compiled_.get(); }
  size_t index() const { return index_; }

  size_t input_count() const { return Get<size_t>(LiteRtGetNumSignatureInputs, signature_); }
  size_t output_count() const { return Get<size_t>(LiteRtGetNumSignatureOutputs, signature_); }

  std::string InputName(size_t index) const {
    return Get<const char*>(LiteRtGetSignatureInputName, signature_, index);
  }
  std::string OutputName(size_t index) const {
    return Get<const char*>(LiteRtGetSignatureOutputName, signature_, index);
  }

  LiteRtTensor Input(size_t index) const {
    return Get<LiteRtTensor>(LiteRtGetSignatureInputTensorByIndex, signature_, index);
  }
  LiteRtTensor Output(size_t index) const {
    return Get<LiteRtTensor>(LiteRtGetSignatureOutputTensorByIndex, signature_, index);
  }

  // Returns the requirements for the memory of an input or output.
  LiteRtTensorBufferRequirements InputRequirements(size_t index) const {
    return Get<LiteRtTensorBufferRequirements>(LiteRtGetCompiledModelInputBufferRequirements,
                                               compiled_.get(), index_, index);
  }
  LiteRtTensorBufferRequirements OutputRequirements(size_t index) const {
    return Get<LiteRtTensorBufferRequirements>(LiteRtGetCompiledModelOutputBufferRequirements,
                                               compiled_.get(), index_, index);
  }

  // Runs the model on inputs and outputs in the order of the signature, and returns the status.
  LiteRtStatus Run(std::vector<LiteRtTensorBuffer> inputs,
                   std::vector<LiteRtTensorBuffer> outputs) const {
    return LiteRtRunCompiledModel(compiled_.get(), index_, inputs.size(), inputs.data(),
                                  outputs.size(), outputs.data());
  }

 private:
  static constexpr LiteRtEnvOption kEnvironmentOptions[] = {
      {kLiteRtEnvOptionTagAutoRegisterAccelerators, {kLiteRtAnyTypeInt, kLiteRtHwAcceleratorCpu}},
      {kLiteRtEnvOptionTagMinLoggerSeverity, {kLiteRtAnyTypeInt, kLiteRtLogSeveritySilent}},
  };

  size_t IndexOf(const std::vector<std::string>& keys) const {
    const auto count = Get<size_t>(LiteRtGetNumModelSignatures, model_.get());
    for (const std::string& key : keys) {
      for (size_t index = 0; index < count; ++index) {
        const auto one = Get<LiteRtSignature>(LiteRtGetModelSignature, model_.get(), index);
        if (Get<const char*>(LiteRtGetSignatureKey, one) == key) return index;
      }
    }
    throw Error("the model has no signature " + keys.back());
  }

  LiteRtCompiledModel Compile(int threads) const {
    std::string settings = "num_threads = " + std::to_string(threads);  // for the CPU
    const Owned<LiteRtOptions, LiteRtDestroyOptions> options(
        Get<LiteRtOptions>(LiteRtCreateOptions));
    Check(LiteRtSetOptionsHardwareAccelerators(options.get(), kLiteRtHwAcceleratorCpu));
    Check(LiteRtAddOpaqueOptions(
        options.get(), Get<LiteRtOpaqueOptions>(LiteRtCreateOpaqueOptions, "xnnpack",
                                                settings.data(), [](void*) {})));
    return Get<LiteRtCompiledModel>(LiteRtCreateCompiledModel, environment_.get(), model_.get(),
                                    options.get());
  }

  Owned<LiteRtEnvironment, LiteRtDestroyEnvironment> environment_;
  Owned<LiteRtModel, LiteRtDestroyModel> model_;
  size_t index_;
  LiteRtSignature signature_;
  Owned<LiteRtCompiledModel, LiteRtDestroyCompiledModel> compiled_;
};

// A signature of a model: write the inputs, run, read the outputs. For one thread at a time.
class Runner {
 public:
  // See `Signature`.
  Runner(std::string_view model, const std::vector<std::string>& signatures, int threads)
      : signature_(model, signatures, threads) {
    for (size_t i = 0; i < signature_.input_count(); ++i) {
      inputs_.emplace_back(signature_.InputName(i),
                           Tensor(signature_.environment(), signature_.Input(i),
                                  signature_.InputRequirements(i)));
    }
    for (size_t i = 0; i < signature_.output_count(); ++i) {
      outputs_.emplace_back(signature_.OutputName(i),
                            Tensor(signature_.environment(), signature_.Output(i),
                                   signature_.OutputRequirements(i)));
    }
  }

  // Returns a tensor of the signature, or a null pointer if there is none with this name.
  const Tensor* FindInput(std::string_view name) const { return Find(inputs_, name); }
  const Tensor* FindOutput(std::string_view name) const { return Find(outputs_, name); }

  const Tensor& Input(std::string_view name) const { return Required(FindInput(name), name); }
  const Tensor& Output(std::string_view name) const { return Required(FindOutput(name), name); }

  void Run() { Check(signature_.Run(Buffers(inputs_), Buffers(outputs_))); }

 private:
  using Named = std::vector<std::pair<std::string, Tensor>>;  // in the order of the signature

  static const Tensor* Find(const Named& tensors, std::string_view name) {
    for (const auto& [one, tensor] : tensors) {
      if (one == name) return &tensor;
    }
    return nullptr;
  }

  static const Tensor& Required(const Tensor* tensor, std::string_view name) {
    if (tensor == nullptr) throw Error("the model has no tensor " + std::string(name));
    return *tensor;
  }

  static std::vector<LiteRtTensorBuffer> Buffers(const Named& tensors) {
    std::vector<LiteRtTensorBuffer> buffers;
    for (const auto& [name, tensor] : tensors) buffers.push_back(tensor.buffer());
    return buffers;
  }

  Signature signature_;
  Named inputs_, outputs_;
};

}  // namespace litert

#endif  // KERAS_BAHDANAU_LITERT_RUNNER_H_
