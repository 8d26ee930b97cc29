// Decodes lines of ids to lines of JSON with a SavedModel of ids in TensorFlow's C library.
//
//   decode_ids SAVED_MODEL [SIGNATURE [COUNT]] < SOURCES
//
// A line of input contains the ids of a source, separated by spaces and including the end token 3;
// an empty line is an empty source. A line of output is {"ids": [...], "score": ...}. The default
// of SIGNATURE is serving_default. For a signature that returns lists, such as decode_ids_nbest, a
// line of output is {"hypotheses": [{"ids": [...], "score": ...}, ...]}, best first, with the best
// COUNT hypotheses; the default is all.
// Exit codes: 0 if all lines are decoded; 2 with a one-line error if the command line, the model or
// the input is wrong.

#include <ctype.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensorflow/c/c_api.h"

enum { kMostBytes = 1 << 18, kMostIds = 1 << 14, kInputs = 2, kOutputs = 4 };
static const char* const kNames[] = {"source", "source_length",  // the inputs
                                     "ids", "length", "score", "truncated"};
static const char* const kListNames[] = {"source", "source_length",
                                         "ids", "lengths", "scores", "truncated"};
enum { kIds, kLength, kScore, kTruncated };  // positions among the outputs

// Field numbers in TensorFlow's meta_graph.proto, which never change.
enum { kSignatures = 5, kSignatureInputs = 1, kSignatureOutputs = 2 };
static const char* const kMaps[] = {
    [kSignatures] = "signature", [kSignatureInputs] = "input", [kSignatureOutputs] = "output"};

// Ends the program with a one-line error.
static _Noreturn void Fail(const char* format, ...) {
  char message[4096];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  for (char* at = message; *at != '\0'; ++at) *at = iscntrl((unsigned char)*at) ? ' ' : *at;
  fprintf(stderr, "error: %s\n", message);
  exit(2);
}

static void Check(const TF_Status* status, const char* directory) {
  if (TF_GetCode(status) == TF_OK) return;
  Fail("A SavedModel of ids must load and run. Received: path='%s' (%s). Export it again, with "
       "--format saved-model-ids.", directory, TF_Message(status));
}

// A part of a protocol buffer message.
typedef struct {
  const unsigned char* data;
  size_t size;
} Bytes;

static uint64_t NextInteger(Bytes* message) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64 && message->size > 0; shift += 7) {
    const unsigned char byte = *message->data++;
    --message->size;
    value |= (uint64_t)(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  Fail("The signatures of a SavedModel must be readable. Received: damaged ones. Export it again.");
}

// Returns the number of the next field, or 0 at the end. `value` is set only if it has bytes.
static uint64_t NextField(Bytes* message, Bytes* value) {
  if (message->size == 0) return 0;
  const uint64_t key = NextInteger(message), number = NextInteger(message);
  const size_t most = number < message->size ? (size_t)number : message->size;
  *value = (Bytes){message->data, (key & 7) == 2 ? most : 0};  // no bytes: the field is a number
  *message = (Bytes){message->data + value->size, message->size - value->size};
  return key >> 3;
}

static Bytes Field(Bytes message, uint64_t wanted) {
  Bytes value;
  for (uint64_t number; (number = NextField(&message, &value)) != 0;) {
    if (number == wanted) return value;
  }
  return (Bytes){NULL, 0};
}

// Returns the value for a name in a map of a message. If it is missing, it returns no bytes, and
// collects the names in the map.
static Bytes Look(Bytes message, uint64_t map, const char* name, char* names, size_t size) {
  Bytes entry;
  names[0] = '\0';
  for (uint64_t number; (number = NextField(&message, &entry)) != 0;) {
    if (number != map) continue;
    const Bytes key = Field(entry, 1);
    if (key.size == strlen(name) && !memcmp(key.data, name, key.size)) return Field(entry, 2);
    const size_t end = strlen(names);
    snprintf(names + end, size - end, "%s%.*s", end > 0 ? ", " : "", (int)key.size,
             (const char*)key.data);
  }
  return (Bytes){NULL, 0};
}

// Returns the value for a name in a map, and fails if it is missing.
static Bytes Entry(Bytes message, uint64_t map, const char* name) {
  char names[1024];
  const Bytes value = Look(message, map, name, names, sizeof names);
  if (value.size > 0) return value;
  Fail("There must be the %s '%s'. Received: %s. Name another signature, or export with --format "
       "saved-model-ids.", kMaps[map], name, names);
}

// Returns true for a signature that returns lists of hypotheses.
static bool IsListed(Bytes signature) {
  char names[1024];
  return Look(signature, kSignatureOutputs, "lengths", names, sizeof names).size > 0;
}

// Returns the tensor in the graph for an input or output of a signature.
static TF_Output Find(TF_Graph* graph, Bytes signature, uint64_t map, const char* name) {
  const Bytes tensor = Field(Entry(signature, map, name), 1);  // its name, "operation:index"
  char operation[512] = "";
  snprintf(operation, sizeof operation, "%.*s", (int)tensor.size, (const char*)tensor.data);
  char* colon = strrchr(operation, ':');
  const int index = colon == NULL ? 0 : atoi(colon + 1);
  if (colon != NULL) *colon = '\0';
  const TF_Output output = {TF_GraphOperationByName(graph, operation), index};
  if (output.oper == NULL) Fail("The graph must have the tensor of '%s'. Received: none.", name);
  return output;
}

// Creates an int32 tensor [1, count], or [1] if it has one dimension.
static TF_Tensor* NewTensor(const int32_t* values, int64_t count, int dimensions) {
  const int64_t shape[] = {1, count};
  const size_t size = (size_t)count * sizeof *values;
  TF_Tensor* tensor = TF_AllocateTensor(TF_INT32, shape, dimensions, size);
  memcpy(TF_TensorData(tensor), values, size);
  return tensor;
}

// Reads the ids in a line.
static int Parse(const char* line, int number, int32_t* ids) {
  if (strchr(line, '\n') == NULL && !feof(stdin)) {
    Fail("A line must be text of fewer than %d bytes. Received: another line %d. Split it.",
         kMostBytes, number);
  }
  int count = 0;
  for (char* end; line[strspn(line, " \t\r\n")] != '\0'; line = end) {
    const long id = strtol(line, &end, 10);
    const bool one = end != line && (*end == '\0' || isspace((unsigned char)*end));
    if (!one || id < INT32_MIN || id > INT32_MAX || count == kMostIds) {
      Fail("A line must hold at most %d ids, integers of 32 bits. Received: line %d, "
           "with another one. Split texts with SentencePiece first.", kMostIds, number);
    }
    ids[count++] = (int32_t)id;
  }
  return count;
}

// Returns the first number of an output, and fails if the type is wrong for a SavedModel of ids.
static const void* First(const TF_Tensor* tensor, TF_DataType type, int64_t least) {
  if (TF_TensorType(tensor) == type && TF_TensorElementCount(tensor) >= least) {
    return TF_TensorData(tensor);
  }
  Fail("The outputs must be those of a SavedModel of ids. Received: others. Export it again.");
}

static void PrintHypothesis(const int32_t* ids, int32_t length, float score) {
  printf("{\"ids\": [");
  for (int32_t i = 0; i < length; ++i) printf(i > 0 ? ", %d" : "%d", (int)ids[i]);
  printf("], \"score\": %.9g}", score);
}

static void Print(TF_Tensor* const* found, bool listed, long most, int number) {
  if (*(const bool*)First(found[kTruncated], TF_BOOL, 1)) {
    Fail("A source must fit into the model. Received: line %d, which has more ids. Split it, or "
         "export with a larger max_source_length.", number);
  }
  const int32_t* lengths = First(found[kLength], TF_INT32, 1);  // [1, beam], or [1]
  const int64_t beam = TF_TensorElementCount(found[kLength]);
  const float* scores = First(found[kScore], TF_FLOAT, beam);
  const int64_t width = TF_TensorElementCount(found[kIds]) / beam;  // of [1, beam, width]
  if (listed) printf("{\"hypotheses\": [");
  for (int64_t i = 0; i < beam && i < most; ++i) {
    if (i > 0 && lengths[i] == 0) break;  // the remaining entries of the beam are empty
    const int32_t* ids = First(found[kIds], TF_INT32, i * width + lengths[i]);
    if (i > 0) printf(", ");
    PrintHypothesis(ids + i * width, lengths[i], scores[i]);
  }
  puts(listed ? "]}" : "");
  if (fflush(stdout) != 0) {
    Fail("Standard output must accept all lines. Received: an error at line %d. Free some space.",
         number);
  }
}

// Parses the number of hypotheses in an argument.
static long Count(const char* text) {
  char* end;
  const long count = isdigit((unsigned char)text[0]) ? strtol(text, &end, 10) : 0;
  if (count >= 1 && *end == '\0') return count;
  Fail("COUNT must be a positive integer. Received: '%s'. Write one, or leave it out.", text);
}

int main(int count, char** arguments) {
  if (count < 2 || count > 4) {
    Fail("The command line must be SAVED_MODEL [SIGNATURE [COUNT]]. Received: %d arguments.",
         count - 1);
  }
  const long most = count > 3 ? Count(arguments[3]) : LONG_MAX;
  const char *directory = arguments[1], *tags[] = {"serve"};
  TF_Status* status = TF_NewStatus();
  TF_Graph* graph = TF_NewGraph();
  TF_SessionOptions* options = TF_NewSessionOptions();
  TF_Buffer* meta = TF_NewBuffer();
  TF_Session* session =
      TF_LoadSessionFromSavedModel(options, NULL, directory, tags, 1, graph, meta, status);
  Check(status, directory);
  const Bytes signature = Entry((Bytes){meta->data, meta->length}, kSignatures,
                                count > 2 ? arguments[2] : "serving_default");
  const bool listed = IsListed(signature);
  const char* const* names = listed ? kListNames : kNames;
  TF_Output tensors[kInputs + kOutputs];
  for (int i = 0; i < kInputs + kOutputs; ++i) {
    const uint64_t map = i < kInputs ? kSignatureInputs : kSignatureOutputs;
    tensors[i] = Find(graph, signature, map, names[i]);
  }
  TF_DeleteBuffer(meta);
  static char line[kMostBytes];
  static int32_t ids[kMostIds];
  for (int number = 1; fgets(line, sizeof line, stdin) != NULL; ++number) {
    const int32_t length = Parse(line, number, ids);
    if (length == 0) ids[0] = 0;  // a row has at least one column
    TF_Tensor* given[] = {NewTensor(ids, length > 0 ? length : 1, 2), NewTensor(&length, 1, 1)};
    TF_Tensor* found[kOutputs] = {NULL};
    TF_SessionRun(session, NULL, tensors, given, kInputs, tensors + kInputs, found, kOutputs, NULL,
                  0, NULL, status);
    Check(status, directory);
    Print(found, listed, most, number);
    for (int i = 0; i < kInputs; ++i) TF_DeleteTensor(given[i]);
    for (int i = 0; i < kOutputs; ++i) TF_DeleteTensor(found[i]);
  }
  if (ferror(stdin)) Fail("Standard input must be readable. Received: an error. Redirect another.");
  TF_DeleteSession(session, status);
  TF_DeleteSessionOptions(options);
  TF_DeleteGraph(graph);
  TF_DeleteStatus(status);
  return 0;
}
