r"""Score a file of handwritten formulas with a model of `train.py`.

    python examples/formulas/score.py dev.jsonl.gz --model examples/formulas/models/ink.keras

Prints ExpRate: the share of formulas all of whose tokens are right, and with at most 1, 2 and 3
wrong tokens. The file is that of `formulas.py`.
"""

import argparse
import json
from pathlib import Path

import formulas

import keras_bahdanau as kb

METRICS = ("exprate", "exprate1", "exprate2", "exprate3", "wer")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--json", type=Path, help="file that receives the figures")
    arguments = parser.parse_args(arguments)
    pairs = formulas.read(arguments.file)
    pipeline = kb.load_pipeline(arguments.model)
    if isinstance(pipeline, kb.ImageToText):
        pairs = [(formulas.drawn(ink), text) for ink, text in pairs]
    found = kb.evaluation.evaluate(pipeline, pairs, metrics=METRICS)
    print(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found.scores(), indent=1) + "\n")


if __name__ == "__main__":
    main()
