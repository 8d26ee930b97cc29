"""Fields of an answer, that SavedModel and LiteRT share.

Each hypothesis has its `confidence`, float32 in [0, 1]: see `Translation`. Where its tokens are an
output, so are `token_log_probs` and `token_entropies`, float32 of the same shape, in nats, 0
behind the last token.
"""

import keras

from keras_bahdanau.exporters.graph_confidence import graph_confidence


def best_of(result):
    """The first hypothesis of each beam."""
    # (batch, beam, ...) -> (batch, ...)
    return keras.tree.map_structure(lambda field: field[:, 0], result)


def confidences(pipeline, result, features):
    """Float32 `(batch, beam)`, the confidence of each hypothesis."""
    return graph_confidence(result, pipeline.lengths(features), pipeline.calibration)


def best_ids(pipeline, result, features):
    """The fields of the best hypotheses, but for their alignments."""
    best = best_of(result)
    return {
        "ids": best.ids,
        "length": best.lengths,
        "score": best.scores,
        "confidence": confidences(pipeline, result, features)[:, 0],
        "token_log_probs": best.token_log_probs,
        "token_entropies": best.token_entropies,
        "finished": best.finished,
    }


def all_ids(pipeline, result, features):
    """The fields of all hypotheses, but for their alignments."""
    return {
        "ids": result.ids,
        "lengths": result.lengths,
        "scores": result.scores,
        "confidences": confidences(pipeline, result, features),
        "token_log_probs": result.token_log_probs,
        "token_entropies": result.token_entropies,
        "finished": result.finished,
    }
