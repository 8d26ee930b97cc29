"""Speech demo: digits spoken by `espeak-ng`, or whistled.

Neither is real speech. If the program espeak-ng is installed, it speaks the digits with several
voices, speeds and pitches. Otherwise, each digit is a melody of three tones with noise.
"""

import itertools
import random
import shutil
import subprocess
from typing import NamedTuple

import numpy as np

from keras_bahdanau.demo.task import Task, write_manifest
from keras_bahdanau.training import TrainingOptions

RATE = 16_000  # samples per second
WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
VOICES = tuple(f"en+{voice}" for voice in ("m1", "m2", "m3", "m4", "m7", "f1", "f2", "f3", "f4"))
SCALE = (440.0, 660.0, 990.0)  # frequencies of the tones, in Hz
MELODIES = list(itertools.product(SCALE, repeat=3))[1:26]  # without the first and last, one tone

OPTIONS = TrainingOptions(
    preset="speech",
    target_model_type="word",
    vocabulary_size=40,
    embedding_units=64,
    units=128,
    encoder_units=64,
    depth=1,
    attention_units=64,
    convolutions="16,16",
    augmentation=0.3,
    dropout=0.1,
    label_smoothing=0.05,
    batch_sentences=16,
    learning_rate=2e-3,
    ema_momentum=0.98,
    epochs=24,
    minutes=10,
)


class Utterance(NamedTuple):
    """A recording, float32 `(samples,)` at 16 kHz, and its words.

    `seconds` contains the (begin, end) times of the words; it is () if these are unknown.
    """

    samples: np.ndarray
    text: str
    seconds: tuple


def split(train=600, valid=60, test=100, seed=0):
    """Create three lists of `Utterance`, for training, validation and testing.

    An utterance has two to five words. The same seed always gives the same utterances. No text in
    the test set occurs in training.
    """
    rng = random.Random(seed)
    say = _spoken if shutil.which("espeak-ng") else _whistled
    texts = {}
    while len(texts) < train + valid + test:
        texts.setdefault(" ".join(rng.choice(WORDS) for _ in range(rng.randint(2, 5))))
    utterances = [say(rng, text) for text in texts]
    return utterances[:train], utterances[train : train + valid], utterances[train + valid :]


def synthesizer():
    """Return the name of the available synthesizer."""
    return "espeak-ng" if shutil.which("espeak-ng") else "whistled tones"


def _whistled(rng, text):
    """Create an utterance with one melody per word, in a random key and tempo, with noise."""
    key, tempo = rng.uniform(0.85, 1.15), rng.uniform(0.06, 0.1)
    noise = np.random.default_rng(rng.randrange(2**32))
    parts, seconds, now = [], [], 0.0
    for word in text.split():
        pause = rng.uniform(0.05, 0.15)
        parts.append(np.zeros(int(pause * RATE)))
        melody = MELODIES[2 * WORDS.index(word) + 1]
        tones = [_tone(frequency * key, tempo * rng.uniform(0.9, 1.1)) for frequency in melody]
        begin = now + len(parts[-1]) / RATE
        now = begin + sum(map(len, tones)) / RATE
        seconds.append((begin, now))
        parts += tones
    parts.append(np.zeros(RATE // 20))
    samples = np.concatenate(parts) * rng.uniform(0.1, 0.6)
    samples += noise.normal(scale=rng.uniform(0.001, 0.02), size=len(samples))
    return Utterance(samples.astype(np.float32), text, tuple(seconds))


def _tone(frequency, seconds):
    """Create a tone with two overtones that swells and fades."""
    steps = np.arange(int(seconds * RATE)) / RATE
    wave = sum(np.sin(2 * np.pi * frequency * n * steps) / n**2 for n in (1, 2, 3))
    return wave * np.sin(np.pi * steps / seconds) ** 0.5


def _spoken(rng, text):
    from keras_bahdanau.sources.audio_source import AudioSource

    settings = ["-v", rng.choice(VOICES), "-s", str(rng.randint(130, 200))]
    settings += ["-p", str(rng.randint(20, 80)), "--stdout", text]
    wave = subprocess.run(["espeak-ng", *settings], check=True, capture_output=True).stdout
    features = AudioSource().batch([wave])
    samples = features.values[0, : int(features.lengths[0]) * 160]
    return Utterance(np.asarray(samples, np.float32), text, ())


class SpeechTask(Task):
    """The task of transcribing synthetic utterances."""

    options = OPTIONS
    verb = "Transcribing"

    def source(self):
        from keras_bahdanau.sources import AudioSource

        return AudioSource(40)

    def data(self):
        return split()

    def write(self, directory, name, examples):
        from keras_bahdanau.sources.sounds import encoded

        recordings = (encoded(_integers(example.samples)[:, None], RATE) for example in examples)
        texts = (example.text for example in examples)
        write_manifest(directory, name, "wav", zip(recordings, texts, strict=True))

    def describe(self, training):
        description = f"{len(training):,} synthetic utterances ({synthesizer()}), no real speech"
        return description, (training[0].text,)

    def pair(self, example):
        return (example.samples, RATE), example.text

    def name_of(self, example):
        return f"the recording of {example.text!r}"

    def measure(self, pipeline, test, results):
        from keras_bahdanau.evaluation import metrics_of

        texts = [result.text for result in results]
        references = [example.text for example in test]
        return {
            metric.name: round(metric.corpus_score(texts, references), 2)
            for metric in metrics_of(["wer", "exact"])
        }

    def picture(self, pipeline, test, results):
        from keras_bahdanau.plotting import plot_alignment

        return plot_alignment(results[0], pipeline.picture(self.pair(test[0])[0]), words=True)

    def summary(self, report):
        return (
            f"{report['wer']:.1f}% word error, {report['exact']:.1f}% of the utterances exact "
            "(for synthetic speech, which says little about real speech)"
        )

    def next_commands(self, out):
        model, data = out / "translator.keras", out / "data"
        return f"""\
  keras-bahdanau transcribe --model {model} {data / "test" / "0000.wav"}
  keras-bahdanau align --model {model} {data / "test" / "0001.wav"} --plot picture.png
  keras-bahdanau evaluate --model {model} {data / "test.tsv"}
  keras-bahdanau train YOUR.tsv --source speech --out runs/mine"""


def _integers(samples):
    """Convert samples to 16-bit integers, which the programs for devices require."""
    return np.clip(np.rint(samples * 2**15), -(2**15), 2**15 - 1).astype(np.int16)
