"""Every option of the package supports everything that a user does with a model."""

import extract
import keras
import numpy as np
import pytest
import steps
import tensorflow as tf
from ai_edge_litert.interpreter import Interpreter
from options import OPTIONS, TEXT_PRESETS, TOGETHER, new_model, new_subwords

import keras_bahdanau as kb
from keras_bahdanau import layers
from keras_bahdanau.exporters.litert.device_signatures import decode_on_device
from keras_bahdanau.exporters.saved_model.served_signatures import decode_with_alignment
from keras_bahdanau.exporters.tracing import traced, weights_of
from keras_bahdanau.layers.memory import SUMMARIES
from keras_bahdanau.search import beam_search, greedy_search

PAIRS = [("a b", "x y z"), ("", ""), ("b", "z")]
START, END = 2, 3
LONGEST = 4
SENTENCES = ["a b c", "c a", "b", "", "what?"]

ALIGNMENT = np.zeros((3, LONGEST, 3), "float32")
ALIGNMENT[0, :3] = np.eye(3)
ALIGNMENT[2, :, 0] = 1
OF_PLAIN = {
    "encoder pyramidal",  # for frames: see tests/layers/test_pyramidal.py
    *("encoder unidirectional", "first state mean", "coverage None", "normalizer softmax"),
    *("readout tanh", "score additive", "when before", "window everywhere"),
}
EXPORTED = {  # not a forced alignment: see tests/exporters/test_requirements.py
    name: option
    for name, option in OPTIONS.items()
    if not option.same_inference and name != "forced alignment"
}
FAST_EXPORTS = ["monotonic with coverage", "past and heads between deep LSTMs"]


def those(options, slow=()):
    return pytest.mark.parametrize(
        "option",
        [
            pytest.param(option, id=name, marks=[pytest.mark.slow] if name in slow else [])
            for name, option in options.items()
        ],
    )


@pytest.fixture(scope="session")
def subwords():
    return new_subwords()


def ids(subwords):
    """Return arrays (source, target_in, target_out) for `PAIRS`."""
    sources, targets = zip(*PAIRS, strict=True)
    source = padded(subwords.encode(sources, end_of_empty=False))
    target_out = padded(subwords.encode(targets))
    return source, after_start(target_out), target_out


def padded(rows):
    array = np.zeros((len(rows), max(map(len, rows))), "int32")
    for ids, row in zip(array, rows, strict=True):
        ids[: len(row)] = row
    return array


def after_start(target_out):
    return np.pad(target_out[:, :-1], [(0, 0), (1, 0)], constant_values=START)


def losses_of(model, option, subwords, **compilation):
    """Return the loss in inference mode before and after four steps of `fit`."""
    source, target_in, target_out = ids(subwords)
    inputs = (source, target_in, ALIGNMENT) if option.aligned else (source, target_in)
    model.compile(
        keras.optimizers.SGD(0.5), kb.losses.TokenCrossentropy(**option.loss), **compilation
    )
    real = np.float32(target_out > 0)
    before = model.evaluate(inputs, target_out, sample_weight=real, verbose=0)
    model.fit(inputs, target_out, sample_weight=real, epochs=4, verbose=0)
    return before, model.evaluate(inputs, target_out, sample_weight=real, verbose=0)


def translator_of(option, subwords):
    """Return a translator with random weights, which reveal more than briefly trained ones."""
    keras.utils.set_random_seed(0)
    model = new_model(option, subwords)
    model.build()
    extract.randomize(model)
    search = kb.SearchOptions(**{"beam_width": 2, "max_length": LONGEST, **option.search})
    return kb.Translator(subwords, model, subwords, search)


def searched(model, method, width, source, alignment):
    """Return the `SearchResult` of a search over the model's steps."""
    prepared = model.encode(tf.constant(source), *alignment)
    return method(
        lambda tokens, state: model.decode_step(tokens, state, prepared),
        model.initial_state(prepared),
        limits=tf.constant(LONGEST * source.any(axis=1), "int32"),
        options=kb.SearchOptions(beam_width=width),
        start=START,
        end=END,
        time=LONGEST,
        source_time=source.shape[1],
    )


def assert_the_teacher_agrees(model, found, source, alignment):
    """Assert that teacher forcing gives each hypothesis the same score and alignment."""
    width, some = found.ids.shape[1], source.any(axis=1)  # an empty sentence has no hypotheses
    found = type(found)(*(field[some] for field in found))
    source, *alignment = (part[some] for part in (source, *alignment))
    hypotheses = np.reshape(found.ids, (-1, LONGEST))
    given = [np.repeat(part, width, axis=0) for part in (source, *alignment)]
    inputs = (given[0], after_start(hypotheses), *given[1:])
    logits, weights = model(inputs, return_attention_scores=True)
    log_probs = tf.gather(tf.nn.log_softmax(logits), hypotheses, batch_dims=2).numpy()
    real = np.arange(LONGEST) < np.reshape(found.lengths, (-1, 1))
    scores = np.sum(log_probs * real, axis=1) / np.maximum(np.sum(real, axis=1), 1)
    np.testing.assert_allclose(np.reshape(found.scores, -1), scores, atol=1e-5)
    shown = np.reshape(found.alignment, weights.shape)
    np.testing.assert_allclose(shown, weights * real[..., None], atol=1e-5)


def test_every_name_of_a_registry_is_tried():
    registries = {
        "cell": layers.CELLS,
        "encoder": layers.READERS,
        "first state": {"zeros", *SUMMARIES},
        "coverage": layers.COVERAGES,
        "normalizer": layers.NORMALIZERS,
        "preset": TEXT_PRESETS,
        "readout": layers.READOUTS,
        "score": layers.SCORES,
        "when": layers.DECODER_CELLS,
        "window": layers.WINDOWS,
    }
    names = {f"{part} {name}" for part, registry in registries.items() for name in registry}
    assert names - OF_PLAIN <= set(OPTIONS)


@pytest.mark.few(1)
@those(OPTIONS, slow=OPTIONS.keys() - TOGETHER.keys())
def test_it_trains_and_decodes_and_is_saved(option, subwords, tmp_path):
    keras.utils.set_random_seed(0)
    model = new_model(option, subwords)
    losses = losses_of(model, option, subwords, run_eagerly=True)
    assert np.isfinite(losses).all() and losses[-1] < losses[0]

    translator = kb.Translator(subwords, extract.randomize(model), subwords)
    translator.save(tmp_path / "model.keras")
    loaded = kb.Translator.load(tmp_path / "model.keras").model
    source, target_in, _ = ids(subwords)
    alignment = (ALIGNMENT,) if option.aligned else ()
    inputs = (source, target_in, *alignment)
    expected = model(inputs, return_attention_scores=True)
    for one, other in zip(loaded(inputs, return_attention_scores=True), expected, strict=True):
        np.testing.assert_array_equal(one, other)

    greedy = searched(loaded, greedy_search, 1, source, alignment)
    beam = searched(loaded, beam_search, 1, source, alignment)
    wide = searched(loaded, beam_search, 3, source, alignment)
    np.testing.assert_array_equal(beam.ids, greedy.ids)
    np.testing.assert_allclose(beam.scores, greedy.scores, atol=1e-6)
    np.testing.assert_allclose(beam.alignment, greedy.alignment, atol=1e-6)
    assert len(set(map(bytes, wide.ids[0].numpy()))) == 3
    assert_the_teacher_agrees(loaded, wide, source, alignment)


@pytest.fixture
def half_precision():
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    yield
    keras.config.set_dtype_policy(before)


@pytest.mark.slow
@those(TOGETHER)
def test_together_they_train_and_decode_in_half_precision(option, subwords, half_precision):
    keras.utils.set_random_seed(0)
    model = new_model(option, subwords)
    losses = losses_of(model, option, subwords, run_eagerly=True)
    assert np.isfinite(losses).all() and losses[-1] < losses[0]
    source, *_ = ids(subwords)
    for width, method in ((1, greedy_search), (2, beam_search)):
        found = searched(model, method, width, source, ())
        assert found.scores.dtype == found.alignment.dtype == "float32"
        assert np.isfinite(found.scores).all() and np.max(found.alignment) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("name", FAST_EXPORTS)
def test_together_they_answer_alike_in_a_saved_model(name, subwords, tmp_path):
    translator = translator_of(TOGETHER[name], subwords)
    function = traced(translator, decode_with_alignment, translator.source.inputs)
    vocabularies = [translator.source.subwords.graph, translator.target.graph]
    owner, path = weights_of(translator, vocabularies), str(tmp_path)
    tf.saved_model.save(owner, path, signatures={"serving_default": function})
    served = tf.saved_model.load(path).signatures["serving_default"]
    answer = served(tf.constant(SENTENCES))
    for row, expected in enumerate(translator.translate(SENTENCES)):
        assert answer["translation"][row].numpy().decode() == expected.text
        np.testing.assert_allclose(answer["score"][row], expected.score, atol=1e-4)
        targets, sources = expected.alignment.shape
        shown = answer["alignment"][row, :targets, :sources]
        np.testing.assert_allclose(shown, expected.alignment, atol=1e-5)


@pytest.mark.slow
@pytest.mark.few(1)
@those(TOGETHER, slow=TOGETHER.keys() - {*FAST_EXPORTS})
def test_together_they_answer_alike_in_litert(option, subwords):
    translator = translator_of(option, subwords)
    source = translator.source.features(text=tf.constant(SENTENCES[:1]))

    def function(source):
        return decode_on_device(translator, LONGEST, source=source)

    expected = function(source)
    found = steps.litert(function, source)
    np.testing.assert_array_equal(found["ids"], expected["ids"])
    np.testing.assert_allclose(found["score"], expected["score"], atol=1e-4)
    np.testing.assert_allclose(found["alignment"], expected["alignment"], atol=1e-5)


@pytest.mark.slow
@those(OPTIONS)
def test_xla_trains_it(option, subwords):
    keras.utils.set_random_seed(0)
    model = new_model(option, subwords)
    losses = losses_of(model, option, subwords, jit_compile=True)
    assert np.isfinite(losses).all() and losses[-1] < losses[0]


@pytest.mark.slow
@those(EXPORTED)
def test_it_is_exported_to_a_saved_model(option, subwords, tmp_path):
    kb.export_saved_model(translator_of(option, subwords), tmp_path / "model", SENTENCES)


@pytest.mark.slow
@those(EXPORTED)
def test_it_is_exported_to_litert(option, subwords, tmp_path):
    translator, path = translator_of(option, subwords), tmp_path / "model.tflite"
    lengths = {"max_source_length": 6, "max_target_length": LONGEST}
    kb.export_litert(translator, path, sentences=SENTENCES, **lengths)
    interpreter = Interpreter(str(path))
    encode, step = (interpreter.get_signature_runner(name) for name in ("encode", "decode_step"))
    source = np.array([[4, 5, END, 0, 0, 0]], "int32")
    fields = encode(source=source)
    prepared = translator.model.encode(tf.constant(source))
    state = translator.model.initial_state(prepared)
    for token in (START, 4, 7):
        tokens = np.array([token], "int32")
        distribution, weights, state = translator.model.decode_step(tokens, state, prepared)
        known = step.get_input_details()
        shown = step(tokens=tokens, **{name: fields[name] for name in fields if name in known})
        np.testing.assert_allclose(shown["log_probs"], distribution.log_probs, atol=1e-4)
        np.testing.assert_allclose(shown["weights"], weights, atol=1e-5)
        fields.update(shown)
