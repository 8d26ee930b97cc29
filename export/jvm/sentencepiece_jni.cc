// The native functions of the class `SentencePieceJni`: SentencePiece's C++ library for a JVM.

#include <jni.h>

#include <string>
#include <vector>

#include "sentencepiece_processor.h"

using sentencepiece::SentencePieceProcessor;

namespace {

SentencePieceProcessor* Processor(jlong handle) {
  return reinterpret_cast<SentencePieceProcessor*>(handle);
}

std::string Bytes(JNIEnv* env, jbyteArray array) {
  std::string bytes(env->GetArrayLength(array), '\0');
  env->GetByteArrayRegion(array, 0, static_cast<jsize>(bytes.size()),
                          reinterpret_cast<jbyte*>(bytes.data()));
  return bytes;
}

// Returns false and throws a Java exception if something has failed.
template <typename Status>
bool Good(JNIEnv* env, const Status& status) {
  if (status.ok()) return true;
  env->ThrowNew(env->FindClass("java/lang/IllegalArgumentException"), status.ToString().c_str());
  return false;
}

}  // namespace

extern "C" {

JNIEXPORT jlong JNICALL Java_translation_SentencePieceJni_load(JNIEnv* env, jclass,
                                                               jbyteArray model) {
  auto* processor = new SentencePieceProcessor;
  if (Good(env, processor->LoadFromSerializedProto(Bytes(env, model)))) {
    return reinterpret_cast<jlong>(processor);
  }
  delete processor;
  return 0;
}

JNIEXPORT jintArray JNICALL Java_translation_SentencePieceJni_encodeBytes(JNIEnv* env, jclass,
                                                                         jlong handle,
                                                                         jbyteArray text) {
  std::vector<int> ids;
  if (!Good(env, Processor(handle)->Encode(Bytes(env, text), &ids))) return nullptr;
  const auto size = static_cast<jsize>(ids.size());
  jintArray array = env->NewIntArray(size);
  if (array != nullptr) env->SetIntArrayRegion(array, 0, size, ids.data());
  return array;
}

JNIEXPORT jbyteArray JNICALL Java_translation_SentencePieceJni_decodeIds(JNIEnv* env, jclass,
                                                                        jlong handle,
                                                                        jintArray array) {
  std::vector<int> ids(env->GetArrayLength(array));
  env->GetIntArrayRegion(array, 0, static_cast<jsize>(ids.size()), ids.data());
  std::string text;
  if (!Good(env, Processor(handle)->Decode(ids, &text))) return nullptr;
  const auto size = static_cast<jsize>(text.size());
  jbyteArray bytes = env->NewByteArray(size);
  if (bytes != nullptr) {
    env->SetByteArrayRegion(bytes, 0, size, reinterpret_cast<const jbyte*>(text.data()));
  }
  return bytes;
}

JNIEXPORT void JNICALL Java_translation_SentencePieceJni_free(JNIEnv*, jclass, jlong handle) {
  delete Processor(handle);
}

}  // extern "C"
