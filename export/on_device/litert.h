// The part of LiteRT's C API that litert_runner.h needs, in plain C11 for all languages that can
// use C headers.
//
// The library libLiteRt.so in the Python package ai-edge-litert comes without headers. These
// declarations match LiteRT 2.3.

#ifndef KERAS_BAHDANAU_LITERT_H_
#define KERAS_BAHDANAU_LITERT_H_

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct LiteRtEnvironmentT* LiteRtEnvironment;
typedef struct LiteRtModelT* LiteRtModel;
typedef struct LiteRtSignatureT* LiteRtSignature;
typedef struct LiteRtTensorT* LiteRtTensor;
typedef struct LiteRtOptionsT* LiteRtOptions;
typedef struct LiteRtOpaqueOptionsT* LiteRtOpaqueOptions;
typedef struct LiteRtCompiledModelT* LiteRtCompiledModel;
typedef struct LiteRtTensorBufferRequirementsT* LiteRtTensorBufferRequirements;
typedef struct LiteRtTensorBufferT* LiteRtTensorBuffer;

enum { kLiteRtStatusOk = 0 };  // any other status is an error
enum { kLiteRtHwAcceleratorCpu = 1 };
enum { kLiteRtLogSeveritySilent = 4 };
enum { kLiteRtAnyTypeInt = 2 };
enum {
  kLiteRtElementTypeFloat32 = 1,
  kLiteRtElementTypeInt32 = 2,
  kLiteRtElementTypeUInt8 = 3,
  kLiteRtElementTypeInt8 = 9,
};
enum { kLiteRtTensorBufferTypeHostMemory = 1 };
enum { kLiteRtTensorBufferLockModeRead = 0, kLiteRtTensorBufferLockModeWrite = 1 };
enum {
  kLiteRtEnvOptionTagAutoRegisterAccelerators = 24,
  kLiteRtEnvOptionTagMinLoggerSeverity = 25,
};
typedef int LiteRtStatus;

typedef struct {
  int tag;
  struct {
    int type;
    int64_t integer;  // in LiteRT, a member of a union
  } value;
} LiteRtEnvOption;

typedef struct {
  unsigned int rank : 7;
  bool has_strides : 1;
  int32_t dimensions[8];  // -1 for any size
  uint32_t strides[8];
} LiteRtLayout;

typedef struct {
  int element_type;
  LiteRtLayout layout;
} LiteRtRankedTensorType;

// The layout must be the same as in the library, or it would read wrong values.
static_assert(sizeof(LiteRtEnvOption) == 24, "LiteRtEnvOption must have 24 bytes");
#ifndef _MSC_VER  // it can't store a bool after seven bits
static_assert(sizeof(LiteRtRankedTensorType) == 72, "LiteRtRankedTensorType must have 72 bytes");
#endif

LiteRtStatus LiteRtCreateEnvironment(int count, const LiteRtEnvOption* options,
                                     LiteRtEnvironment* environment);
void LiteRtDestroyEnvironment(LiteRtEnvironment environment);

// The bytes must remain valid and in place as long as the model is in use.
LiteRtStatus LiteRtCreateModelFromBuffer(LiteRtEnvironment environment, const void* bytes,
                                         size_t size, LiteRtModel* model);
void LiteRtDestroyModel(LiteRtModel model);
LiteRtStatus LiteRtGetNumModelSignatures(LiteRtModel model, size_t* count);
LiteRtStatus LiteRtGetModelSignature(LiteRtModel model, size_t index, LiteRtSignature* signature);
LiteRtStatus LiteRtGetSignatureKey(LiteRtSignature signature, const char** key);
LiteRtStatus LiteRtGetNumSignatureInputs(LiteRtSignature signature, size_t* count);
LiteRtStatus LiteRtGetSignatureInputName(LiteRtSignature signature, size_t index,
                                         const char** name);
LiteRtStatus LiteRtGetSignatureInputTensorByIndex(LiteRtSignature signature, size_t index,
                                                  LiteRtTensor* tensor);
LiteRtStatus LiteRtGetNumSignatureOutputs(LiteRtSignature signature, size_t* count);
LiteRtStatus LiteRtGetSignatureOutputName(LiteRtSignature signature, size_t index,
                                          const char** name);
LiteRtStatus LiteRtGetSignatureOutputTensorByIndex(LiteRtSignature signature, size_t index,
                                                   LiteRtTensor* tensor);
LiteRtStatus LiteRtGetRankedTensorType(LiteRtTensor tensor, LiteRtRankedTensorType* type);

LiteRtStatus LiteRtCreateOptions(LiteRtOptions* options);
void LiteRtDestroyOptions(LiteRtOptions options);
LiteRtStatus LiteRtSetOptionsHardwareAccelerators(LiteRtOptions options, int accelerators);
LiteRtStatus LiteRtCreateOpaqueOptions(const char* identifier, void* payload,
                                       void (*destroy)(void*), LiteRtOpaqueOptions* options);
LiteRtStatus LiteRtAddOpaqueOptions(LiteRtOptions options, LiteRtOpaqueOptions added);

LiteRtStatus LiteRtCreateCompiledModel(LiteRtEnvironment environment, LiteRtModel model,
                                       LiteRtOptions options, LiteRtCompiledModel* compiled);
void LiteRtDestroyCompiledModel(LiteRtCompiledModel compiled);
LiteRtStatus LiteRtGetCompiledModelInputBufferRequirements(
    LiteRtCompiledModel compiled, size_t signature, size_t index,
    LiteRtTensorBufferRequirements* requirements);
LiteRtStatus LiteRtGetCompiledModelOutputBufferRequirements(
    LiteRtCompiledModel compiled, size_t signature, size_t index,
    LiteRtTensorBufferRequirements* requirements);
LiteRtStatus LiteRtCompiledModelResizeInputTensor(LiteRtCompiledModel compiled, size_t signature,
                                                  size_t index, const int* dimensions,
                                                  size_t rank);
// Layouts of the last run or, with `update`, for the current sizes of the inputs.
LiteRtStatus LiteRtGetCompiledModelOutputTensorLayouts(LiteRtCompiledModel compiled,
                                                       size_t signature, size_t count,
                                                       LiteRtLayout* layouts, bool update);
LiteRtStatus LiteRtRunCompiledModel(LiteRtCompiledModel compiled, size_t signature,
                                    size_t input_count, LiteRtTensorBuffer* inputs,
                                    size_t output_count, LiteRtTensorBuffer* outputs);

LiteRtStatus LiteRtCreateManagedTensorBufferFromRequirements(
    LiteRtEnvironment environment, const LiteRtRankedTensorType* type,
    LiteRtTensorBufferRequirements requirements, LiteRtTensorBuffer* buffer);
LiteRtStatus LiteRtCreateManagedTensorBuffer(LiteRtEnvironment environment, int buffer_type,
                                             const LiteRtRankedTensorType* type, size_t bytes,
                                             LiteRtTensorBuffer* buffer);
void LiteRtDestroyTensorBuffer(LiteRtTensorBuffer buffer);
LiteRtStatus LiteRtLockTensorBuffer(LiteRtTensorBuffer buffer, void** address, int mode);
LiteRtStatus LiteRtUnlockTensorBuffer(LiteRtTensorBuffer buffer);

#ifdef __cplusplus
}  // extern "C"
#endif

#endif  // KERAS_BAHDANAU_LITERT_H_
