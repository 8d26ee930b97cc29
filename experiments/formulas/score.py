r"""Score a file of handwritten formulas with a model of `train.py`.

    python experiments/formulas/score.py dev.jsonl.gz --model examples/formulas/models/ink.tflite

Prints ExpRate: the share of formulas all of whose tokens are right, and with at most 1, 2 and 3
wrong tokens. The file is that of `formulas.py`.
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
        "--model", type=formulas.existing, required=True, help="a .keras or a .tflite file"
    )
    parser.add_argument("--json", type=formulas.new_file, help="file that receives the figures")
    parser.add_argument(
        "--plot", type=formulas.new_file, help="picture of what each token attends to"
    )
    parser.add_argument("--formula", type=int, default=1, help="line of the file for --plot")
    arguments = parser.parse_args(arguments)
    pairs = formulas.read(arguments.file)
    if not 1 <= arguments.formula <= len(pairs):
        parser.error(f"--formula must be from 1 to {len(pairs)}, the lines of the file")
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
