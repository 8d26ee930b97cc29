"""Source for text, which reads strings and gives the model token ids."""

import zlib

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.layers.front_ends.token_embedding import TokenEmbedding
from keras_bahdanau.sources.source import Source, refuse_convolutions
from keras_bahdanau.text.copies import copied_ids
from keras_bahdanau.text.features import FIRST, INVISIBLE, LAST
from keras_bahdanau.text.host_text import HostText
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.ids import (
    at_least_one,
    byte_limit,
    graph_cut_ids,
    graph_cut_to_bytes,
    known_ids,
    requested_ids,
)
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
class TextSource(HostText, Source):
    """Source for sentences, which are split into subwords.

    An input is a string, or bytes that don't have to be valid UTF-8. Features are an int32 tensor
    `(batch, source_time)` of ids, right-padded with 0. A sentence without tokens has no end token.
    `feature_place` is the position of features such as `<PST>`: "last" (after the text) or "first"
    (before it). `train` infers it from the pairs. Raises ValueError for any other value.

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
            "Ids of the sentence, followed by the end token 3 and then by 0.",
            ("batch", "source_time"),
        )
    }
    inputs_are = "lines"
    longest_of_training = None
    page_entry = "text_entry.mjs"
    edge_cases = _EDGE_CASES
    examples = ["a", "a b c"]

    def __init__(self, subwords, feature_place=LAST):
        super().__init__(subwords, feature_place)
        self._sampler = None  # the sampler for the last rate, which caches how it splits words

    @property
    def size(self):
        return self.subwords.vocabulary_size

    @property
    def assets(self):
        return {"source.spm": self.subwords.model}

    def front_end(self, units, convolutions=None, augmentation=0.0):
        refuse_convolutions(type(self).__name__, convolutions, augmentation)
        return TokenEmbedding(self.size, units, name="front_end")

    def symbols(self, target):
        return copied_ids(self.subwords, target)

    @property
    def card(self):
        return {"feature_place": self.feature_place}

    def sampled_rows(self, inputs, rate, seed):
        if self._sampler is None or self._sampler.alpha != rate:
            self._sampler = SubwordSampler(self.subwords.model, rate)
        return IdRows.sampled(self._sampler, [*map(self.arranged, inputs)], seed)

    def requests(self, inputs):
        return {
            "text": np.array(
                [tf.compat.as_bytes(self.arranged(text)) for text in inputs], dtype=object
            )
        }

    def feature_requests(self, features):
        lengths = np.count_nonzero(features, axis=1).astype(np.int32)
        return {"source": features, "source_length": lengths}

    def key(self, sentence):
        return zlib.crc32(tf.compat.as_bytes(self.arranged(sentence)))

    def features(self, text):
        text = _without_blank(text)
        ids = self.subwords.graph.tokenize(text, end_of_empty=False).to_tensor(default_value=PAD)
        return at_least_one(ids)

    def features_from(self, source, source_length):
        ids = requested_ids(source, source_length, self.size)
        columns = tf.clip_by_value(tf.reduce_max(source_length), 1, tf.shape(ids)[1])
        return ids[:, :columns]  # extra padding by clients costs nothing

    def graph_truncate(self, longest, text):
        text, longer = graph_cut_to_bytes(_without_blank(text), byte_limit(longest))
        return {"text": text}, longer

    def graph_cut(self, features, longest):
        return graph_cut_ids(features, longest)

    def sanitize(self, features):
        return known_ids(features, self.size)

    def lengths(self, features):
        return tf.math.count_nonzero(features, axis=1, dtype=tf.int32)

    def label_tensor(self, features):
        return self.subwords.graph.tokens(features)

    def graph_attended_words(self, alignment, characters=False, *, text):
        from keras_bahdanau.text.copies import graph_attended_words

        return graph_attended_words(self.subwords.graph, text, alignment, characters)

    @property
    def resources(self):
        return [self.subwords.graph]

    def replace_subwords(self, subwords):
        """Return the same source with another vocabulary."""
        return type(self)(subwords, self.feature_place)

    def get_config(self):
        return {"subwords": self.subwords.get_config(), "feature_place": self.feature_place}

    @classmethod
    def from_config(cls, config):
        # features were always first before configs contained `feature_place`
        position = config.get("feature_place", FIRST)
        return cls(Subwords.from_config(config["subwords"]), position)

    def __eq__(self, other):
        if type(self) is not type(other) or self.subwords != other.subwords:
            return False
        # a vocabulary without symbols has no features
        return not self.subwords.symbol_ids.size or self.feature_place == other.feature_place

    __hash__ = Source.__hash__


def _without_blank(text):
    """Return strings `(batch,)` with "" in place of those for which `is_blank` is True."""
    ranges = "".join(f"\\x{{{first:x}}}-\\x{{{last:x}}}" for first, last in INVISIBLE)
    return tf.where(tf.strings.regex_full_match(text, f"[{ranges}]*"), "", text)


def changed_sides(expected, received):
    """Return the sides that differ, as a list of [name, expected side, received side].

    A received side of None means that it was not given, so it does not differ.
    """
    source, target = received
    if source is None:
        is_equal = True
    elif isinstance(source, Subwords):
        is_equal = source == expected[0].subwords
    else:
        is_equal = source_of(source) == expected[0]
    equal = (is_equal, target in (None, expected[1]))
    rows = zip(("source", "target"), expected, received, equal, strict=True)
    return [row for *row, is_equal in rows if not is_equal]


def source_of(value, **settings):
    """Return `value` if it is a source, or a `TextSource` if it is `Subwords`.

    Raises TypeError for any other value.
    """
    if hasattr(value, "front_end") and hasattr(value, "subwords"):
        return value
    if isinstance(value, Subwords):
        return TextSource(value, **settings)
    raise TypeError(
        "`source` must be a Source, or the Subwords for a text source. "
        f"Received: source of type {type(value).__name__}."
    )
