"""Training on the model's own tokens."""

import keras
from keras import ops

from keras_bahdanau.layers import scan
from keras_bahdanau.layers.decoder_cells.decoder_cell import Step


def sampled_steps(decoder, target_in, prepared):
    """The steps of a training in which the model reads some of its own tokens.

    Each token after the first is the teacher's, or, with the probability
    `decoder.sampling_rate`, the most probable one of the step before (Bengio et al. 2015,
    section 2.4). No gradient goes through the choice.

    Args:
        decoder: A `Decoder` with `scheduled_sampling=True`.
        target_in: Int tensor `(batch, target_time)`.
        prepared: `ProjectedMemory`.

    Returns:
        (`Step` of all steps, `Drawn` of all steps or (), embeddings
        `(batch, target_time, embedding_units)` that were read).
    """
    shape = ops.shape(target_in)
    coin = keras.random.uniform(shape, seed=decoder.sampling_seed)
    own = ops.less(coin, decoder.sampling_rate)
    # the mask of `embed`, drawn before the loop
    ones = ops.ones((*shape, decoder.embedding_units), decoder.compute_dtype)
    ones = decoder.word_dropout(ones, training=True)
    # -> (batch, target_time, embedding_units)
    mask = decoder.embedding_dropout(ones, training=True)

    def step(carry, inputs):
        state, predicted = carry
        teacher, own, mask = inputs
        tokens = ops.where(own, predicted, teacher)  # -> (batch,)
        # y_{i-1}: (batch, embedding_units)
        embedded = decoder.embedding(tokens) * mask
        projected = decoder.cell.project(embedded)
        shown, state = decoder.cell.step(projected, state, prepared, training=True)
        read = decoder.readout(shown.output, shown.context, embedded, training=False)
        copying = decoder.copying(shown, embedded, prepared.memory)
        logits = decoder.logits(read, copying)  # -> (batch, vocabulary)
        _, predicted = ops.top_k(ops.stop_gradient(logits), 1)  # -> (batch, 1)
        predicted = ops.cast(ops.squeeze(predicted, axis=-1), target_in.dtype)
        kept = Step(shown.output, shown.context, shown.weights, scores=(), query=())
        return (kept, decoder.cell.drawn(state), embedded), (state, predicted)

    first = ops.take(target_in, 0, axis=1)  # -> (batch,)
    state = decoder.initial_state(prepared)
    like = (decoder.cell.like(prepared), decoder.cell.drawn(state), ops.take(ones, 0, axis=1))
    own = ops.logical_and(own, ops.arange(shape[1]) > 0)
    return scan(step, (state, first), (target_in, own, mask), like)
