// Translates standard input, a line in, a line out. Not compiled in this project's tests.
//
//   translate en-de.tflite source.spm [target.spm]
//
// The second vocabulary is left out where `vocabularies` in card.json names one file for both.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "sentencepiece_processor.h"
#include "sha256.h"
#include "tflite/interpreter.h"
#include "tflite/interpreter_builder.h"
#include "tflite/kernels/register.h"
#include "tflite/model_builder.h"
#include "tflite/signature_runner.h"

namespace {

constexpr int kPad = 0;
constexpr int kEnd = 3;
constexpr int kThreads = 2;
constexpr char kSignature[] = "translate";  // or "translate_greedy"

void Require(bool condition, const std::string& otherwise) {
  if (condition) return;
  std::cerr << "error: " << otherwise << std::endl;
  std::exit(2);
}

std::string Read(const char* path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Ends the program unless the model is as it was exported, and the vocabularies are its own: the
// card, which lies uncompressed in the file, holds their hashes.
void RequireAsExported(const char* model, const std::vector<const char*>& vocabularies) {
  const std::string file = Read(model);
  Require(sha256::IsSealed(file), "the model is damaged, or was not exported by this version");
  for (const char* path : vocabularies) {
    Require(file.find(sha256::Hex(Read(path))) != std::string::npos,
            std::string("not a vocabulary of the model: ") + path);
  }
}

}  // namespace

int main(int count, char** arguments) {
  Require(count == 3 || count == 4, "give MODEL.tflite SOURCE.spm [TARGET.spm]");
  RequireAsExported(arguments[1], {arguments[2], arguments[count - 1]});
  sentencepiece::SentencePieceProcessor source, target;
  Require(source.Load(arguments[2]).ok(), "the source vocabulary can't be read");
  Require(target.Load(arguments[count - 1]).ok(), "the target vocabulary can't be read");

  const auto model = tflite::FlatBufferModel::BuildFromFile(arguments[1]);
  Require(model != nullptr, "the model can't be read");
  tflite::ops::builtin::BuiltinOpResolver operations;
  tflite::InterpreterBuilder builder(*model, operations);
  builder.SetNumThreads(kThreads);
  std::unique_ptr<tflite::Interpreter> interpreter;
  Require(builder(&interpreter) == kTfLiteOk, "the model can't be run");
  tflite::SignatureRunner* runner = interpreter->GetSignatureRunner(kSignature);
  Require(runner != nullptr, "the model has no such signature");
  Require(runner->AllocateTensors() == kTfLiteOk, "there is too little memory");

  for (std::string line; std::getline(std::cin, line);) {
    std::vector<int> ids;
    Require(source.Encode(line, &ids).ok(), "a sentence can't be tokenized");
    if (!ids.empty()) ids.push_back(kEnd);

    TfLiteTensor* input = runner->input_tensor("source");  // (1, max_source_length)
    const size_t longest = input->dims->data[1];
    Require(ids.size() <= longest, "a sentence is too long: " + line);
    std::fill_n(input->data.i32, longest, kPad);
    std::copy(ids.begin(), ids.end(), input->data.i32);
    Require(runner->Invoke() == kTfLiteOk, "the model has failed");

    const int length = runner->output_tensor("length")->data.i32[0];
    const int32_t* found = runner->output_tensor("ids")->data.i32;
    std::vector<int> tokens(found, found + length);
    tokens.erase(std::remove(tokens.begin(), tokens.end(), kEnd), tokens.end());
    std::string text;
    Require(target.Decode(tokens, &text).ok(), "a translation can't be written");
    std::cout << text << std::endl;
    // alignment[t * longest + s] is how much target token t attends to source token s:
    // runner->output_tensor("alignment")->data.f, for t < length and s < ids.size().
  }
}
