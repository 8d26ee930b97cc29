"""A translation inside of the graph: what every export is traced from."""

import keras
import tensorflow as tf

from keras_bahdanau.search import SearchOptions, SearchResult, search
from keras_bahdanau.search.constraints import limits_of
from keras_bahdanau.search.result import add_coverage, normalized
from keras_bahdanau.text.replace_unknown import detokenize_copying
from keras_bahdanau.text.vocabulary import END, PAD, START


class GraphTranslator:
    """Strings to ids, ids to hypotheses, hypotheses to strings, all by TensorFlow's operations.

    Takes what `Translator` takes, which adds Python's side of it: lists of
    strings, batches, files.
    """

    def __init__(self, model, tokenizer, search=None):
        sizes = (model.source_vocabulary_size, model.target_vocabulary_size)
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

    def source_ids(self, text):
        """Source ids of strings `(batch,)`, in the graph: int32 `(batch, source_time)`.

        Right-padded with 0, and at least one column wide.
        """
        ids = self.tokenizer.tokenize_source(text).to_tensor(default_value=PAD)
        missing = tf.maximum(1 - tf.shape(ids)[1], 0)
        return tf.pad(ids, [[0, 0], [0, missing]], constant_values=PAD)

    def search_ids(self, source, options=None, time=None, prefix=None, uniforms=None):
        """The hypotheses for source ids, in the graph: what every export is traced from.

        Args:
            source: Int32 tensor `(batch, source_time)`, right-padded with 0.
            options: `SearchOptions`; the translator's own when left out.
            time: Integer, the length of the buffers where it must be static.
            prefix: Int32 tensor `(batch, prefix_time)`, right-padded with 0:
                what each hypothesis begins with.
            uniforms: Float tensor `(batch, beam_width, max_length)` in [0, 1):
                what draws at random come from; the seed's when left out.

        Returns:
            `SearchResult`.
        """
        options = options or self.search
        prepared = self.model.encode(source)

        def step(tokens, state):
            return self.model.decode_step(tokens, state, prepared)

        limits = limits_of(source != PAD, options, prefix, time)
        return search(
            step,
            self.model.initial_state(prepared),
            limits,
            options,
            start=START,
            end=END,
            time=tf.maximum(tf.reduce_max(limits), 0) if time is None else time,
            source_time=keras.ops.shape(source)[1],
            source_mask=source != PAD,
            prefix=prefix,
            uniforms=uniforms,
        )

    def forced_ids(self, source, target, options=None):
        """Given translations as the only hypotheses, in the graph.

        Args:
            source: Int32 tensor `(batch, source_time)`, right-padded with 0.
            target: String tensor `(batch,)`.
            options: `SearchOptions`; the translator's own when left out.

        Returns:
            `SearchResult` with a beam axis of 1.
        """
        options = options or self.search
        target_out = self.tokenizer.tokenize_target(target).to_tensor(default_value=PAD)
        # -> (batch, target_time)
        target_in = tf.pad(target_out[:, :-1], [[0, 0], [1, 0]], constant_values=START)
        # logits (batch, target_time, vocabulary), weights (batch, target_time, source_time)
        logits, weights = self.model((source, target_in), return_attention_scores=True)
        real = tf.cast(target_out != PAD, tf.float32)
        # (batch, target_time, vocabulary) -> (batch, target_time)
        log_probs = tf.gather(tf.nn.log_softmax(logits), target_out, batch_dims=2) * real
        lengths = tf.math.count_nonzero(target_out, axis=1, dtype=tf.int32)
        scores = normalized(tf.reduce_sum(log_probs, axis=1), lengths, options)  # -> (batch,)
        weights *= tf.expand_dims(real, axis=-1)  # by (batch, target_time, 1)
        found = SearchResult(target_out, lengths, scores, weights, tf.ones_like(lengths, tf.bool))
        # (batch, ...) -> (batch, 1, ...)
        found = SearchResult(*(tf.expand_dims(field, axis=1) for field in found))
        if options.coverage_penalty:
            found = add_coverage(found, options.coverage_penalty, source != PAD)
        return found

    def texts(self, found, text, options=None):
        """The translations as text, in the graph, unknown words replaced if the options say so.

        Args:
            found: `SearchResult`.
            text: String tensor `(batch,)`, the source sentences as they were given.
            options: `SearchOptions`; the translator's own when left out.

        Returns:
            String tensor `(batch, beam)`.
        """
        if (options or self.search).replace_unknown:
            return detokenize_copying(self.tokenizer, found.ids, found.alignment, text)
        batch, beam, time = tf.unstack(tf.shape(found.ids))
        rows = tf.reshape(found.ids, (batch * beam, time))
        return tf.reshape(self.tokenizer.detokenize_target(rows), (batch, beam))
