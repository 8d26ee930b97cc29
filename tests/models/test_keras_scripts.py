"""Mistakes in Keras scripts that use the models raise one-line errors."""

import keras
import numpy as np
import pytest
import tensorflow as tf

import keras_bahdanau as kb

SOURCE = np.ones((2, 5), "int32")
TARGET = np.ones((2, 4), "int32")
LOSSES, METRICS = keras.losses, keras.metrics


def new_encoder():
    return kb.Encoder(vocabulary_size=12, embedding_units=4, units=4)


def new_decoder():
    return kb.Decoder(12, 4, kb.layers.DecoderCell(4))


def new_model():
    return kb.Seq2Seq(new_encoder(), new_decoder())


@pytest.mark.parametrize(
    "loss",
    [
        *("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy", "kl_divergence"),
        *("categorical_crossentropy", "binary_crossentropy", "poisson", "dice"),
        *(LOSSES.SparseCategoricalCrossentropy(), LOSSES.CategoricalCrossentropy()),
        *(
            LOSSES.BinaryCrossentropy(),
            LOSSES.KLDivergence(),
            LOSSES.CategoricalFocalCrossentropy(),
        ),
        *(LOSSES.sparse_categorical_crossentropy, LOSSES.SparseCategoricalCrossentropy),
    ],
)
def test_compile_refuses_a_loss_of_probabilities(loss):
    with pytest.raises(ValueError, match="returns logits.*Received: loss=.*TokenCross") as error:
        new_model().compile("adam", loss)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "metrics",
    [
        *(["sparse_categorical_crossentropy"], ["ce"], ["AUC"], {"logits": "binary_accuracy"}),
        *([METRICS.AUC()], [METRICS.Precision()], METRICS.SparseCategoricalCrossentropy()),
    ],
)
@pytest.mark.parametrize("argument", ["metrics", "weighted_metrics"])
def test_compile_refuses_a_metric_of_probabilities(metrics, argument):
    with pytest.raises(ValueError, match="returns logits.*Received: metrics=.*Perplexity"):
        new_model().compile("adam", kb.losses.TokenCrossentropy(), **{argument: metrics})


@pytest.mark.parametrize(
    ("loss", "metrics"),
    [
        (None, None),
        (kb.losses.SentenceCrossentropy(), [kb.metrics.Perplexity(), "accuracy"]),
        (
            LOSSES.SparseCategoricalCrossentropy(from_logits=True),
            [METRICS.SparseCategoricalCrossentropy(from_logits=True), "acc"],
        ),
        (lambda targets, logits: keras.ops.mean(logits), ["sparse_top_k_categorical_accuracy"]),
    ],
)
def test_compile_takes_losses_and_metrics_of_logits(loss, metrics):
    new_model().compile("adam", loss, metrics=metrics)


@pytest.mark.slow
def test_a_compiled_model_goes_on_after_loading(tmp_path):
    model = new_model()
    model.compile(kb.optimizers.AveragingAdam(1e-3), kb.losses.TokenCrossentropy())
    model.fit((SOURCE, TARGET), TARGET, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert int(loaded.optimizer.iterations) == 1
    loaded.fit((SOURCE, TARGET), TARGET, verbose=0)
    assert int(loaded.optimizer.iterations) == 2


def test_a_loss_of_logits_refuses_what_a_softmax_made():
    inputs = keras.Input((4, 3))
    model = keras.Model(inputs, keras.layers.Dense(5, activation="softmax")(inputs))
    model.compile("adam", kb.losses.TokenCrossentropy())
    with pytest.raises(ValueError, match="`y_pred` must be logits. Received: probabilities"):
        model.fit(np.ones((2, 4, 3)), TARGET, verbose=0)


MISUSE = {
    "a loss of Keras": lambda output: LOSSES.SparseCategoricalCrossentropy(from_logits=True)(
        TARGET, output
    ),
    "a loss of the package": lambda output: kb.losses.TokenCrossentropy()(TARGET, output),
    "a function": lambda output: LOSSES.sparse_categorical_crossentropy(TARGET, output, True),
    "a metric": lambda output: METRICS.SparseCategoricalAccuracy()(TARGET, output),
    "a product": lambda output: output * 2,
    "a difference": lambda output: 1 - output,
    "an index": lambda output: output[0],
    "an operation of Keras": lambda output: keras.ops.softmax(output),
    "an operation of TensorFlow": lambda output: tf.argmax(output, axis=-1),
    "an array": np.asarray,
}


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MISUSE)
def test_a_training_output_is_no_tensor_and_a_corrected_function_works(name):
    model = new_model()
    model.compile("adam", kb.losses.TokenCrossentropy())

    @tf.function
    def wrong():
        return MISUSE[name](model((SOURCE, TARGET), training=True))

    @tf.function
    def corrected():
        output = model((SOURCE, TARGET), training=True)
        return model.compute_loss((SOURCE, TARGET), TARGET, output)

    message = r"contains the readout.*model.logits\(output\).*compute_loss"
    with pytest.raises((TypeError, AttributeError), match=message):
        wrong()
    assert np.isfinite(corrected())  # the failed trace didn't leave a broken model


@pytest.mark.parametrize("name", ["logits", "shape", "numpy"])
def test_a_training_output_says_where_its_logits_are(name):
    output = new_model()((SOURCE, TARGET), training=True)
    with pytest.raises(AttributeError, match=r"model.logits\(output\)"):
        getattr(output, name)
    assert not hasattr(output, "_something")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("layer", "inputs"),
    [
        (new_encoder, [SOURCE]),
        (lambda: kb.AttentionPooling(4), [np.ones((2, 4, 3))]),
        (lambda: kb.BahdanauAttention(4), [np.ones((2, 3)), np.ones((2, 4, 3))]),
    ],
)
def test_a_failed_trace_leaves_a_layer_that_works(layer, inputs):
    layer = layer()

    @tf.function
    def wrong():
        layer(*inputs)
        raise KeyError

    with pytest.raises(KeyError):
        wrong()
    assert np.all(np.isfinite(tf.function(lambda: tf.nest.flatten(layer(*inputs))[0])()))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: new_decoder()(TARGET, np.ones((2, 5, 8))), "memory of a Decoder.*shape"),
        (lambda: new_decoder()(new_encoder()(SOURCE), TARGET), "memory of a Decoder"),
        (
            lambda: new_decoder()(
                TARGET, new_encoder()(SOURCE)._replace(values=np.ones((2, 8), "float32"))
            ),
            r"values \(batch, source_time, units\). Received: shape \(2, 8\)",
        ),
        (
            lambda: new_decoder()(TARGET[..., None], new_encoder()(SOURCE)),
            r"\(batch, target_time\)",
        ),
        (lambda: new_encoder()(np.ones((2, 5, 3))), r"\(batch, source_time\).*\(2, 5, 3\)"),
        (lambda: new_encoder()(keras.Input((5, 3))), r"\(batch, source_time\).*\(None, 5, 3\)"),
        (lambda: new_encoder()(np.array([["a"]])), "token ids.*str"),
    ],
)
def test_encoder_and_decoder_refuse_wrong_shapes_in_one_line(call, message):
    with pytest.raises(ValueError, match=message) as error:
        call()
    assert "\n" not in str(error.value)


def test_units_and_an_attention_make_the_cell_of_a_decoder():
    decoder = kb.Decoder(12, 4, units=5, attention=kb.BahdanauAttention(3))
    assert isinstance(decoder.cell, kb.layers.DecoderCell)
    assert (decoder.units, decoder.cell.attention.units) == (5, 3)
    copy = kb.Decoder.from_config(decoder.get_config())
    assert copy.cell.attention.units == 3
    with pytest.raises(ValueError, match="Pass them to the cell"):
        kb.Decoder(12, 4, kb.layers.DecoderCell(4), units=5)
