"""Models of the presets, made as a training makes them: the step of row 1, the search of row 7."""

import keras
import ours
import protocol

from keras_bahdanau.text import Subwords
from keras_bahdanau.training.presets import PRESETS


def _model(preset, overrides, vocabulary):
    """The model of a preset for one vocabulary of both languages, without dropout, as in row 1.

    The vocabulary is the preset's own way to have one: source, target and output share it.
    """
    keras.utils.set_random_seed(0)
    words = [f"word{number}" for number in range(vocabulary)]
    subwords = Subwords.train(words, vocabulary, model_type="word")
    model = PRESETS[preset].model(subwords, subwords, **{"dropout": 0.0, **overrides})
    model.build()
    return model


def weights(preset, overrides, vocabulary):
    """The model alone, which says how many weights it has."""
    model = _model(preset, overrides, vocabulary)
    return protocol.Job(lambda: 1, model.count_params())


def training_step(preset, overrides, sizes, jit="auto"):
    """Forward, loss, gradients, clipping, Adam: `train_on_batch`."""
    model = ours.compiled(_model(preset, overrides, sizes["vocabulary"]), jit)
    return ours.step_job(model, sizes, f"{preset}, {overrides}", jit)


def decode(preset, overrides, vocabulary, corpus, beam, batch=64, precision="float32"):
    """`Translator.translate`: text in, text out, alignments too; no end before the limit."""
    model = _model(preset, overrides, vocabulary)
    return ours.decode_job(model, corpus, beam, batch, precision)


if __name__ == "__main__":
    protocol.serve(
        {"weights": weights, "training_step": training_step, "decode": decode},
        ["tensorflow", "keras"],
    )
