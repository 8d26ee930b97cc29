"""Score a file of dates with a model: exact answers by form, with and without typing errors.

    python examples/dates/score.py dev.tsv --model runs/dates/translator.keras
    python examples/dates/score.py dev.tsv --model dates.tflite

The file is that of `dates.py`. A `.tflite` file reads one line at a time, a `.keras` file batches.
"""

import argparse
import time
from pathlib import Path

from exact import read, table

import keras_bahdanau as kb
from keras_bahdanau.text.features import require_token


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", type=Path, required=True, help="a .keras or a .tflite file")
    parser.add_argument("--wrong", type=int, default=0, help="number of wrong answers to print")
    arguments = parser.parse_args(arguments)
    on_device = arguments.model.suffix == ".tflite"
    load = kb.exporters.LiteRTTranslator if on_device else kb.load_pipeline
    try:
        translator, lines = load(arguments.model), read(arguments.file)
        for locale in sorted({line.locale for line in lines}):
            require_token(f"<{locale}>", translator.source)
    except (OSError, ValueError) as error:
        parser.error(str(error))
    start = time.perf_counter()
    results = translator.translate([f"<{line.locale}> {line.text}" for line in lines])
    seconds = time.perf_counter() - start
    answers = [result.text for result in results]
    print(table(lines, answers))
    print(f"{1000 * seconds / len(lines):.2f} ms a line, Python and vocabularies included")
    wrong = [pair for pair in zip(lines, answers, strict=True) if pair[1] != pair[0].date]
    for line, answer in wrong[: arguments.wrong]:
        print(f"{line.locale}\t{line.text}\t{answer}\tshould be {line.date} ({line.error})")


if __name__ == "__main__":
    main()
