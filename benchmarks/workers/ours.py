"""keras_bahdanau: a `Seq2Seq` with a row's sizes, built and run through the public API."""

import json
import pathlib

import protocol
import sentences

CLIP_NORM = 5.0


def _model(sizes, precision, jit):
    """Return a `Seq2Seq`, compiled as a user would compile it; `jit` is Keras' `jit_compile`."""
    import keras

    import keras_bahdanau as kb

    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy(precision)
    model = kb.Seq2Seq(
        kb.Encoder(sizes["vocabulary"], sizes["embedding"], sizes["encoder"]),
        kb.Decoder(
            sizes["vocabulary"],
            sizes["embedding"],
            kb.layers.DecoderCell(
                sizes["decoder"], kb.layers.BahdanauAttention(sizes["attention"])
            ),
            readout_units=sizes["readout"],
        ),
    )
    model.build()
    return compiled(model, jit)


def compiled(model, jit):
    """Compile the model with the optimizer and the loss that all rows use, and return it."""
    import keras

    import keras_bahdanau as kb

    model.compile(
        optimizer=keras.optimizers.Adam(1e-3, global_clipnorm=CLIP_NORM),
        loss=kb.losses.TokenCrossentropy(),
        jit_compile=jit,
    )
    return model


def _count(model):
    return sum(variable.value.shape.num_elements() for variable in model.trainable_variables)


def _step(model, batch, source_time, target_time, vocabulary):
    """Return a function that trains on a random batch and returns its number of target tokens."""
    import numpy as np
    import tensorflow as tf

    source, target_in, target_out = sentences.random_batch(
        batch, source_time, target_time, vocabulary
    )
    weight = tf.ones(target_out.shape)
    inputs = (tf.constant(source), tf.constant(target_in))
    target_out = tf.constant(target_out)

    def run():
        loss = model.train_on_batch(inputs, target_out, sample_weight=weight)
        if not np.isfinite(loss):
            raise ValueError(f"the loss is {loss}")
        return batch * target_time

    return run


def training_step(sizes, precision="float32", jit="auto", warm_up=True):
    """Prepare `train_on_batch`: forward pass, loss, gradients, clipping and Adam."""
    return step_job(_model(sizes, precision, jit), sizes, f"precision={precision}", jit, warm_up)


def step_job(model, sizes, note, jit, warm_up=True):
    """Return the `Job` for a training step of a compiled model."""
    shape = sizes["batch"], sizes["source_time"], sizes["target_time"]
    run = _step(model, *shape, sizes["vocabulary"])
    if warm_up:
        run(), run()
    return protocol.Job(
        run,
        _count(model),
        note=f"{note}, jit_compile={jit}",
        small=_step(model, 2, 4, 4, sizes["vocabulary"]),
    )


def _corpus(folder):
    import keras_bahdanau as kb

    folder = pathlib.Path(folder)
    pairs = json.loads((folder / "pairs.json").read_text())
    config = json.loads((folder / "subwords.json").read_text())
    return pairs, kb.text.Subwords.from_config(config)


def epoch(sizes, corpus, precision="float32", jit="auto", batch_tokens=2048):
    """Prepare an epoch with `model.fit` on `data.BatchedPairs`; a first one compiles all shapes."""
    import keras_bahdanau as kb

    pairs, subwords = _corpus(corpus)
    model = _model(sizes, precision, jit)
    data = kb.data.BatchedPairs(pairs["train"], subwords, subwords, batch_tokens=batch_tokens)
    dataset = data.dataset()

    def run():
        model.fit(dataset, epochs=1, shuffle=False, verbose=0)
        return data.tokens

    run()
    note = f"precision={precision}, jit_compile={jit}, batch_tokens={batch_tokens}"
    return protocol.Job(run, _count(model), note=note)


def losses(sizes, corpus, precision="float32", jit="auto", batch_tokens=2048, seed=0):
    """Train for an epoch, and report the loss of each batch, for the comparison of precisions."""
    import keras

    import keras_bahdanau as kb

    pairs, subwords = _corpus(corpus)
    model = _model(sizes, precision, jit)
    data = kb.data.BatchedPairs(
        pairs["train"], subwords, subwords, batch_tokens=batch_tokens, seed=seed
    )
    found = []
    keep = keras.callbacks.LambdaCallback(
        on_train_batch_begin=lambda batch, logs: (
            model.reset_metrics()
        ),  # else logs are running means
        on_train_batch_end=lambda batch, logs: found.append(float(logs["loss"])),
    )
    model.fit(data.dataset(), epochs=1, shuffle=False, verbose=0, callbacks=[keep])
    return protocol.Job(lambda: 1, _count(model), report={"losses": found})


def decode(sizes, corpus, beam, batch=64, precision="float32"):
    """Prepare `Translator.translate`, from text to text with alignments, up to the limit."""
    return decode_job(_model(sizes, "float32", "auto"), corpus, beam, batch, precision)


def decode_job(model, corpus, beam, batch, precision):
    """Return the `Job` for a search with an untrained model, computed in `precision`.

    If the output layer has a bias, it is set so that no translation ends before the limit. If the
    output layer is the embedding, it has no bias, and few translations end early. The report
    contains the number of tokens.
    """
    import keras_bahdanau as kb
    from keras_bahdanau.models.precision import cast_model

    pairs, subwords = _corpus(corpus)
    if model.decoder.output_layer is not None:
        bias = model.decoder.output_layer.bias
        bias.assign([-1e4 if id_ == sentences.END else 0.0 for id_ in range(bias.shape[0])])
    model = cast_model(model, precision)
    search = kb.SearchOptions(
        beam_width=beam, max_length_ratio=1.0, max_length_offset=sentences.SEARCH_STEPS_MORE
    )
    translator = kb.Translator(subwords, model, subwords, search)
    texts = [source for source, _ in pairs["test"]]

    def run():
        found = translator.translate(texts, batch_size=batch)
        tokens.append(sum(len(one.target_tokens) for one in found))
        return len(found)

    tokens = []
    run()
    note = f"precision={precision}"
    return protocol.Job(run, _count(model), note=note, report={"target_tokens": tokens[0]})


def translate(model, corpus, beam, batch=64):
    """Prepare `Translator.translate` for the test sentences with a trained model."""
    import dataclasses

    import keras_bahdanau as kb

    pairs, _ = _corpus(corpus)
    translator = kb.Translator.load(model)
    translator.search = dataclasses.replace(translator.search, beam_width=beam)
    texts = [source for source, _ in pairs["test"]]

    def run():
        return len(translator.translate(texts, batch_size=batch))

    run()
    return protocol.Job(run, _count(translator.model))


def attention(batch, source_time, target_time, units, jit=False, warm_up=True):
    """Prepare `BahdanauAttention`: forward pass, and gradients of the inputs and weights.

    `target_time` is the number of queries; None means one query without a time axis.
    """
    import keras
    import tensorflow as tf

    import keras_bahdanau as kb

    keras.utils.set_random_seed(0)
    layer = kb.layers.BahdanauAttention(units)
    steps = () if target_time is None else (None,)
    layer.build((None, *steps, units), (None, None, units))

    def step(query, values, mask, upstream):
        with tf.GradientTape() as tape:
            tape.watch([query, values])
            total = tf.reduce_sum(layer(query, values, mask=mask) * upstream)
        return tape.gradient(total, [query, values, *layer.trainable_variables])

    shape = batch, source_time, target_time, units
    return attention_job(tf.function(step, jit_compile=jit), layer, *shape, warm_up=warm_up)


def attentions(cases, jit=False):
    """Prepare `attention` for each case; the runs take the cases in turn."""
    return protocol.in_turns(attention, cases, jit=jit)


def attention_job(step, model, batch, source_time, target_time, units, warm_up):
    """Return the `Job` of row 6 for a function of (query, values, mask, upstream).

    It is used for our layer and for stock Keras.
    """
    import tensorflow as tf

    def work(*shape):
        inputs = [*map(tf.constant, sentences.attention_batch(*shape, units))]

        def run():
            step(*inputs)[-1].numpy()  # waits until the function is done
            return 1

        return run

    run = work(batch, source_time, target_time)
    if warm_up:
        run(), run()
    small = work(2, 4, None if target_time is None else 4)
    return protocol.Job(run, _count(model), small=small)


if __name__ == "__main__":
    protocol.serve(
        {
            "training_step": training_step,
            "epoch": epoch,
            "losses": losses,
            "decode": decode,
            "translate": translate,
            "attention": attention,
            "attentions": attentions,
        },
        ["tensorflow", "keras"],
    )
