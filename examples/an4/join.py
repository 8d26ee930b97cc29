r"""Make new recordings from old ones: cut them at pauses and join the parts in a new order.

    python examples/an4/join.py train.tsv --model runs/an4 --out joined

The attention of a trained model shows where each word is. If the quietest moment between two words
is quiet enough, the recording can be cut there. A new recording joins parts from one speaker, that
is, from one folder, at a different speed. `joined/train.tsv` lists the old and the new recordings.
The script needs `soundfile`.
"""

import argparse
import os
from pathlib import Path
from typing import NamedTuple

import numpy as np
import soundfile

import keras_bahdanau as kb
from keras_bahdanau.text import alignments

RATE = 16000  # samples per second
HOP, FRAME = 160, 400  # samples between loudness values, and in each: 10 and 25 ms
MARGIN = 2  # frames around the middle of a word that are never cut
SMOOTHED = 5  # frames in the moving average of the loudness
QUIET = 0.45  # threshold between the quiet (0) and the loud (1) parts of a recording
WORDS = 4  # maximum per part, if the pauses allow it
MOST = 100_000  # maximum number of new recordings
LONGEST = 9.5  # seconds, maximum length of a new recording
FASTEST = 1.12  # maximum speed factor; the minimum is 1 / 1.12
FADE = 80  # samples of the cross-fade between two parts
LEVEL = 0.05  # root mean square of every recording


class Recording(NamedTuple):
    """Words, samples, and places to cut: (number of words before the place, sample)."""

    words: list
    samples: np.ndarray
    places: list


def main(arguments=None):
    arguments = parsed(arguments)
    if (arguments.out / "train.tsv").resolve() == arguments.manifest.resolve():
        raise SystemExit(f"--out must not be the directory of {arguments.manifest}.")
    lines = [line.split("\t") for line in arguments.manifest.read_text("utf-8").splitlines()]
    paths = [arguments.manifest.parent / path for path, _ in lines]
    texts = [text for _, text in lines]
    speakers = {}
    for path, recording in zip(paths, recordings(paths, texts, arguments.model), strict=True):
        speakers.setdefault(path.parent.name, []).append(recording)
    arguments.out.mkdir(parents=True, exist_ok=True)
    with open(arguments.out / "train.tsv", "w", encoding="utf-8") as manifest:
        for path, text in zip(paths, texts, strict=True):
            print(os.path.relpath(path, arguments.out), text, sep="\t", file=manifest)
        for number, new in enumerate(joined(speakers, arguments.count, arguments.seed)):
            soundfile.write(arguments.out / f"{number}.wav", new.samples, RATE)
            print(f"{number}.wav", " ".join(new.words), sep="\t", file=manifest)
    print(f"{len(lines)} recordings and {arguments.count} new ones: {manifest.name}")


def recordings(paths, texts, model):
    """Yield the `Recording` of each file, with places to cut according to the model's attention."""
    pipeline = kb.SpeechToText.load(model)
    sounds = [path.read_bytes() for path in paths]
    aligned = pipeline.align(list(zip(sounds, texts, strict=True)))
    for path, text, result in zip(paths, texts, aligned, strict=True):
        weights, heard = alignments.join_targets(result.alignment, result.target_tokens)
        samples, rate = soundfile.read(path)
        if rate != RATE or samples.ndim != 1:
            raise SystemExit(
                f"{path} must be {RATE} Hz, mono. Received: {rate} Hz, {samples.ndim} dimensions"
            )
        samples = samples * LEVEL / max(np.sqrt(np.mean(samples**2)), 1e-9)
        words = text.split()
        if len(heard) != len(words) + 1:  # with the end token
            raise SystemExit(
                f"{path}: the model must align each word of {text!r}. Received: {len(heard) - 1}"
            )
        length = len(result.source_tokens)
        middles = weights[:-1].argmax(axis=1) * len(samples) / length
        yield Recording(words, samples, places(samples, middles))


def places(samples, middles):
    """Return the places to cut: the quietest frame between two words, if it is quiet enough.

    Attention may move backwards. All words before a place are spoken to its left, and all other
    words to its right.

    Args:
        samples: Float array `(n,)`.
        middles: For each word, the sample that the attention points to.

    Returns:
        List of (number of words before the place, sample).
    """
    starts = range(0, max(1, len(samples) - FRAME), HOP)
    loud = np.log([np.mean(samples[start : start + FRAME] ** 2) + 1e-9 for start in starts])
    padded = np.pad(loud, SMOOTHED // 2, mode="edge")
    loud = np.convolve(padded, np.full(SMOOTHED, 1 / SMOOTHED), "valid")
    low, high = np.percentile(loud, [5, 90])
    found = []
    frames = np.asarray(middles, np.int64) // HOP
    latest = np.maximum.accumulate(frames)[:-1]
    earliest = np.minimum.accumulate(frames[::-1])[::-1][1:]
    for before, (one, other) in enumerate(zip(latest, earliest, strict=True), start=1):
        between = loud[one + MARGIN : max(other - MARGIN, 0)]
        if len(between) and between.min() <= low + QUIET * (high - low):
            frame = one + MARGIN + int(between.argmin())
            found.append((before, frame * HOP + FRAME // 2))
    return found


def joined(speakers, count, seed=0):
    """Yield `count` new recordings, each joined from parts by one speaker.

    Args:
        speakers: Dict from a name to a list of `Recording`.
        count: Integer. Number of new recordings.
        seed: Integer. Seed for the choice of speakers, parts, lengths and speeds.

    Yields:
        `Recording` with as many words as one of the old recordings, or a few more.
    """
    random = np.random.default_rng(seed)
    most_samples = LONGEST * RATE / FASTEST
    known = [[one for one in kept if len(one.samples) < most_samples] for kept in speakers.values()]
    known = [kept for kept in known if kept]
    lengths = [len(one.words) for kept in known for one in kept]
    for _ in range(count):
        kept = known[random.integers(len(known))]
        most = random.choice(lengths)
        words, samples = [], np.zeros(0)
        while len(words) < most:
            more, sound = part(kept[random.integers(len(kept))], random)
            if len(samples) + len(sound) > most_samples:
                break
            words, samples = words + more, faded(samples, sound)
        yield Recording(words, at_speed(samples, FASTEST ** random.uniform(-1, 1)), [])


def part(recording, random):
    """Return words and samples between two places: one to four words, or more without pauses."""
    ends = [(0, 0), *recording.places, (len(recording.words), len(recording.samples))]
    first = random.integers(len(ends) - 1)
    most = ends[first][0] + random.integers(1, WORDS + 1)
    last = first + 1
    while last < len(ends) - 1 and ends[last][0] < most:
        last += 1
    (word, start), (end_word, end) = ends[first], ends[last]
    return recording.words[word:end_word], recording.samples[start:end]


def faded(first, second):
    """Join two sounds with a cross-fade."""
    fade = min(FADE, len(first), len(second))
    rising = np.linspace(0, 1, fade)
    middle = first[len(first) - fade :] * (1 - rising) + second[:fade] * rising
    return np.concatenate([first[: len(first) - fade], middle, second[fade:]])


def at_speed(samples, speed):
    """Change the speed of a sound and, with it, the pitch (Ko et al. 2015)."""
    return np.interp(np.arange(0, len(samples) - 1, speed), np.arange(len(samples)), samples)


def parsed(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("manifest", type=Path, help="manifest of recordings and their texts")
    parser.add_argument(
        "--model", type=Path, required=True, help="model whose attention locates the words"
    )
    parser.add_argument(
        "--count", type=int, default=5000, help="number of new recordings (%(default)s)"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR")
    parsed = parser.parse_args(arguments)
    if not 1 <= parsed.count <= MOST:
        parser.error(f"--count must be from 1 to {MOST:,}. Received: {parsed.count}")
    return parsed


if __name__ == "__main__":
    main()
