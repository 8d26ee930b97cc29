"""Target tokens with their weights, as the plots with pictures show them."""

from keras_bahdanau.text.alignments import WORD_START, as_alignment, join_targets

LONGEST = 24  # characters of a token


def labelled_targets(result, words=False):
    """Weights and labels of the target tokens, or words, of a result.

    Returns:
        (weights, labels): a float array `(target_time, memory_time)` and a list of strings.
    """
    weights = as_alignment(result.alignment, result.source_tokens, result.target_tokens)
    labels = result.target_tokens
    if words:
        weights, labels = join_targets(weights, labels)
    return weights, [_label(token) for token in labels]


def _label(token):
    token = token.removeprefix(WORD_START) or token  # the mark alone is a space
    return token if len(token) <= LONGEST else token[: LONGEST - 1] + "…"
