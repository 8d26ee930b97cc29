"""Tokens as plots show them, whole words or tokens, and target tokens with their weights."""

from keras_bahdanau.text.alignments import (
    END,
    UNKNOWN,
    WORD_START,
    as_alignment,
    join_subwords,
    join_targets,
)

LONGEST = 24  # characters of a token
SPACE = "␣"  # as the explorer writes it
NO_TEXT = ("<s>", END, UNKNOWN)


def of_characters(tokens):
    """True for the tokens of a model of characters or graphemes.

    Each is one character, a space, or a symbol such as `<PST>▁`; pieces of other models have the
    mark of a word's start before their letters, or several letters.
    """
    tokens = [token for token in tokens if token and token not in NO_TEXT]
    return bool(tokens) and all(map(_is_character, tokens))


def _is_character(token):
    from keras_bahdanau.text.graphemes import is_cluster  # which loads regex

    is_symbol = token.endswith(WORD_START) or (token.startswith("<") and token.endswith(">"))
    return len(token) == 1 or is_symbol or is_cluster(token)


def are_words(tokens):
    """True for tokens that are a word each, with the mark of its start."""
    return all(token.startswith(WORD_START) for token in tokens if token not in NO_TEXT)


def joins_words(words, *sides):
    """`words` if it is a bool; else True if words say more than tokens, of all sides.

    Words say little of characters, and of one word of several tokens.

    Args:
        words: Boolean, or None.
        *sides: Lists of strings, the tokens of the source or the target.
    """
    if words is not None:
        return words
    return not any(of_characters(tokens) or _is_one_word(tokens) for tokens in sides)


def _is_one_word(tokens):
    groups = [group for word, group in zip(*join_subwords(tokens), strict=True) if word != END]
    return len(groups) == 1 and len(groups[0]) > 1


def labelled_targets(result, words=None):
    """Weights and labels of the target tokens, or words, of a result: see `joins_words`.

    Returns:
        (weights, labels): a float array `(target_time, memory_time)` and a list of strings.
    """
    weights = as_alignment(result.alignment, result.source_tokens, result.target_tokens)
    labels = result.target_tokens
    if joins_words(words, labels):
        weights, labels = join_targets(weights, labels)
    return weights, [token_label(token) for token in labels]


def token_label(token, longest=LONGEST):
    """A piece without the mark of a space beside it; the mark alone is a space that is seen."""
    text = token.replace(WORD_START, " ").strip()  # one in the middle joins two positions
    return shortened(text or (SPACE if token else ""), longest)


def shortened(text, longest):
    """A text of `longest` characters at most; the last one tells that it was cut."""
    return text if len(text) <= longest else text[: longest - 1] + "…"
