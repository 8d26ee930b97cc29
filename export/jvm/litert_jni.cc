// The functions that the class `LiteRtJni` calls: LiteRT's C API for a JVM.

#include <jni.h>

#include <cstddef>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include "litert_runner.h"

namespace {

// Runs `action`; an exception becomes one of Java, and the result that of no memory.
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
  if (first == nullptr) throw litert::Error("the buffer must be a direct one");
  return {first, static_cast<size_t>(env->GetDirectBufferCapacity(buffer))};
}

std::string Text(JNIEnv* env, jstring text) {
  const char* characters = env->GetStringUTFChars(text, nullptr);
  if (characters == nullptr) throw litert::Error("no memory is left");
  const std::string copy = characters;
  env->ReleaseStringUTFChars(text, characters);
  return copy;
}

litert::Runner& Runner(jlong handle) { return *reinterpret_cast<litert::Runner*>(handle); }

constexpr LiteRtEnvOption kProcessorAndSilence[] = {
    {kLiteRtEnvOptionTagAutoRegisterAccelerators, {kLiteRtAnyTypeInt, kLiteRtHwAcceleratorCpu}},
    {kLiteRtEnvOptionTagMinLoggerSeverity, {kLiteRtAnyTypeInt, kLiteRtLogSeveritySilent}},
};

// The names of all signatures of a model.
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
  return Guarded(env, [&] {
    const auto keys = Keys(Content(env, content));
    jobjectArray array = env->NewObjectArray(static_cast<jsize>(keys.size()),
                                             env->FindClass("java/lang/String"), nullptr);
    for (size_t index = 0; array != nullptr && index < keys.size(); ++index) {
      env->SetObjectArrayElement(array, static_cast<jsize>(index),
                                 env->NewStringUTF(keys[index].c_str()));
    }
    return array;
  });
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
    const auto numbers = Runner(runner).Output(Text(env, output)).Read<int32_t>();
    const auto size = static_cast<jsize>(numbers.size());
    jintArray array = env->NewIntArray(size);
    if (array != nullptr) env->SetIntArrayRegion(array, 0, size, numbers.data());
    return array;
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

}  // extern "C"
