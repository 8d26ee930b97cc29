"""The demo of speech: synthetic utterances of digits."""

import numpy as np

from keras_bahdanau.demo.task import Task, write_manifest
from keras_bahdanau.demo.tones import RATE, split, synthesizer
from keras_bahdanau.evaluation.corpus_metrics import metrics_of
from keras_bahdanau.plotting import plot_alignment
from keras_bahdanau.sources import AudioSource
from keras_bahdanau.sources.sounds import encoded
from keras_bahdanau.training import TrainingOptions

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
)


class TonesTask(Task):
    """Synthetic utterances to words."""

    options = OPTIONS
    verb = "Transcribing"

    def source(self):
        return AudioSource(40)

    def data(self):
        return split()

    def write(self, directory, name, examples):
        """Write WAV files, and NAME.tsv, the manifest."""
        recordings = (encoded(_integers(one.samples)[:, None], RATE) for one in examples)
        texts = (one.text for one in examples)
        write_manifest(directory, name, "wav", zip(recordings, texts, strict=True))

    def describe(self, training):
        how = f"{len(training):,} synthetic utterances ({synthesizer()}), no real speech"
        return how, (training[0].text,)

    def pair(self, example):
        return (example.samples, RATE), example.text

    def name_of(self, example):
        return f"the recording of {example.text!r}"

    def measured(self, pipeline, test, results):
        texts, references = [one.text for one in results], [one.text for one in test]
        return {
            metric.name: round(metric.corpus_score(texts, references), 2)
            for metric in metrics_of(["wer", "exact"])
        }

    def picture(self, pipeline, test, results):
        return plot_alignment(results[0], pipeline.picture(self.pair(test[0])[0]), words=True)

    def summary(self, report):
        return (
            f"{report['wer']:.1f} % word error, {report['exact']:.1f} % of the utterances exact "
            "(of synthetic speech: it says little about real speech)"
        )

    def then(self, out):
        model, data = out / "translator.keras", out / "data"
        return f"""\
  keras-bahdanau transcribe --model {model} {data / "test" / "0000.wav"}
  keras-bahdanau align --model {model} {data / "test" / "0001.wav"} --plot picture.png
  keras-bahdanau evaluate --model {model} {data / "test.tsv"}
  keras-bahdanau train YOUR.tsv --source speech --out runs/mine"""


def _integers(samples):
    """Samples in 16 bits, as in most recordings: programs for devices read no others."""
    return np.clip(np.rint(samples * 2**15), -(2**15), 2**15 - 1).astype(np.int16)
