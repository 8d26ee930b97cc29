"""Fields of an answer that SavedModel and LiteRT artefacts have in common.

Each hypothesis has a `confidence`, float32 in [0, 1]: see `Translation`. The following fields have
the shape of the token ids: `token_log_probs` and `token_entropies`, float32 in nats, which are 0
after the last token, and `token_words`, int32, the index of each token's word, or -1 if it belongs
to none (see `graph_word_numbers`). If the search copies characters, there is also `copied_from`,
int32, the source position that each unknown token copies, or -1 if it copies none.
"""

import keras
import tensorflow as tf

from keras_bahdanau.pipelines.confidence import TEXT_FEATURES
from keras_bahdanau.search.beam import IMPOSSIBLE
from keras_bahdanau.text.copies import graph_copied_from
from keras_bahdanau.text.ids import INSIDE, graph_word_numbers, word_parts
from keras_bahdanau.text.vocabulary import UNKNOWN


def best_of(result):
    """Return the first hypothesis in each beam."""
    # (batch, beam, ...) -> (batch, ...)
    return keras.tree.map_structure(lambda field: field[:, 0], result)


def confidences(pipeline, result, features):
    """Return the confidence of each hypothesis, float32 `(batch, beam)`."""
    return graph_confidence(result, pipeline.lengths(features), pipeline.calibration)


def token_fields(pipeline, result, copies=None):
    """Return the fields for the tokens of a result, except ids; `copies` is from `graph_copies`."""
    target = pipeline.target
    parts = word_parts(target.tokens(range(target.vocabulary_size)))
    if pipeline.search.replace_unknown and pipeline.copies_characters:
        parts[UNKNOWN], copies = INSIDE, None  # a copied token counts as any other token
    return {
        "token_log_probs": result.token_log_probs,
        "token_entropies": result.token_entropies,
        "token_words": graph_word_numbers(result.ids, parts, copies),
    }


def copied_fields(pipeline, result, features):
    """Return `copied_from` if the search copies characters, else no field."""
    if not (pipeline.search.replace_unknown and pipeline.copies_characters):
        return {}
    lengths = pipeline.lengths(features)
    return {"copied_from": graph_copied_from(result.ids, result.alignment, features, lengths)}


def best_ids(pipeline, result, features):
    """Return the fields of the best hypotheses, without alignments."""
    best = best_of(result)
    return {
        "ids": best.ids,
        "length": best.lengths,
        "score": best.scores,
        "confidence": confidences(pipeline, result, features)[:, 0],
        **token_fields(pipeline, best),
        **copied_fields(pipeline, best, features),
        "finished": best.finished,
    }


def all_ids(pipeline, result, features):
    """Return the fields of all hypotheses, without alignments."""
    return {
        "ids": result.ids,
        "lengths": result.lengths,
        "scores": result.scores,
        "confidences": confidences(pipeline, result, features),
        **token_fields(pipeline, result),
        **copied_fields(pipeline, result, features),
        "finished": result.finished,
    }


def graph_confidence(result, source_lengths, calibration=None):
    """Compute the confidence of each hypothesis, float32 `(batch, beam)`; 1 for an empty input."""
    lengths = tf.cast(tf.maximum(result.lengths, 1), tf.float32)  # (batch, beam)
    log_probs = tf.reduce_sum(result.token_log_probs, axis=-1)
    if calibration is None:
        confidence = tf.exp(tf.minimum(log_probs / lengths, 0.0))
    else:
        # (batch, 1)
        sources = tf.cast(tf.expand_dims(tf.maximum(source_lengths, 1), axis=1), tf.float32)
        covered = tf.minimum(tf.reduce_sum(result.alignment, axis=2), 1.0)
        features = {
            "mean_log_prob": log_probs / lengths,
            "least_log_prob": tf.reduce_min(result.token_log_probs, axis=-1),
            "log_prob": log_probs,
            "mean_entropy": tf.reduce_sum(result.token_entropies, axis=-1) / lengths,
            "log_length_ratio": tf.math.log(lengths / sources),
            "coverage": tf.reduce_sum(covered, axis=-1) / sources,
        }
        weights = calibration.text
        logit = sum(weights[name] * features[name] for name in TEXT_FEATURES) + weights["bias"]
        confidence = tf.sigmoid(logit)
    is_hypothesis = tf.cast(result.scores > IMPOSSIBLE / 2, tf.float32)
    return tf.where(result.lengths > 0, confidence, is_hypothesis)
