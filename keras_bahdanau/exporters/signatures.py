"""What the exported artefacts answer: functions of a `Translator`, ready to be traced."""

import contextlib

import keras
import tensorflow as tf

from keras_bahdanau.text.tokenizer import UNKNOWN


@contextlib.contextmanager
def portable(model):
    """Traces inside the block hold no cuDNN op, which no CPU and no phone could run."""
    layers = [layer for layer in model._flatten_layers() if hasattr(layer, "use_cudnn")]
    before = [layer.use_cudnn for layer in layers]
    for layer in layers:
        layer.use_cudnn = False
    try:
        yield
    finally:
        for layer, value in zip(layers, before, strict=True):
            layer.use_cudnn = value


def translate(translator, text):
    """`text` string `(batch,)` -> `translation` string, `score` float32, both `(batch,)`."""
    _, best = _best(translator, text)
    return {
        "translation": translator.tokenizer.detokenize_target(best.ids),
        "score": best.scores,
    }


def translate_with_alignment(translator, text):
    """The same, and what an alignment is drawn from.

    `source_tokens` `(batch, source_time)` and `target_tokens`
    `(batch, target_time)` strings, "" behind `source_length` and
    `target_length`; `alignment` float32 `(batch, target_time, source_time)`;
    `finished` bool `(batch,)`.
    """
    source, best = _best(translator, text)
    return {
        "translation": translator.tokenizer.detokenize_target(best.ids),
        "score": best.scores,
        "source_tokens": translator.tokenizer.source_tokens(source),
        "source_length": tf.math.count_nonzero(source, axis=1, dtype=tf.int32),
        "target_tokens": translator.tokenizer.target_tokens(best.ids),
        "target_length": best.lengths,
        "alignment": best.alignment,
        "finished": best.finished,
    }


def translate_ids(translator, source, time):
    """For a phone: `source` int32 `(1, source_time)` -> the best hypothesis, all shapes fixed.

    `ids` int32 `(1, time)`, `length` int32 `(1,)`, `score` float32 `(1,)`,
    `alignment` float32 `(1, time, source_time)`, `finished` bool `(1,)`.
    Ids outside the vocabulary count as unknown.
    """
    size = translator.tokenizer.source_vocabulary_size
    known = (source >= 0) & (source < size)
    found = translator.search_ids(tf.where(known, source, UNKNOWN), time=time)
    best = _first_of_beam(found)
    return {
        "ids": best.ids,
        "length": best.lengths,
        "score": best.scores,
        "alignment": best.alignment,
        "finished": best.finished,
    }


def _best(translator, text):
    source = translator.source_ids(text)
    return source, _first_of_beam(translator.search_ids(source))


def _first_of_beam(found):
    return keras.tree.map_structure(lambda field: field[:, 0], found)
