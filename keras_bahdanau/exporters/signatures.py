"""Answers of the exported artefacts: functions of a `Translator`, ready to be traced.

Every output's first axis is the batch, and every function is total: any bytes
and any ids in, a well-formed answer out, since one failing row would fail all
the requests that a server merged into its batch.
"""

import contextlib

import keras
import tensorflow as tf

from keras_bahdanau.text.tokenizer import PAD, UNKNOWN

TEXT = tf.TensorSpec((None,), tf.string)
IDS = tf.TensorSpec((None, None), tf.int32)
LENGTH = tf.TensorSpec((None,), tf.int32)


def translate(translator, text):
    """`text` string `(batch,)` -> `translation` string, `score` float32, both `(batch,)`."""
    found = translator.search_ids(translator.source_ids(text))
    return {
        "translation": _best_text(translator, found, text),
        "score": _best(found).scores,
    }


def translate_with_alignment(translator, text):
    """The same, and what an alignment is drawn from.

    `source_tokens` `(batch, source_time)` and `target_tokens`
    `(batch, target_time)` strings, "" behind `source_length` and
    `target_length`; `alignment` float32 `(batch, target_time, source_time)`;
    `finished` bool `(batch,)`.
    """
    source = translator.source_ids(text)
    found = translator.search_ids(source)
    best = _best(found)
    return {
        "translation": _best_text(translator, found, text),
        "score": best.scores,
        "source_tokens": translator.tokenizer.source_tokens(source),
        "source_length": tf.math.count_nonzero(source, axis=1, dtype=tf.int32),
        "target_tokens": translator.tokenizer.target_tokens(best.ids),
        "target_length": best.lengths,
        "alignment": best.alignment,
        "finished": best.finished,
    }


def translate_nbest(translator, text):
    """`text` -> `translations`, `scores`, `finished`, all `(batch, beam)`, best first."""
    found = translator.search_ids(translator.source_ids(text))
    return {
        "translations": translator.texts(found, text),
        "scores": found.scores,
        "finished": found.finished,
    }


def decode_ids(translator, source, source_length):
    """For clients that tokenize themselves: ids in, ids out.

    `source` int32 `(batch, source_time)`, of which `source_length` int32
    `(batch,)` count, since a server pads with a row's first id. Gives `ids`
    `(batch, target_time)`, `length`, `score` and `finished`, `(batch,)`.
    Ids outside the vocabulary count as unknown.
    """
    # at least (batch, 1)
    source = tf.pad(source, [[0, 0], [0, tf.maximum(1 - tf.shape(source)[1], 0)]])
    source = _known(translator, source)
    # mask (batch, source_time)
    source = tf.where(tf.sequence_mask(source_length, tf.shape(source)[1]), source, PAD)
    best = _best(translator.search_ids(source))
    return {
        "ids": best.ids,
        "length": best.lengths,
        "score": best.scores,
        "finished": best.finished,
    }


def score_pair(translator, source, target):
    """The score of a given `target`: `score` float32, `length` int32, `(batch,)`."""
    found = _best(translator.forced_ids(translator.source_ids(source), target))
    return {"score": found.scores, "length": found.lengths}


def translate_ids(translator, source, time, options=None):
    """For a phone: `source` int32 `(1, source_time)` -> the best hypothesis, all shapes fixed.

    `ids` int32 `(1, time)`, `length` int32 `(1,)`, `score` float32 `(1,)`,
    `alignment` float32 `(1, time, source_time)`, `finished` int32 `(1,)`, 0 or 1.
    Ids outside the vocabulary count as unknown.
    """
    best = _best(translator.search_ids(_known(translator, source), options, time))
    return {
        "ids": best.ids,
        "length": best.lengths,
        "score": best.scores,
        "alignment": best.alignment,
        "finished": _at_border(best.finished),
    }


def encode(translator, source):
    """For a phone that drives the loop itself: what `decode_step` needs, before the first token.

    `source` int32 `(1, source_time)` -> the tensors of the encoded sentence, called
    `prepared_0`, `prepared_1`, ..., and those of the decoder's first state, called
    `state_0`, `state_1`, ... Each is float32 or int32; a mask is 0 or 1.
    """
    prepared = translator.model.encode(_known(translator, source))
    state = translator.model.initial_state(prepared)
    return {**_numbered("prepared", prepared), **_numbered("state", state)}


def decode_step(translator, tokens, **fields):
    """One target step: `tokens` int32 `(1,)`, the token chosen last, and what `encode` gave.

    Gives `log_probs` float32 `(1, vocabulary)`, `weights` float32
    `(1, source_time)` and the next `state_0`, `state_1`, ...
    """
    model = translator.model
    with tf.init_scope():  # outside of the graph: only their structure and dtypes count
        prepared = model.encode(tf.zeros((1, 1), tf.int32))
        state = model.initial_state(prepared)
    prepared, state = _collected("prepared", prepared, fields), _collected("state", state, fields)
    log_probs, weights, state = model.decode_step(tokens, state, prepared)
    chosen = {"log_probs": _at_border(log_probs), "weights": _at_border(weights)}
    return {**chosen, **_numbered("state", state)}


def _numbered(name, structure):
    """The leaves of a structure, by name, as they cross the border of a LiteRT file."""
    leaves = keras.tree.flatten(structure)
    return {f"{name}_{index}": _at_border(leaf) for index, leaf in enumerate(leaves)}


def _at_border(tensor):
    """A tensor as int32 or float32: a browser's runtime refuses a file with any other one."""
    floating = tf.as_dtype(tensor.dtype).is_floating
    return tf.cast(tensor, tf.float32 if floating else tf.int32)


def _collected(name, like, fields):
    """The structure that `_numbered` took apart, in the dtypes of one that is like it."""
    leaves = [
        tf.cast(fields[f"{name}_{index}"], leaf.dtype)
        for index, leaf in enumerate(keras.tree.flatten(like))
    ]
    return keras.tree.pack_sequence_as(like, leaves)


SERVED = {  # name: (function, its arguments)
    "serving_default": (translate, {"text": TEXT}),
    "translate_with_alignment": (translate_with_alignment, {"text": TEXT}),
    "translate_nbest": (translate_nbest, {"text": TEXT}),
    "decode_ids": (decode_ids, {"source": IDS, "source_length": LENGTH}),
    "score_pair": (score_pair, {"source": TEXT, "target": TEXT}),
}


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


def traced(translator, function, arguments):
    """The concrete function of `function(translator, **arguments)`."""
    specs = {
        name: tf.TensorSpec(spec.shape, spec.dtype, name=name) for name, spec in arguments.items()
    }
    with portable(translator.model):
        graph = tf.function(lambda **tensors: function(translator, **tensors), autograph=False)
        return graph.get_concrete_function(**specs)


def weights_of(translator):
    """A `tf.Module` with the variables and the tokenizer, and nothing of Keras."""
    module = tf.Module()
    module.weights = [weight.value for weight in translator.model.weights]
    module.tokenizer = translator.tokenizer
    return module


def _known(translator, source):
    size = translator.tokenizer.source_vocabulary_size
    return tf.where((source >= 0) & (source < size), source, UNKNOWN)


def _best(found):
    """The first hypothesis of each beam."""
    # (batch, beam, ...) -> (batch, ...)
    return keras.tree.map_structure(lambda field: field[:, 0], found)


def _best_text(translator, found, text):
    """Strings `(batch,)`: the first hypothesis of each beam; `text` are its sources."""
    first = keras.tree.map_structure(lambda field: field[:, :1], found)  # -> (batch, 1, ...)
    return translator.texts(first, text)[:, 0]
