// The native functions of the classes `LiteRtJni` and `ArrayRunnerJni`: LiteRT's C API for a JVM.

#include <jni.h>

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "array_runner.h"
#include "litert_runner.h"

namespace {

// Runs `action`. A C++ exception becomes a Java exception, and the result an empty value.
template <typename Action>
auto Guarded(JNIEnv* env, Action action) -> decltype(action()) {
  try {
    return action();
  } catch (const std::exception& error) {
    env->ThrowNew(env->FindClass("java/lang/IllegalStateException"), error.what());
    return decltype(action())();
  }
}

std::string_view Content(JNIEnv* env, jobject buffer) {
  const auto* first = static_cast<const char*>(env->GetDirectBufferAddress(buffer));
  if (first == nullptr) throw litert::Error("the buffer must be direct");
  return {first, static_cast<size_t>(env->GetDirectBufferCapacity(buffer))};
}

std::string Text(JNIEnv* env, jstring text) {
  const char* characters = env->GetStringUTFChars(text, nullptr);
  if (characters == nullptr) throw litert::Error("out of memory");
  const std::string copy = characters;
  env->ReleaseStringUTFChars(text, characters);
  return copy;
}

litert::Runner& Runner(jlong handle) { return *reinterpret_cast<litert::Runner*>(handle); }

constexpr LiteRtEnvOption kProcessorAndSilence[] = {
    {kLiteRtEnvOptionTagAutoRegisterAccelerators, {kLiteRtAnyTypeInt, kLiteRtHwAcceleratorCpu}},
    {kLiteRtEnvOptionTagMinLoggerSeverity, {kLiteRtAnyTypeInt, kLiteRtLogSeveritySilent}},
};

jobjectArray Strings(JNIEnv* env, const std::vector<std::string>& texts) {
  jobjectArray array = env->NewObjectArray(static_cast<jsize>(texts.size()),
                                           env->FindClass("java/lang/String"), nullptr);
  for (size_t index = 0; array != nullptr && index < texts.size(); ++index) {
    env->SetObjectArrayElement(array, static_cast<jsize>(index),
                               env->NewStringUTF(texts[index].c_str()));
  }
  return array;
}

// A signature of arrays, with the arrays of the last run.
struct ArrayCall {
  litert::ArrayRunner runner;
  litert::Arrays inputs, outputs;
};

ArrayCall& Call(jlong handle) { return *reinterpret_cast<ArrayCall*>(handle); }

const std::vector<litert::TensorSpec>& Specs(jlong handle, jboolean of_inputs) {
  const litert::ArrayRunner& runner = Call(handle).runner;
  return of_inputs ? runner.inputs() : runner.outputs();
}

const litert::Array& Output(JNIEnv* env, jlong handle, jstring name) {
  const auto found = Call(handle).outputs.find(Text(env, name));
  if (found == Call(handle).outputs.end()) throw litert::Error("the model has no such output");
  return found->second;
}

jintArray Ints(JNIEnv* env, const std::vector<int32_t>& numbers) {
  const auto size = static_cast<jsize>(numbers.size());
  jintArray array = env->NewIntArray(size);
  if (array != nullptr) env->SetIntArrayRegion(array, 0, size, numbers.data());
  return array;
}

// Copies a Java array to an array of the same type and size.
template <typename T>
void Copy(JNIEnv* env, jobject from, std::vector<T>& to) {
  const auto size = static_cast<jsize>(to.size());
  if (env->GetArrayLength(static_cast<jarray>(from)) != size) {
    throw litert::Error("an array has the wrong shape");
  }
  if constexpr (std::is_same_v<T, float>) {
    env->GetFloatArrayRegion(static_cast<jfloatArray>(from), 0, size, to.data());
  } else if constexpr (std::is_same_v<T, int32_t>) {
    env->GetIntArrayRegion(static_cast<jintArray>(from), 0, size, to.data());
  } else {
    env->GetByteArrayRegion(static_cast<jbyteArray>(from), 0, size,
                            reinterpret_cast<jbyte*>(to.data()));
  }
}

// Creates a Java array from numbers.
template <typename T>
jobject Copied(JNIEnv* env, const std::vector<T>& from) {
  const auto size = static_cast<jsize>(from.size());
  if constexpr (std::is_same_v<T, float>) {
    jfloatArray array = env->NewFloatArray(size);
    if (array != nullptr) env->SetFloatArrayRegion(array, 0, size, from.data());
    return array;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return Ints(env, from);
  } else {
    jbyteArray array = env->NewByteArray(size);
    const auto* first = reinterpret_cast<const jbyte*>(from.data());
    if (array != nullptr) env->SetByteArrayRegion(array, 0, size, first);
    return array;
  }
}

// Returns the names of all signatures in a model.
std::vector<std::string> Keys(std::string_view content) {
  using litert::Get;
  const litert::Owned<LiteRtEnvironment, LiteRtDestroyEnvironment> environment(
      Get<LiteRtEnvironment>(LiteRtCreateEnvironment, 2, kProcessorAndSilence));
  const litert::Owned<LiteRtModel, LiteRtDestroyModel> model(Get<LiteRtModel>(
      LiteRtCreateModelFromBuffer, environment.get(), content.data(), content.size()));
  std::vector<std::string> keys(Get<size_t>(LiteRtGetNumModelSignatures, model.get()));
  for (size_t index = 0; index < keys.size(); ++index) {
    const auto one = Get<LiteRtSignature>(LiteRtGetModelSignature, model.get(), index);
    keys[index] = Get<const char*>(LiteRtGetSignatureKey, one);
  }
  return keys;
}

}  // namespace

extern "C" {

JNIEXPORT jobjectArray JNICALL Java_translation_LiteRtJni_keys(JNIEnv* env, jobject,
                                                               jobject content) {
  return Guarded(env, [&] { return Strings(env, Keys(Content(env, content))); });
}

JNIEXPORT jlong JNICALL Java_translation_LiteRtJni_open(JNIEnv* env, jobject, jobject content,
                                                        jstring signature, jint threads) {
  return Guarded(env, [&] {
    const std::vector<std::string> signatures = {Text(env, signature)};
    return reinterpret_cast<jlong>(new litert::Runner(Content(env, content), signatures, threads));
  });
}

JNIEXPORT jboolean JNICALL Java_translation_LiteRtJni_gives(JNIEnv* env, jobject, jlong runner,
                                                           jstring output) {
  return Guarded(env, [&]() -> jboolean {
    return Runner(runner).FindOutput(Text(env, output)) != nullptr;
  });
}

JNIEXPORT void JNICALL Java_translation_LiteRtJni_write(JNIEnv* env, jobject, jlong runner,
                                                        jstring input, jintArray values) {
  Guarded(env, [&] {
    std::vector<int32_t> numbers(env->GetArrayLength(values));
    env->GetIntArrayRegion(values, 0, static_cast<jsize>(numbers.size()), numbers.data());
    Runner(runner).Input(Text(env, input)).Write(numbers);
  });
}

JNIEXPORT void JNICALL Java_translation_LiteRtJni_run(JNIEnv* env, jobject, jlong runner) {
  Guarded(env, [&] { Runner(runner).Run(); });
}

JNIEXPORT jintArray JNICALL Java_translation_LiteRtJni_readInts(JNIEnv* env, jobject, jlong runner,
                                                                jstring output) {
  return Guarded(env, [&] {
    return Ints(env, Runner(runner).Output(Text(env, output)).Read<int32_t>());
  });
}

JNIEXPORT jfloatArray JNICALL Java_translation_LiteRtJni_readFloats(JNIEnv* env, jobject,
                                                                    jlong runner, jstring output) {
  return Guarded(env, [&] {
    const auto numbers = Runner(runner).Output(Text(env, output)).Read<float>();
    const auto size = static_cast<jsize>(numbers.size());
    jfloatArray array = env->NewFloatArray(size);
    if (array != nullptr) env->SetFloatArrayRegion(array, 0, size, numbers.data());
    return array;
  });
}

JNIEXPORT void JNICALL Java_translation_LiteRtJni_free(JNIEnv*, jobject, jlong runner) {
  delete reinterpret_cast<litert::Runner*>(runner);
}

JNIEXPORT jlong JNICALL Java_translation_ArrayRunnerJni_open(JNIEnv* env, jobject, jobject content,
                                                             jstring signature, jint threads) {
  return Guarded(env, [&] {
    const std::string key = Text(env, signature);
    return reinterpret_cast<jlong>(new ArrayCall{{Content(env, content), key, threads}, {}, {}});
  });
}

JNIEXPORT jobjectArray JNICALL Java_translation_ArrayRunnerJni_names(JNIEnv* env, jobject,
                                                                     jlong runner,
                                                                     jboolean of_inputs) {
  return Guarded(env, [&] {
    std::vector<std::string> names;
    for (const litert::TensorSpec& spec : Specs(runner, of_inputs)) names.push_back(spec.name);
    return Strings(env, names);
  });
}

JNIEXPORT jintArray JNICALL Java_translation_ArrayRunnerJni_type(JNIEnv* env, jobject, jlong runner,
                                                                 jboolean of_inputs, jint index) {
  return Guarded(env, [&] {
    const litert::TensorSpec& spec = Specs(runner, of_inputs).at(index);
    litert::Shape type = spec.shape();
    type.insert(type.begin(), spec.type.element_type);
    return Ints(env, type);
  });
}

JNIEXPORT void JNICALL Java_translation_ArrayRunnerJni_write(JNIEnv* env, jobject, jlong runner,
                                                             jstring input, jintArray shape,
                                                             jobject values) {
  Guarded(env, [&] {
    const std::string name = Text(env, input);
    for (const litert::TensorSpec& spec : Specs(runner, true)) {
      if (spec.name != name) continue;
      litert::Array array{litert::Shape(env->GetArrayLength(shape)), {}};
      Copy(env, shape, array.shape);
      array.values = litert::Zeros(spec.type.element_type, litert::Elements(array.shape));
      std::visit([&](auto& numbers) { Copy(env, values, numbers); }, array.values);
      Call(runner).inputs.insert_or_assign(name, std::move(array));
    }
  });
}

JNIEXPORT void JNICALL Java_translation_ArrayRunnerJni_run(JNIEnv* env, jobject, jlong runner) {
  Guarded(env, [&] { Call(runner).outputs = Call(runner).runner.Run(Call(runner).inputs); });
}

JNIEXPORT jintArray JNICALL Java_translation_ArrayRunnerJni_shape(JNIEnv* env, jobject,
                                                                  jlong runner, jstring output) {
  return Guarded(env, [&] { return Ints(env, Output(env, runner, output).shape); });
}

JNIEXPORT jobject JNICALL Java_translation_ArrayRunnerJni_read(JNIEnv* env, jobject, jlong runner,
                                                               jstring output) {
  return Guarded(env, [&] {
    return std::visit([&](const auto& numbers) { return Copied(env, numbers); },
                      Output(env, runner, output).values);
  });
}

JNIEXPORT void JNICALL Java_translation_ArrayRunnerJni_free(JNIEnv*, jobject, jlong runner) {
  delete reinterpret_cast<ArrayCall*>(runner);
}

}  // extern "C"
