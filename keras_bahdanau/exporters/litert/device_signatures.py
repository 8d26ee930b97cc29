"""Signatures of a LiteRT file: functions of a `Pipeline`, ready to be traced.

All of them process one input, with fixed shapes. Their inputs and outputs are int32 and float32.
"""

import keras
import tensorflow as tf

from keras_bahdanau.exporters.answer_fields import all_ids, best_ids, best_of
from keras_bahdanau.models.step_model import Prepared, step_log_probs
from keras_bahdanau.text.ids import known_ids, requested_ids


def decode_on_device(pipeline, time, **features):
    """Return the best hypothesis for the features of one input.

    The outputs are `ids` int32 `(1, time)`, `length` int32 `(1,)`, `score` and `confidence` float32
    `(1,)`, `alignment` float32 `(1, time, source_time)`, `token_log_probs` and `token_entropies`
    float32 `(1, time)`, `token_words` int32 `(1, time)`, and `finished` int32 `(1,)`, 0 or 1.
    """
    features = _known(pipeline, features)
    result = pipeline.search_features(features, time=time)
    best = best_of(result)
    return {
        **best_ids(pipeline, result, features),
        "alignment": best.alignment,
        "finished": _at_border(best.finished),
    }


def decode_nbest_on_device(pipeline, time, prefix=None, prefix_length=None, **features):
    """Return all hypotheses for the features of one input, best first.

    The outputs with the shape `(1, beam)` are `lengths` int32, `scores` and `confidences` float32,
    and `finished` int32, 0 or 1. Those with the shape `(1, beam, time)` are `ids` int32,
    `token_log_probs` and `token_entropies` float32, and `token_words` int32. `alignment` is float32
    `(1, beam, time, source_time)`.

    If `prefix` int32 `(1, prefix_time)` is given, each hypothesis begins with its first
    `prefix_length` ids; `prefix_length` is int32 `(1,)`.
    """
    if prefix is not None:
        prefix = requested_ids(prefix, prefix_length, pipeline.target.vocabulary_size)
    features = _known(pipeline, features)
    result = pipeline.search_features(features, time=time, prefix=prefix)
    return {
        **all_ids(pipeline, result, features),
        "alignment": result.alignment,
        "finished": _at_border(result.finished),
    }


def encode(pipeline, **features):
    """Encode one input, for hosts that drive the loop themselves.

    The outputs are inputs of `decode_step` for the first token: the tensors `prepared_0`,
    `prepared_1`, ... of the encoded source, and `state_0`, `state_1`, ... of the decoder's initial
    state. They are float32 or int32; a mask is 0 or 1.
    """
    prepared = pipeline.model.encode(_known(pipeline, features))
    state = pipeline.model.initial_state(prepared)
    return {**_numbered("prepared", prepared.projected), **_numbered("state", state)}


def decode_step(pipeline, tokens, **fields):
    """Run one target step, for hosts that drive the loop themselves.

    `tokens` int32 `(1,)` is the token that was chosen last. `fields` are the outputs of `encode`,
    with the state from the last step. The outputs are `log_probs` float32 `(1, vocabulary)`,
    `weights` float32 `(1, source_time)` and the next `state_0`, `state_1`, ...
    """
    model = pipeline.model
    with tf.init_scope():  # outside the graph: only structures and dtypes matter
        prepared = model.encode(_zeros(pipeline.source.batch_spec(1, 1)))
        state = model.initial_state(prepared)
    projected = _collected("prepared", prepared.projected, fields)
    prepared, state = Prepared(projected, mask=()), _collected("state", state, fields)
    tokens = known_ids(tokens, pipeline.target.vocabulary_size)
    output, weights, state = model.decode_step(tokens, state, prepared)
    log_probs = step_log_probs(output)
    outputs = {"log_probs": _at_border(log_probs), "weights": _at_border(weights)}
    return {**outputs, **_numbered("state", state)}


def _known(pipeline, features):
    return pipeline.source.sanitize(pipeline.source.packed(features))


def _numbered(name, structure):
    """Return the leaves of a structure with numbered names, in the dtypes of a LiteRT file."""
    leaves = keras.tree.flatten(structure)
    return {f"{name}_{index}": _at_border(leaf) for index, leaf in enumerate(leaves)}


def _collected(name, example, fields):
    """Rebuild the structure that `_numbered` flattened: it is like `example`, with its dtypes."""
    leaves = [
        tf.cast(fields[f"{name}_{index}"], leaf.dtype)
        for index, leaf in enumerate(keras.tree.flatten(example))
    ]
    return keras.tree.pack_sequence_as(example, leaves)


def _at_border(tensor):
    """Cast a tensor to int32 or float32: a browser's runtime rejects files with other dtypes."""
    floating = tf.as_dtype(tensor.dtype).is_floating
    return tf.cast(tensor, tf.float32 if floating else tf.int32)


def _zeros(specs):
    """Return zeros for a structure of `tf.TensorSpec`."""
    return keras.tree.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), specs)
