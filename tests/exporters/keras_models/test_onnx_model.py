"""Keras models as ONNX files: same outputs in any batch, no failure on bad inputs, clear errors."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras_export_matrix import spread_weights as spread

import keras_bahdanau as kb
from keras_bahdanau.exporters import OnnxExporter, OnnxModelExporter, OnnxPipeline, check, describe
from keras_bahdanau.exporters.all_formats import exporter_of
from keras_bahdanau.runners import ArrayModel

IDS = 30


@pytest.fixture(scope="module")
def model():
    ids = keras.Input((None,), dtype="int32", name="ids")
    age = keras.Input((1,), name="age")
    hidden = L.GRU(5)(L.Embedding(IDS, 4, mask_zero=True)(ids))
    mood = L.Dense(3, "softmax", name="mood")(L.Concatenate()([hidden, age]))
    return spread(keras.Model([ids, age], mood))


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "mood.onnx"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TF2ONNX_CATCH_ERRORS", "FALSE")  # halves the conversion time
        return kb.export_onnx(model, path, labels=["bad", "so so", "good"])


@pytest.fixture(scope="module")
def runner(path):
    return ArrayModel(path)


@pytest.mark.parametrize(("rows", "length"), [(1, 3), (4, 12), (2, 40)])
def test_a_file_answers_as_keras_at_every_size(model, runner, rows, length):
    ids = np.random.default_rng(length).integers(1, IDS, (rows, length)).astype("int32")
    ids[0, length // 2 + 1 :] = 0
    age = np.linspace(-1, 1, rows, dtype="float32")[:, np.newaxis]
    answer = runner({"ids": ids, "age": age})["mood"]
    assert answer == pytest.approx(model([ids, age]).numpy(), abs=1e-5)


def test_a_runner_names_its_inputs_and_outputs(path, runner):
    assert repr(runner) == (
        f"ArrayModel({str(path)!r}, serving_default: ids int32 (any, any), age float32 (any, 1) -> "
        "mood float32 (any, 3))"
    )


def test_an_unknown_id_is_the_nearest_one(runner):
    age = [[0.5]]
    wild = runner({"ids": [[7, 4000, -3]], "age": age})["mood"]
    assert wild == pytest.approx(runner({"ids": [[7, IDS - 1, 0]], "age": age})["mood"], abs=1e-6)


def test_a_file_passes_its_check_and_says_what_it_is(path, runner):
    assert check(path) == []
    lines = describe(path).split("\n")
    assert lines[0].startswith("ONNX file (float32) of the Keras model ")
    assert any(line.startswith("opset ONNX 17; IR version ") for line in lines)
    assert "input ids int32 (batch, ids_length)" in lines
    tensors = "ids int32 (any, any); age float32 (any, 1) -> mood float32 (any, 3)"
    assert f"serving_default: {tensors}" in lines
    assert "labels: bad, so so, good" in lines and runner.labels == ["bad", "so so", "good"]
    assert any(line.startswith("ONNX float32 ") for line in lines)


def test_a_changed_byte_or_a_cut_is_found(path, tmp_path):
    content, random = path.read_bytes(), np.random.default_rng(0)
    changed = tmp_path / "changed.onnx"
    sizes = (0, 7, len(content) // 2, len(content) - 1)
    flips = [
        content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]
        for place in random.integers(len(content), size=20)
    ]
    for damaged in [*flips, *(content[:size] for size in sizes)]:
        changed.write_bytes(damaged)
        assert check(changed)
        with pytest.raises(ValueError, match=r"\.onnx file") as error:
            ArrayModel(changed)
        assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("inputs", "kind", "message"),
    [
        ({"id": [[1]]}, ValueError, "must be ids, age. Received: id"),
        ({"ids": [[0.5]], "age": [[1]]}, TypeError, "must be an array of int32. Received: float64"),
        ({"ids": [1, 2], "age": [[1]]}, ValueError, r"must be int32 \(any, any\). Received: shape"),
        ({"ids": np.zeros((0, 2), int), "age": np.zeros((0, 1))}, ValueError, r"shape \(0, 2\)"),
        ({"ids": [[1], [2], [3]], "age": [[1], [2]]}, ValueError, "equal numbers of rows"),
    ],
    ids=["name", "floats", "rank", "nothing", "rows"],
)
def test_a_wrong_input_is_an_error_in_one_line(runner, inputs, kind, message):
    with pytest.raises(kind, match=message) as error:
        runner(inputs)
    assert "\n" not in str(error.value)


def test_files_of_models_and_of_pipelines_are_told_apart(path, toy_onnx):
    assert exporter_of(path) is OnnxModelExporter and exporter_of(toy_onnx) is OnnxExporter
    with pytest.raises(ValueError, match="Open it with OnnxPipeline or OnnxTranslator"):
        ArrayModel(toy_onnx)
    with pytest.raises(ValueError, match="must contain a pipeline"):
        OnnxPipeline(path)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"signatures": ("serving_default", "step")},
            "have one signature, as it has one graph",
        ),
        ({"signatures": ("train",)}, "must be among 'serving_default', 'step', 'weights'"),
        ({"quantization": "float16"}, "must be None or 'int8'"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_a_setting_that_the_format_lacks_is_refused(model, tmp_path, settings, message):
    with pytest.raises(ValueError, match=message):
        kb.export_onnx(model, tmp_path / "a.onnx", **settings)
    assert not [*tmp_path.iterdir()]


class FirstCallOf(keras.Model):
    """A subclassed model, for which Keras records only the shape of the first call."""

    def __init__(self, shape):
        super().__init__()
        self.hidden = L.Dense(3) if len(shape) == 3 else L.Embedding(IDS, 3)
        self(np.ones(shape, "float32"))

    def call(self, inputs):
        return self.hidden(inputs)


@pytest.mark.parametrize("shape", [(1, 4), (1, 4, 2)], ids=["ids", "vectors"])
def test_the_length_of_a_first_call_is_kept_with_a_warning(tmp_path, shape):
    from keras_bahdanau.exporters.keras_models.served_model import ServedModel

    with pytest.warns(UserWarning, match=r"\(None, 4.*Set length='dynamic'") as caught:
        served = ServedModel(FirstCallOf(shape), OnnxModelExporter())
    assert served.inputs.specs["inputs"].shape[1] == 4
    assert len(caught) == 1 and "\n" not in str(caught[0].message)
    for length in ("dynamic", 4):  # an explicit length, so no warning
        served = ServedModel(FirstCallOf(shape), OnnxModelExporter(length=length))
        assert served.inputs.specs["inputs"].shape[1] in (None, length)


@pytest.mark.slow
def test_a_stream_of_any_rows_is_the_whole_sequence(tmp_path):
    model = spread(
        keras.Sequential(
            [
                keras.Input((None, 4), name="sample"),
                L.GRU(6, return_sequences=True),
                L.LSTM(5, return_sequences=True),
                L.TimeDistributed(L.Dense(3, "softmax", name="tag")),
            ]
        )
    )
    path = kb.export_onnx(model, tmp_path / "steps.onnx", signatures="step")
    for rows in (1, 3):
        stream, random = ArrayModel(path).stream(rows), np.random.default_rng(0)
        samples = random.normal(size=(rows, 9, 4)).astype("float32")
        steps = [*(stream(samples[:, step]) for step in range(9))]
        (name,) = steps[0]
        whole = model(samples).numpy()
        assert np.stack([step[name] for step in steps], axis=1) == pytest.approx(whole, abs=1e-5)
        with pytest.raises(ValueError, match="equal numbers of rows"):
            stream(np.ones((rows + 1, 4)))


@pytest.mark.slow
def test_weights_of_attention_are_beside_the_outputs(tmp_path):
    sample = keras.Input((None, 4), name="sample")
    hidden = L.Bidirectional(L.LSTM(3, return_sequences=True))(sample)
    pooled = kb.AttentionPooling(4, name="attention")(hidden)
    model = spread(keras.Model(sample, L.Dense(2, name="mood")(pooled)))
    path = kb.export_onnx(model, tmp_path / "a.onnx", signatures="weights")
    samples = np.random.default_rng(0).normal(size=(2, 7, 4)).astype("float32")
    answer = ArrayModel(path)(samples)
    assert answer["mood"] == pytest.approx(model(samples).numpy(), abs=1e-5)
    (weights,) = (array for name, array in answer.items() if name.endswith("_weights"))
    assert weights.sum(axis=-1) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.slow
def test_a_layer_of_keras_that_answers_otherwise_with_its_weights_has_its_plain_outputs(tmp_path):
    """When it returns weights, its outputs at padded steps differ, and the pooling reads them."""
    ids = keras.Input((None,), dtype="int32", name="ids")
    hidden = L.Embedding(IDS, 8, mask_zero=True)(ids)
    attended = L.MultiHeadAttention(2, 4, name="attention")(hidden, hidden)
    model = spread(keras.Model(ids, L.Dense(2, name="mood")(attended)))
    runner = ArrayModel(kb.export_onnx(model, tmp_path / "a.onnx", signatures="weights"))
    rows = np.array([[4, 8, 15, 0, 0, 0], [16, 23, 0, 0, 0, 0]], "int32")
    answer = runner(rows)
    assert answer["mood"] == pytest.approx(model(rows).numpy(), abs=1e-5)
    expected = kb.attention_weights(model, rows)["attention"]
    assert answer["attention_weights"] == pytest.approx(expected, abs=1e-5)


@pytest.mark.slow
def test_an_output_may_have_the_name_of_an_input(tmp_path):
    x = keras.Input((2,), name="x")
    model = keras.Model(x, {"x": L.Dense(2)(x), "x_out": L.Dense(3)(x)})
    arrays = np.ones((2, 2), "float32")
    answer = ArrayModel(kb.export_onnx(model, tmp_path / "a.onnx"))(arrays)
    for name, expected in model(arrays).items():
        assert answer[name] == pytest.approx(expected.numpy(), abs=1e-6)


@pytest.mark.slow
def test_eight_bits_are_a_smaller_file_near_keras(tmp_path):
    model = keras.Sequential(
        [
            keras.Input((None,), dtype="int32", name="ids"),
            L.Embedding(50, 64),
            L.LSTM(96),
            L.Dense(3, "softmax"),
        ]
    )
    sizes = {
        bits: kb.export_onnx(spread(model), tmp_path / f"{bits}.onnx", bits).stat().st_size
        for bits in (None, "int8")
    }
    assert sizes["int8"] < sizes[None] / 2
    assert ArrayModel(tmp_path / "int8.onnx").card["parity"][-1]["relative"] < 0.1


@pytest.mark.slow
def test_an_operation_that_onnx_lacks_is_named_with_its_layer(tmp_path):
    class Beta(L.Layer):
        def call(self, inputs):
            import tensorflow as tf

            return tf.math.betainc(inputs + 1.0, inputs + 1.0, 0.5 * inputs / inputs)

    model = keras.Sequential([keras.Input((3,)), Beta(name="odds")])
    message = r"Received: Betainc by the layer 'odds' \(Beta\). Replace the layer"
    with pytest.raises(ValueError, match=message) as error:
        kb.export_onnx(model, tmp_path / "a.onnx", examples=np.ones((2, 3), "float32"))
    assert "\n" not in str(error.value) and not [*tmp_path.iterdir()]


@pytest.mark.slow
def test_openvino_gives_the_outputs_of_onnx_runtime(path, runner):
    openvino = pytest.importorskip("openvino")
    settings = {"INFERENCE_PRECISION_HINT": "f32"}  # some processors default to bfloat16
    compiled = openvino.Core().compile_model(path, "CPU", settings)
    for rows, length in ((1, 5), (3, 8)):
        ids = np.random.default_rng(0).integers(0, IDS, (rows, length)).astype("int32")
        request = {"ids": ids, "age": np.ones((rows, 1), "float32")}
        (received,) = compiled(request).values()
        assert received == pytest.approx(runner(request)["mood"], abs=1e-5)
