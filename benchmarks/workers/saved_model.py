"""Run a SavedModel for text in TensorFlow's Python package.

    python saved_model.py [--nbest K] DIRECTORY

The program reads lines of text, and writes a line of JSON for each.
"""

import argparse
import json
import sys


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nbest", type=int)
    parser.add_argument("model")
    options = parser.parse_args(arguments)
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  registers its operations

    model = tf.saved_model.load(options.model)
    end = "serving_default" if options.nbest is None else "_nbest"
    run = model.signatures[next(name for name in model.signatures if name.endswith(end))]
    for line in sys.stdin.buffer:
        outputs = run(text=tf.constant([line.removesuffix(b"\n")]))
        print(json.dumps({"hypotheses": _hypotheses(outputs, options.nbest)}), flush=True)


def _hypotheses(outputs, nbest):
    """Return the hypotheses for one text, in the form of export/on_device/translate.py."""
    names = ("translation", "score") if nbest is None else ("translations", "scores")
    texts, scores = (outputs[name].numpy()[0] for name in names)
    pairs = [(texts, scores)] if nbest is None else [*zip(texts, scores, strict=True)][:nbest]
    return [{"text": text.decode(), "score": float(score)} for text, score in pairs if score > -1e9]


if __name__ == "__main__":
    main()
