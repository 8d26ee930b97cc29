"""Read images or transcribe recordings with one .tflite file, without TensorFlow.

    python read_files.py formulas.tflite formula.png
    python read_files.py an4.tflite hello.wav goodbye.wav

The program prints one line for each file, and computes the same features as in training. It reads
WAV files of any rate from 1 to 192 kHz, PCM of 8 to 32 bits or floats, and mixes their channels. It
reads PNG files of any size, in gray or color, with or without transparency, and turns them upright
according to their eXIf chunk. For an image of a single color and for digital silence it prints an
empty line. `keras-bahdanau read` also reads JPEG, FLAC and MP3.

It needs Python 3.10, ai-edge-litert, sentencepiece and NumPy, Pillow for images, and the files
file_features.py, translate.py and exporters/litert/on_device of keras_bahdanau next to it, as
translate.py does.

Exit codes: 0 if all files are read; 2 if the command line, the model or a file is wrong.
"""

import argparse
import sys

import translate
from translate import InputError


def main(arguments=None):
    """Run the program, and return its exit code."""
    options = _parse(arguments)
    return translate.exit_code(lambda: _run(options))


def _parse(arguments):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", help="the .tflite file")
    parser.add_argument("files", nargs="+", help="WAV or PNG files")
    translate.add_options(parser)
    options = parser.parse_args(arguments)
    translate.check_suggestions(parser, options)
    return options


def _run(options):
    runner = translate.load_runner("OnDevicePipeline", options)  # names missing packages
    from file_features import features_of  # needs NumPy

    for number, path in enumerate(options.files):
        features, labels = features_of(path, runner.card)
        results = _read(runner, features, labels, options)
        if options.json:
            print(translate.json_of(results), flush=True)
            continue
        for result in results:
            print(translate.text_of(result, number, options), flush=True)


def _read(runner, features, labels, options):
    try:
        return runner.decode_nbest(features, labels, options.nbest or 1, options.prefix)
    except ValueError as error:
        raise InputError(error) from None


if __name__ == "__main__":
    sys.exit(main())
