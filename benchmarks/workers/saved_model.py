"""A SavedModel of text in TensorFlow's Python package: a line in, a line out, or a list.

python saved_model.py [--nbest K] DIRECTORY
"""

import argparse
import sys


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--nbest", type=int)
    parser.add_argument("model")
    options = parser.parse_args(arguments)
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  its operations

    model = tf.saved_model.load(options.model)
    listing = next(name for name in model.signatures if name.endswith("_nbest"))
    name = "serving_default" if options.nbest is None else listing
    run = model.signatures[name]
    for number, line in enumerate(sys.stdin.buffer):
        outputs = run(text=tf.constant([line.removesuffix(b"\n")]))
        for text in _lines(outputs, options.nbest, number):
            sys.stdout.buffer.write(text + b"\n")
        sys.stdout.flush()


def _lines(outputs, nbest, number):
    """The lines for one text, in the form of export/on_device/translate.py."""
    if nbest is None:
        return [outputs["translation"].numpy()[0]]
    texts, scores = (outputs[name].numpy()[0][:nbest] for name in ("translations", "scores"))
    listed = [(text, score) for text, score in zip(texts, scores, strict=True) if score > -1e9]
    return [b"%d ||| %s ||| %.4f" % (number, text, score) for text, score in listed]


if __name__ == "__main__":
    main()
