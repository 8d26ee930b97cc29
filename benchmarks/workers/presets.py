"""Preset models, built as in a training run: row 1's training step and row 7's search."""

import ours
import protocol
from fixed_steps import preset_model


def weights(preset, overrides, vocabulary):
    """Return a `Job` that only reports the number of weights."""
    model = preset_model(preset, overrides, vocabulary)
    return protocol.Job(lambda: 1, model.count_params())


def training_step(preset, overrides, sizes, jit="auto"):
    """Prepare `train_on_batch`: forward pass, loss, gradients, clipping and Adam."""
    model = ours.compiled(preset_model(preset, overrides, sizes["vocabulary"]), jit)
    return ours.step_job(model, sizes, f"{preset}, {overrides}", jit)


def decode(preset, overrides, vocabulary, corpus, beam, batch=64, precision="float32"):
    """Prepare `Translator.translate`, from text to text with alignments, up to the limit."""
    model = preset_model(preset, overrides, vocabulary)
    return ours.decode_job(model, corpus, beam, batch, precision)


if __name__ == "__main__":
    protocol.serve(
        {"weights": weights, "training_step": training_step, "decode": decode},
        ["tensorflow", "keras"],
    )
