// Reads images or transcribes recordings with one .tflite file: prints a line for each file.

#include <cstddef>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "file_features.h"
#include "on_device.h"

namespace {

constexpr char kHelp[] =
    R"(usage: read_files [--greedy | [--nbest K] [--prefix TEXT]] [--threads N] [--json]
                  MODEL.tflite FILE...

Reads PNG images or transcribes WAV recordings: a file in, a line out.

The features are those of training: WAV files of any rate from 1 to 192 kHz, PCM of 8 to 32 bits or
floats, of which it mixes the channels, and PNG files of any size, in grey or colours, with
transparency or without, upright by their chunk eXIf. An image of one colour and digital silence
give an empty line. `keras-bahdanau read` takes JPEG, FLAC and MP3, too.

  --greedy       no beam search: faster, a little worse
  --nbest K      print the K best texts of each file as 'number ||| text ||| score'
  --prefix TEXT  what each text begins with
  --threads N    processor threads, 1 by default
  --json         print a line of JSON for each file: texts, scores, confidences, tokens

Exit codes: 0 all is read; 2 the command line, the model or a file is wrong.
)";

void Run(const on_device::Options& options) {
  if (options.inputs.empty()) {
    throw on_device::InputError("A file must be given. Received: none. See --help.");
  }
  on_device::Pipeline pipeline(options);
  size_t number = 0;
  for (const std::string& path : options.inputs) {
    const on_device::Features features = on_device::FeaturesOf(path, pipeline.card());
    std::visit([&](const auto& values) { pipeline.Write(features.name, values); }, features.values);
    pipeline.Write("lengths", std::vector<int32_t>{static_cast<int32_t>(features.length)});
    on_device::Print(options, number++, pipeline.DecodeNbest());
  }
}

}  // namespace

int main(int count, char** arguments) { return on_device::Main(count, arguments, kHelp, Run); }
