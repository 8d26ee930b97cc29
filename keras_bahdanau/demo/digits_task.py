"""The demo of images: captions of handwritten digits."""

import numpy as np

from keras_bahdanau.demo.digits import HEIGHT, NAMES, WIDTH, split
from keras_bahdanau.demo.task import Task, write_manifest
from keras_bahdanau.plotting import plot_alignment
from keras_bahdanau.sources import ImageSource
from keras_bahdanau.text.alignments import word_spans
from keras_bahdanau.training import TrainingOptions

OPTIONS = TrainingOptions(
    preset="images",
    target_model_type="word",
    normalization="identity",
    vocabulary_size=40,
    embedding_units=96,
    units=128,
    encoder_units=48,
    attention_units=96,
    convolutions="16,32,64",
    dropout=0.1,
    label_smoothing=0.05,
    batch_sentences=64,
    learning_rate=3e-3,
    ema_momentum=0.99,
    epochs=22,
    best_by="exact",
)


class DigitsTask(Task):
    """Images of digits to captions that name them, with the place of each digit."""

    options = OPTIONS

    def source(self):
        return ImageSource(HEIGHT, WIDTH)

    def data(self):
        return split()

    def write(self, directory, name, examples):
        """Write the images, and NAME.tsv, the manifest."""
        import tensorflow as tf

        images = (tf.io.encode_png(one.image[..., None]).numpy() for one in examples)
        texts = (one.text for one in examples)
        write_manifest(directory, name, "png", zip(images, texts, strict=True))

    def describe(self, training):
        return f"{len(training):,} images of handwritten digits", (training[0].text,)

    def pair(self, example):
        return example.image, example.text

    def name_of(self, example):
        return f"the image of {example.text!r}"

    def measured(self, pipeline, test, results):
        exact = {True: [], False: []}
        for result, one in zip(results, test, strict=True):
            exact[one.known].append(result.text == one.text)
        hits = pointed(pipeline, test)
        return {
            "exact_match": round(np.mean(exact[True]), 4),
            "exact_match_of_new_digits": round(np.mean(exact[False]), 4),
            "pointing_accuracy": round(np.mean(hits), 4),
        }

    def examples(self, test):
        return sorted(range(len(test)), key=lambda place: -len(test[place].boxes))[:3]

    def picture(self, pipeline, test, results):
        place = self.examples(test)[0]
        return plot_alignment(results[place], pipeline.picture(test[place].image), words=True)

    def summary(self, report):
        return (
            f"{report['exact_match']:.1%} of the captions of new compositions exact, "
            f"{report['exact_match_of_new_digits']:.1%} where the handwriting is new, too; "
            f"{report['pointing_accuracy']:.1%} of the digits attended to while they are named"
        )

    def then(self, out):
        model, data = out / "translator.keras", out / "data"
        return f"""\
  keras-bahdanau read --model {model} {data / "test" / "0000.png"}
  keras-bahdanau align --model {model} {data / "test" / "0001.png"} --plot picture.png
  keras-bahdanau evaluate --model {model} {data / "test.tsv"}
  keras-bahdanau train YOUR.tsv --source image --out runs/mine"""


def pointed(pipeline, captions):
    """For each digit that a caption names, whether the cell most attended to is in its box.

    The captions are given, so that each word has its digit.

    Args:
        pipeline: `Pipeline` of the digits.
        captions: List of `Caption`.

    Returns:
        List of bools.
    """
    read = pipeline.align([(one.image, one.text) for one in captions])
    return points(pipeline.source, read, captions)


def points(source, results, captions):
    """For each digit of captions that were given or read right, as `pointed` has it.

    Args:
        source: `ImageSource` of the images.
        results: List of `Translation` with the texts of the captions.
        captions: List of `Caption`.

    Returns:
        List of bools.
    """
    hits = []
    for caption, result in zip(captions, results, strict=True):
        words = word_spans(result.target_tokens)[:, 0]  # of each token
        named = [number for number, word in enumerate(caption.text.split()) if word in NAMES]
        for number, (left, top, right, bottom) in zip(named, caption.boxes, strict=True):
            place = int(result.alignment[words == number].sum(axis=0).argmax())
            x, y = ((part + 0.5) * source.cell for part in divmod(place, source.grid_height))
            hits.append(left <= x <= right and top <= y <= bottom)
    return hits
