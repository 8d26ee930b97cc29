"""Small SavedModels, each a function of a variable, for tests of the artefact checks."""

import tensorflow as tf

from keras_bahdanau.exporters import check

ROWS = tf.TensorSpec([None, 3], tf.float32, "x")


class Model(tf.Module):
    """A function of `x` and a variable; the variable is saved and restored with the function."""

    def __init__(self, function, spec=ROWS, **options):
        super().__init__()
        self.scale = tf.Variable([1.0, 2.0, 3.0])
        self.answer = tf.function(
            lambda x: {"y": function(x, self.scale)}, input_signature=[spec], **options
        )


def scaled(x, scale):
    return x * scale


def save(directory, function=scaled, spec=ROWS, **options):
    model = Model(function, spec, **options)
    tf.saved_model.save(model, directory, signatures={"answer": model.answer})
    return directory


def found(path):
    """Return the findings of `check` as pairs (runtime, part): what would fail, and where."""
    return [(finding.runtime, finding.part) for finding in check(path)]


def counted(x, scale):
    return x + scale.assign_add([1.0, 1.0, 1.0])
