"""Signatures of a SavedModel: functions of a `Pipeline`, ready to be traced.

Every output's first axis is the batch, and every function is total: any bytes or numbers give a
well-formed answer, since one failing row would fail all requests that a server has merged into the
batch. So a row that is too long is cut, by itself, and marked in the output `truncated`,
bool `(batch,)`: an input of more than `max_source_length` positions, or a target or prefix of more
than `max_length` tokens. `answer_fields` describes the other outputs.
"""

import functools

import keras
import tensorflow as tf

from keras_bahdanau.exporters.answer_fields import (
    all_ids,
    best_ids,
    best_of,
    confidences,
    token_fields,
)
from keras_bahdanau.text.ids import (
    at_least_one,
    byte_limit,
    graph_cut_ids,
    graph_cut_to_bytes,
    requested_ids,
)
from keras_bahdanau.text.vocabulary import PAD

TEXT = tf.TensorSpec((None,), tf.string)
IDS = tf.TensorSpec((None, None), tf.int32)
LENGTH = tf.TensorSpec((None,), tf.int32)


def decode(pipeline, **inputs):
    """A request -> the best text, `score`, `confidence` and `truncated`, all `(batch,)`.

    The name of the text, a string, is the pipeline's noun, such as `translation`.
    """
    inputs, features, truncated = _cut(pipeline, inputs)
    result = pipeline.search_features(features)
    texts, _ = _texts(pipeline, _first(result), inputs)
    return {
        pipeline.noun: texts[:, 0],
        "score": best_of(result).scores,
        "confidence": confidences(pipeline, result, features)[:, 0],
        "truncated": truncated,
    }


def decode_with_alignment(pipeline, **inputs):
    """The outputs of `decode`, and an alignment.

    `source_tokens` `(batch, source_time)` and `target_tokens` `(batch, target_time)` strings, ""
    after `source_length` and `target_length`; `finished` bool `(batch,)`; `alignment` float32
    `(batch, target_time, source_time)`.
    """
    inputs, features, truncated = _cut(pipeline, inputs)
    result = pipeline.search_features(features)
    best, first = best_of(result), _first(result)
    texts, copies = _texts(pipeline, first, inputs)
    return {
        pipeline.noun: texts[:, 0],
        "score": best.scores,
        "confidence": confidences(pipeline, result, features)[:, 0],
        "source_tokens": pipeline.label_tensor(features),
        "source_length": pipeline.lengths(features),
        "target_tokens": pipeline.target.graph.tokens(best.ids),
        "target_length": best.lengths,
        **best_of(token_fields(pipeline, first, copies)),
        "alignment": best.alignment,
        "finished": best.finished,
        "truncated": truncated,
    }


def decode_nbest(pipeline, aligned=False, **inputs):
    """A request -> texts, such as `translations`, `scores`, `confidences`, `finished`.

    All are `(batch, beam)`. With `aligned` there are also `source_tokens` `(batch, source_time)`
    and `source_length` `(batch,)` as in `decode_with_alignment`; `target_tokens` strings,
    `token_log_probs`, `token_entropies` and `token_words` `(batch, beam, target_time)`, of which
    `target_lengths` int32 `(batch, beam)` count; and `alignment` float32
    `(batch, beam, target_time, source_time)`.
    """
    inputs, features, truncated = _cut(pipeline, inputs)
    result = pipeline.search_features(features)
    return _listed(pipeline, result, inputs, features, truncated, aligned)


def decode_prefix(pipeline, prefix, aligned=False, **inputs):
    """The same for texts that begin with `prefix`, strings `(batch,)`; "" for any text."""
    inputs, features, truncated = _cut(pipeline, inputs)
    ids, longer = _split_prefix(pipeline, prefix)
    result = pipeline.search_features(features, prefix=ids)
    return _listed(pipeline, result, inputs, features, truncated | longer, aligned)


def score_pair(pipeline, target, **inputs):
    """The score of a given text `target`: `score` float32, `length` int32, all `(batch,)`.

    Also the `confidence`, and for each token `target_tokens` strings, `token_log_probs`,
    `token_entropies` and `token_words` `(batch, target_time)`, of which `length` count.
    """
    _, features, truncated = _cut(pipeline, inputs)
    target, longer = graph_cut_to_bytes(target, byte_limit(pipeline.search.max_length))
    ids = pipeline.target.graph.tokenize(target).to_tensor(default_value=PAD)
    best, fields = _forced(pipeline, features, at_least_one(ids), truncated | longer)
    return {**fields, "target_tokens": pipeline.target.graph.tokens(best.ids)}


def decode_ids(pipeline, **inputs):
    """For clients with the vocabularies: features in, ids out.

    Gives `ids` `(batch, target_time)`, `length`, `score`, `finished`, ... `(batch,)`. For text the
    features are `source` int32 `(batch, source_time)` and `source_length` int32 `(batch,)`, since a
    server pads with a row's first id. Ids outside the vocabulary count as unknown.
    """
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return {**best_ids(pipeline, result, features), "truncated": truncated}


def decode_ids_with_alignment(pipeline, **inputs):
    """The same, with `alignment` float32 `(batch, target_time, source_time)`, `source_length`."""
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return {
        **best_ids(pipeline, result, features),
        "alignment": best_of(result).alignment,
        "source_length": pipeline.lengths(features),
        "truncated": truncated,
    }


def decode_ids_nbest(pipeline, aligned=False, **inputs):
    """All hypotheses, best first: `ids` `(batch, beam, target_time)`, ...

    With `aligned` also `alignment` float32 `(batch, beam, target_time, source_time)` and
    `source_length`.
    """
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return _listed_ids(pipeline, result, features, truncated, aligned)


def decode_ids_prefix(pipeline, prefix, prefix_length, aligned=False, **inputs):
    """The outputs of `decode_ids_nbest` for hypotheses that begin with given ids.

    `prefix` int32 `(batch, prefix_time)` has no end token; `prefix_length` is int32 `(batch,)`.
    """
    features, truncated = _cut_features(pipeline, inputs)
    ids = requested_ids(prefix, prefix_length, pipeline.target.vocabulary_size)
    ids, longer = _cut_prefix(pipeline, ids)
    result = pipeline.search_features(features, prefix=ids)
    return _listed_ids(pipeline, result, features, truncated | longer, aligned)


def score_ids(pipeline, target, target_length, **inputs):
    """The score of given ids: as `score_pair`, without `target_tokens`.

    `target` int32 `(batch, target_time)` ends with the end token 3; of it `target_length` int32
    `(batch,)` count.
    """
    features, truncated = _cut_features(pipeline, inputs)
    ids = requested_ids(target, target_length, pipeline.target.vocabulary_size)
    return _forced(pipeline, features, ids, truncated)[1]


def served(pipeline, signatures=()):
    """Signatures of a SavedModel: dictionary from a name to (function, its arguments)."""
    source, verb = pipeline.source, pipeline.verb
    prefix_inputs = {**source.inputs, "prefix": TEXT}
    lists = {
        f"{verb}_prefix": (decode_prefix, prefix_inputs),
        f"{verb}_nbest_with_alignment": (_aligned(decode_nbest), source.inputs),
        f"{verb}_prefix_with_alignment": (_aligned(decode_prefix), prefix_inputs),
    }
    return {
        "serving_default": (decode, source.inputs),
        f"{verb}_with_alignment": (decode_with_alignment, source.inputs),
        f"{verb}_nbest": (decode_nbest, source.inputs),
        **_requested(lists, signatures),
        "decode_ids": (decode_ids, source.feature_inputs),
        "score_pair": (score_pair, {**source.inputs, "target": TEXT}),
    }


def served_ids(pipeline, signatures=()):
    """Signatures of an ids-only SavedModel, in the same form."""
    inputs = pipeline.source.feature_inputs
    prefix_inputs = {**inputs, "prefix": IDS, "prefix_length": LENGTH}
    lists = {
        "decode_ids_prefix": (decode_ids_prefix, prefix_inputs),
        "decode_ids_nbest_with_alignment": (_aligned(decode_ids_nbest), inputs),
        "decode_ids_prefix_with_alignment": (_aligned(decode_ids_prefix), prefix_inputs),
    }
    return {
        "serving_default": (decode_ids, inputs),
        "decode_ids_with_alignment": (decode_ids_with_alignment, inputs),
        "decode_ids_nbest": (decode_ids_nbest, inputs),
        **_requested(lists, signatures),
        "score_ids": (score_ids, {**inputs, "target": IDS, "target_length": LENGTH}),
    }


def _aligned(signature):
    """The function with alignments in its lists."""
    return functools.partial(signature, aligned=True)


def _requested(optional, signatures):
    """The signatures that an export requested: with a prefix, an alignment, or both."""
    return {
        name: signature
        for name, signature in optional.items()
        if ("prefix" in signatures or "prefix" not in signature[1])
        and ("alignments" in signatures or not name.endswith("_with_alignment"))
    }


def _cut(pipeline, inputs):
    """(request, features, truncated) of a request: see `Source.cut_request`."""
    return pipeline.source.cut_request(pipeline.longest(), **inputs)


def _cut_features(pipeline, inputs):
    """(features, truncated) of a request that holds features."""
    features = pipeline.source.features_from(**inputs)
    return pipeline.source.graph_cut(features, pipeline.longest())


def _split_prefix(pipeline, prefix):
    """(ids, longer) of strings `(batch,)`, as `_cut_prefix` gives them."""
    prefix, longer = graph_cut_to_bytes(prefix, byte_limit(pipeline.search.max_length))
    rows = pipeline.target.graph.tokenize(prefix)
    ids = at_least_one(rows.to_tensor(default_value=PAD))
    without_end = tf.sequence_mask(rows.row_lengths() - 1, tf.shape(ids)[1])
    ids, more = _cut_prefix(pipeline, tf.where(without_end, ids, PAD))
    return ids, longer | more


def _cut_prefix(pipeline, ids):
    """(ids, longer): at most `max_length` columns; bool `(batch,)`, True for rows that had more."""
    longest = pipeline.search.max_length
    return ids[:, :longest], tf.reduce_any(ids[:, longest:] != PAD, axis=1)


def _listed(pipeline, result, inputs, features, truncated, aligned):
    """All texts of each row, with their scores; and with their tokens and alignments."""
    texts, copies = _texts(pipeline, result, inputs)
    listed = {
        f"{pipeline.noun}s": texts,
        "scores": result.scores,
        "confidences": confidences(pipeline, result, features),
        "finished": result.finished,
        "truncated": truncated,
    }
    if not aligned:
        return listed
    return {
        **listed,
        "source_tokens": pipeline.label_tensor(features),
        "source_length": pipeline.lengths(features),
        "target_tokens": pipeline.target.graph.tokens(result.ids),
        "target_lengths": result.lengths,
        **token_fields(pipeline, result, copies),
        "alignment": result.alignment,
    }


def _listed_ids(pipeline, result, features, truncated, aligned):
    """All hypotheses of each row; and with their alignments."""
    extra = {"alignment": result.alignment, "source_length": pipeline.lengths(features)}
    fields = all_ids(pipeline, result, features)
    return {**fields, **(extra if aligned else {}), "truncated": truncated}


def _first(result):
    """The first hypothesis of each beam, as a beam of one."""
    return keras.tree.map_structure(lambda field: field[:, :1], result)  # -> (batch, 1, ...)


def _texts(pipeline, result, inputs):
    """(texts, copies) of hypotheses, as `graph_texts` and `graph_copies` give them."""
    copies = pipeline.graph_copies(result, **inputs)
    return pipeline.graph_texts(result, copies), copies


def _forced(pipeline, features, target_out, truncated):
    """(result without the beam, fields) of given targets."""
    target_out, longer = graph_cut_ids(target_out, pipeline.search.max_length)
    result = pipeline.force_features(features, target_out)
    best = best_of(result)
    return best, {
        "score": best.scores,
        "length": best.lengths,
        "confidence": confidences(pipeline, result, features)[:, 0],
        **token_fields(pipeline, best),
        "truncated": truncated | longer,
    }
