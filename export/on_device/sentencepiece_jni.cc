// What the class `SentencePiece` of Translator.kt calls. Not compiled in this project's tests.

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
  env->GetByteArrayRegion(array, 0, bytes.size(), reinterpret_cast<jbyte*>(bytes.data()));
  return bytes;
}

void Throw(JNIEnv* env, const std::string& message) {
  env->ThrowNew(env->FindClass("java/lang/IllegalArgumentException"), message.c_str());
}

}  // namespace

extern "C" {

JNIEXPORT jlong JNICALL Java_translation_SentencePiece_load(JNIEnv* env, jobject,
                                                            jbyteArray model) {
  auto* processor = new SentencePieceProcessor;
  const auto status = processor->LoadFromSerializedProto(Bytes(env, model));
  if (status.ok()) return reinterpret_cast<jlong>(processor);
  delete processor;
  Throw(env, status.ToString());
  return 0;
}

JNIEXPORT jintArray JNICALL Java_translation_SentencePiece_encodeBytes(JNIEnv* env, jobject,
                                                                      jlong handle,
                                                                      jbyteArray text) {
  std::vector<int> ids;
  const auto status = Processor(handle)->Encode(Bytes(env, text), &ids);
  if (!status.ok()) {
    Throw(env, status.ToString());
    return nullptr;
  }
  jintArray array = env->NewIntArray(ids.size());
  env->SetIntArrayRegion(array, 0, ids.size(), ids.data());
  return array;
}

JNIEXPORT jbyteArray JNICALL Java_translation_SentencePiece_decodeIds(JNIEnv* env, jobject,
                                                                     jlong handle,
                                                                     jintArray array) {
  std::vector<int> ids(env->GetArrayLength(array));
  env->GetIntArrayRegion(array, 0, ids.size(), ids.data());
  std::string text;
  const auto status = Processor(handle)->Decode(ids, &text);
  if (!status.ok()) {
    Throw(env, status.ToString());
    return nullptr;
  }
  jbyteArray bytes = env->NewByteArray(text.size());
  env->SetByteArrayRegion(bytes, 0, text.size(), reinterpret_cast<const jbyte*>(text.data()));
  return bytes;
}

JNIEXPORT void JNICALL Java_translation_SentencePiece_free(JNIEnv*, jobject, jlong handle) {
  delete Processor(handle);
}

}  // extern "C"
