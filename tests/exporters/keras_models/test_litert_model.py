"""Keras models as LiteRT files: same outputs, no failure on bad inputs, helpful errors."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras_export_matrix import spread_weights as spread

import keras_bahdanau as kb
from keras_bahdanau.exporters import check, describe
from keras_bahdanau.runners import ArrayModel

IDS = 30


def classifier():
    ids = keras.Input((None,), dtype="int32", name="ids")
    vectors = L.Embedding(IDS, 4, mask_zero=True)(ids)
    hidden = L.Bidirectional(L.LSTM(5, return_sequences=True))(vectors)
    attended = L.AdditiveAttention()([hidden, hidden])
    pooled = kb.AttentionPooling(4)(attended)
    return spread(keras.Model(ids, L.Dense(3, "softmax", name="mood")(pooled)))


@pytest.fixture(scope="module")
def model():
    return classifier()


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "mood.tflite"
    kb.export_litert(model, path, labels=["bad", "so so", "good"])
    return path


@pytest.fixture(scope="module")
def runner(path):
    return ArrayModel(path)


@pytest.mark.parametrize("length", [3, 12, 40])
def test_a_file_answers_as_keras_at_every_length(model, runner, length):
    ids = np.random.default_rng(length).integers(1, IDS, (1, length)).astype("int32")
    ids[0, length // 2 + 1 :] = 0
    answer = runner({"ids": ids})["mood"]
    assert answer == pytest.approx(model(ids).numpy(), abs=1e-5)


def test_an_unknown_id_is_the_nearest_one(model, runner):
    wild = runner([[7, 4000, -3]])["mood"]
    assert wild == pytest.approx(runner([[7, IDS - 1, 0]])["mood"], abs=1e-6)


def test_a_file_passes_its_check_and_says_what_it_is(path):
    assert check(path) == []
    lines = describe(path).split("\n")
    assert lines[0].startswith("LiteRT file (float32) of the Keras model ")
    assert "serving_default: ids int32 (1, any) -> mood float32 (1, 3)" in lines
    assert "labels: bad, so so, good" in lines
    assert any(line.startswith("LiteRT float32 ") for line in lines)


def test_a_file_brings_its_labels(runner):
    assert runner.labels == ["bad", "so so", "good"]
    assert runner.signatures["serving_default"]["inputs"] == {"ids": "int32 (1, any)"}


def test_a_changed_byte_or_a_cut_is_found(path, tmp_path):
    content, random = path.read_bytes(), np.random.default_rng(0)
    changed = tmp_path / "changed.tflite"
    for place in random.integers(len(content), size=40):
        changed.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        assert check(changed)
        with pytest.raises(ValueError, match=r"\.tflite file") as error:
            ArrayModel(changed)
        assert "\n" not in str(error.value)
    for size in (0, 7, len(content) // 2, len(content) - 1):
        changed.write_bytes(content[:size])
        with pytest.raises(ValueError, match=r"\.tflite file"):
            ArrayModel(changed)


@pytest.mark.parametrize(
    ("inputs", "kind", "message"),
    [
        ({"id": [[1]]}, ValueError, "must be ids. Received: id"),
        ([[0.5]], TypeError, "must be an array of int32. Received: float64"),
        ([[["a"]]], TypeError, "must be an array of int32"),
        ([1, 2], ValueError, r"must be int32 \(1, any\). Received: shape \(2,\)"),
        ([[1], [2]], ValueError, r"Received: shape \(2, 1\)"),
        (np.zeros((1, 0), "int32"), ValueError, r"Received: shape \(1, 0\)"),
        ([[1], [2, 3]], ValueError, "same length. Received: list"),
        ({"a\nb": [[1]]}, ValueError, r"Received: a\\nb"),
        (np.broadcast_to(np.int32(1), (1, 2**31)), ValueError, "at most 67,108,864 values"),
    ],
    ids=["name", "floats", "text", "rank", "rows", "nothing", "ragged", "lines", "huge"],
)
def test_a_wrong_input_is_an_error_in_one_line(runner, inputs, kind, message):
    with pytest.raises(kind, match=message) as error:
        runner(inputs)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("kind", ["int8", "uint8", "int16", ">u8", "int64", "bool", ">i4"])
def test_integers_of_any_kind_are_the_nearest_ones_of_the_input(runner, kind):
    ids = np.array([[1, 0, 7]]).astype(kind)
    if np.dtype(kind).kind in "iu":
        ids[0, 1] = np.iinfo(kind).max
    nearest = np.minimum(ids.astype("float64"), IDS - 1).astype("int32")
    assert np.array_equal(runner(ids)["mood"], runner(nearest)["mood"])


def test_a_signature_that_is_not_there_is_an_error(runner):
    with pytest.raises(ValueError, match=r"Received: signature=\['mood'\]"):
        runner([[1]], signature=["mood"])
    with pytest.raises(ValueError, match="must be one of serving_default"):
        runner([[1]], signature="serving")
    with pytest.raises(ValueError, match="must have the signature 'step'"):
        runner.stream()


@pytest.mark.parametrize("threads", [0, 1.5, "2"])
def test_a_wrong_number_of_threads_is_an_error(path, threads):
    with pytest.raises(ValueError, match="`threads` must be an integer in"):
        ArrayModel(path, threads)


@pytest.mark.slow
def test_missing_values_are_for_a_model_that_looks_for_them(tmp_path):
    model = kb.Forecaster(4, units=5)
    past = np.sin(np.arange(18.0)).reshape(1, 9, 2).astype("float32")
    past[0, 3, 1] = np.nan
    model(past)
    path = kb.export_litert(model, tmp_path / "a.tflite", length="dynamic")
    runner = ArrayModel(path)
    (answer,) = runner(past).values()
    assert answer == pytest.approx(model(past).numpy(), abs=1e-5)
    past[0, 5, 0] = np.inf
    with pytest.raises(ValueError, match="finite float32 values. Received: inf"):
        runner(past)


def test_padding_behind_the_real_length_changes_nothing(tmp_path):
    model = keras.Sequential(
        [
            keras.Input((None, 4), name="sample"),
            L.Bidirectional(L.GRU(5, return_sequences=True)),
            kb.AttentionPooling(4),
        ]
    )
    path = kb.export_litert(spread(model), tmp_path / "a.tflite", length=9, real_length=True)
    runner, random = ArrayModel(path), np.random.default_rng(0)
    for length in (1, 5, 9):
        sample = random.normal(size=(1, 9, 4)).astype("float32")
        answer = runner({"sample": sample, "length": [length]})
        (received,) = answer.values()
        assert received == pytest.approx(model(sample[:, :length]).numpy(), abs=1e-5)


def test_a_layer_that_reads_padding_is_found_and_nothing_is_written(tmp_path):
    model = keras.Sequential(
        [keras.Input((None, 4)), L.Conv1D(3, 3, padding="same"), L.Conv1D(3, 3, padding="same")]
    )
    settings = {"length": 9, "real_length": True}
    with pytest.raises(ValueError, match="must answer as Keras does.*off by"):
        kb.export_litert(spread(model), tmp_path / "a.tflite", **settings)
    assert not [*tmp_path.iterdir()]


class Noise(L.Layer):
    def call(self, inputs):
        return inputs + keras.random.normal(keras.ops.shape(inputs))


def chain(*parts):
    return lambda: keras.Sequential([keras.Input((None, 4), name="sample"), *parts])


REFUSED = {
    "a state": (
        lambda: keras.Sequential([keras.Input((None, 4), batch_size=1), L.GRU(3, stateful=True)]),
        {},
        r"(?s)stateful=True. Use signatures=\('step',\)",
    ),
    "an unrolled layer": (chain(L.LSTM(3, unroll=True)), {}, "unroll=True.*Use length="),
    "noise": (chain(Noise(name="noisy")), {}, r"RandomNormal.*by the layer 'noisy' \(Noise\)"),
    "steps of two directions": (
        chain(L.Bidirectional(L.GRU(3), name="both")),
        {"signatures": "step"},
        r"'both' \(Bidirectional\), which needs the whole sequence",
    ),
    "steps without a recurrent layer": (
        chain(L.Dense(3)),
        {"signatures": "step"},
        "needs a model with a recurrent layer",
    ),
    "weights without attention": (
        chain(L.GRU(3)),
        {"signatures": "weights"},
        "needs a model with an attention layer",
    ),
    "a length of no input": (chain(L.GRU(3)), {"length": {"sampl": 3}}, "Did you mean 'sample'"),
    "a length of fixed axes": (
        lambda: keras.Sequential([keras.Input((7,)), L.Dense(3)]),
        {"length": 3},
        "must set an axis that the model leaves open",
    ),
    "too many labels": (chain(L.GRU(3)), {"labels": ["a"] * 4}, "labels for an output of width 3"),
    "wrong examples": (chain(L.GRU(3)), {"examples": np.zeros((2, 5, 3))}, r"shape \(2, 5, 3\)"),
    "a model that was never called": (
        lambda: keras.Sequential([L.GRU(3)]),
        {},
        "must be built.*Call it once",
    ),
    "an unknown signature": (chain(L.GRU(3)), {"signatures": "steps"}, "Did you mean 'step'"),
    "an unknown quantization": (chain(L.GRU(3)), {"quantization": "int16"}, "must be one of None"),
    "infinite weights": (
        lambda: keras.Sequential(
            [keras.Input((2,)), L.Dense(1, kernel_initializer=keras.initializers.Constant(np.inf))]
        ),
        {},
        "must be finite",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_file_can_hold_is_refused_before_any_work(tmp_path, name):
    build, settings, message = REFUSED[name]
    with pytest.raises(ValueError, match=message) as error:
        kb.export_litert(build(), tmp_path / "a.tflite", **settings)
    assert "\n" not in str(error.value)
    assert not [*tmp_path.iterdir()]


def test_an_operation_that_is_not_built_in_is_named_with_its_layer(tmp_path):
    model = keras.Sequential([keras.Input((None, 4)), L.LSTM(3, name="reader")])
    with pytest.raises(ValueError, match=r"by the layer 'reader' \(LSTM\). Set batch_size=1"):
        kb.export_litert(model, tmp_path / "a.tflite", batch_size=None)


@pytest.mark.parametrize("setting", [{"max_source_length": 3}, {"quantisation": "int8"}])
def test_a_setting_of_pipelines_is_not_one_of_keras_models(model, tmp_path, setting):
    with pytest.raises(TypeError, match="`export_litert` has no argument"):
        kb.export_litert(model, tmp_path / "a.tflite", **setting)


def test_a_setting_of_keras_models_is_not_one_of_pipelines(toy_translator, tmp_path):
    with pytest.raises(TypeError, match="has no argument `real_length`"):
        kb.export_litert(toy_translator, tmp_path / "a.tflite", real_length=True)


def test_a_model_with_a_search_is_exported_as_a_pipeline(toy_translator, tmp_path):
    with pytest.raises(TypeError, match="Pass the Pipeline that contains it"):
        kb.export_litert(toy_translator.model, tmp_path / "a.tflite")
