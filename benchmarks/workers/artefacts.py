"""Write a translator as a SavedModel and as LiteRT files, for the rows that run them.

    python artefacts.py OUT

The translator has the demo's size and random weights, so its translations are meaningless. All
have `STEPS` tokens, the mean for the demo's test sentences. OUT/sentences.txt contains these
sentences.
"""

import os
import sys
from pathlib import Path

STEPS = 13  # mean number of target tokens in the demo's test sentences, including the end token


def main(out):
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    from keras_bahdanau.demo import split
    from keras_bahdanau.exporters import export_all

    training, _, test = split()
    # with random weights, scores are almost equal, so the ranking may differ
    export_all(_translator(training), out, allow_differences=True, say=_to_standard_error)
    sentences = [example.source for example in test]
    (out / "sentences.txt").write_text("\n".join(sentences), encoding="utf-8")


def _translator(training):
    import keras

    from keras_bahdanau import SearchOptions, Translator, presets, text
    from keras_bahdanau.demo.text_task import OPTIONS as options

    keras.utils.set_random_seed(0)
    pairs = [(example.source, example.target) for example in training]
    source, target = text.Subwords.train_pair(pairs, options.vocabulary_size)
    sizes = ("embedding_units", "units", "attention_units")
    model = presets.small(source, target, **{name: getattr(options, name) for name in sizes})
    search = SearchOptions(beam_width=5, min_length=STEPS, max_length=STEPS)
    return Translator(source, model, target, search)


def _to_standard_error(line):
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
