r"""Teach an image encoder the values of an ink model at each position, as a start for training.

    python experiments/formulas/imitate.py train.jsonl.gz --more new.jsonl.gz \
        --model runs/ink/formulas.keras --out runs/start
    python experiments/formulas/train.py --data DIR --source image --from runs/start --out runs/new

An image model memorizes formulas before it learns symbols. Here its encoder first learns to output,
at each cell that a stroke passes, the ink model's value for that part of the stroke. Each formula
then provides a hundred training positions instead of a dozen tokens. (After Gupta et al. 2016,
"Cross modal distillation for supervision transfer".) The decoder is copied from the ink model, and
then has little to learn.
"""

import argparse
import time
from pathlib import Path

import drawing
import formulas
import keras
import numpy as np
import tensorflow as tf
import variations
from train import COMMON, SETTINGS, SOURCES

import keras_bahdanau as kb
from keras_bahdanau.models.precision import computing_in
from keras_bahdanau.optimizers import Cosine
from keras_bahdanau.sources.ink_source import pen_frames
from keras_bahdanau.training import Run, TrainingOptions, TrainingPlan
from keras_bahdanau.training.data import TrainingData

OPTIONS = {"preset": "images", **COMMON, **SETTINGS["image"]}
NO_DROPOUT = {"dropout": 0.0, "embedding_dropout": 0.0}  # dropout would add another error
ROWS = 32  # formulas per batch
WARMUP = 0.1  # fraction of steps with a rising learning rate
SAID = 100  # steps between progress reports
MOST_EPOCHS = 1000


@formulas.ends_well()
def main(arguments=None):
    arguments = parsed(arguments)
    teacher = formulas.loaded(arguments.model, kb.sources.InkSource)
    inks = [ink for path in (arguments.file, *arguments.more) for ink, _ in formulas.read(path)]
    inks = [ink for ink in map(formulas.not_empty, inks) if ink]
    if not inks:
        raise SystemExit(
            f"The files must contain a formula with strokes. Received: {arguments.file}"
        )
    inks = variations.turned(inks, arguments.turned)
    source = SOURCES["image"]()
    encoder = taught(teacher, source, inks, arguments)
    options = TrainingOptions(**OPTIONS).resolved()
    pupil = new_model(source, teacher.target, options)
    take_weights(pupil.encoder, encoder)
    take_weights(pupil.decoder, teacher.model.decoder)
    run = Run(arguments.out)
    run.begin(TrainingPlan(options, source, teacher.target, TrainingData.build([], [])))
    search = kb.SearchOptions(beam_width=5)
    kb.ImageToText(source, pupil, teacher.target, search, teacher.metrics).save(run.translator)
    print(f"a model to start training from, with the decoder of the ink model: {arguments.out}")


def new_model(source, target, options):
    """Return an image model with these options and new weights."""
    settings = {name: getattr(options, name) for name in kb.training.MODEL_OPTIONS}
    model = kb.presets.images(source, target, **settings)
    model.build()
    return model


def taught(teacher, source, inks, arguments):
    """Train an image encoder on the teacher's values for the same ink.

    L = mean_j |h_cell(j) - h'_j|^2 / var(h')

    j is an ink position, h'_j the teacher's value there, and h_cell(j) the value of the image cell.
    """
    options = TrainingOptions(**{**OPTIONS, **NO_DROPOUT}).resolved()
    with computing_in("mixed_bfloat16"):
        encoder = new_model(source, teacher.target, options).encoder
    chosen = batches(inks, arguments.epochs)
    rate = Cosine(arguments.learning_rate, len(chosen), int(WARMUP * len(chosen)))
    optimizer = keras.optimizers.Adam(rate, clipnorm=1.0)
    variables = encoder.trainable_variables
    optimizer.build(variables)
    cells_spec = tf.TensorSpec((None, None), tf.int32)

    @tf.function(input_signature=[source.feature_spec, teacher.source.feature_spec, cells_spec])
    def step(image, ink, cells):
        real = cells >= 0  # (batch, positions)
        expected = tf.boolean_mask(teacher.model.encoder(ink).values, real)  # (n, values_units)
        with tf.GradientTape() as tape:
            grid = tf.cast(encoder(image, training=True).values, tf.float32)
            given = tf.gather(grid, tf.maximum(cells, 0), axis=1, batch_dims=1)
            errors = tf.square(tf.boolean_mask(given, real) - expected)
            loss = tf.reduce_mean(errors) / tf.math.reduce_variance(expected)
        optimizer.apply(tape.gradient(loss, variables), variables)
        return loss

    losses, begin = [], time.monotonic()
    for number, members in enumerate(chosen, 1):
        part = [inks[one] for one in members]
        image = source.batch([drawing.drawn(ink) for ink in part])
        losses.append(
            float(step(image, teacher.source.batch(part), cells_of(part, teacher, source)))
        )
        if number % SAID == 0 or number == len(chosen):
            minutes = (time.monotonic() - begin) / 60
            done = f"step {number} of {len(chosen)}, {minutes:.1f} minutes"
            print(f"{done}: error {np.mean(losses[-SAID:]):.4f} of the variance", flush=True)
    return encoder


def batches(inks, epochs):
    """Return the indices of the formulas in each batch, which have similar lengths."""
    random, found = np.random.default_rng(0), []
    lengths = np.array([sum(map(len, ink)) for ink in inks])  # measured in points
    for _ in range(epochs):
        order = np.argsort(lengths * random.uniform(0.8, 1.25, len(inks)))
        parts = [order[first : first + ROWS] for first in range(0, len(order), ROWS)]
        found += [parts[one] for one in random.permutation(len(parts))]
    return found


def cells_of(inks, teacher, source):
    """Return the image cell of each ink position: int32 `(batch, positions)`.

    It is -1 after the last position, and where the image is cut.
    """
    rows = [cells_of_frames(ink, source)[: teacher.source.longest] for ink in inks]
    rows = [row[:: teacher.model.source_limits.reduction] for row in rows]
    cells = np.full((len(rows), max(map(len, rows))), -1, np.int32)
    for row, found in zip(cells, rows, strict=True):
        row[: len(found)] = np.where(found < source.longest, found, -1)
    return cells


def cells_of_frames(ink, source):
    """Return the image cell of each ink frame: int32 `(time,)`."""
    places = 10 * pen_frames(ink)[:, :2]  # in units of the mean stroke size
    where = drawing.placed(ink)
    points = (places - places.min(axis=0)) * drawing.mean_size(ink) * where.scale + where.before
    return drawing.cells_at(points, where, source)


def take_weights(new, old):
    """Copy the weights of another model, except those with a different shape."""
    for one, other in zip(new.weights, old.weights, strict=True):
        if one.shape == other.shape:
            one.assign(other)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=formulas.existing, help="file of formulas (see formulas.py)")
    more = "additional file of formulas, for example from recombine.py"
    parser.add_argument("--more", type=formulas.existing, action="append", default=[], help=more)
    parser.add_argument("--model", type=formulas.existing, required=True, help="ink model")
    parser.add_argument(
        "--epochs", type=int, default=2, help="passes over the formulas (%(default)s)"
    )
    rate = "highest learning rate (%(default)s)"
    parser.add_argument("--learning-rate", type=formulas.fraction, default=1e-3, help=rate)
    parser.add_argument("--turned", type=formulas.fraction, default=0.1, help=variations.TURNED)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="new directory")
    parsed = parser.parse_args(arguments)
    if parsed.out.exists():
        parser.error(f"--out already exists: choose another directory. Received: {parsed.out}")
    if not 1 <= parsed.epochs <= MOST_EPOCHS:
        parser.error(f"--epochs must be from 1 to {MOST_EPOCHS:,}. Received: {parsed.epochs}")
    return parsed


if __name__ == "__main__":
    main()
