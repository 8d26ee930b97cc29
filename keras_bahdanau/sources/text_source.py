"""Text as a source: strings in, token ids to the model."""

import zlib

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.layers.front_ends.token_embedding import TokenEmbedding
from keras_bahdanau.sources.source import Source, refuse_convolutions
from keras_bahdanau.text.byte_limit import byte_limit, cut_to_bytes, text_limits
from keras_bahdanau.text.copied_ids import copied_ids
from keras_bahdanau.text.feature_place import FIRST, LAST, check_place
from keras_bahdanau.text.graph_byte_limit import graph_cut_to_bytes
from keras_bahdanau.text.graph_ids import at_least_one, graph_cut_ids, known_ids, requested_ids
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.replace_unknown import attended_words
from keras_bahdanau.text.subword_sampling import SubwordSampler
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import PAD

_EDGE_CASES = [
    "",
    " \t\u200b ",
    "a",
    "A man in a hat.",
    "☃ 𓀀 qqq",
    "👩‍👩‍👧 🙂",
    b"A man \xff\xfe in a hat.",
    b"\xf0\x9f\x99",
    "one\x00two",
    "0 " * 70,
    "☃" * 6000,
]


@keras.saving.register_keras_serializable(package="keras_bahdanau")
class TextSource(Source):
    """Sentences, split into subwords.

    An input is a string, or bytes that need not be valid UTF-8. Features are an int32 tensor
    `(batch, source_time)` of ids, right-padded with 0. A sentence without a token has no end
    token either: its features are padding alone.

    Args:
        subwords: `Subwords`.
        feature_place: String, where the features of a table stand, such as `<PST>`: "last",
            behind the text, or "first", before it. `train` finds it from the pairs.

    Raises:
        ValueError: If there is no such place.

    Example:
        >>> source = TextSource(Subwords.train(sentences))
        >>> source.rows(["A man."]).lengths
        array([4])
    """

    inputs = {"text": tf.TensorSpec((None,), tf.string)}
    feature_spec = tf.TensorSpec((None, None), tf.int32, name="source")
    feature_inputs = {
        "source": tf.TensorSpec((None, None), tf.int32),
        "source_length": tf.TensorSpec((None,), tf.int32),
    }
    descriptions = {
        "source": (
            "Ids of the sentence, the end token 3 behind them, then 0.",
            ("batch", "source_time"),
        )
    }
    inputs_are = "lines"
    unit = "tokens"
    positions_are_tokens = True
    length_band = 5
    longest_of_training = None
    page_entry = "text_entry.mjs"
    edge_cases = _EDGE_CASES
    examples = ["a", "a b c"]

    def __init__(self, subwords, feature_place=LAST):
        check_place(feature_place)
        self.subwords, self.feature_place = subwords, feature_place
        self._sampler = None  # of the last rate: it remembers the splits of words

    @property
    def size(self):
        """Number of ids."""
        return self.subwords.vocabulary_size

    @property
    def counted_in(self):
        """Words, or the symbols of a vocabulary of characters."""
        return self.subwords.counted_in

    @property
    def assets(self):
        """The SentencePiece model."""
        return {"source.spm": self.subwords.model}

    def front_end(self, units, convolutions=None, augmentation=0.0):
        refuse_convolutions(type(self).__name__, convolutions, augmentation)
        return TokenEmbedding(self.size, units, name="front_end")

    def symbols(self, target):
        return copied_ids(self.subwords, target)

    def check(self, name, inputs):
        check_strings(name, inputs)

    def rows(self, inputs):
        return IdRows.encoded(self.subwords, inputs, end_of_empty=False)

    def shortened(self, one, longest):
        return cut_to_bytes(one, byte_limit(longest))

    def limits(self, longest):
        return text_limits(longest)

    def sampled_rows(self, inputs, rate, seed):
        if self._sampler is None or self._sampler.alpha != rate:
            self._sampler = SubwordSampler(self.subwords.model, rate)
        return IdRows.sampled(self._sampler, inputs, seed)

    def requests(self, inputs):
        return {"text": np.array([tf.compat.as_bytes(one) for one in inputs], dtype=object)}

    def feature_requests(self, features):
        lengths = np.count_nonzero(features, axis=1).astype(np.int32)
        return {"source": features, "source_length": lengths}

    def labels(self, features):
        tokens = self.subwords.tokens(features)
        return [[token for token in row if token] for row in tokens.tolist()]

    def words(self, inputs, longest=None):
        return self.subwords.words(inputs, end_of_empty=False, longest=longest)

    def sizes(self, inputs):
        return self.subwords.sizes(inputs)

    def key(self, one):
        return zlib.crc32(tf.compat.as_bytes(one))

    def attended_words(self, one, alignment, characters=False):
        return attended_words(self.subwords, one, alignment, characters)

    def features(self, text):
        ids = self.subwords.graph.tokenize(text, end_of_empty=False).to_tensor(default_value=PAD)
        return at_least_one(ids)

    def features_from(self, source, source_length):
        return requested_ids(source, source_length, self.size)

    def graph_shortened(self, longest, text):
        text, longer = graph_cut_to_bytes(text, byte_limit(longest))
        return {"text": text}, longer

    def graph_cut(self, features, longest):
        return graph_cut_ids(features, longest)

    def known(self, features):
        return known_ids(features, self.size)

    def lengths(self, features):
        return tf.math.count_nonzero(features, axis=1, dtype=tf.int32)

    def label_tensor(self, features):
        return self.subwords.graph.tokens(features)

    def graph_attended_words(self, alignment, characters=False, *, text):
        from keras_bahdanau.text.graph_replace_unknown import graph_attended_words

        return graph_attended_words(self.subwords.graph, text, alignment, characters)

    @property
    def resources(self):
        """The vocabulary."""
        return [self.subwords.graph]

    def with_subwords(self, subwords):
        """The same source with another vocabulary."""
        return type(self)(subwords, self.feature_place)

    def get_config(self):
        return {"subwords": self.subwords.get_config(), "feature_place": self.feature_place}

    @classmethod
    def from_config(cls, config):
        # a config that names no place is of a version in which features stood first
        place = config.get("feature_place", FIRST)
        return cls(Subwords.from_config(config["subwords"]), place)

    def __eq__(self, other):
        if type(self) is not type(other) or self.subwords != other.subwords:
            return False
        # without a symbol there are no features
        return not self.subwords.symbol_ids.size or self.feature_place == other.feature_place

    __hash__ = Source.__hash__


def check_strings(name, strings):
    """Check that `strings`, an argument of that name, is a list of strings.

    Raises:
        TypeError: If it is something else.
        ValueError: If a string has a surrogate, which no text in UTF-8 has.
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
                f"`{name}` must hold text that UTF-8 can encode, without surrogates. "
                f"Received: {name}[{number}]={string!r:.80}. Decode its bytes anew."
            )


def _has_code(string):
    """True if UTF-8 has a code for each character."""
    try:
        string.encode()
    except UnicodeEncodeError:
        return False
    return True
