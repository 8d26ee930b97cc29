// Prints the signatures of a .tflite file and their tensors, with LiteRT's C API in plain C.
//
//   signatures MODEL.tflite
//
// It prints a line for each tensor: the signature, "in" or "out", name, type and shape. A program
// in any language that can call C makes the same calls, and those in litert_runner.h to run one.

#include <stdio.h>
#include <stdlib.h>

#include "litert.h"

static const char* path;

static _Noreturn void Fail(const char* demand, const char* advice) {
  fprintf(stderr, "error: %s Received: '%s'. %s\n", demand, path, advice);
  exit(2);
}

static void Check(bool right) {
  if (!right) Fail("A file must contain a model that LiteRT can load.", "Export it again.");
}

static void Call(LiteRtStatus status) { Check(status == kLiteRtStatusOk); }

// Returns the bytes of the file, which remain in memory as long as the program runs.
static void* Read(size_t* size) {
  FILE* file = fopen(path, "rb");
  if (file == NULL || fseek(file, 0, SEEK_END) != 0) Fail("A file must be readable.", "Correct the name.");
  const long end = ftell(file);
  const long most = 0x7fffffff;  // limit for a FlatBuffer
  void* content = end < 0 || end > most ? NULL : malloc((size_t)end + 1);
  rewind(file);
  if (content == NULL || fread(content, 1, (size_t)end, file) != (size_t)end) {
    Fail("A file must be readable.", "Correct the name.");
  }
  fclose(file);
  *size = (size_t)end;
  return content;
}

static void Print(const char* key, const char* direction, const char* name, LiteRtTensor tensor) {
  static const char* const types[] = {"float32", "int32", "uint8"};  // from 1 on
  LiteRtRankedTensorType type;
  Call(LiteRtGetRankedTensorType(tensor, &type));
  Check(type.layout.rank <= sizeof type.layout.dimensions / sizeof *type.layout.dimensions);
  const int number = type.element_type - kLiteRtElementTypeFloat32;
  printf("%s %s %s %s [", key, direction, name, number >= 0 && number < 3 ? types[number] : "other");
  for (unsigned axis = 0; axis < type.layout.rank; ++axis) {
    printf(axis > 0 ? ", %d" : "%d", (int)type.layout.dimensions[axis]);
  }
  printf("]\n");
}

static void PrintSignature(LiteRtSignature signature) {
  const char *key, *name;
  size_t inputs, outputs;
  LiteRtTensor tensor;
  Call(LiteRtGetSignatureKey(signature, &key));
  Call(LiteRtGetNumSignatureInputs(signature, &inputs));
  Call(LiteRtGetNumSignatureOutputs(signature, &outputs));
  for (size_t i = 0; i < inputs; ++i) {
    Call(LiteRtGetSignatureInputName(signature, i, &name));
    Call(LiteRtGetSignatureInputTensorByIndex(signature, i, &tensor));
    Print(key, "in", name, tensor);
  }
  for (size_t i = 0; i < outputs; ++i) {
    Call(LiteRtGetSignatureOutputName(signature, i, &name));
    Call(LiteRtGetSignatureOutputTensorByIndex(signature, i, &tensor));
    Print(key, "out", name, tensor);
  }
}

int main(int count, char** arguments) {
  path = count == 2 ? arguments[1] : "";
  if (count != 2) Fail("The command line must name a .tflite file.", "Name one.");
  const LiteRtEnvOption quiet = {kLiteRtEnvOptionTagMinLoggerSeverity,
                                 {kLiteRtAnyTypeInt, kLiteRtLogSeveritySilent}};
  LiteRtEnvironment environment;
  LiteRtModel model;
  LiteRtSignature signature;
  size_t size, signatures;
  void* content = Read(&size);
  Call(LiteRtCreateEnvironment(1, &quiet, &environment));
  Call(LiteRtCreateModelFromBuffer(environment, content, size, &model));
  Call(LiteRtGetNumModelSignatures(model, &signatures));
  for (size_t i = 0; i < signatures; ++i) {
    Call(LiteRtGetModelSignature(model, i, &signature));
    PrintSignature(signature);
  }
  LiteRtDestroyModel(model);
  LiteRtDestroyEnvironment(environment);
  free(content);
  return 0;
}
