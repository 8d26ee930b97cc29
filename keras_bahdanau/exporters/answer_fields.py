"""Fields of an answer, that SavedModel and LiteRT share.

Each hypothesis has its `confidence`, float32 in [0, 1]: see `Translation`. Where its tokens are an
output, so are `token_log_probs` and `token_entropies`, float32 of the same shape, in nats, 0
behind the last token; and `token_words`, int32, which word each belongs to: see `token_words`.
"""

import keras

from keras_bahdanau.exporters.graph_confidence import graph_confidence
from keras_bahdanau.text.graph_word_numbers import graph_word_numbers, word_parts


def best_of(result):
    """The first hypothesis of each beam."""
    # (batch, beam, ...) -> (batch, ...)
    return keras.tree.map_structure(lambda field: field[:, 0], result)


def confidences(pipeline, result, features):
    """Float32 `(batch, beam)`, the confidence of each hypothesis."""
    return graph_confidence(result, pipeline.lengths(features), pipeline.calibration)


def token_words(pipeline, ids):
    """Int32 tensor like `ids`, the number of the word of each token; -1 for those of none."""
    target = pipeline.target
    return graph_word_numbers(ids, word_parts(target.tokens(range(target.vocabulary_size))))


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
        "token_words": token_words(pipeline, best.ids),
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
        "token_words": token_words(pipeline, result.ids),
        "finished": result.finished,
    }
