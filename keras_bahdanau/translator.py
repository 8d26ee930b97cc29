"""Text in, text out: tokenizer, model and search in one object and one file."""

import dataclasses
import json
import os
import zipfile
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.archive import CARD, read_card
from keras_bahdanau.models import Seq2Seq
from keras_bahdanau.search import SearchOptions, SearchResult, search
from keras_bahdanau.search.result import normalized
from keras_bahdanau.text import Tokenizer
from keras_bahdanau.text.tokenizer import END, PAD, START


@dataclasses.dataclass(frozen=True)
class Translation:
    """One translation of one sentence.

    Attributes:
        text: The translation.
        score: log p / length^a, the natural logarithm.
        source_tokens: List of source pieces, with the end token.
        target_tokens: List of target pieces, with the end token if finished.
        alignment: float32 array `(len(target_tokens), len(source_tokens))`;
            row i says where the model looked when it wrote target token i.
        finished: Whether it ended by itself, and was not cut at the longest length.
    """

    text: str
    score: float
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray
    finished: bool


class Translator:
    """Translates text with a trained model, and is saved as one `.keras` file.

    ```python
    translator = keras_bahdanau.Translator(model, tokenizer)
    result = translator.translate(["A man in an orange hat."])[0]
    translator.save("en-de.keras")
    translator = keras_bahdanau.Translator.load("en-de.keras")
    ```

    Args:
        model: A `Seq2Seq`.
        tokenizer: The `Tokenizer` it was trained with.
        search: `SearchOptions`; the defaults when left out.

    Raises:
        ValueError: If the vocabularies of model and tokenizer differ in size.
    """

    def __init__(self, model, tokenizer, search=None):
        sizes = (model.encoder.vocabulary_size, model.decoder.vocabulary_size)
        expected = (tokenizer.source_vocabulary_size, tokenizer.target_vocabulary_size)
        if sizes != expected:
            raise ValueError(
                "The model must have the vocabulary sizes (source, target) of its tokenizer, "
                f"{expected}. Received: a model with {sizes}. Give the tokenizer that the model "
                "was trained with."
            )
        if not model.built:
            model.build()
        self.model = model
        self.tokenizer = tokenizer
        self.search = search or SearchOptions()
        self._graphs = {}

    def source_ids(self, text):
        """Source ids of strings `(batch,)`, in the graph: int32 `(batch, source_time)`.

        Right-padded with 0, and at least one column wide.
        """
        ids = self.tokenizer.tokenize_source(text).to_tensor(default_value=PAD)
        missing = tf.maximum(1 - tf.shape(ids)[1], 0)
        return tf.pad(ids, [[0, 0], [0, missing]], constant_values=PAD)

    def search_ids(self, source, options=None, time=None):
        """The hypotheses for source ids, in the graph: what every export is traced from.

        Args:
            source: Int32 tensor `(batch, source_time)`, right-padded with 0.
            options: `SearchOptions`; the translator's own when left out.
            time: Integer, the length of the buffers where it must be static.

        Returns:
            `SearchResult`.
        """
        options = options or self.search
        memory = self.model.encode(source)

        def step(tokens, state):
            log_probs, state = self.model.decode_step(tokens, state, memory)
            return log_probs, state.weights, state

        limits = _limits(source, options, time)
        return search(
            step,
            self.model.first_state(memory),
            limits,
            options,
            start=START,
            end=END,
            time=tf.maximum(tf.reduce_max(limits), 0) if time is None else time,
            source_time=keras.ops.shape(source)[1],
        )

    def translate(self, sentences, batch_size=64, search=None):
        """The best translation of each sentence.

        Args:
            sentences: List of strings, in any number and order; an empty one
                gives an empty translation.
            batch_size: Positive integer. Sentences translated at once.
            search: `SearchOptions` in place of the translator's own.

        Returns:
            List of `Translation`, one a sentence.

        Raises:
            TypeError: If `sentences` is one string, or holds something else.
        """
        return [best for best, *_ in self.translate_nbest(sentences, 1, batch_size, search)]

    def translate_nbest(self, sentences, nbest=None, batch_size=64, search=None):
        """The best few translations of each sentence, best first.

        Args:
            sentences: List of strings.
            nbest: How many; at most, and by default, the beam width. An empty
                sentence has one, which is empty.
            batch_size: Positive integer. Sentences translated at once.
            search: `SearchOptions` in place of the translator's own.

        Returns:
            List of lists of `Translation`.

        Raises:
            TypeError: If `sentences` is one string, or holds something else.
            ValueError: If `nbest` is larger than the beam.
        """
        _check_sentences(sentences)
        options = search or self.search
        nbest = options.beam_width if nbest is None else nbest
        if not 1 <= nbest <= options.beam_width:
            raise ValueError(
                f"`nbest` must be from 1 to the beam width, {options.beam_width}. "
                f"Received: nbest={nbest!r}. Search with a wider beam for more."
            )
        results = [None] * len(sentences)
        for rows, source in self._batches(sentences, batch_size):
            found = self._graph(options)(source)
            for row, hypotheses in zip(rows, self._read(source, found, nbest), strict=True):
                results[row] = hypotheses
        return results

    def align(self, pairs, batch_size=64):
        """How the model reads given translations: forced decoding.

        Args:
            pairs: List of (source, target) strings.
            batch_size: Positive integer. Pairs read at once.

        Returns:
            List of `Translation`, one a pair: its tokens, its alignment, and
            the score that the model gives it.
        """
        pairs = list(pairs)
        sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
        _check_sentences(sources)
        _check_sentences(targets)
        results = [None] * len(pairs)
        for rows, source in self._batches(sources, batch_size):
            found = self._forced(source, tf.constant([targets[row] for row in rows]))
            for row, (forced,) in zip(rows, self._read(source, found, 1), strict=True):
                results[row] = forced
        return results

    @tf.function(reduce_retracing=True)
    def _forced(self, source, text):
        return self.forced_ids(source, text)

    def forced_ids(self, source, target):
        """Given translations as the only hypotheses, in the graph.

        Args:
            source: Int32 tensor `(batch, source_time)`, right-padded with 0.
            target: String tensor `(batch,)`.

        Returns:
            `SearchResult` with a beam axis of 1.
        """
        target_out = self.tokenizer.tokenize_target(target).to_tensor(default_value=PAD)
        target_in = tf.pad(target_out[:, :-1], [[0, 0], [1, 0]], constant_values=START)
        logits, weights = self.model((source, target_in), return_attention_scores=True)
        real = tf.cast(target_out != PAD, tf.float32)
        log_probs = tf.gather(tf.nn.log_softmax(logits), target_out, batch_dims=2) * real
        lengths = tf.math.count_nonzero(target_out, axis=1, dtype=tf.int32)
        scores = normalized(
            tf.reduce_sum(log_probs, axis=1), lengths, self.search.length_normalization
        )
        found = SearchResult(target_out, lengths, scores, weights, tf.ones_like(lengths, tf.bool))
        return keras.tree.map_structure(lambda field: tf.expand_dims(field, axis=1), found)

    def _batches(self, sentences, batch_size):
        """(row numbers, padded ids) of sentences of similar length."""
        if not sentences:
            return
        source = self.source_ids(tf.constant(sentences)).numpy()
        lengths = np.count_nonzero(source, axis=1)
        order = np.argsort(lengths, kind="stable")
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            yield rows, tf.constant(source[rows, : max(1, lengths[rows].max())])

    def _graph(self, options):
        """The search with these options as one `tf.function`, traced once."""
        if options not in self._graphs:
            self._graphs[options] = tf.function(
                lambda source: self.search_ids(source, options),
                input_signature=[tf.TensorSpec((None, None), tf.int32)],
            )
        return self._graphs[options]

    def _read(self, source, found, nbest):
        """Lists of `Translation`, one list a row, from what the graph found."""
        source_tokens = _strings(self.tokenizer.source_tokens(source))
        source_lengths = np.count_nonzero(source, axis=1)
        ids = found.ids[:, :nbest]
        texts = self.tokenizer.detokenize_target(tf.reshape(ids, (-1, tf.shape(ids)[2])))
        texts = _strings(tf.reshape(texts, (-1, nbest)))
        target_tokens = _strings(self.tokenizer.target_tokens(ids))
        found = [np.asarray(field) for field in found]
        for row, source_length in enumerate(source_lengths):
            hypotheses = []
            for rank in range(nbest if source_length else 1):
                _, length, score, alignment, finished = (field[row, rank] for field in found)
                hypotheses.append(
                    Translation(
                        text=texts[row][rank],
                        score=float(score),
                        source_tokens=source_tokens[row][:source_length],
                        target_tokens=target_tokens[row][rank][:length],
                        alignment=alignment[:length, :source_length],
                        finished=bool(finished),
                    )
                )
            yield hypotheses

    def save(self, path):
        """Writes model, tokenizer and search options to one `.keras` file, or nothing at all.

        Raises:
            ValueError: If `path` does not end in ".keras".
        """
        path = Path(path)
        if path.suffix != ".keras":
            raise ValueError(
                f"A translator's file name must end in .keras. Received: path={str(path)!r}"
            )
        unfinished = path.with_name(f".{path.stem}.{os.getpid()}.keras")
        try:
            _bare(self.model).save(unfinished)
            card = {
                "tokenizer": self.tokenizer.get_config(),
                "search": dataclasses.asdict(self.search),
            }
            with zipfile.ZipFile(unfinished, "a") as archive:
                archive.writestr(CARD, json.dumps(card))
            os.replace(unfinished, path)
        finally:
            unfinished.unlink(missing_ok=True)

    @classmethod
    def load(cls, path):
        """The translator that `save` wrote; no `custom_objects` needed.

        Raises:
            FileNotFoundError: If there is no such file.
            ValueError: If it is not a translator's file, or a damaged one.
        """
        card = read_card(path)
        model = keras.saving.load_model(path, compile=False)
        if not isinstance(model, Seq2Seq):
            raise ValueError(
                "A translator's file must hold a Seq2Seq model. "
                f"Received: path={str(path)!r} with a {type(model).__name__}."
            )
        tokenizer = Tokenizer.from_config(card["tokenizer"])
        return cls(model, tokenizer, SearchOptions(**card["search"]))


def _bare(model):
    """The same model without optimizer, which would be three times its size in the file."""
    twin = Seq2Seq.from_config(model.get_config())
    twin.build()
    twin.set_weights(model.get_weights())
    return twin


def _limits(source, options, time):
    """Int32 `(batch,)`: the most tokens of each translation, from its own source alone."""
    lengths = tf.math.count_nonzero(source, axis=1, dtype=tf.int32)
    limits = tf.cast(tf.cast(lengths, tf.float32) * options.max_length_ratio, tf.int32)
    longest = options.max_length if time is None else min(time, options.max_length)
    limits = tf.minimum(limits + int(options.max_length_offset), longest)
    return tf.where(lengths > 0, limits, 0)


def _strings(tensor):
    """Nested lists of `str` from a string tensor."""
    return np.char.decode(tensor.numpy().astype(bytes), "utf-8", "replace").tolist()


def _check_sentences(sentences):
    if isinstance(sentences, str | bytes):
        raise TypeError(
            "`sentences` must be a list of strings. "
            f"Received: sentences={sentences!r}. Put it in a list: [sentence]."
        )
    for number, sentence in enumerate(sentences):
        if not isinstance(sentence, str | bytes):
            raise TypeError(
                f"`sentences` must be a list of strings. Received: sentences[{number}]={sentence!r}"
            )
