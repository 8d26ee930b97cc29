"""Models of the presets, made as a training makes them: the step of row 1, the search of row 7."""

import ours
import protocol
from fixed_steps import preset_model


def weights(preset, overrides, vocabulary):
    """The model alone, which says how many weights it has."""
    model = preset_model(preset, overrides, vocabulary)
    return protocol.Job(lambda: 1, model.count_params())


def training_step(preset, overrides, sizes, jit="auto"):
    """Forward, loss, gradients, clipping, Adam: `train_on_batch`."""
    model = ours.compiled(preset_model(preset, overrides, sizes["vocabulary"]), jit)
    return ours.step_job(model, sizes, f"{preset}, {overrides}", jit)


def decode(preset, overrides, vocabulary, corpus, beam, batch=64, precision="float32"):
    """`Translator.translate`: text in, text out, alignments too; no end before the limit."""
    model = preset_model(preset, overrides, vocabulary)
    return ours.decode_job(model, corpus, beam, batch, precision)


if __name__ == "__main__":
    protocol.serve(
        {"weights": weights, "training_step": training_step, "decode": decode},
        ["tensorflow", "keras"],
    )
