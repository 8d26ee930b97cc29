"""In training, a model returns a record; no logits of the whole batch are computed."""

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf
from decoders import new_decoder
from numpy.testing import assert_allclose, assert_array_equal

from keras_bahdanau.layers import BahdanauAttention
from keras_bahdanau.models import Encoder, Ensemble, Seq2Seq, TrainingOutput
from keras_bahdanau.models.losses import SentenceCrossentropy, TokenCrossentropy, guided_alignment
from keras_bahdanau.models.metrics import Perplexity

BATCH, SOURCE_TIME, TARGET_TIME, VOCABULARY, READOUT = 4, 6, 5, 11, 3
ROOT = Path(__file__).parents[2]
QUICK_TO_COMPILE = {
    "XLA_FLAGS": "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true"
}


class FromLogits(TokenCrossentropy):
    """A `TokenCrossentropy` with an overridden `call`, which must get logits."""

    def call(self, y_true, y_pred):
        return super().call(y_true, y_pred)


def new(loss=None, dropout=0.0, tie=False, regularizer=None, policy="float32", **options):
    keras.utils.set_random_seed(1)
    names = ("guided_alignment", "r_drop")
    weights = {name: options.pop(name, 0.0) for name in names}
    model = Seq2Seq(
        Encoder(VOCABULARY, 4, 3, dropout=dropout, dtype=policy),
        new_decoder(
            VOCABULARY,
            4,
            6,
            BahdanauAttention(5, dtype=policy),
            tie_embeddings=tie,
            dropout=dropout,
            readout_units=4 if tie else READOUT,
            dtype=policy,
        ),
        dtype=policy,
        **weights,
    )
    model.build()
    if regularizer is not None:
        model.decoder.output_layer.kernel.regularizer = keras.regularizers.L2(regularizer)
    if loss is not None:
        options = {"weighted_metrics": [Perplexity()], **options}
        model.compile("sgd", loss, run_eagerly=True, **options)
    return model


def batch():
    rng = np.random.default_rng(2)
    source = rng.integers(1, VOCABULARY, (BATCH, SOURCE_TIME))
    target_in, target_out = rng.integers(1, VOCABULARY, (2, BATCH, TARGET_TIME))
    weight = (np.arange(TARGET_TIME) < np.array([[5], [3], [1], [0]])).astype("float32")
    return (source, target_in), target_out, weight


def links():
    diagonal = np.eye(TARGET_TIME, SOURCE_TIME, dtype="float32")
    return np.repeat(diagonal[None], BATCH, axis=0)


def test_training_gives_a_record_without_logits():
    inputs, _, _ = batch()
    output = new()(inputs, training=True)
    assert isinstance(output, TrainingOutput)
    assert output.readout.shape == (1, BATCH, TARGET_TIME, READOUT)
    assert (output.weights, output.mask, output.alignment) == ((), (), ())


def test_its_weights_come_when_they_are_asked_for():
    inputs, _, _ = batch()
    model = new()
    output = model(inputs, return_attention_scores=True, training=True)
    _, weights = model(inputs, return_attention_scores=True)
    assert output.weights.shape == (1, BATCH, TARGET_TIME, SOURCE_TIME)
    assert_allclose(output.weights[0], weights, atol=1e-6)


def test_two_passes_stand_along_the_first_axis():
    inputs, _, _ = batch()
    model = new(r_drop=1.0, guided_alignment=1.0)
    output = model((*inputs, links()), training=True)
    assert output.readout.shape == (2, BATCH, TARGET_TIME, READOUT)
    assert output.weights.shape == (2, BATCH, TARGET_TIME, SOURCE_TIME)
    assert_array_equal(output.alignment, links())
    assert_allclose(output.readout[0], output.readout[1], atol=1e-6)  # without dropout


@pytest.mark.few(1)
@pytest.mark.parametrize("r_drop", [0.0, 1.0])
@pytest.mark.parametrize("tie", [False, True])
def test_logits_are_made_of_the_record(r_drop, tie):
    inputs, _, _ = batch()
    model = new(r_drop=r_drop, tie=tie)
    logits = model.logits(model(inputs, training=True))
    assert logits.dtype == "float32"
    assert_allclose(logits, model(inputs), atol=1e-6)


def test_the_weight_of_a_loss_is_that_of_compile():
    inputs, target, weight = batch()
    whole, half = new(TokenCrossentropy()), new(TokenCrossentropy(), loss_weights=0.5)
    losses = [
        one.compute_loss(inputs, target, one(inputs, training=True), weight)
        for one in (whole, half)
    ]
    assert float(losses[1]) == pytest.approx(float(losses[0]) / 2, rel=1e-5)


@pytest.mark.slow
def test_its_meaning_does_not_depend_on_compile():
    inputs, _, _ = batch()
    for loss in (None, TokenCrossentropy(), "mse"):
        model = new(loss, r_drop=1.0)
        training, without = model(inputs, training=True), model(inputs)
        assert isinstance(training, TrainingOutput) and training.readout.shape[0] == 2
        assert without.shape == (BATCH, TARGET_TIME, VOCABULARY)


def test_nothing_is_kept_on_the_model_between_calls():
    x, y, weight = batch()
    model = new(TokenCrossentropy(), r_drop=1.0, guided_alignment=1.0)
    x = (*x, links())
    model.train_on_batch(x, y, weight)
    before = dict(vars(model))
    model.compute_loss(y=y, y_pred=model(x, training=True), sample_weight=weight)
    assert vars(model) == before and model.losses == []


@pytest.mark.slow
def test_outputs_of_two_calls_are_independent():
    x, y, weight = batch()
    model = new(TokenCrossentropy())
    other = tuple(one[::-1] for one in x)
    first, second = model(x, training=True), model(other, training=True)
    losses = [
        float(model.compute_loss(y=target, y_pred=output, sample_weight=one))
        for output, target, one in ((second, y[::-1], weight[::-1]), (first, y, weight))
    ]
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [TokenCrossentropy(0.1), SentenceCrossentropy(), FromLogits()])
def test_the_loss_of_the_record_is_that_of_its_logits(loss):
    x, y, weight = batch()
    model = new(loss)
    output = model(x, training=True)
    found = model.compute_loss(y=y, y_pred=output, sample_weight=weight)
    expected = model.compute_loss(y=y, y_pred=model.logits(output), sample_weight=weight)
    assert_allclose(found, expected, rtol=1e-5)
    assert_allclose(found, loss(y, model(x), sample_weight=weight), rtol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [TokenCrossentropy(0.1), FromLogits(0.1)])
def test_without_weights_every_token_counts(loss):
    x, y, _ = batch()
    model = new(loss, r_drop=1.0)
    found = model.compute_loss(x, y, model(x, training=True))
    assert_allclose(found, loss(y, model(x)), rtol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [TokenCrossentropy(), FromLogits()])
@pytest.mark.parametrize("r_drop", [0.0, 1.0])
def test_losses_that_are_added_count_once(loss, r_drop):
    """These are the losses of guided alignment and of a regularizer."""
    x, y, weight = batch()
    x = (*x, links())
    model = new(loss, r_drop=r_drop, guided_alignment=0.5, regularizer=0.1)
    output = model(x, training=True)
    found = model.compute_loss(y=y, y_pred=output, sample_weight=weight)
    logits, alpha = model(x, return_attention_scores=True)
    expected = loss(y, logits, sample_weight=weight) + 0.5 * guided_alignment(links(), alpha)
    expected += 0.1 * np.sum(np.square(model.decoder.output_layer.kernel))
    assert_allclose(found, expected, rtol=1e-5)


def test_validation_has_the_loss_of_the_logits_alone():
    x, y, weight = batch()
    plain = new(TokenCrossentropy(), dropout=0.5)
    model = new(TokenCrossentropy(), dropout=0.5, r_drop=1.0, guided_alignment=0.5)
    found = model.test_on_batch((*x, links()), y, weight)
    assert_allclose(found, plain.test_on_batch(x, y, weight), rtol=1e-5)


@pytest.mark.few(1)
@pytest.mark.parametrize("option", [{"r_drop": 1.0}, {"guided_alignment": 1.0}])
def test_a_second_pass_or_guidance_does_not_get_lost(option):
    x, y, weight = batch()
    x = (*x, links()) if "guided_alignment" in option else x
    model = new(TokenCrossentropy(), **option)
    logits = model.logits(model(x, training=True))
    with pytest.raises(ValueError, match="needs the `TrainingOutput`.*Received: y_pred"):
        model.compute_loss(x, y, logits, weight)
    model.compute_loss(x, y, logits, weight, training=False)


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("loss", [TokenCrossentropy(), FromLogits()])
def test_metrics_are_updated_once_with_the_loss(loss):
    x, y, weight = batch()
    model = new(loss, weighted_metrics=[Perplexity(), "accuracy"], metrics=[Perplexity("all")])
    logs = [model.train_on_batch(x, y, weight, return_dict=True) for _ in range(2)]
    expected = new(loss, weighted_metrics=[Perplexity(), "accuracy"], metrics=[Perplexity("all")])
    first = expected.test_on_batch(x, y, weight, return_dict=True)
    assert logs[0].keys() == {"loss", "perplexity", "accuracy", "all"}
    assert_allclose([logs[0][name] for name in first], [*first.values()], rtol=1e-5)


@pytest.mark.slow
def test_metrics_without_weights_count_every_token():
    x, y, weight = batch()
    options = {"weighted_metrics": [Perplexity()], "metrics": [Perplexity("all")]}
    fused, plain = (new(loss, **options) for loss in (TokenCrossentropy(), FromLogits()))
    logs = [model.train_on_batch(x, y, weight, return_dict=True) for model in (fused, plain)]
    assert_allclose([*logs[0].values()], [*logs[1].values()], rtol=1e-5)
    assert logs[0]["perplexity"] != pytest.approx(logs[0]["all"], rel=1e-3)


@pytest.mark.slow
def test_a_loop_by_hand_trains_as_fit_does():
    x, y, weight = batch()
    fitted, model = (new(TokenCrossentropy(0.1), guided_alignment=0.5) for _ in range(2))
    x = (*x, links())
    for _ in range(3):
        fitted.train_on_batch(x, y, weight)
        with tf.GradientTape() as tape:
            output = model(x, training=True)
            loss = model.compute_loss(x=x, y=y, y_pred=output, sample_weight=weight)
        gradients = tape.gradient(loss, model.trainable_variables)
        model.optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    for one, other in zip(fitted.get_weights(), model.get_weights(), strict=True):
        assert_allclose(one, other, atol=1e-6)
    assert model.get_metrics_result()["perplexity"] > 1


@pytest.mark.slow
def test_an_ensemble_of_models_in_training_gives_log_probabilities():
    inputs, _, _ = batch()
    members = [new(r_drop=1.0), new()]
    ensemble = Ensemble(members)
    for one, other in zip(
        ensemble(inputs, return_attention_scores=True, training=True),
        ensemble(inputs, return_attention_scores=True),
        strict=True,
    ):
        assert_allclose(one, other, atol=1e-6)


def tensors_of(graph):
    """Yield (name, static shape) for the outputs of every operation, including loops."""
    for op in graph.get_operations():
        yield from ((op.name, tuple(out.shape)) for out in op.outputs if out.shape.rank)
    definition = graph.as_graph_def(add_shapes=True)
    for function in definition.library.function:
        for node in function.node_def:
            for shape in node.attr["_output_shapes"].list.shape:
                if not shape.unknown_rank:
                    yield node.name, tuple(size.size for size in shape.dim)


@pytest.mark.few(1)
@pytest.mark.parametrize("r_drop", [0.0, 1.0])
@pytest.mark.parametrize(("loss", "kept"), [(TokenCrossentropy(), False), (FromLogits(), True)])
def test_a_traced_step_of_tensorflow_has_no_logits_of_the_batch(loss, kept, r_drop):
    """No operation creates them, even if unused; in the loop over rows, logits have 2 axes."""
    model = new(loss, r_drop=r_drop)
    specs = tf.nest.map_structure(lambda one: tf.TensorSpec(one.shape, one.dtype), batch())
    step = tf.function(model.train_step, autograph=False).get_concrete_function(specs)
    whole = [
        (name, shape)
        for name, shape in tensors_of(step.graph)
        if len(shape) > 2 and shape[-2:] == (TARGET_TIME, VOCABULARY)
    ]
    assert bool(whole) == kept, whole


def fitted(model, jit_compile=False):
    """Return the losses of three steps in a compiled function."""
    model.compile("sgd", model.loss, weighted_metrics=[Perplexity()], jit_compile=jit_compile)
    return [[*model.train_on_batch(*batch(), return_dict=True).values()] for _ in range(3)]


@pytest.mark.slow
@pytest.mark.parametrize("r_drop", [0.0, 1.0])
@pytest.mark.parametrize(
    ("policy", "tolerance"),
    [("float32", 1e-5), ("mixed_float16", 1e-2), ("mixed_bfloat16", 4e-2)],
)
def test_every_precision_and_compiler_gives_the_loss_of_the_logits(policy, tolerance, r_drop):
    plain = fitted(new(FromLogits(0.1), r_drop=r_drop))
    for jit_compile in (False, True):
        model = new(TokenCrossentropy(0.1), policy=policy, r_drop=r_drop)
        assert_allclose(fitted(model, jit_compile), plain, rtol=tolerance)


def python_with_jax():
    """Return the path of a Python interpreter with JAX, or None."""
    if named := os.environ.get("KERAS_BAHDANAU_JAX_PYTHON"):
        return named
    if importlib.util.find_spec("jax"):
        return sys.executable
    own = ROOT / ".backends" / "jax" / "bin" / "python"
    return str(own) if own.exists() else None


@pytest.mark.slow  # like all tests of other backends
@pytest.mark.parametrize("options", [{"guided_alignment": 0.5}, {"r_drop": 1.0}])
def test_a_compiled_step_of_jax_has_no_logits_of_the_batch(options):
    """Metrics are compiled, too; the sizes of tensors are read from the compiled program."""
    python = python_with_jax()
    if python is None:
        pytest.skip("JAX is not installed: `make backends`, or name an interpreter that has it")
    answer = subprocess.run(
        [python, str(Path(__file__).with_name("training_step_of_jax.py")), json.dumps(options)],
        env={**os.environ, **QUICK_TO_COMPILE, "KERAS_BACKEND": "jax", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert answer.returncode == 0, answer.stderr
    found = json.loads(answer.stdout.splitlines()[-1])
    own, plain = found["own"], found["plain"]
    assert own["largest"] < found["logits"] <= plain["largest"]
    assert_allclose(own["losses"], plain["losses"], rtol=1e-5)
    if not options.get("r_drop"):  # with R-drop, it is the mean of both passes
        assert_allclose(own["perplexities"], plain["perplexities"], rtol=1e-5)
