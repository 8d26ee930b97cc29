"""Stock Keras 3, as its users build attention models today: GRU layers and AdditiveAttention.

The model follows TensorFlow's tutorial "Neural machine translation with attention": embeddings
with masks, a bidirectional GRU, a GRU over the target, attention for all its states together, a
layer that reads states and contexts, and logits. `AdditiveAttention` has no projections, so Dense
layers are applied before it.
"""

import keras
import numpy as np
import ours
import protocol
import sentences
import tensorflow as tf
from keras import layers


def _model(sizes, jit):
    """Return a compiled model; the width of its readout makes it as large as ours."""
    keras.utils.set_random_seed(0)
    source = keras.Input((None,), dtype="int32")
    target_in = keras.Input((None,), dtype="int32")
    vocabulary, embedding = sizes["vocabulary"], sizes["embedding"]
    embedded = layers.Embedding(vocabulary, embedding, mask_zero=True, name="source")(source)
    encoder = layers.GRU(sizes["encoder"], return_sequences=True, return_state=True)
    values, forward, backward = layers.Bidirectional(encoder, name="encoder")(embedded)
    state = layers.Dense(sizes["decoder"], activation="tanh", name="bridge")(
        layers.Concatenate()([forward, backward])
    )
    read = layers.Embedding(vocabulary, embedding, mask_zero=True, name="target")(target_in)
    decoder = layers.GRU(sizes["decoder"], return_sequences=True, name="decoder")
    states = decoder(read, initial_state=state)
    query = layers.Dense(sizes["attention"], use_bias=False, name="query")(states)
    keys = layers.Dense(sizes["attention"], use_bias=False, name="key")(values)
    context = layers.AdditiveAttention(name="attention")([query, values, keys])
    shown = layers.Concatenate()([states, context])
    readout = layers.Dense(sizes["readout_behind"], activation="tanh", name="readout")(shown)
    logits = layers.Dense(vocabulary, name="output")(readout)
    model = keras.Model([source, target_in], logits)
    model.compile(
        optimizer=keras.optimizers.Adam(1e-3, global_clipnorm=ours.CLIP_NORM),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True, ignore_class=0),
        jit_compile=jit,
    )
    return model


def _count(model):
    return sum(variable.value.shape.num_elements() for variable in model.trainable_variables)


def _step(model, batch, source_time, target_time, vocabulary):
    arrays = sentences.random_batch(batch, source_time, target_time, vocabulary)
    source, target_in, target_out = map(tf.constant, arrays)

    def run():
        model.train_on_batch((source, target_in), target_out)
        return batch * target_time

    return run


def training_step(sizes, jit="auto", precision="float32", warm_up=True):
    """Prepare `train_on_batch`: forward pass, loss, gradients, clipping and Adam."""
    keras.config.set_dtype_policy(precision)
    model = _model(sizes, jit)
    shape = sizes["batch"], sizes["source_time"], sizes["target_time"]
    run = _step(model, *shape, sizes["vocabulary"])
    if warm_up:
        run(), run()
    small = _step(model, 2, 4, 4, sizes["vocabulary"])
    note = f"precision={precision}, jit_compile={jit}, readout {sizes['readout_behind']}"
    return protocol.Job(run, _count(model), note=note, small=small)


def epoch(sizes, corpus, batch=64, jit="auto"):
    """Prepare an epoch with `model.fit`: shuffled batches, padded to their longest sentence."""
    source, target = sentences.read_corpus(corpus, "train")
    model = _model(sizes, jit)

    def generator():
        for one, other in zip(source, target, strict=True):
            target_in = np.concatenate([[sentences.START], other[:-1]]).astype(np.int32)
            yield (one, target_in), other

    rows = tf.TensorSpec((None,), tf.int32)
    dataset = tf.data.Dataset.from_generator(generator, output_signature=((rows, rows), rows))
    dataset = dataset.cache().shuffle(len(source), seed=0).padded_batch(batch)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)

    def run(steps=None):
        some = dataset if steps is None else dataset.take(steps)
        model.fit(some, epochs=1, verbose=0)
        return sentences.real_tokens(target)

    run(10)
    for _ in dataset:  # fills the cache
        pass
    return protocol.Job(run, _count(model), note=f"jit_compile={jit}, batches of {batch}, padded")


def decode(sizes, corpus, beam, batch=64):
    """Prepare a greedy search as in the tutorial: a `tf.function` that decodes token by token."""
    if beam > 1:
        raise ValueError("stock Keras has no beam search for this model")
    source, _ = sentences.read_corpus(corpus, "test")
    model = _model(sizes, False)
    encode, step = _parts(model)

    @tf.function(
        input_signature=[tf.TensorSpec((None, None), tf.int32), tf.TensorSpec((), tf.int32)]
    )
    def search(source, steps):
        values, keys, mask, state = encode(source)
        tokens = tf.fill([tf.shape(source)[0], 1], sentences.START)
        ids = tf.TensorArray(tf.int32, steps)
        for t in tf.range(steps):
            logits, state = step(tokens, state, values, keys, mask)
            tokens = tf.argmax(logits[:, -1:], axis=-1, output_type=tf.int32)
            tokens = tf.ensure_shape(tokens, [None, 1])
            ids = ids.write(t, tokens[:, 0])
        return tf.transpose(ids.stack())

    batches = [
        (tf.constant(ids), tf.constant(steps))
        for ids, steps in sentences.search_batches(source, batch)
    ]

    def run():
        for ids, steps in batches:
            search(ids, steps).numpy()
        return len(source)

    run()
    return protocol.Job(run, _count(model))


def _parts(model):
    """Return functions that run a model's encoder and one step of its decoder."""
    layer = model.get_layer

    def encode(source):
        mask = tf.not_equal(source, sentences.PAD)
        values, forward, backward = layer("encoder")(layer("source")(source), mask=mask)
        state = layer("bridge")(tf.concat([forward, backward], axis=-1))
        return values, layer("key")(values), mask, state

    def step(tokens, state, values, keys, mask):
        states = layer("decoder")(layer("target")(tokens), initial_state=state)
        query = layer("query")(states)
        context = layer("attention")([query, values, keys], mask=[None, mask])
        read = layer("readout")(tf.concat([states, context], axis=-1))
        return layer("output")(read), states[:, -1]

    return encode, step


def attention(batch, source_time, target_time, units, jit=False, warm_up=True, projections=True):
    """Prepare Dense projections and `AdditiveAttention`, forward and backward.

    `target_time` is the number of queries; None means one query without a time axis. If
    `projections` is False, only the layer itself is measured, which has less to compute.
    """
    keras.utils.set_random_seed(0)
    one = target_time is None
    query, values = keras.Input((units,) if one else (None, units)), keras.Input((None, units))
    mask = keras.Input((None,), dtype="bool")
    projected, keys = query, values
    if projections:
        projected, keys = (layers.Dense(units, use_bias=False)(part) for part in (query, values))
    if one:
        projected = layers.Reshape((1, units))(projected)
    context = layers.AdditiveAttention()([projected, values, keys], mask=[None, mask])
    if one:
        context = layers.Reshape((units,))(context)
    model = keras.Model([query, values, mask], context)

    def step(query, values, mask, upstream):
        with tf.GradientTape() as tape:
            tape.watch([query, values])
            total = tf.reduce_sum(model([query, values, mask]) * upstream)
        return tape.gradient(total, [query, values, *model.trainable_variables])

    shape = batch, source_time, target_time, units
    step = tf.function(step, jit_compile=jit)
    return ours.attention_job(step, model, *shape, warm_up=warm_up)


def attentions(cases, jit=False, projections=True):
    """Prepare `attention` for each case; the runs take the cases in turn."""
    return protocol.in_turns(attention, cases, jit=jit, projections=projections)


if __name__ == "__main__":
    protocol.serve(
        {
            "training_step": training_step,
            "epoch": epoch,
            "decode": decode,
            "attention": attention,
            "attentions": attentions,
        },
        ["tensorflow", "keras"],
    )
