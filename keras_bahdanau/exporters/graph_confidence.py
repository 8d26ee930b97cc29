"""Confidence of hypotheses in a graph: what `pipelines.confidence` computes on the host."""

import tensorflow as tf

from keras_bahdanau.pipelines.confidence import TEXT_FEATURES
from keras_bahdanau.search.beam import IMPOSSIBLE


def graph_confidence(result, source_lengths, calibration=None):
    """Confidence of each hypothesis: see `text_confidence`.

    Args:
        result: `SearchResult`.
        source_lengths: Int32 tensor `(batch,)`, positions of the memory.
        calibration: `Calibration`, or None.

    Returns:
        Float32 tensor `(batch, beam)`, in [0, 1]; 1 for the empty text of an empty input, 0 for a
        place of the beam that has no hypothesis.
    """
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
