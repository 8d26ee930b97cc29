"""keras_bahdanau on random ids: training steps, and searches with a fixed number of steps.

This module uses only Keras, so it runs on every backend. A model with random weights doesn't end
its sentences where a trained model does, so all translations have `target_time` tokens.
"""

import keras
import numpy as np
from keras import ops

from keras_bahdanau.layers import BahdanauAttention, DecoderCell
from keras_bahdanau.layers.front_ends.token_embedding import TokenEmbedding
from keras_bahdanau.models import Decoder, Encoder, Seq2Seq
from keras_bahdanau.models.losses import TokenCrossentropy
from keras_bahdanau.models.precision import computing_in
from keras_bahdanau.search import SearchOptions, search
from keras_bahdanau.training import presets

FIRST, START, NEVER = 4, 2, -1  # first id of a word; start token; an end token that never occurs
POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16"}


class Ids:
    """A vocabulary for source and target that supports only ids; text would need TensorFlow."""

    grid_height = 1  # positions form a sequence, not a grid

    def __init__(self, vocabulary_size):
        self.vocabulary_size = vocabulary_size
        self.subwords = self

    def front_end(self, units, convolutions=None, augmentation=0.0):
        """Return the front end for text."""
        return TokenEmbedding(self.vocabulary_size, units, name="front_end")


class Searcher(keras.Model):
    """A search as a Keras model, so that `predict_on_batch` compiles it for any backend."""

    def __init__(self, model, beam, steps):
        super().__init__()
        self.model = model
        self.options = SearchOptions(beam_width=beam)
        self.steps = steps

    def call(self, source):
        prepared = self.model.encode(source)
        found = search(
            lambda tokens, state: self.model.decode_step(tokens, state, prepared),
            self.model.initial_state(prepared, self.steps),
            ops.zeros_like(source[:, 0]) + self.steps,
            self.options,
            start=START,
            end=NEVER,
            time=self.steps,
            source_time=ops.shape(source)[1],
        )
        return found.ids, found.scores


def new_model(vocabulary, embedding, units, attention, precision):
    """Return a `Seq2Seq` with random weights."""
    keras.utils.set_random_seed(0)
    policy = {"dtype": POLICIES[precision]}
    cell = DecoderCell(units, BahdanauAttention(attention, **policy), **policy)
    decoder = Decoder(vocabulary, embedding, cell, **policy)
    model = Seq2Seq(Encoder(vocabulary, embedding, units // 2, **policy), decoder, **policy)
    model.build()
    return model


def preset_model(preset, overrides, vocabulary, precision="float32"):
    """Return a preset's model without dropout; source, target and output share the vocabulary."""
    keras.utils.set_random_seed(0)
    ids = Ids(vocabulary)
    with computing_in(POLICIES[precision]):
        model = presets.new_model(preset, ids, ids, **{"dropout": 0.0, **overrides})
        model.build()
    return model


def trained(model, jit_compile, batch, source_time, target_time):
    """Return a function that trains on a batch and returns the number of its target tokens."""
    if not model.compiled:
        optimizer = keras.optimizers.Adam(1e-3)
        model.compile(optimizer, loss=TokenCrossentropy(), jit_compile=jit_compile)
    source = random_ids(model, batch, source_time)
    target = random_ids(model, batch, target_time)

    def run():
        model.train_on_batch((source, target), target)
        return target.size

    return run


def decoded(model, jit_compile, batch, source_time, target_time, beam):
    """Return a function that decodes a batch and returns the number of its target tokens."""
    searcher = Searcher(model, beam, target_time)
    searcher.compile(jit_compile=jit_compile)
    search_batch = searcher.predict_on_batch
    if keras.backend.backend() == "jax":
        search_batch = _compiled_by_jax(searcher)
    source = random_ids(model, batch, source_time)

    def run():
        search_batch(source)
        return batch * target_time

    return run


def _compiled_by_jax(searcher):
    """Return the equivalent of `predict_on_batch`, without Keras' overhead for each batch."""
    import jax

    searcher.built = True
    compiled = jax.jit(lambda weights, source: searcher.stateless_call(*weights, source)[0])
    weights = [
        [variable.value for variable in variables]
        for variables in (searcher.trainable_variables, searcher.non_trainable_variables)
    ]
    return lambda source: jax.device_get(compiled(weights, source))


def random_ids(model, batch, time):
    """Return random ids of words without padding, int32 `(batch, time)`."""
    chosen = np.random.default_rng(0).integers(FIRST, model.target_vocabulary_size, (batch, time))
    return chosen.astype(np.int32)


WORK = {"training": trained, "decoding": decoded}
