"""Tokenizer: SentencePiece, trained by `sentencepiece`, run in the graph by `tensorflow_text`."""

import base64
import hashlib
import re

import numpy as np
import tensorflow as tf
import tensorflow_text
from tensorflow_text.python.ops import sentencepiece_tokenizer

from keras_bahdanau.text.vocabulary import (
    END,
    PAD,
    START,
    UNKNOWN,
    check_model,
    train_model,
    training_settings,
)


class Tokenizer(tf.Module):
    """Turns sentences into token ids and back, with graph operations only.

    The ids 0, 1, 2 and 3 are padding, the unknown token, the start and the end of a sentence.
    Every method that gives tensors works inside `tf.function` with unknown dimensions, accepts
    any bytes, and can be saved in a SavedModel. Two tokenizers are equal if their models are.

    Args:
        source_model: Bytes of a serialized SentencePiece model.
        target_model: The target language's, or `None` for one joint vocabulary.

    Raises:
        TypeError: If a model is not `bytes`.
        ValueError: If the bytes are no SentencePiece model, or one whose padding, unknown,
            start and end tokens are not 0, 1, 2 and 3.

    Example:
        >>> tokenizer = Tokenizer.train(pairs, vocabulary_size=6000)
        >>> ids = tokenizer.tokenize_target(["Ein Mann."])
        >>> tokenizer.detokenize_target(ids.to_tensor())
        <tf.Tensor: shape=(1,), dtype=string, numpy=array([b'Ein Mann.'], dtype=object)>
    """

    def __init__(self, source_model: bytes, target_model: bytes | None = None):
        super().__init__(name="tokenizer")
        if target_model is None:
            target_model = source_model
        self.source_vocabulary_size = check_model(source_model, "source_model")
        self.target_vocabulary_size = check_model(target_model, "target_model")
        self.source_model = source_model
        self.target_model = target_model
        self.joint = source_model == target_model
        self._source = _graph_tokenizer(source_model)
        self._target = self._source if self.joint else _graph_tokenizer(target_model)

    @classmethod
    def train(
        cls,
        pairs,
        vocabulary_size: int = 6000,
        *,
        model_type: str = "bpe",
        joint: bool = True,
        character_coverage: float = 1.0,
        normalization: str = "nmt_nfkc",
        symbols=(),
        exact: bool = True,
    ) -> "Tokenizer":
        """Learns the vocabulary, or the two vocabularies, of sentence pairs.

        The same pairs and settings always give the same tokenizer.

        Args:
            pairs: Iterable of `(source, target)` strings. Empty sentences are skipped.
            vocabulary_size: Integer, number of ids of each vocabulary, the four special ones
                included.
            model_type: `"bpe"`, `"unigram"`, `"char"` or `"word"`.
            joint: Whether both languages share one vocabulary.
            character_coverage: Float from 0.98 to 1, share of the characters of the text that the
                vocabulary must hold; the rarest beyond it become unknown.
            normalization: SentencePiece's name of the Unicode normalization: `"nmt_nfkc"`,
                `"nfkc"`, `"nmt_nfkc_cf"`, `"nfkc_cf"` (`cf` folds case) or `"identity"`.
            symbols: Strings that always are one token, whatever the text holds, such as the
                language tokens `("<2de>", "<2fr>")` of Johnson et al. 2017. Each takes two ids
                of every vocabulary: as the beginning of a word, and inside of one (where a word
                model does not look for it).
            exact: Whether a text that supports no vocabulary of that size is refused; otherwise
                it gets the largest one that it supports.

        Returns:
            A `Tokenizer`.

        Raises:
            ValueError: If a setting is not one of the above, if there is no text, or if the size
                is too small for the characters of the text or, with `exact`, too large for it.
        """
        settings = training_settings(
            vocabulary_size, model_type, character_coverage, normalization, symbols
        )
        pairs = list(pairs)
        sources = [source for source, _ in pairs]
        targets = [target for _, target in pairs]
        if joint:
            return cls(train_model(sources + targets, "source and target", settings, exact))
        return cls(
            train_model(sources, "source", settings, exact),
            train_model(targets, "target", settings, exact),
        )

    def tokenize_source(self, text) -> tf.RaggedTensor:
        """Source ids, the end token appended unless the sentence has no token.

        Args:
            text: String tensor `(batch,)`.

        Returns:
            int32 `RaggedTensor` `(batch, source_time)`.
        """
        ids = self._source.tokenize(text)
        return _append_end(ids, tf.cast(ids.row_lengths() > 0, tf.int64))

    def tokenize_target(self, text) -> tf.RaggedTensor:
        """Target ids, the end token always appended, without a start token.

        Args:
            text: String tensor `(batch,)`.

        Returns:
            int32 `RaggedTensor` `(batch, target_time)`.
        """
        ids = self._target.tokenize(text)
        return _append_end(ids, tf.ones_like(ids.row_lengths()))

    def detokenize_target(self, ids) -> tf.Tensor:
        """Text of target ids up to each row's first end token, without padding and start.

        Args:
            ids: Integer tensor `(batch, target_time)`. Ids outside the vocabulary count as
                unknown.

        Returns:
            String tensor `(batch,)`.
        """
        ids = _known(ids, self.target_vocabulary_size)
        ended = tf.cumsum(tf.cast(ids == END, tf.int32), axis=1) > 0  # (batch, target_time)
        kept = ~ended & (ids != PAD) & (ids != START)
        lengths = tf.reduce_sum(tf.cast(kept, tf.int64), axis=1)
        values = tf.boolean_mask(ids, kept)  # -> flat, (kept ids,)
        # ragged (batch, target_time)
        rows = tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)
        return self._target.detokenize(rows)

    def source_tokens(self, ids) -> tf.Tensor:
        """The pieces that source ids stand for; padding gives `""`.

        Args:
            ids: Integer tensor of any shape. Ids outside the vocabulary count as unknown.

        Returns:
            String tensor of the same shape.
        """
        return _pieces(self._source, _known(ids, self.source_vocabulary_size))

    def target_tokens(self, ids) -> tf.Tensor:
        """The pieces that target ids stand for; padding gives `""`.

        Args:
            ids: Integer tensor of any shape. Ids outside the vocabulary count as unknown.

        Returns:
            String tensor of the same shape.
        """
        return _pieces(self._target, _known(ids, self.target_vocabulary_size))

    def source_words(self, text) -> list:
        """The words of `sentence.split()` that each source token stands for.

        White space in the text as it is given counts, whatever the normalization makes of it.

        Args:
            text: List of strings, the sentences.

        Returns:
            List of int arrays `(source_time, 2)`, the first and the last word of each token: one
            word, save for a run of unknown words, which a word model makes one token. That of
            the end token is the number of words.
        """
        return _words(self._source, text, end_of_empty=False)

    def target_words(self, text) -> list:
        """The words of `sentence.split()` that each target token stands for: see `source_words`.

        Args:
            text: List of strings, the sentences.

        Returns:
            List of int arrays `(target_time, 2)`.
        """
        return _words(self._target, text, end_of_empty=True)

    def __eq__(self, other):
        if not isinstance(other, Tokenizer):
            return NotImplemented
        return (self.source_model, self.target_model) == (other.source_model, other.target_model)

    def __hash__(self):
        return hash((self.source_model, self.target_model))

    def get_config(self) -> dict:
        """The models as base64 strings: JSON holds them."""
        return {
            "source_model": base64.b64encode(self.source_model).decode("ascii"),
            "target_model": (
                None if self.joint else base64.b64encode(self.target_model).decode("ascii")
            ),
        }

    @classmethod
    def from_config(cls, config: dict) -> "Tokenizer":
        """The tokenizer whose `get_config` this is."""
        target = config["target_model"]
        return cls(
            base64.b64decode(config["source_model"]),
            None if target is None else base64.b64decode(target),
        )


class _Vocabulary(tf.saved_model.experimental.TrackableResource):
    """A SentencePiece model as a resource that its name keeps alive.

    Without one, as tensorflow_text makes it, it belongs to the kernel that made it, and is gone
    when TensorFlow forgets its kernels: `tf.random.set_seed` is enough. A loaded SavedModel
    confuses resources that bear the same name (tensorflow/text#1304), so this one tells models
    apart; tokenizers of the same model share it.
    """

    def __init__(self, model):
        super().__init__()
        self._model = model
        _ = self.resource_handle  # which makes it

    def _create_resource(self):
        name = "vocabulary_" + hashlib.sha256(self._model).hexdigest()[:16]
        operations = sentencepiece_tokenizer.gen_sentencepiece_tokenizer
        return operations.sentencepiece_op(model=self._model, shared_name=name)


def _graph_tokenizer(model):
    tokenizer = tensorflow_text.SentencepieceTokenizer(model)
    tokenizer._model_resource = _Vocabulary(model)
    return tokenizer


def _append_end(ids, counts):
    """Appends `counts[i]` (0 or 1) end tokens to row i."""
    # not `tf.concat`, which asserts in the graph that both have as many rows
    lengths = ids.row_lengths() + counts
    # ragged (batch, time) -> (batch, time + 1)
    padded = tf.pad(ids.to_tensor(END), [[0, 0], [0, 1]], constant_values=END)
    # -> flat, (ids,)
    values = tf.boolean_mask(padded, tf.sequence_mask(lengths, tf.shape(padded)[1]))
    return tf.RaggedTensor.from_row_lengths(values, lengths, validate=False)


def _words(tokenizer, sentences, end_of_empty):
    """The first and the last word of each token of each sentence, and of its end token."""
    _, begins, ends = tokenizer.tokenize_with_offsets(tf.constant(sentences, tf.string))
    splits, begins, ends = begins.row_splits.numpy(), begins.values.numpy(), ends.values.numpy()
    result = []
    for sentence, start, stop in zip(sentences, splits[:-1], splits[1:], strict=True):
        words = re.findall(r"\s*\S+", sentence)
        until = np.cumsum([len(word.encode()) for word in words], dtype=np.int64)  # in bytes
        # (tokens,), words that end before it begins
        first = np.searchsorted(until, begins[start:stop], side="right")
        last = np.maximum(first, np.searchsorted(until, ends[start:stop] - 1, side="right"))
        after = [[len(words)] * 2] if end_of_empty or len(first) else []
        spans = np.stack([first, last], axis=1)
        result.append(np.concatenate([spans, np.reshape(after, (-1, 2))]).astype(np.int32))
    return result


def _known(ids, vocabulary_size):
    ids = tf.convert_to_tensor(ids)
    inside = (ids >= 0) & (ids < tf.cast(vocabulary_size, ids.dtype))
    return tf.cast(tf.where(inside, ids, tf.cast(UNKNOWN, ids.dtype)), tf.int32)


def _pieces(tokenizer, ids):
    pieces = tokenizer.id_to_string(tf.reshape(ids, [-1]))
    return tf.where(ids == PAD, "", tf.reshape(pieces, tf.shape(ids)))
