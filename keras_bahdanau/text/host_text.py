"""Conversion of sentences to ids, words and copies on the host, without TensorFlow."""

import numpy as np

from keras_bahdanau.text.copies import attended_words
from keras_bahdanau.text.features import (
    FIRST,
    LAST,
    arrange,
    check_position,
    is_blank,
    words_before_arranging,
)
from keras_bahdanau.text.id_rows import IdRows, cut_rows
from keras_bahdanau.text.ids import byte_limit, cut_to_bytes, text_limits


class HostText:
    """Members of a text `Source` that don't need TensorFlow (see `TextSource`)."""

    unit = "tokens"
    positions_are_tokens = True
    length_band = 5

    def __init__(self, subwords, feature_place=LAST):
        check_position(feature_place)
        self.subwords, self.feature_place = subwords, feature_place
        self._symbols = frozenset(subwords.symbols)

    @property
    def counted_in(self):
        return self.subwords.counted_in

    def arranged(self, sentence):
        """Return a sentence with its features where the model expects them; "" if it is blank."""
        if is_blank(sentence):
            return sentence[:0]
        if self.feature_place != FIRST or not self._symbols:
            return sentence
        return arrange(sentence, self._symbols, FIRST)

    def misplaced(self, sentence):
        """Return the rearranged sentence if its features are not where the model expects them.

        Returns None otherwise.
        """
        if self.feature_place != LAST or not self._symbols:
            return None
        moved = arrange(sentence, self._symbols, LAST)
        return None if moved is sentence else moved

    def check(self, name, inputs):
        check_strings(name, inputs)

    def rows(self, inputs):
        """Return the unpadded ids of sentences as `IdRows`."""
        return IdRows.encoded(self.subwords, [*map(self.arranged, inputs)], end_of_empty=False)

    def truncate(self, sentence, longest):
        """Remove bytes that are certainly after the first `longest` tokens of a sentence.

        Returns the same object if nothing is removed.
        """
        arranged = self.arranged(sentence)
        short = cut_to_bytes(arranged, byte_limit(longest))
        return sentence if short is arranged else short

    def cut(self, inputs, longest):
        arranged = [*map(self.arranged, inputs)]
        rows, truncated = cut_rows(self.subwords, arranged, longest, end_of_empty=False)
        return [self.truncate(sentence, longest) for sentence in inputs], rows, truncated

    def limits(self, longest):
        return text_limits(longest)

    def labels(self, features):
        """Return the subwords of each row of ids, without padding."""
        tokens = self.subwords.tokens(features)
        return [[token for token in row if token] for row in tokens.tolist()]

    def words(self, inputs, longest=None):
        arranged = [*map(self.arranged, inputs)]
        spans = self.subwords.words(arranged, end_of_empty=False, longest=longest)
        return [
            words
            if text is sentence
            else words_before_arranging(words, sentence, self._symbols, FIRST)
            for words, text, sentence in zip(spans, arranged, inputs, strict=True)
        ]

    def sizes(self, inputs):
        return self.subwords.sizes([text[:0] if is_blank(text) else text for text in inputs])

    def attended_words(self, sentence, alignment, characters=False):
        return attended_words(self.subwords, self.arranged(sentence), alignment, characters)

    def picture(self, sentence, longest=None):
        """Return None, since text has no picture."""


def check_strings(name, strings):
    """Check that `strings`, called `name` in errors, is a list of strings without surrogates.

    Raises TypeError for other types and ValueError for a surrogate.
    """
    if isinstance(strings, str | bytes):
        raise TypeError(
            f"`{name}` must be a list of strings. "
            f"Received: {name}={strings!r}. Put it in a list: [{name.removesuffix('s')}]."
        )
    for number, string in enumerate(strings):
        if not isinstance(string, str | bytes):
            raise TypeError(
                f"`{name}` must be a list of strings. Received: {name}[{number}]={string!r}"
            )
        if isinstance(string, str) and not _has_code(string):
            raise ValueError(
                f"`{name}` must contain text without surrogates, which UTF-8 can encode. "
                f"Received: {name}[{number}]={string!r:.80}. Decode its bytes again."
            )


def _has_code(string):
    """Return True if UTF-8 can encode every character."""
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_pairs(pairs):
    """Check that a list contains pairs of an input and a string. Raises TypeError otherwise."""
    for pair in pairs:
        if not isinstance(pair, list | tuple | np.ndarray) or len(pair) != 2:
            raise TypeError(
                f"Each of `pairs` must be (input, target). Received: {pair!r:.80}. If you have two "
                "lists, pass list(zip(inputs, targets))."
            )
    check_strings("targets", [target for _, target in pairs])
