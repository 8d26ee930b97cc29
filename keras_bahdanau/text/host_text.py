"""Sentences on the host: to ids, words and copies, without TensorFlow."""

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
    """The members of a `Source` of text that need no TensorFlow: see `TextSource`."""

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
        """A sentence with its features where the model reads them; "" if it is blank."""
        if is_blank(sentence):
            return sentence[:0]
        if self.feature_place != FIRST or not self._symbols:
            return sentence
        return arrange(sentence, self._symbols, FIRST)

    def misplaced(self, sentence):
        """The sentence as the model reads it, if its features are elsewhere; else None."""
        if self.feature_place != LAST or not self._symbols:
            return None
        moved = arrange(sentence, self._symbols, LAST)
        return None if moved is sentence else moved

    def check(self, name, inputs):
        check_strings(name, inputs)

    def rows(self, inputs):
        """Unpadded ids of sentences: `IdRows`."""
        return IdRows.encoded(self.subwords, [*map(self.arranged, inputs)], end_of_empty=False)

    def truncate(self, sentence, longest):
        """A sentence without the bytes far after `longest` tokens; the same object if not cut."""
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
        """The subwords of each row of ids, without padding."""
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
        """None: text has no picture."""


def check_strings(name, strings):
    """Check that `strings`, called `name` in errors, is a list of strings without surrogates."""
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
                f"`{name}` must hold text that UTF-8 can encode, without surrogates. "
                f"Received: {name}[{number}]={string!r:.80}. Decode its bytes again."
            )


def _has_code(string):
    """True if UTF-8 can encode each character."""
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True


def check_pairs(pairs):
    """Check that a list holds pairs of an input and a string; TypeError for two lists."""
    for pair in pairs:
        if not isinstance(pair, list | tuple | np.ndarray) or len(pair) != 2:
            raise TypeError(
                f"`pairs` must be (input, target). Received: {pair!r:.80}. Of two lists, "
                "zip(inputs, targets) makes pairs."
            )
    check_strings("targets", [target for _, target in pairs])
