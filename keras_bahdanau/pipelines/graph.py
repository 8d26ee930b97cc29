"""A pipeline in a TensorFlow graph, with the functions from which every export is traced."""

import copy
import threading

import tensorflow as tf

from keras_bahdanau.layers.distribution import softmax_distribution
from keras_bahdanau.pipelines.file import require_unforked
from keras_bahdanau.search import SearchOptions, SearchResult, search_model
from keras_bahdanau.search.ctc import forced_log_probs
from keras_bahdanau.search.result import add_coverage, normalized
from keras_bahdanau.search.search_options import require_ctc
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text.copies import are_characters
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN

MOST_GRAPHS = 64  # maximum number kept per pipeline


class GraphPipeline:
    """Pipeline from features to hypotheses to texts, using only TensorFlow operations."""

    def __init__(self, source, model, target, search=None):
        self.source = source_of(source)
        if not isinstance(target, Subwords):
            raise TypeError(
                "`target` must be the Subwords of the target text. "
                f"Received: target of type {type(target).__name__}."
            )
        _check_sizes(self.source, model, target)
        if not model.built:
            model.build()
        self.model = model
        # use the same object if both sides share a vocabulary
        self.target = self.source.subwords if self.source.subwords == target else target
        self.search = search or SearchOptions()
        self.check_options(self.search)

    def check_options(self, options):
        if options.replace_unknown and self.source.subwords is None:
            raise ValueError(
                "`replace_unknown` needs a text source, whose words are copied. Received: "
                f"replace_unknown=True with a {type(self.source).__name__}. Turn it off."
            )
        require_ctc(self.model, options)
        _check_attends(self.model, options)

    def searching(self, options):
        """Return the same pipeline with other `SearchOptions`."""
        self.check_options(options)
        pipeline = copy.copy(self)
        pipeline.search = options
        return pipeline

    def labels(self, features):
        """Return the names of the real positions of the memory, as a list of lists of strings."""
        return [row[:: self.model.source_limits.reduction] for row in self.source.labels(features)]

    def label_tensor(self, features):
        """Return `labels` in a graph: strings `(batch, source_time)`, with "" at padding."""
        return self.source.label_tensor(features)[:, :: self.model.source_limits.reduction]

    def lengths(self, features):
        """Return the number of real positions of the memory, int32 `(batch,)`."""
        return -(-self.source.lengths(features) // self.model.source_limits.reduction)

    def longest(self, options=None):
        """Return the maximum number of positions of an input, in whole columns of a grid."""
        longest = (options or self.search).max_source_length
        return self.source.whole_columns(longest or self.source.longest)

    def search_features(
        self,
        features,
        options=None,
        time=None,
        prefix=None,
        uniforms=None,
        visit=None,
        drop_ended=False,
    ):
        """Search for the hypotheses of features `(batch, source_time, ...)`.

        Returns a `SearchResult`. `time` is the length of the buffers, if it must be static.
        `prefix`, int32 `(batch, prefix_time)` and right-padded with 0, is the beginning of each
        hypothesis. `uniforms`, `(batch, beam_width, max_length)` in [0, 1), are the random numbers
        for draws. `visit`, which works only outside a graph, is called with each state (see
        `beam_search`).
        """
        options = options or self.search
        return search_model(
            self.model,
            features,
            options,
            start=START,
            end=END,
            time=time,
            prefix=prefix,
            uniforms=uniforms,
            symbols=() if options.write_symbols else self.target.symbol_ids,
            unwritten=self.unwritten(options),
            visit=visit,
            drop_ended=drop_ended,
        )

    def unwritten(self, options=None):
        """Return the ids that a search never writes: padding, start and, by default, unknown."""
        options = options or self.search
        shows_unknown = options.write_unknown or options.replace_unknown
        return [PAD, START] if shows_unknown else [PAD, START, UNKNOWN]

    def force_features(self, features, target_out, options=None):
        """Score given targets by forced decoding.

        Returns a `SearchResult` with a beam of 1, in which each target is the only hypothesis.
        `target_out` is int32 `(batch, target_time)`: ids with the end token, right-padded with 0.
        The entropies are computed without constraints and CTC.
        """
        options = options or self.search
        # -> (batch, target_time)
        target_in = tf.pad(target_out[:, :-1], [[0, 0], [1, 0]], constant_values=START)
        # logits (batch, target_time, vocabulary), weights (batch, target_time, source_time)
        logits, weights = self.model((features, target_in), return_attention_scores=True)
        real = tf.cast(target_out != PAD, tf.float32)
        distribution = softmax_distribution(logits)
        entropies = distribution.entropy * real  # (batch, target_time)
        log_probs = tf.gather(distribution.log_probs, target_out, batch_dims=2) * real
        if options.ctc_weight:
            log_probs = self._mix_ctc(log_probs, features, target_in, target_out, options)
        lengths = tf.math.count_nonzero(target_out, axis=1, dtype=tf.int32)
        scores = normalized(tf.reduce_sum(log_probs, axis=1), lengths, options)  # -> (batch,)
        weights *= tf.expand_dims(real, axis=-1)  # times (batch, target_time, 1)
        finished = tf.ones_like(lengths, tf.bool)
        forced = SearchResult(target_out, lengths, scores, weights, finished, log_probs, entropies)
        # (batch, ...) -> (batch, 1, ...)
        forced = SearchResult(*(tf.expand_dims(field, axis=1) for field in forced))
        if options.coverage_penalty:
            mask = self.model.encode(features).mask
            forced = add_coverage(forced, options.coverage_penalty, mask)
        return forced

    def _mix_ctc(self, log_probs, features, target_in, target_out, options):
        """Mix the log-probabilities of given tokens with CTC log-probabilities, as in a search."""
        prepared = self.model.encode(features)
        ctc = forced_log_probs(
            prepared.ctc_log_probs,
            prepared.mask,
            target_in,
            target_out,
            END,
        )
        return (1 - options.ctc_weight) * log_probs + options.ctc_weight * ctc

    def graph_copies(self, result, **inputs):
        """Return source words for unknown tokens, strings `(batch, beam, target_time)`.

        Returns None if the search does not replace unknown tokens.
        """
        if not self.search.replace_unknown:
            return None
        characters = self.copies_characters
        return self.source.graph_attended_words(result.alignment, characters, **inputs)

    @property
    def copies_characters(self):
        """True if a search with `replace_unknown` copies characters instead of whole words."""
        return are_characters(self.source.subwords, self.target)

    def graph_texts(self, result, copies=None):
        """Return the texts of hypotheses, `(batch, beam)`; `copies` is from `graph_copies`."""
        target = self.target.graph
        if copies is not None:
            from keras_bahdanau.text.copies import graph_texts

            return graph_texts(target, result.ids, copies, self.copies_characters)
        batch, beam, time = tf.unstack(tf.shape(result.ids))
        rows = tf.reshape(result.ids, (batch * beam, time))
        return tf.reshape(target.detokenize(rows), (batch, beam))


class TracedGraphs:
    """Cache of a pipeline's `tf.function` objects, one per search, which threads share."""

    def __init__(self):
        self._functions, self._making = {}, threading.Lock()

    def __len__(self):
        return len(self._functions)

    def get(self, key, function, inputs):
        """Return the `tf.function` for a key, and create it if necessary.

        If there are too many functions, the oldest one is dropped.
        """
        require_unforked()
        with self._making:
            if key not in self._functions:
                if len(self) == MOST_GRAPHS:
                    del self._functions[next(iter(self._functions))]
                graph = tf.function(function, input_signature=[*inputs], autograph=False)
                self._functions[key] = graph
            return self._functions[key]


def _check_sizes(source, model, target):
    sizes = (model.source_limits.size, model.target_vocabulary_size)
    expected = (source.size, target.vocabulary_size)
    if sizes != expected:
        raise ValueError(
            "The sizes (source, target) of the model must match its source and target vocabulary, "
            f"{expected}. Received: a model with {sizes}. Pass the source and the target that the "
            "model was trained with."
        )


def _check_attends(model, options):
    members = getattr(model, "models", [model])
    attentions = [model.decoder.cell.attention for model in members if hasattr(model, "decoder")]
    if not attentions or any(attention.has_weights for attention in attentions):
        return
    for name in ("coverage_penalty", "replace_unknown"):
        if value := getattr(options, name):
            raise ValueError(
                f"This option needs attention weights. Received: {name}={value!r} for a "
                "model without attention. Omit the option."
            )
