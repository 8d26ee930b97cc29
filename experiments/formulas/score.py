r"""Score a model trained by `train.py` on a file of handwritten formulas.

    python experiments/formulas/score.py dev.jsonl.gz --model examples/formulas/models/ink.tflite

The script prints ExpRate, the percentage of formulas in which every token is right, and the
percentages with at most 1, 2 and 3 wrong tokens. `formulas.py` describes the file format.
"""

import argparse
import json

import drawing
import formulas

import keras_bahdanau as kb

METRICS = ("exprate", "exprate1", "exprate2", "exprate3", "wer")


@formulas.ends_well()
def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=formulas.existing)
    parser.add_argument(
        "--model", type=formulas.existing, required=True, help=".keras or .tflite file"
    )
    parser.add_argument("--json", type=formulas.new_file, help="file to write the scores to")
    parser.add_argument(
        "--plot", type=formulas.new_file, help="file for a plot of each token's attention"
    )
    parser.add_argument("--formula", type=int, default=1, help="number of the line to plot")
    arguments = parser.parse_args(arguments)
    pairs = formulas.read(arguments.file)
    if not 1 <= arguments.formula <= len(pairs):
        parser.error(f"--formula must be from 1 to {len(pairs)}, the number of lines")
    sources = kb.sources.InkSource, kb.sources.ImageSource
    pipeline = formulas.loaded(arguments.model, *sources, on_device=True)
    if isinstance(pipeline.source, kb.sources.ImageSource):
        pairs = [(drawing.drawn(ink), text) for ink, text in pairs]
    found = kb.evaluation.evaluate(pipeline, pairs, metrics=METRICS)
    print(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found.scores(), indent=1) + "\n")
    if arguments.plot:
        picture = pipeline.picture(pairs[arguments.formula - 1][0])
        result = found.translations[arguments.formula - 1]
        kb.plotting.plot_attention_maps(result, picture).savefig(arguments.plot)


if __name__ == "__main__":
    main()
