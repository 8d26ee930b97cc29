"""Tokens as plots show them, and target tokens with their weights."""

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
    return weights, [token_label(token) for token in labels]


def token_label(token, longest=LONGEST):
    """A piece without the mark of a word's start; the mark alone, a space, stays."""
    return shortened(token.removeprefix(WORD_START) or token, longest)


def shortened(text, longest):
    """A text of `longest` characters at most; the last one tells that it was cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
