"""Answers of the exported artefacts: functions of a `Pipeline`, ready to be traced.

Every output's first axis is the batch, and every function of a server is total: any bytes
and any numbers in, a well-formed answer out, since one failing row would fail all
the requests that a server merged into its batch. So a row that is too long is cut, for itself
alone, and marked in the output `truncated`, bool `(batch,)`: an input that has more positions
than `max_source_length`, or a given target or prefix that has more than `max_length` tokens.

Each hypothesis has its `confidence`, float32 in [0, 1]: see `Translation`. Where its tokens are an
output, so are `token_log_probs` and `token_entropies`, float32 of the same shape, in nats, 0
behind the last token.
"""

import contextlib

import keras
import tensorflow as tf

from keras_bahdanau.exporters.graph_confidence import graph_confidence
from keras_bahdanau.exporters.saved_model.operations import GUARD
from keras_bahdanau.text.byte_limit import byte_limit
from keras_bahdanau.text.graph_byte_limit import graph_cut_to_bytes
from keras_bahdanau.text.graph_ids import at_least_one, graph_cut_ids, requested_ids
from keras_bahdanau.text.vocabulary import PAD

TEXT = tf.TensorSpec((None,), tf.string)
IDS = tf.TensorSpec((None, None), tf.int32)
LENGTH = tf.TensorSpec((None,), tf.int32)


def decode(pipeline, **inputs):
    """A request -> the best text, `score`, `confidence` and `truncated`, all `(batch,)`.

    The text, a string, is called by the pipeline's noun, such as `translation`.
    """
    inputs, features, truncated = _cut(pipeline, inputs)
    result = pipeline.search_features(features)
    return {
        pipeline.noun: _best_text(pipeline, result, inputs),
        "score": _best(result).scores,
        "confidence": _confidences(pipeline, result, features)[:, 0],
        "truncated": truncated,
    }


def decode_with_alignment(pipeline, **inputs):
    """The same, and all that an alignment is drawn from.

    `source_tokens` `(batch, source_time)` and `target_tokens`
    `(batch, target_time)` strings, "" behind `source_length` and
    `target_length`; `alignment` float32 `(batch, target_time, source_time)`;
    `finished` bool `(batch,)`.
    """
    inputs, features, truncated = _cut(pipeline, inputs)
    result = pipeline.search_features(features)
    best = _best(result)
    return {
        pipeline.noun: _best_text(pipeline, result, inputs),
        "score": best.scores,
        "confidence": _confidences(pipeline, result, features)[:, 0],
        "source_tokens": pipeline.label_tensor(features),
        "source_length": pipeline.lengths(features),
        "target_tokens": pipeline.target.graph.tokens(best.ids),
        "target_length": best.lengths,
        "token_log_probs": best.token_log_probs,
        "token_entropies": best.token_entropies,
        "alignment": best.alignment,
        "finished": best.finished,
        "truncated": truncated,
    }


def decode_nbest(pipeline, **inputs):
    """A request -> texts, such as `translations`, `scores`, `confidences`, `finished`.

    All are `(batch, beam)`.
    """
    inputs, features, truncated = _cut(pipeline, inputs)
    result = pipeline.search_features(features)
    return _listed(pipeline, result, inputs, features, truncated)


def decode_prefix(pipeline, prefix, **inputs):
    """The same of the texts that begin with `prefix`, strings `(batch,)`; "" for a free one."""
    inputs, features, truncated = _cut(pipeline, inputs)
    ids, longer = _split_prefix(pipeline, prefix)
    result = pipeline.search_features(features, prefix=ids)
    return _listed(pipeline, result, inputs, features, truncated | longer)


def score_pair(pipeline, target, **inputs):
    """The score of a given text `target`: `score` float32, `length` int32, all `(batch,)`."""
    _, features, truncated = _cut(pipeline, inputs)
    target, longer = graph_cut_to_bytes(target, byte_limit(pipeline.search.max_length))
    ids = pipeline.target.graph.tokenize(target).to_tensor(default_value=PAD)
    return _forced(pipeline, features, at_least_one(ids), truncated | longer)


def decode_ids(pipeline, **inputs):
    """For clients with the vocabularies: features in, ids out.

    Gives `ids` `(batch, target_time)`, `length`, `score`, `finished`, ... `(batch,)`. For text
    the features are `source` int32 `(batch, source_time)`, of which `source_length` int32
    `(batch,)` count, since a server pads with a row's first id. Ids outside of the vocabulary
    count as unknown.
    """
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return {**_best_ids(pipeline, result, features), "truncated": truncated}


def decode_ids_with_alignment(pipeline, **inputs):
    """The same, with `alignment` float32 `(batch, target_time, source_time)`, `source_length`."""
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return {
        **_best_ids(pipeline, result, features),
        "alignment": _best(result).alignment,
        "source_length": pipeline.lengths(features),
        "truncated": truncated,
    }


def decode_ids_nbest(pipeline, **inputs):
    """The same, all hypotheses, best first: `ids` `(batch, beam, target_time)`, ..."""
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return {**_all_ids(pipeline, result, features), "truncated": truncated}


def decode_ids_prefix(pipeline, prefix, prefix_length, **inputs):
    """The same of hypotheses that begin with given ids.

    `prefix` int32 `(batch, prefix_time)` has no end token; of it `prefix_length` int32 `(batch,)`
    count, none for a free hypothesis.
    """
    features, truncated = _cut_features(pipeline, inputs)
    ids = requested_ids(prefix, prefix_length, pipeline.target.vocabulary_size)
    ids, longer = _cut_prefix(pipeline, ids)
    result = pipeline.search_features(features, prefix=ids)
    return {**_all_ids(pipeline, result, features), "truncated": truncated | longer}


def score_ids(pipeline, target, target_length, **inputs):
    """The score of given ids: `score` float32, `length` int32, `(batch,)`.

    `target` int32 `(batch, target_time)` ends with the end token 3; of it `target_length` int32
    `(batch,)` count.
    """
    features, truncated = _cut_features(pipeline, inputs)
    ids = requested_ids(target, target_length, pipeline.target.vocabulary_size)
    return _forced(pipeline, features, ids, truncated)


def decode_on_device(pipeline, time, **features):
    """For a phone: features of one input -> the best hypothesis, all shapes fixed.

    `ids` int32 `(1, time)`, `length` int32 `(1,)`, `score` and `confidence` float32 `(1,)`,
    `alignment` float32 `(1, time, source_time)`, `token_log_probs` and `token_entropies` float32
    `(1, time)`, `finished` int32 `(1,)`, 0 or 1.
    """
    features = _known(pipeline, features)
    result = pipeline.search_features(features, time=time)
    best = _best(result)
    return {
        **_best_ids(pipeline, result, features),
        "alignment": best.alignment,
        "finished": _at_border(best.finished),
    }


def decode_nbest_on_device(pipeline, time, prefix=None, prefix_length=None, **features):
    """For a phone: features of one input -> all hypotheses, best first, all shapes fixed.

    `ids` int32 `(1, beam, time)`, `lengths` int32, `scores` and `confidences` float32, `finished`
    int32, 0 or 1, `(1, beam)`, `alignment` float32 `(1, beam, time, source_time)`,
    `token_log_probs` and `token_entropies` float32 `(1, beam, time)`. Each begins with `prefix`
    int32 `(1, prefix_time)`, if it is given, of which `prefix_length` int32 `(1,)` ids count.
    """
    if prefix is not None:
        prefix = requested_ids(prefix, prefix_length, pipeline.target.vocabulary_size)
    features = _known(pipeline, features)
    result = pipeline.search_features(features, time=time, prefix=prefix)
    return {
        **_all_ids(pipeline, result, features),
        "alignment": result.alignment,
        "finished": _at_border(result.finished),
    }


def encode(pipeline, **features):
    """For a phone that drives the loop itself: the input of `decode_step` for the first token.

    Features of one input -> the tensors of the encoded source, called `prepared_0`,
    `prepared_1`, ..., and those of the decoder's first state, called `state_0`, `state_1`, ...
    Each is float32 or int32; a mask is 0 or 1.
    """
    prepared = pipeline.model.encode(_known(pipeline, features))
    state = pipeline.model.initial_state(prepared)
    return {**_numbered("prepared", prepared), **_numbered("state", state)}


def decode_step(pipeline, tokens, **fields):
    """One target step: `tokens` int32 `(1,)`, the token chosen last, and the result of `encode`.

    Gives `log_probs` float32 `(1, vocabulary)`, `weights` float32
    `(1, source_time)` and the next `state_0`, `state_1`, ...
    """
    model = pipeline.model
    with tf.init_scope():  # outside of the graph: only their structure and dtypes count
        prepared = model.encode(_zeros(pipeline.source.batch_spec(1, 1)))
        state = model.initial_state(prepared)
    prepared, state = _collected("prepared", prepared, fields), _collected("state", state, fields)
    log_probs, weights, state = model.decode_step(tokens, state, prepared)
    chosen = {"log_probs": _at_border(log_probs), "weights": _at_border(weights)}
    return {**chosen, **_numbered("state", state)}


def served(pipeline, beside=()):
    """Signatures of a SavedModel: dictionary from a name to (function, its arguments).

    Args:
        pipeline: A `Pipeline`.
        beside: Tuple of strings, the `signatures` of `export_saved_model`.
    """
    source, verb = pipeline.source, pipeline.verb
    of_prefix = {f"{verb}_prefix": (decode_prefix, {**source.inputs, "prefix": TEXT})}
    return {
        "serving_default": (decode, source.inputs),
        f"{verb}_with_alignment": (decode_with_alignment, source.inputs),
        f"{verb}_nbest": (decode_nbest, source.inputs),
        **(of_prefix if "prefix" in beside else {}),
        "decode_ids": (decode_ids, source.feature_inputs),
        "score_pair": (score_pair, {**source.inputs, "target": TEXT}),
    }


def served_ids(pipeline, beside=()):
    """Signatures of an ids-only SavedModel: likewise."""
    inputs = pipeline.source.feature_inputs
    given = {**inputs, "prefix": IDS, "prefix_length": LENGTH}
    of_prefix = {"decode_ids_prefix": (decode_ids_prefix, given)}
    return {
        "serving_default": (decode_ids, inputs),
        "decode_ids_with_alignment": (decode_ids_with_alignment, inputs),
        "decode_ids_nbest": (decode_ids_nbest, inputs),
        **(of_prefix if "prefix" in beside else {}),
        "score_ids": (score_ids, {**inputs, "target": IDS, "target_length": LENGTH}),
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


@contextlib.contextmanager
def of_one_row(model):
    """Traces inside the block are for one row alone, on a device.

    They read no padding behind it, and have the log softmax in parts that LiteRT is fast at.
    """
    switches = "stops_early", "splits_log_softmax"
    layers = [*model._flatten_layers()]
    found = [(layer, name) for layer in layers for name in switches if hasattr(layer, name)]
    before = [getattr(layer, name) for layer, name in found]
    try:
        for layer, name in found:
            setattr(layer, name, True)
        yield
    finally:
        for (layer, name), value in zip(found, before, strict=True):
            setattr(layer, name, value)


class SearchedOnce:
    """A `Pipeline` for signatures that call one graph of its search, traced by the first of them.

    The search for a prefix is another one, which a single signature needs.

    Args:
        pipeline: The `Pipeline`, which gives all else.
    """

    def __init__(self, pipeline):
        self._pipeline = pipeline
        self._free = tf.function(
            pipeline.search_features,
            input_signature=[pipeline.source.feature_spec],
            autograph=False,
        )

    def search_features(self, features, prefix=None):
        """The `SearchResult` of `Pipeline.search_features`."""
        if prefix is None:
            return self._free(features)
        return self._pipeline.search_features(features, prefix=prefix)

    def __getattr__(self, name):
        return getattr(self._pipeline, name)


def traced(pipeline, function, arguments, most_rows=None):
    """The concrete function of `function(pipeline, **arguments)`.

    Args:
        pipeline: A `Pipeline`.
        function: One of this module.
        arguments: Dictionary from the names of its arguments to their `tf.TensorSpec`.
        most_rows: Integer, more rows than which it refuses; None for no check of rows.
    """
    specs = {
        name: tf.TensorSpec(spec.shape, spec.dtype, name=name) for name, spec in arguments.items()
    }

    def answer(**tensors):
        if most_rows is not None:
            tensors = _guarded(tensors, arguments, most_rows)
        return function(pipeline, **tensors)

    with portable(pipeline.model):
        graph = tf.function(answer, autograph=False)
        return graph.get_concrete_function(**specs)


def _guarded(tensors, specs, most_rows):
    """The arguments of a request that has their shapes, as many rows in each, and not too many.

    A server sees to that before it merges requests, so no request fails by those of others.
    """
    with tf.name_scope(GUARD):
        # which looks at the tensor that came, not at what the graph was promised
        tensors = {
            name: tf.ensure_shape(tensor, specs[name].shape) for name, tensor in tensors.items()
        }
        rows = tf.stack([tf.shape(tensor)[0] for tensor in tensors.values()])
        demand = f"All inputs of a request must have as many rows, at most {most_rows}. Received:"
        checked = tf.debugging.Assert(
            tf.reduce_all((rows == rows[0]) & (rows <= most_rows)), [demand, rows]
        )
        with tf.control_dependencies([checked]):
            return {name: tf.identity(tensor) for name, tensor in tensors.items()}


def weights_of(pipeline, resources=()):
    """A `tf.Module` with the variables, nothing of Keras, and the resources that graphs read."""
    module = tf.Module()
    tables = pipeline.shortlist.weights if pipeline.search.shortlist else []
    module.weights = [weight.value for weight in [*pipeline.model.weights, *tables]]
    module.resources = list(resources)
    return module


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


def _zeros(specs):
    """Tensors of a structure of `tf.TensorSpec`."""
    return keras.tree.map_structure(lambda spec: tf.zeros(spec.shape, spec.dtype), specs)


def _cut(pipeline, inputs):
    """(request, features, truncated) of a request: see `Source.cut_request`."""
    return pipeline.source.cut_request(pipeline.longest(), **inputs)


def _cut_features(pipeline, inputs):
    """(features, truncated) of a request that holds features."""
    features = pipeline.source.features_from(**inputs)
    return pipeline.source.graph_cut(features, pipeline.longest())


def _known(pipeline, features):
    return pipeline.source.known(pipeline.source.packed(features))


def _split_prefix(pipeline, prefix):
    """(ids, longer) of strings `(batch,)`, as `_cut_prefix` gives them."""
    prefix, longer = graph_cut_to_bytes(prefix, byte_limit(pipeline.search.max_length))
    rows = pipeline.target.graph.tokenize(prefix)
    ids = at_least_one(rows.to_tensor(default_value=PAD))
    without_end = tf.sequence_mask(rows.row_lengths() - 1, tf.shape(ids)[1])
    ids, more = _cut_prefix(pipeline, tf.where(without_end, ids, PAD))
    return ids, longer | more


def _cut_prefix(pipeline, ids):
    """(ids, longer): at most `max_length` columns, and bool `(batch,)`, which rows had more."""
    longest = pipeline.search.max_length
    return ids[:, :longest], tf.reduce_any(ids[:, longest:] != PAD, axis=1)


def _best(result):
    """The first hypothesis of each beam."""
    # (batch, beam, ...) -> (batch, ...)
    return keras.tree.map_structure(lambda field: field[:, 0], result)


def _confidences(pipeline, result, features):
    """Float32 `(batch, beam)`, the confidence of each hypothesis."""
    return graph_confidence(result, pipeline.lengths(features), pipeline.calibration)


def _best_ids(pipeline, result, features):
    """The fields of the best hypotheses, but for their alignments."""
    best = _best(result)
    return {
        "ids": best.ids,
        "length": best.lengths,
        "score": best.scores,
        "confidence": _confidences(pipeline, result, features)[:, 0],
        "token_log_probs": best.token_log_probs,
        "token_entropies": best.token_entropies,
        "finished": best.finished,
    }


def _all_ids(pipeline, result, features):
    """The fields of all hypotheses, but for their alignments."""
    return {
        "ids": result.ids,
        "lengths": result.lengths,
        "scores": result.scores,
        "confidences": _confidences(pipeline, result, features),
        "token_log_probs": result.token_log_probs,
        "token_entropies": result.token_entropies,
        "finished": result.finished,
    }


def _listed(pipeline, result, inputs, features, truncated):
    """All texts of each row, with their scores."""
    return {
        f"{pipeline.noun}s": pipeline.graph_texts(result, **inputs),
        "scores": result.scores,
        "confidences": _confidences(pipeline, result, features),
        "finished": result.finished,
        "truncated": truncated,
    }


def _best_text(pipeline, result, inputs):
    """Strings `(batch,)`: the first hypothesis of each beam."""
    first = keras.tree.map_structure(lambda field: field[:, :1], result)  # -> (batch, 1, ...)
    return pipeline.graph_texts(first, **inputs)[:, 0]


def _forced(pipeline, features, target_out, truncated):
    target_out, longer = graph_cut_ids(target_out, pipeline.search.max_length)
    best = _best(pipeline.force_features(features, target_out))
    return {"score": best.scores, "length": best.lengths, "truncated": truncated | longer}
