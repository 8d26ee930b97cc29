"""Signatures of a SavedModel: functions of a `Pipeline`, ready to be traced.

The first axis of every output is the batch. Every function is total: any bytes or numbers give a
well-formed answer, since one failing row would fail all requests that a server has merged into the
batch. So a row that is too long (an input of more than `max_source_length` positions, or a target
or prefix of more than `max_length` tokens) is truncated without affecting other rows, and marked in
the output `truncated`, bool `(batch,)`. `answer_fields` describes the other outputs.
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
    """Return the best text for each input.

    The outputs are the text, `score`, `confidence` and `truncated`, all `(batch,)`. The name of the
    text, a string tensor, is the pipeline's noun, such as `translation`.
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
    """Return the outputs of `decode`, and the alignment of the best text.

    The additional outputs are `source_tokens` `(batch, source_time)` and `target_tokens`
    `(batch, target_time)`, strings that are "" after `source_length` and `target_length`;
    `finished`, bool `(batch,)`; and `alignment`, float32 `(batch, target_time, source_time)`.
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
    """Return all texts of each beam, best first.

    The outputs are the texts, such as `translations`, `scores`, `confidences` and `finished`, all
    `(batch, beam)`.

    If `aligned` is True, there are also `source_tokens` `(batch, source_time)` and `source_length`
    `(batch,)`, as in `decode_with_alignment`; `target_tokens` (strings), `token_log_probs`,
    `token_entropies` and `token_words`, all `(batch, beam, target_time)`, of which the first
    `target_lengths`, int32 `(batch, beam)`, count; and `alignment`, float32
    `(batch, beam, target_time, source_time)`.
    """
    inputs, features, truncated = _cut(pipeline, inputs)
    result = pipeline.search_features(features)
    return _listed(pipeline, result, inputs, features, truncated, aligned)


def decode_prefix(pipeline, prefix, aligned=False, **inputs):
    """Return the outputs of `decode_nbest` for texts that begin with a prefix.

    `prefix` contains strings, `(batch,)`; "" allows any text.
    """
    inputs, features, truncated = _cut(pipeline, inputs)
    ids, longer = _split_prefix(pipeline, prefix)
    result = pipeline.search_features(features, prefix=ids)
    return _listed(pipeline, result, inputs, features, truncated | longer, aligned)


def score_pair(pipeline, target, **inputs):
    """Score a given text, `target`.

    The outputs are `score` float32, `length` int32 and `confidence` float32, all `(batch,)`. For
    each token there are `target_tokens` (strings), `token_log_probs`, `token_entropies` and
    `token_words`, all `(batch, target_time)`, of which the first `length` count.
    """
    _, features, truncated = _cut(pipeline, inputs)
    target, longer = graph_cut_to_bytes(target, byte_limit(pipeline.search.max_length))
    ids = pipeline.target.graph.tokenize(target).to_tensor(default_value=PAD)
    best, fields = _forced(pipeline, features, at_least_one(ids), truncated | longer)
    return {**fields, "target_tokens": pipeline.target.graph.tokens(best.ids)}


def decode_ids(pipeline, **inputs):
    """Return the ids of the best hypothesis, for clients that have the vocabularies.

    The outputs are `ids` `(batch, target_time)`, and `length`, `score`, `finished`, ... `(batch,)`.
    The features of text are `source` int32 `(batch, source_time)` and `source_length` int32
    `(batch,)`, which is necessary because a server pads a row with its first id. Ids outside the
    vocabulary count as unknown.
    """
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return {**best_ids(pipeline, result, features), "truncated": truncated}


def decode_ids_with_alignment(pipeline, **inputs):
    """Return the outputs of `decode_ids`, `alignment` and `source_length`.

    `alignment` is float32 `(batch, target_time, source_time)`.
    """
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return {
        **best_ids(pipeline, result, features),
        "alignment": best_of(result).alignment,
        "source_length": pipeline.lengths(features),
        "truncated": truncated,
    }


def decode_ids_nbest(pipeline, aligned=False, **inputs):
    """Return the ids of all hypotheses, best first: `ids` `(batch, beam, target_time)`, ...

    If `aligned` is True, there are also `alignment` float32
    `(batch, beam, target_time, source_time)` and `source_length`.
    """
    features, truncated = _cut_features(pipeline, inputs)
    result = pipeline.search_features(features)
    return _listed_ids(pipeline, result, features, truncated, aligned)


def decode_ids_prefix(pipeline, prefix, prefix_length, aligned=False, **inputs):
    """Return the outputs of `decode_ids_nbest` for hypotheses that begin with given ids.

    `prefix` int32 `(batch, prefix_time)` has no end token; `prefix_length` is int32 `(batch,)`.
    """
    features, truncated = _cut_features(pipeline, inputs)
    ids = requested_ids(prefix, prefix_length, pipeline.target.vocabulary_size)
    ids, longer = _cut_prefix(pipeline, ids)
    result = pipeline.search_features(features, prefix=ids)
    return _listed_ids(pipeline, result, features, truncated | longer, aligned)


def score_ids(pipeline, target, target_length, **inputs):
    """Score given ids, with the outputs of `score_pair` except `target_tokens`.

    `target` int32 `(batch, target_time)` ends with the end token 3; its first `target_length` ids,
    int32 `(batch,)`, count.
    """
    features, truncated = _cut_features(pipeline, inputs)
    ids = requested_ids(target, target_length, pipeline.target.vocabulary_size)
    return _forced(pipeline, features, ids, truncated)[1]


def served(pipeline, signatures=()):
    """Return the signatures of a SavedModel: a dictionary from names to (function, arguments)."""
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
    """Return the signatures of a SavedModel of ids, in the form of `served`."""
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
    """Return the function with alignments in its lists."""
    return functools.partial(signature, aligned=True)


def _requested(optional, signatures):
    """Return the optional signatures that an export requests: for prefixes, alignments, or both."""
    return {
        name: signature
        for name, signature in optional.items()
        if ("prefix" in signatures or "prefix" not in signature[1])
        and ("alignments" in signatures or not name.endswith("_with_alignment"))
    }


def _cut(pipeline, inputs):
    """Return (request, features, truncated): see `Source.cut_request`."""
    return pipeline.source.cut_request(pipeline.longest(), **inputs)


def _cut_features(pipeline, inputs):
    """Return (features, truncated) for a request that contains features."""
    features = pipeline.source.features_from(**inputs)
    return pipeline.source.graph_cut(features, pipeline.longest())


def _split_prefix(pipeline, prefix):
    """Convert strings `(batch,)` to ids, and return (ids, longer) as `_cut_prefix` does."""
    prefix, longer = graph_cut_to_bytes(prefix, byte_limit(pipeline.search.max_length))
    rows = pipeline.target.graph.tokenize(prefix)
    ids = at_least_one(rows.to_tensor(default_value=PAD))
    without_end = tf.sequence_mask(rows.row_lengths() - 1, tf.shape(ids)[1])
    ids, more = _cut_prefix(pipeline, tf.where(without_end, ids, PAD))
    return ids, longer | more


def _cut_prefix(pipeline, ids):
    """Truncate ids to `max_length` columns.

    Returns (ids, longer); `longer` is bool `(batch,)`, True for rows that had more ids.
    """
    longest = pipeline.search.max_length
    return ids[:, :longest], tf.reduce_any(ids[:, longest:] != PAD, axis=1)


def _listed(pipeline, result, inputs, features, truncated, aligned):
    """Return all texts of each row with their scores and, if `aligned`, tokens and alignments."""
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
    """Return all hypotheses of each row, with alignments if `aligned` is True."""
    extra = {"alignment": result.alignment, "source_length": pipeline.lengths(features)}
    fields = all_ids(pipeline, result, features)
    return {**fields, **(extra if aligned else {}), "truncated": truncated}


def _first(result):
    """Return the first hypothesis of each beam, as a beam of one."""
    return keras.tree.map_structure(lambda field: field[:, :1], result)  # -> (batch, 1, ...)


def _texts(pipeline, result, inputs):
    """Return (texts, copies) of hypotheses: see `graph_texts` and `graph_copies`."""
    copies = pipeline.graph_copies(result, **inputs)
    return pipeline.graph_texts(result, copies), copies


def _forced(pipeline, features, target_out, truncated):
    """Score given targets, and return (result without the beam axis, fields)."""
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
