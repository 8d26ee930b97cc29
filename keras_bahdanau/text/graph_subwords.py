"""Subword tokenization in a TensorFlow graph with tensorflow-text, for exports that read text."""

import hashlib

import tensorflow as tf

from keras_bahdanau.settings.greetings import without_greetings
from keras_bahdanau.text.graphemes import composes
from keras_bahdanau.text.ids import graph_is_text, known_ids
from keras_bahdanau.text.vocabulary import END, PAD, check_model

try:
    import tensorflow_text
    from tensorflow_text.python.ops import sentencepiece_tokenizer
except ImportError as error:
    raise ImportError(
        "Splitting text inside a graph, as a SavedModel for text does, needs the package "
        f"tensorflow-text, which has no wheel for Windows. Received: {error}. Install it, or "
        "export a model that reads ids instead of text: --format saved-model-ids, or litert."
    ) from None


class GraphSubwords(tf.Module):
    """`Subwords` inside a TensorFlow graph, for any bytes and shapes.

    `model` is a serialized SentencePiece model.
    """

    def __init__(self, model: bytes):
        super().__init__(name="subwords")
        self.vocabulary_size = check_model(model, "model")
        self._composes = composes(model)
        # created outside any graph that is being traced, so that it outlives the graph
        with tf.init_scope(), without_greetings():
            self._tokenizer = tensorflow_text.SentencepieceTokenizer(model)
            self._tokenizer._model_resource = _Vocabulary(model)

    def tokenize(self, text, end_of_empty: bool = True) -> tf.RaggedTensor:
        """Split strings `(batch,)` into ids with an end token: int32 ragged `(batch, time)`.

        Unless `end_of_empty` is True, a string without tokens gets no end token.
        """
        ids = self._tokenizer.tokenize(text)
        counts = tf.ones_like(ids.row_lengths())
        if not end_of_empty:
            counts = tf.cast(ids.row_lengths() > 0, tf.int64)
        return _append_end(ids, counts)

    def tokenize_with_offsets(self, text):
        """Return ragged ids without end tokens, and the byte offsets where each begins and ends."""
        return self._tokenizer.tokenize_with_offsets(text)

    def detokenize(self, ids) -> tf.Tensor:
        """Decode ids `(batch, time)`, up to the first end token, to text `(batch,)`."""
        ids = self.known(ids)
        real = graph_is_text(ids)  # (batch, time)
        lengths = tf.reduce_sum(tf.cast(real, tf.int64), axis=1)
        values = tf.boolean_mask(ids, real)  # -> flat, (real ids,)
        # ragged (batch, time)
        rows = tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)
        return self._tokenizer.detokenize(rows)

    def composed(self, text) -> tf.Tensor:
        """Compose text that was joined from tokens, as `detokenize` does (`Subwords.composed`)."""
        return tensorflow_text.normalize_utf8(text, "NFC") if self._composes else text

    def tokens(self, ids) -> tf.Tensor:
        """Return the subwords of ids of any shape, with "" at padding.

        Ids outside the vocabulary become the unknown token.
        """
        ids = self.known(ids)
        tokens = self._tokenizer.id_to_string(tf.reshape(ids, [-1]))
        return tf.where(ids == PAD, "", tf.reshape(tokens, tf.shape(ids)))

    def known(self, ids) -> tf.Tensor:
        return known_ids(ids, self.vocabulary_size)


class _Vocabulary(tf.saved_model.experimental.TrackableResource):
    """A SentencePiece model as a named resource, which its name keeps alive.

    An unnamed resource belongs to the kernel that created it, so `tf.random.set_seed` deletes it. A
    loaded SavedModel confuses resources that have the same name (tensorflow/text#1304).
    """

    def __init__(self, model):
        super().__init__()
        self._model = model
        _ = self.resource_handle  # creates the resource

    def _create_resource(self):
        name = "vocabulary_" + hashlib.sha256(self._model).hexdigest()[:16]
        operations = sentencepiece_tokenizer.gen_sentencepiece_tokenizer
        return operations.sentencepiece_op(model=self._model, shared_name=name)


def _append_end(ids, counts):
    """Append `counts[i]` (0 or 1) end tokens to row `i` of ragged ids."""
    # not `tf.concat`, which adds an assertion to the graph that the row counts are equal
    lengths = ids.row_lengths() + counts
    # ragged (batch, time) -> (batch, time + 1)
    padded = tf.pad(ids.to_tensor(END), [[0, 0], [0, 1]], constant_values=END)
    # -> flat, (ids,)
    values = tf.boolean_mask(padded, tf.sequence_mask(lengths, tf.shape(padded)[1]))
    return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)
