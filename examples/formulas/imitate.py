r"""Teach an encoder of images what a model of ink knows of each place: a model to go on from.

    python examples/formulas/imitate.py train.jsonl.gz --more new.jsonl.gz \
        --model runs/ink/formulas.keras --out runs/start
    python examples/formulas/train.py --data DIR --source image --from runs/start --out runs/image

A model of images learns texts by heart before it learns symbols. Here its encoder first learns to
give, at each cell that a stroke passes, the value that the model of ink has for that part of the
stroke. So each formula teaches it at a hundred places, and not at a dozen of tokens. (After Gupta
et al. 2016, "Cross modal distillation for supervision transfer".) The decoder is that of the model
of ink, which then has little to learn.
"""

import argparse
import time
from pathlib import Path
from typing import NamedTuple

import formulas
import keras
import numpy as np
import tensorflow as tf
from train import COMMON, SETTINGS, SOURCES

import keras_bahdanau as kb
from keras_bahdanau.sources.ink_source import pen_frames
from keras_bahdanau.training import Run, TrainingOptions

OPTIONS = {"preset": "images", **COMMON, **SETTINGS["image"]}
NO_DROPOUT = {"dropout": 0.0, "embedding_dropout": 0.0}  # which would be an error of the values
ROWS = 32  # formulas of a batch
READ = 256  # formulas that the model of ink reads at once
SORTED = 20  # batches whose formulas are sorted by width
SAID = 100  # steps between two lines that say so


class Lesson(NamedTuple):
    """An image, and what its encoder shall give.

    Attributes:
        pixels: Uint8 array `(height, width, 1)`, as the source decodes it.
        cells: Int32 array `(positions,)`, the cell of each position of the ink.
        values: Float16 array `(positions, values_units)`, the values of the model of ink there.
    """

    pixels: np.ndarray
    cells: np.ndarray
    values: np.ndarray


def main(arguments=None):
    arguments = parsed(arguments)
    teacher = kb.load_pipeline(arguments.model)
    if not isinstance(teacher.source, kb.sources.InkSource):
        raise SystemExit(f"--model must be one of ink. Received: {arguments.model}")
    source = SOURCES["image"]()
    options = TrainingOptions(**OPTIONS).resolved()
    inks = [ink for path in (arguments.file, *arguments.more) for ink, _ in formulas.read(path)]
    inks = [formulas.not_empty(ink) for ink in inks]
    inks = formulas.turned([ink for ink in inks if ink], arguments.turned)
    inks.sort(key=lambda ink: len(pen_frames(ink)))  # or the shorter ones would be padded
    lessons = list(all_lessons(inks, teacher, source))
    pupil = new_model(source, teacher.target, options)
    take_weights(pupil.encoder, taught(lessons, source, teacher.target, arguments))
    take_weights(pupil.decoder, teacher.model.decoder)
    run = Run(arguments.out)
    sides = {"source": source.get_config(), "target": teacher.target.get_config()}
    run.begin(options, [], [], sides)
    search = kb.SearchOptions(beam_width=5)
    kb.ImageToText(source, pupil, teacher.target, search, teacher.metrics).save(run.translator)
    print(f"a model to go on from, which sees as that of ink does: {arguments.out}")


def new_model(source, target, options):
    settings = {name: getattr(options, name) for name in kb.training.MODEL_OPTIONS}
    model = kb.presets.PRESETS["images"].model(source, target, **settings)
    model.build()
    return model


def all_lessons(inks, teacher, source):
    """Yield a `Lesson` of each formula, which fits into an image of the source."""
    for first in range(0, len(inks), READ):
        part = inks[first : first + READ]
        memory = teacher.model.encoder(teacher.source.batch(part))
        values = np.asarray(memory.values, np.float16)
        for ink, of_ink in zip(part, values, strict=True):
            cells = cells_of(ink, source)[: teacher.source.longest]
            cells = cells[:: teacher.model.reduction]
            (pixels,), (length,) = source.batch([formulas.drawn(ink)])
            inside = cells < length
            yield Lesson(pixels, cells[inside], of_ink[: len(cells)][inside])
        print(f"{first + len(part)} of {len(inks)} formulas read", flush=True)


def cells_of(ink, source):
    """The cell of an image that each frame of the ink stands in: int32 `(time,)`."""
    places = 10 * pen_frames(ink)[:, :2]  # in mean sizes of a stroke
    where = formulas.drawing(ink)
    points = (places - places.min(axis=0)) * formulas.mean_size(ink) * where.scale + where.before
    return formulas.cells_at(points, where, source)


def taught(lessons, source, target, arguments):
    """An encoder, trained on the mean squared error at the places of the ink."""
    keras.config.set_dtype_policy("mixed_bfloat16")
    options = TrainingOptions(**{**OPTIONS, **NO_DROPOUT}).resolved()
    encoder = new_model(source, target, options).encoder
    keras.config.set_dtype_policy("float32")
    spread = np.mean([np.var(one.values, dtype=np.float32) for one in lessons[:1000]])
    rounds = [batches(lessons, np.random.default_rng(epoch)) for epoch in range(arguments.epochs)]
    batch_lists = [one for part in rounds for one in part]
    rate = keras.optimizers.schedules.CosineDecay(
        1e-7, len(batch_lists), warmup_target=arguments.learning_rate, warmup_steps=200
    )
    optimizer = keras.optimizers.Adam(rate, clipnorm=1.0)
    variables = encoder.trainable_variables
    optimizer.build(variables)

    @tf.function(
        input_signature=[
            source.feature_spec,
            tf.TensorSpec((None, None), tf.int32),
            tf.TensorSpec((None, None, None), tf.float32),
        ]
    )
    def step(features, cells, values):
        with tf.GradientTape() as tape:
            grid = tf.cast(encoder(features, training=True).values, tf.float32)
            given = tf.gather(grid, tf.maximum(cells, 0), axis=1, batch_dims=1)
            errors = tf.reduce_mean(tf.square(given - values), axis=-1) / spread
            loss = tf.reduce_mean(tf.boolean_mask(errors, cells >= 0))
        gradients = tape.gradient(loss, variables)
        optimizer.apply(gradients, variables)
        return loss

    losses, begin = [], time.monotonic()
    for number, members in enumerate(batch_lists, 1):
        losses.append(float(step(*arrays([lessons[one] for one in members], source))))
        if number % SAID == 0:
            minutes = (time.monotonic() - begin) / 60
            done = f"step {number} of {len(batch_lists)}, {minutes:.1f} minutes"
            print(f"{done}: error {np.mean(losses[-SAID:]):.4f} of the variance", flush=True)
    return encoder


def batches(lessons, random):
    """Lists of the lessons of each batch, whose images are about as wide as each other."""
    order = random.permutation(len(lessons))
    widths = np.array([one.pixels.shape[1] for one in lessons])
    found = []
    for first in range(0, len(order), SORTED * ROWS):
        part = order[first : first + SORTED * ROWS]
        part = part[np.argsort(widths[part], kind="stable")]
        found += [part[one : one + ROWS] for one in range(0, len(part), ROWS)]
    return [found[one] for one in random.permutation(len(found))]


def arrays(lessons, source):
    """Features of a batch, its cells `(batch, positions)`, -1 for none, and their values."""
    widest = max(one.pixels.shape[1] for one in lessons)
    most = max(len(one.cells) for one in lessons)
    pixels = np.full((len(lessons), source.height, widest, 1), 255, np.uint8)
    cells = np.full((len(lessons), most), -1, np.int32)
    values = np.zeros((len(lessons), most, lessons[0].values.shape[1]), np.float32)
    lengths = np.zeros(len(lessons), np.int32)
    for row, one in enumerate(lessons):
        width, count = one.pixels.shape[1], len(one.cells)
        pixels[row, :, :width] = one.pixels
        cells[row, :count], values[row, :count] = one.cells, one.values
        lengths[row] = width // source.cell * source.grid_height
    spec = source.feature_spec
    return type(spec)(tf.constant(pixels), tf.constant(lengths)), cells, values


def take_weights(new, old):
    """Give a model the weights of another one, but those of another shape."""
    for one, other in zip(new.weights, old.weights, strict=True):
        if one.shape == other.shape:
            one.assign(other)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=formulas.existing, help="formulas, as formulas.py says")
    more = "file of more formulas, such as that of recombine.py"
    parser.add_argument("--more", type=formulas.existing, action="append", default=[], help=more)
    parser.add_argument("--model", type=formulas.existing, required=True, help="a model of ink")
    parser.add_argument("--epochs", type=int, default=2, help="passes over them: %(default)s")
    parser.add_argument("--learning-rate", type=float, default=1e-3)
    parser.add_argument("--turned", type=formulas.strength, default=0.1, help=formulas.TURNED)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="new directory")
    parsed = parser.parse_args(arguments)
    if parsed.out.exists():
        parser.error(f"--out is there already: choose another directory. Received: {parsed.out}")
    if not 1 <= parsed.epochs <= 1000:
        parser.error(f"--epochs must be from 1 to 1,000. Received: {parsed.epochs}")
    return parsed


if __name__ == "__main__":
    main()
