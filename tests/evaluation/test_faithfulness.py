"""Faithfulness of attention: compared with NumPy, and for models whose attention is known."""

import json

import keras
import numpy as np
import pytest
from conftest import toy_pairs
from toy_sources import CASES

import keras_bahdanau as kb
from keras_bahdanau.evaluation import faithfulness
from keras_bahdanau.layers.names import NORMALIZERS, SCORES
from keras_bahdanau.pipelines.model_probe import ModelProbe
from keras_bahdanau.pipelines.step_probe import StepProbe

IDS = np.array([[3, 1, 4, 0], [2, 0, 0, 0], [5, 6, 7, 8]])
ROWS = np.array([0, 0, 1, 1])  # the first and the third input; the second is too short
VISIBLE = np.array([[1, 0, 1, 0], [0, 0, 1, 0], [1, 1, 0, 1], [0, 0, 0, 0]], bool)


def softmax(scores):
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def pooled_classifier(units=1, activation="sigmoid", seed=0, encoder=()):
    keras.utils.set_random_seed(seed)
    return keras.Sequential(
        [
            keras.Input((None,), dtype="int32"),
            keras.layers.Embedding(9, 4, mask_zero=True),
            *encoder,
            kb.AttentionPooling(5, name="pooling"),
            keras.layers.Dense(units, activation=activation),
        ]
    )


class Oracle:
    """The same classifier in NumPy, in float64."""

    def __init__(self, model):
        self.embeddings, *_ = (weight.numpy().astype(float) for weight in model.weights)
        self.kernel, self.bias = (w.numpy() for w in model.layers[1].attention.score.weights)
        self.query = model.layers[1].query_vector.numpy()[0]
        self.dense = [weight.numpy() for weight in model.layers[-1].weights]
        self.own = IDS[[0, 2]]

    def vectors(self, rows):
        return self.embeddings[self.own[rows]]

    def weights(self, vectors, visible):
        scores = np.tanh(vectors @ self.kernel + self.bias) @ self.query
        weights = softmax(np.where(visible, scores, -1e30)) * visible
        return weights

    def probabilities(self, vectors, weights):
        context = np.einsum("bs,bsu->bu", weights, vectors)
        kernel, bias = self.dense
        logits = context @ kernel + bias
        if logits.shape[-1] > 1:
            return softmax(logits)
        sigmoid = 1 / (1 + np.exp(-logits))
        return np.concatenate([1 - sigmoid, sigmoid], axis=-1)

    def answers(self, rows, vectors, weights):
        real = self.own[rows] > 0
        own = self.probabilities(self.vectors(rows), self.weights(self.vectors(rows), real))
        changed = self.probabilities(vectors, weights)
        best = own.argmax(axis=-1)
        log_probs = np.log(changed[np.arange(len(rows)), best])
        return log_probs, np.abs(changed - own).sum(axis=-1) / 2


def probe_of(model):
    return ModelProbe(model, IDS, None, None, 2, 3, np.random.default_rng(0))


@pytest.fixture(scope="module", params=[(1, "sigmoid"), (3, "softmax")], ids=["two", "three"])
def pooled(request):
    model = pooled_classifier(*request.param)
    return probe_of(model), Oracle(model)


def test_rows_are_the_inputs_of_two_positions(pooled):
    probe, oracle = pooled
    assert probe.inputs.tolist() == [0, 2]
    real = oracle.own > 0
    np.testing.assert_array_equal(probe.mask, real)
    weights = oracle.weights(oracle.vectors([0, 1]), real)
    np.testing.assert_allclose(probe.weights, weights, atol=1e-6)
    log_probs, _ = oracle.answers(np.array([0, 1]), oracle.vectors([0, 1]), weights)
    np.testing.assert_allclose(probe.log_probs, log_probs, atol=1e-6)


def test_hidden_values_are_those_of_numpy(pooled):
    probe, oracle = pooled
    vectors, visible = oracle.vectors(ROWS), VISIBLE & (oracle.own[ROWS] > 0)
    expected = oracle.answers(ROWS, vectors, oracle.weights(vectors, visible))
    np.testing.assert_allclose(probe.hide(ROWS, VISIBLE), expected, atol=1e-6)


def test_replaced_vectors_are_those_of_numpy(pooled):
    probe, oracle = pooled
    mean = oracle.embeddings[IDS[IDS > 0]].mean(axis=0)
    vectors = np.where(VISIBLE[..., None], oracle.vectors(ROWS), mean)
    expected = oracle.answers(ROWS, vectors, oracle.weights(vectors, oracle.own[ROWS] > 0))
    np.testing.assert_allclose(probe.replace(ROWS, VISIBLE), expected, atol=1e-6)


def test_leaving_one_position_out_is_that_of_numpy(pooled):
    probe, oracle = pooled
    rows, real = np.arange(2), oracle.own > 0
    vectors, mean = oracle.vectors(rows), oracle.embeddings[IDS[IDS > 0]].mean(axis=0)
    before, _ = oracle.answers(rows, vectors, oracle.weights(vectors, real))
    hidden, replaced = np.zeros((2, 2, 4))
    for position in range(4):
        others = np.arange(4) != position
        weights = oracle.weights(vectors, real & others)
        hidden[:, position] = before - oracle.answers(rows, vectors, weights)[0]
        changed = np.where(others[:, None], vectors, mean)
        weights = oracle.weights(changed, real)
        replaced[:, position] = before - oracle.answers(rows, changed, weights)[0]
    np.testing.assert_allclose(probe.leave_one_out(probe.hide), hidden * real, atol=1e-6)
    np.testing.assert_allclose(probe.leave_one_out(probe.replace), replaced * real, atol=1e-6)


def test_permuted_and_replaced_weights_are_those_of_numpy(pooled):
    probe, oracle = pooled
    vectors, order = oracle.vectors(ROWS), np.array([[2, 0, 1, 3], [1, 0, 2, 3]] * 2)
    weights = np.take_along_axis(oracle.weights(vectors, oracle.own[ROWS] > 0), order, axis=1)
    expected = oracle.answers(ROWS, vectors, weights)
    np.testing.assert_allclose(probe.permute(ROWS, order), expected, atol=1e-6)
    np.testing.assert_allclose(probe.reweigh(ROWS, weights), expected, atol=1e-6)


def test_gradient_times_input_is_the_slope_of_a_factor(pooled):
    probe, oracle = pooled
    slopes, rows = np.zeros((2, 4)), np.arange(2)
    for position in range(4):
        ends = []
        for factor in (1 - 1e-4, 1 + 1e-4):
            vectors = oracle.vectors(rows) * np.where(np.arange(4) == position, factor, 1)[:, None]
            weights = oracle.weights(vectors, oracle.own > 0)
            ends.append(oracle.answers(rows, vectors, weights)[0])
        slopes[:, position] = (ends[1] - ends[0]) / 2e-4
    np.testing.assert_allclose(probe.gradients(), slopes * probe.mask, atol=1e-5)


def test_the_model_is_as_before():
    model = pooled_classifier()
    before = model.predict(IDS, verbose=0)
    faithfulness(model, IDS)
    attention = model.layers[1].attention
    assert not {"attend", "prepare", "call"} & {*vars(attention), *vars(model.layers[0])}
    np.testing.assert_array_equal(model.predict(IDS, verbose=0), before)


# Tokens 1 and 2 determine the class; all others carry no information.
CLASS_TOKENS, FILLERS = (1, 2), (3, 4, 5, 6, 7, 8)


def marked_inputs(count=40, length=7):
    random = np.random.default_rng(5)
    ids = random.choice(FILLERS, (count, length))
    ids[np.arange(count), random.integers(0, length, count)] = random.choice(CLASS_TOKENS, count)
    return ids


def exact_classifier():
    """Return a classifier that attends to the token of the class and predicts the class from it."""
    model = pooled_classifier(2, "softmax")
    embedding, pooling, dense = model.layers
    vectors = 0.1 * np.random.default_rng(0).normal(size=(9, 4))
    vectors[1], vectors[2] = (1, 0, 1, 0), (0, 1, 1, 0)
    embedding.set_weights([vectors])
    kernel = np.zeros((4, 5))
    kernel[2, 0] = 3  # u_t is 1 where the third element is 1
    for weight, array in zip(pooling.attention.score.weights, (kernel, np.zeros(5)), strict=True):
        weight.assign(array)
    pooling.query_vector.assign([[6, 0, 0, 0, 0]])
    dense.set_weights([np.array([[1.5, -1.5], [-1.5, 1.5], [0, 0], [0, 0]]), np.zeros(2)])
    return model


def test_exact_attention_and_random_weights_are_told_apart():
    ids = marked_inputs()
    exact = faithfulness(exact_classifier(), ids, peers=[exact_classifier()])
    untrained = faithfulness(
        pooled_classifier(2, "softmax", seed=1), ids, peers=[exact_classifier()]
    )
    for place in ("attention", "input"):
        assert exact.shares[place].low > 0.9 > untrained.shares[place].high
        areas = exact.areas[place]
        assert areas["gradient"].low > areas["random"].high
    assert exact.permuted.low > 0.3 > untrained.permuted.high
    assert exact.adversarial.high < 0.5 < untrained.adversarial.low
    assert exact.entropy.high < 0.5 < untrained.entropy.low
    assert exact.agreement == pytest.approx((1, 1, 1)) and untrained.agreement.high < 0.6
    assert "nearly as well as leaving each of them out does" in exact.sentence
    json.dumps(exact.scores())
    table = exact.table().splitlines()
    assert len(table) == 2 + 2 * 5 + 5 and str(exact).startswith(exact.sentence)


def test_curves_are_drawn_for_each_place():
    result = faithfulness(exact_classifier(), marked_inputs(6))
    figure = kb.plotting.plot_faithfulness(result)
    assert [panel.get_title() for panel in figure.axes] == [
        "hidden from the attention",
        "replaced in the input",
    ]
    first, second, *_ = figure.axes[0].lines
    np.testing.assert_array_equal(first.get_ydata(), result.curves["attention"]["weights"][0])
    np.testing.assert_array_equal(second.get_ydata(), result.curves["attention"]["weights"][1])
    with pytest.raises(TypeError, match="must be a Faithfulness. Received: dict"):
        kb.plotting.plot_faithfulness({})


@pytest.mark.slow
def test_a_recurrent_model_is_measured_at_its_steps():
    keras.utils.set_random_seed(0)
    source, target = keras.Input((5,), dtype="int32"), keras.Input((3,), dtype="int32")
    memory = keras.layers.Embedding(9, 4, mask_zero=True)(source)
    rnn = kb.AttentionRNN(keras.layers.GRUCell(4), return_sequences=True)
    hidden = rnn(keras.layers.Embedding(6, 4, mask_zero=True)(target), memory)
    model = keras.Model([source, target], keras.layers.Dense(6)(hidden))
    x = [np.array([[1, 2, 3, 0, 0], [4, 5, 6, 7, 8]]), np.array([[1, 2, 0], [3, 4, 5]])]
    probe = ModelProbe(model, x, None, True, 9, 8, np.random.default_rng(0))
    steps = [*zip(probe.inputs.tolist(), probe.steps.tolist(), strict=True)]
    assert sorted(steps) == [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2)], "padding has no row"
    logits = model.predict(x, verbose=0)
    expected = np.log(softmax(logits)).max(axis=-1)[probe.inputs, probe.steps]
    np.testing.assert_allclose(probe.log_probs, expected, atol=1e-6)
    result = faithfulness(model, x, from_logits=True)
    assert (
        result.rows == 4
        and result.adversarial is None
        and [*result.areas]
        == [
            "attention",
            "input",
        ]
    )


def test_an_input_without_positions_is_not_replaced():
    keras.utils.set_random_seed(0)
    image = keras.Input((6, 4, 1))
    grid = keras.layers.Conv2D(3, 2, strides=2)(image)
    context = kb.AttentionPooling(4)(grid)
    model = keras.Model(image, keras.layers.Dense(2, activation="softmax")(context))
    pixels = np.random.default_rng(0).normal(size=(5, 6, 4, 1)).astype("float32")
    result = faithfulness(model, pixels)
    assert [*result.areas] == ["attention"] and "gradient" not in result.areas["attention"]


@pytest.mark.parametrize(
    ("make", "arguments", "message"),
    [
        (lambda: pooled_classifier(), {"targets": ["a"]}, "`targets` is not for a Keras model"),
        (lambda: pooled_classifier(), {"layer": "other"}, "Layers of the model: pooling"),
        (lambda: pooled_classifier(), {"steps": 0}, "`steps`"),
        (
            lambda: pooled_classifier(),
            {"data": IDS[1:2]},
            "must have two real positions and an output",
        ),
    ],
)
def test_wrong_arguments_are_named(make, arguments, message):
    with pytest.raises(ValueError, match=message):
        faithfulness(make(), arguments.pop("data", IDS), **arguments)


def test_a_regression_has_no_log_probability():
    model = pooled_classifier(1, None)
    model.compile("adam", "mse")
    with pytest.raises(ValueError, match="The model must be a classifier"):
        faithfulness(model, IDS)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match="must be a pipeline or a keras.Model. Received: str"):
        faithfulness("runs/en-de", ["a"])


# Pipelines.


SENTENCES = ["one two three", "four five", "three one", "two two five"]


def step_probe(translator, sentences=tuple(SENTENCES), batch_size=3):
    """Return a probe of all steps of the model's own translations, and these translations."""
    results = translator.decode([*sentences])
    pieces = translator.target.tokens(np.arange(translator.target.vocabulary_size)).tolist()
    outputs = [np.array([pieces.index(token) for token in one.target_tokens]) for one in results]
    rows = [(number, step) for number, ids in enumerate(outputs) for step in range(len(ids))]
    rows = tuple(np.array(rows).T)
    return StepProbe(translator, [*sentences], outputs, rows, batch_size), results


@pytest.mark.slow
def test_a_step_of_a_pipeline_is_that_of_its_translation(toy_translator):
    probe, results = step_probe(toy_translator)
    own = np.concatenate([result.token_log_probs for result in results])
    np.testing.assert_allclose(probe.log_probs, own, atol=1e-4)
    for row, (number, step) in enumerate(zip(probe.inputs, probe.steps, strict=True)):
        weights = results[number].alignment[step]
        np.testing.assert_allclose(probe.weights[row, : len(weights)], weights, atol=1e-5)
        assert probe.mask[row].sum() == len(weights)


@pytest.mark.slow
def test_a_step_without_a_change_is_as_before(toy_translator):
    assert_same_without_a_change(toy_translator)


def assert_same_without_a_change(translator, sentences=tuple(SENTENCES), reweighs=True):
    probe, _ = step_probe(translator, sentences)
    rows = np.arange(len(probe.mask))
    order = np.broadcast_to(np.arange(probe.mask.shape[1]), probe.mask.shape)
    changes = {
        probe.hide: probe.mask,
        probe.replace: probe.mask,
        probe.permute: order,
    } | ({probe.reweigh: probe.weights} if reweighs else {})
    for method, change in changes.items():
        log_probs, distances = method(rows, change)
        np.testing.assert_allclose(log_probs, probe.log_probs, atol=1e-4)
        assert distances.max() < 1e-4
    log_probs, distances = probe.hide(rows, np.zeros_like(probe.mask))
    # Hard attention with random weights may select no position.
    assert np.isfinite(log_probs).all() and (distances.max() > 1e-3) == probe.weights.any()
    gradients = probe.gradients()
    assert np.isfinite(gradients).all() and (gradients[~probe.mask] == 0).all()
    assert np.abs(gradients).max() > 0


@pytest.mark.slow
def test_a_hidden_value_of_a_step_is_that_of_a_masked_memory(toy_translator):
    model, (probe, _) = toy_translator.model, step_probe(toy_translator, SENTENCES[:1])
    features = toy_translator.source.batch(SENTENCES[:1])
    prepared = model.encode(keras.ops.convert_to_tensor(features))
    state = model.initial_state(prepared)
    for step in range(2):
        tokens = keras.ops.convert_to_tensor(probe._target_in[:, step])
        before, (_, _, state) = state, model.decode_step(tokens, state, prepared)
    visible = np.array([[False, *[True] * (features.shape[1] - 1)]])
    memory = prepared.projected.memory._replace(mask=keras.ops.convert_to_tensor(visible))
    masked = prepared._replace(projected=prepared.projected._replace(memory=memory))
    distribution, _, _ = model.decode_step(tokens, before, masked)
    expected = distribution.log_probs.numpy()[0, probe._outputs[1, 0]]
    log_probs, _ = probe.hide(np.array([1]), visible)
    assert log_probs[0] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_a_trained_translator_and_an_untrained_one_are_told_apart(toy_translator):
    source, target = toy_translator.source, toy_translator.target
    new = untrained(source, target)
    sentences = [source for source, _ in toy_pairs() if len(source.split()) == 3][:60]
    trained = faithfulness(toy_translator, sentences)
    random = faithfulness(new, sentences)
    assert trained.unit == "source tokens" and trained.rows == 2 * trained.inputs == 120
    for place in ("attention", "input"):
        assert trained.shares[place].low > max(0.5, random.shares[place].high)
    assert trained.permuted.low > random.permuted.high


@pytest.mark.slow
def test_known_links_and_peers_are_compared(toy_translator):
    pairs = toy_pairs()[-12:]
    sources, targets = zip(*pairs, strict=True)
    links = [{(number, number) for number in range(3)} for _ in pairs]
    result = faithfulness(
        toy_translator, sources, targets=targets, alignments=(links, links), peers=[toy_translator]
    )
    assert result.agreement == pytest.approx((1, 1, 1))
    expected = kb.evaluation.alignment_error(toy_translator, pairs, links, links)
    assert result.alignment_error_rate == expected
    with pytest.raises(ValueError, match="`alignments` needs `targets`"):
        faithfulness(toy_translator, sources, alignments=(links, links))


def untrained(source, target, kind=kb.Translator, **options):
    keras.utils.set_random_seed(2)
    sizes = {"embedding_units": 8, "units": 8, "attention_units": 8}
    model = kb.presets.small(source, target, **sizes, **options)
    model.build()
    for weight in model.trainable_variables:
        weight.assign(np.random.default_rng(0).normal(size=weight.shape) / 2)
    return kind(source, model, target, kb.SearchOptions(min_length=2, max_length=4))


MECHANISMS = {
    **{name: {"attention": name} for name in SCORES if name != "additive"},
    **{name: {"normalizer": name} for name in NORMALIZERS if name != "softmax"},
    "local-m": {"window": "local-m"},
    "local-p": {"window": "local-p"},
    "coverage": {"coverage": "sum"},
    "heads": {"heads": 2},
    "past": {"past": 3},
    "after": {"when": "after"},
    "blocks": {"when": "blocks"},
    "hard": {"hard_alignment": "first", "when": "apart"},
}


@pytest.mark.slow
@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_can_be_changed(toy_translator, name):
    translator = untrained(toy_translator.source, toy_translator.target, **MECHANISMS[name])
    # Each head or block has separate attention weights.
    assert_same_without_a_change(translator, reweighs=name not in ("heads", "blocks"))


@pytest.mark.slow
def test_a_model_that_copies_can_be_changed(toy_translator):
    german = untrained(toy_translator.target, toy_translator.target, copy=True)
    assert_same_without_a_change(german, sentences=["eins zwei", "drei vier eins", "fünf"])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "options"),
    [("images", {}), ("audio", {}), ("features", {"encoder": "pyramidal", "depth": 2})],
)
def test_inputs_that_are_no_text_can_be_changed(toy_translator, name, options):
    case = CASES[name]
    inputs = [case.input_of(numbers) for numbers in ((0, 1, 2, 3), (3, 1), (2, 2, 0))]
    pipeline = untrained(case.source_of([]), toy_translator.target, kb.Pipeline, **options)
    assert_same_without_a_change(pipeline, sentences=inputs)
    assert all(faithfulness(pipeline, inputs).areas)


@pytest.mark.slow
def test_evidence_that_is_spread_needs_no_certain_weights():
    """The class is whether 1 or 2 is more frequent; a recurrent layer can count at any position."""
    random = np.random.default_rng(0)
    ids = random.integers(1, 9, (6000, 9))
    counts = [(ids == token).sum(axis=1) for token in CLASS_TOKENS]
    ids, labels = ids[counts[0] != counts[1]], (counts[0] > counts[1])[counts[0] != counts[1]]
    model = pooled_classifier(encoder=[keras.layers.LSTM(8, return_sequences=True)])
    model.compile(keras.optimizers.Adam(0.01), "binary_crossentropy", metrics=["accuracy"])
    history = model.fit(ids[200:], labels[200:].astype(int), epochs=8, verbose=0).history
    assert history["accuracy"][-1] > 0.95
    spread, exact = (
        faithfulness(model, ids[:200]),
        faithfulness(exact_classifier(), marked_inputs()),
    )
    assert spread.permuted.high < exact.permuted.low
    assert spread.shares["input"].high < exact.shares["input"].low
