"""Text in, text out: tokenizer, model and search in one object and one file."""

import concurrent.futures
import dataclasses
import functools
import json
import os
import zipfile
import zlib
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from keras_bahdanau.cores import usable_cores
from keras_bahdanau.models import Ensemble, Seq2Seq
from keras_bahdanau.pipelines.file import CARD, read_card
from keras_bahdanau.pipelines.pipeline import GraphTranslator
from keras_bahdanau.pipelines.trace import trace
from keras_bahdanau.pipelines.translation import (
    check_prefixes,
    check_strings,
    read_translations,
)
from keras_bahdanau.search import SearchOptions, SearchResult
from keras_bahdanau.text import Tokenizer
from keras_bahdanau.text.tokenizer import PAD

_SOURCE = tf.TensorSpec((None, None), tf.int32)
_EXTRAS = {
    "prefix": tf.TensorSpec((None, None), tf.int32),
    "uniforms": tf.TensorSpec((None, None, None), tf.float32),
}


class Translator(GraphTranslator):
    """Translates text with a trained model, and is saved as one `.keras` file.

    ```python
    translator = keras_bahdanau.Translator(model, tokenizer)
    result = translator.translate(["A man in an orange hat."])[0]
    translator.save("en-de.keras")
    translator = keras_bahdanau.Translator.load("en-de.keras")
    ```

    Args:
        model: A `Seq2Seq`, or an `Ensemble` of several.
        tokenizer: The `Tokenizer` it was trained with.
        search: `SearchOptions`; the defaults when left out.

    Raises:
        ValueError: If the vocabularies of model and tokenizer differ in size.
    """

    def __init__(self, model, tokenizer, search=None):
        super().__init__(model, tokenizer, search)
        self._graphs = {}

    def translate(self, sentences, batch_size=64, search=None, prefixes=None):
        """The best translation of each sentence, or one drawn at random if the options say so.

        Args:
            sentences: List of strings, in any number and order; an empty one
                gives an empty translation.
            batch_size: Positive integer. Sentences translated at once.
            search: `SearchOptions` in place of the translator's own.
            prefixes: List of strings, one a sentence, that their translations
                begin with; "" leaves one free.

        Returns:
            List of `Translation`, one a sentence.

        Raises:
            TypeError: If `sentences` is one string, or holds something else.
            ValueError: If there are not as many prefixes as sentences.
        """
        found = self.translate_nbest(sentences, 1, batch_size, search, prefixes)
        return [best for best, *_ in found]

    def translate_nbest(self, sentences, nbest=None, batch_size=64, search=None, prefixes=None):
        """The best few translations of each sentence, best first.

        Draws at random come as they are drawn. They depend on the seed and
        the sentence alone: it has the same ones in any batch.

        Args:
            sentences: List of strings.
            nbest: How many; at most, and by default, the beam width. An empty
                sentence has one, which is empty.
            batch_size: Positive integer. Sentences translated at once.
            search: `SearchOptions` in place of the translator's own.
            prefixes: List of strings, one a sentence, that their translations
                begin with; "" leaves one free.

        Returns:
            List of lists of `Translation`.

        Raises:
            TypeError: If `sentences` is one string, or holds something else.
            ValueError: If `nbest` is larger than the beam, or there are not as
                many prefixes as sentences.
        """
        check_strings("sentences", sentences)
        if prefixes is not None:
            check_prefixes(prefixes, sentences)
        options = search or self.search
        nbest = options.beam_width if nbest is None else nbest
        if not 1 <= nbest <= options.beam_width:
            raise ValueError(
                f"`nbest` must be from 1 to the beam width, {options.beam_width}. "
                f"Received: nbest={nbest!r}. Search with a wider beam for more."
            )
        if options.random:  # one draw knows nothing of the others
            options = dataclasses.replace(options, beam_width=nbest)

        def translated(rows, source):
            text = [sentences[row] for row in rows]
            extras = {}
            if prefixes is not None:
                extras["prefix"] = self._prefix_ids([prefixes[row] for row in rows])
            if options.random:
                extras["uniforms"] = _uniforms(text, options)
            found = self._graph(options, extras)(source, extras)
            return self._read(source, text, found, nbest, options)

        return self._of_each(sentences, batch_size, translated)

    def align(self, pairs, batch_size=64, search=None):
        """Align given translations with their sources, by forced decoding.

        Args:
            pairs: List of (source, target) strings.
            batch_size: Positive integer. Pairs read at once.
            search: `SearchOptions`, whose penalties count, in place of the
                translator's own.

        Returns:
            List of `Translation`, one a pair: its tokens, its alignment, and
            the score that the model gives it.
        """
        pairs, options = list(pairs), search or self.search
        sources, targets = [source for source, _ in pairs], [target for _, target in pairs]
        check_strings("sentences", sources)
        check_strings("sentences", targets)

        def forced(rows, source):
            text = tf.constant([targets[row] for row in rows])
            found = self._forced_graph(options)(source, text)
            return self._read(source, [sources[row] for row in rows], found, 1, options)

        return [only for (only,) in self._of_each(sources, batch_size, forced)]

    def score(self, pairs, batch_size=64, search=None):
        """Score given translations: the scores that `align` gives them.

        Args:
            pairs: List of (source, target) strings.
            batch_size: Positive integer. Pairs read at once.
            search: `SearchOptions`, whose penalties count, in place of the
                translator's own.

        Returns:
            List of floats, one a pair: log p over the length penalty, plus the
            coverage penalty.

        Example:
            >>> translator.score([("one two", "eins zwei"), ("one two", "zwei eins")])
            [-0.01, -4.7]
        """
        return [result.score for result in self.align(pairs, batch_size, search)]

    def trace(self, sentence, target=None, top=5):
        """Trace what the model computes at each step of one translation.

        Args:
            sentence: String.
            target: What is followed: a string, read as `align` does; a `Translation`
                of the sentence; or the best translation, when left out.
            top: Positive integer. How many of the most probable next tokens are kept.

        Returns:
            `Trace`.

        Raises:
            TypeError: If `sentence` is no string, or `target` none of those.
            ValueError: If `top` is not from 1 to the size of the vocabulary, or the model
                is an `Ensemble`.

        Example:
            >>> kb.plot_trace(translator.trace("the red car")).savefig("trace.png")
        """
        if isinstance(self.model, Ensemble):
            raise ValueError(
                "A trace shows what one model computes. "
                f"Received: an ensemble of {len(self.model.models)}. "
                "Trace one of them: Translator(ensemble.models[0], tokenizer).trace(...)."
            )
        return trace(self, sentence, target, top)

    def _of_each(self, sentences, batch_size, work):
        """Results of `work(rows, source)` for each row, in the order of the sentences.

        There are as many batches under way as cores: one batch alone leaves cores idle, as
        the steps of a search follow each other.
        """
        results = [None] * len(sentences)
        batches = [*self._batches(sentences, batch_size)]
        with concurrent.futures.ThreadPoolExecutor(usable_cores()) as pool:
            found = pool.map(lambda batch: [*work(*batch)], batches)
            for (rows, _), of_rows in zip(batches, found, strict=True):
                for row, one in zip(rows, of_rows, strict=True):
                    results[row] = one
        return results

    def _batches(self, sentences, batch_size):
        """(row numbers, padded ids) of sentences of similar length, longest first."""
        if not sentences:
            return
        source = self.source_ids(tf.constant(sentences)).numpy()  # (sentences, source_time)
        lengths = np.count_nonzero(source, axis=1)
        order = np.argsort(-lengths, kind="stable")  # so that no core waits long at the end
        for first in range(0, len(order), batch_size):
            rows = order[first : first + batch_size]
            # as wide as its longest: (rows, source_time)
            yield rows, tf.constant(source[rows, : max(1, lengths[rows].max())])

    def _graph(self, options, extras):
        """The search with these options as one `tf.function`, traced once."""
        # only `_uniforms` reads the seed, outside of the graph
        options = dataclasses.replace(options, seed=0)
        key = (options, *extras)
        if key not in self._graphs:
            # a `partial`: of one lambda TensorFlow would say that it is traced too often
            self._graphs[key] = tf.function(
                functools.partial(self._searched, options),
                input_signature=[_SOURCE, {name: _EXTRAS[name] for name in extras}],
                autograph=False,
            )
        return self._graphs[key]

    def _searched(self, options, source, extras):
        return self.search_ids(source, options, **extras)

    def _forced_graph(self, options):
        key = ("forced", options)
        if key not in self._graphs:
            self._graphs[key] = tf.function(
                lambda source, text: self.forced_ids(source, text, options),
                input_signature=[_SOURCE, tf.TensorSpec((None,), tf.string)],
                autograph=False,
            )
        return self._graphs[key]

    def _prefix_ids(self, prefixes):
        """The target ids of prefixes without their end tokens, right-padded with 0."""
        # -> (batch, prefix_time)
        return self.tokenizer.tokenize_target(tf.constant(prefixes))[:, :-1].to_tensor(PAD)

    def _read(self, source, text, found, nbest, options):
        """Lists of the best few `Translation`, one list a row, from what the graph found."""
        found = SearchResult(*(field[:, :nbest] for field in found))  # -> (batch, nbest, ...)
        return read_translations(
            found,
            self.texts(found, tf.constant(text), options),
            self.tokenizer.source_tokens(source),
            self.tokenizer.target_tokens(found.ids),
        )

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
        if not isinstance(model, Seq2Seq | Ensemble):
            raise ValueError(
                "A translator's file must hold a Seq2Seq model, or an Ensemble. "
                f"Received: path={str(path)!r} with a {type(model).__name__}."
            )
        tokenizer = Tokenizer.from_config(card["tokenizer"])
        return cls(model, tokenizer, SearchOptions(**card["search"]))


def _bare(model):
    """The same model without optimizer, which would be three times its size in the file."""
    twin = type(model).from_config(model.get_config())
    twin.build()
    twin.set_weights(model.get_weights())
    return twin


def _uniforms(sentences, options):
    """Float32 `(batch, beam_width, max_length)`: of each sentence the seed's, and its own."""
    shape = (options.beam_width, options.max_length)
    seeds = ([options.seed, zlib.crc32(tf.compat.as_bytes(text))] for text in sentences)
    return tf.constant(
        np.stack([np.random.default_rng(seed).random(shape, np.float32) for seed in seeds])
    )
