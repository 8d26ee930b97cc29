"""A toy task for each kind of source: reading numbers shown as text, bars, tones or lines."""

import wave
from collections.abc import Callable
from typing import NamedTuple

import keras
import numpy as np
from PIL import Image

import keras_bahdanau as kb

WORDS = ("eins", "zwei", "drei", "vier")


def one_hot_frames(numbers):
    """Return two frames per number; the second one has half the amplitude."""
    frames = np.eye(4, dtype=np.float32)[list(numbers)]
    return np.stack([frames, frames / 2], axis=1).reshape(-1, 4)


def bars(numbers):
    """Return an image with a black bar per number; larger numbers have lower bars."""
    image = np.full((16, 8 * len(numbers)), 255, np.uint8)
    for place, number in enumerate(numbers):
        image[4 * number : 4 * number + 4, 8 * place : 8 * place + 8] = 0
    return image


def tones(numbers, rate=16_000):
    """Return samples and their rate: a fading tone of 80 ms for each number."""
    steps = np.arange(80 * rate // 1000) / rate
    fading = np.exp(-60 * steps)
    waves = [fading * np.sin(2 * np.pi * 400 * 2**number * steps) for number in numbers]
    return np.concatenate(waves).astype(np.float32), rate


def pen(numbers):
    """Return a stroke for each number; its direction depends on the number."""
    ends = [(10, 0), (0, 10), (10, 10), (10, -10)]
    return [
        np.array([[20 * place, 0], [20 * place + ends[number][0], ends[number][1]]])
        for place, number in enumerate(numbers)
    ]


def letters(numbers):
    return " ".join("abcd"[number] for number in numbers)


def write_png(image, path):
    Image.fromarray(image).save(path.with_suffix(".png"))
    return path.with_suffix(".png")


def write_wav(sound, path):
    samples, rate = sound
    with wave.open(str(path.with_suffix(".wav")), "wb") as file:
        file.setparams((1, 2, rate, 0, "NONE", None))
        file.writeframes(np.rint(samples * 2**14).astype("<i2").tobytes())
    return path.with_suffix(".wav")


def write_other_png(numbers, path):
    """Write bars at three times the size, as black pixels on a transparent background."""
    alpha = 255 - bars(numbers).repeat(3, axis=0).repeat(3, axis=1)
    return write_png(np.stack([np.zeros_like(alpha), alpha], axis=2), path)


def write_other_wav(numbers, path):
    """Write tones at 22,050 Hz with 24 bits and two channels, one louder than the other."""
    samples, rate = tones(numbers, 22_050)
    channels = np.rint(samples[:, np.newaxis] * [0.6 * 2**23, 0.4 * 2**23]).astype("<i4")
    with wave.open(str(path.with_suffix(".wav")), "wb") as file:
        file.setparams((2, 3, rate, 0, "NONE", None))
        file.writeframes(channels.view(np.uint8).reshape(-1, 4)[:, :3].tobytes())
    return path.with_suffix(".wav")


class Case(NamedTuple):
    """The toy task for one kind of source.

    Attributes:
        input_of: Function that converts a tuple of numbers to an input.
        source_of: Function that creates the source from all inputs.
        empty: An empty input.
        learning_rate: Float. The learning rate for training.
        write: Function of an input and a path without suffix that writes a file and returns its
            path, or None if there are no files of this kind.
        write_other: Function of a tuple of numbers and a path without suffix that writes a file of
            another size or rate and returns its path, or None.
    """

    input_of: Callable
    source_of: Callable
    empty: object
    learning_rate: float = 1e-2
    write: Callable | None = None
    write_other: Callable | None = None


CASES = {
    "text": Case(letters, lambda texts: kb.text.Subwords.train(texts, 8, model_type="word"), ""),
    "features": Case(
        one_hot_frames, lambda _: kb.sources.FeatureSource(4), np.zeros((0, 4), np.float32)
    ),
    "images": Case(
        *(bars, lambda _: kb.sources.ImageSource(16, 48), b"no image", 3e-3),
        write=write_png,
        write_other=write_other_png,
    ),
    "ink": Case(pen, lambda _: kb.sources.InkSource(), [], 3e-3),
    "audio": Case(
        *(tones, lambda _: kb.sources.AudioSource(20), (np.zeros(0), 16_000)),
        write=write_wav,
        write_other=write_other_wav,
    ),
}
NUMBERS = [(a, b) for a in range(4) for b in range(4)] + [(a, 1, b) for a in (0, 2) for b in (1, 3)]


def text_of(numbers):
    return " ".join(WORDS[number] for number in numbers)


def toy_pairs_of(name):
    """Return the pairs of input and text of a case."""
    return [(CASES[name].input_of(numbers), text_of(numbers)) for numbers in NUMBERS]


def write_manifest(name, rows, directory):
    """Write a file for each tuple of numbers, and a manifest `list.tsv`; return its path."""
    directory.mkdir(exist_ok=True)
    case, lines = CASES[name], []
    for number, numbers in enumerate(rows):
        path = case.write(case.input_of(numbers), directory / f"{number}")
        lines.append(f"{path.name}\t{text_of(numbers)}\n")
    manifest = directory / "list.tsv"
    manifest.write_text("".join(lines), encoding="utf-8")
    return manifest


def train(name, path):
    """Train a pipeline to read the numbers of a case, and save it."""
    keras.utils.set_random_seed(0)
    case, pairs = CASES[name], toy_pairs_of(name)
    source = case.source_of([one for one, _ in pairs])
    target = kb.text.Subwords.train([text for _, text in pairs], 8, model_type="word")
    model = kb.presets.small(
        source, target, embedding_units=16, units=32, attention_units=16, dropout=0.0
    )
    model.compile(keras.optimizers.Adam(case.learning_rate), kb.losses.TokenCrossentropy())
    model.build()
    model.optimizer.build(model.trainable_variables)  # otherwise the first step is traced twice
    data = kb.data.batches(pairs, source, target, batch_tokens=512, buckets=1)
    model.fit(data, epochs=60, verbose=0, shuffle=False)
    kb.Pipeline(source, model, target).save(path)
