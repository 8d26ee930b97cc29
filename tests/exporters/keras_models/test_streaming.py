"""The signature `step`: reading a sequence step by step gives the output for the whole sequence."""

import keras
import numpy as np
import pytest
from keras import layers as L
from keras_export_matrix import spread_weights as spread

import keras_bahdanau as kb
from keras_bahdanau.runners import ArrayModel


def chain():
    return keras.Sequential(
        [
            keras.Input((None, 4), name="sample"),
            L.LayerNormalization(),
            L.GRU(6, return_sequences=True),
            L.Dropout(0.5),
            L.LSTM(5, return_sequences=True),
            L.TimeDistributed(L.Dense(3, "softmax")),
        ]
    )


@pytest.fixture(scope="module")
def model():
    return spread(chain())


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("exported") / "steps.tflite"
    return kb.export_litert(model, path, signatures=("step",))


@pytest.mark.parametrize("count", [20, pytest.param(1000, marks=pytest.mark.slow)])
def test_many_steps_are_the_whole_sequence(model, path, count):
    stream, random = ArrayModel(path).stream(), np.random.default_rng(0)
    samples = random.normal(size=(1, count, 4)).astype("float32")
    outputs = [*stream(samples[:, 0])]
    assert len(outputs) == 1 and len(stream.states) == 3
    steps = [stream(samples[:, step])[outputs[0]] for step in range(1, count)]
    whole = model(samples).numpy()
    assert np.stack(steps, axis=1) == pytest.approx(whole[:, 1:], abs=1e-5)


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        ({"sample": [[1, 2, 3, np.nan]]}, "finite float32 values. Received: nan"),
        ({"sample": [[1, 2, 3, 1e39]]}, r"finite float32 values. Received: 1e\+39"),
        ({"sample": [[1, 2, 3, 4]], "gru_state_0": [[0] * 6]}, "must be sample. Received: sample,"),
        ([[1, 2, 3]], r"Received: shape \(1, 3\)"),
    ],
    ids=["nan", "overflow", "state", "shape"],
)
def test_a_wrong_step_is_an_error_and_leaves_the_stream_as_it_was(path, request_, message):
    stream, undisturbed = (ArrayModel(path).stream() for _ in range(2))
    step = [[1.0, -1.0, 0.5, 2.0]]
    for _ in range(2):
        with pytest.raises(ValueError, match=message):
            stream(request_)
        outputs, expected = stream(step), undisturbed(step)
        assert all(np.array_equal(outputs[name], expected[name]) for name in expected)


class Scaled(L.Layer):
    """A cell whose output differs from its state."""

    state_size = output_size = 3

    def build(self, shape):
        self.kernel = self.add_weight(shape=(shape[-1], 3), name="kernel")

    def call(self, inputs, states):
        state = 0.5 * states[0] + keras.ops.matmul(inputs, self.kernel)
        return 2.0 * state, [state]


@pytest.mark.slow
@pytest.mark.parametrize("every", [True, False])
@pytest.mark.parametrize("zeros", [True, False])
def test_a_masked_step_keeps_state_and_output(tmp_path, every, zeros):
    ids = keras.Input((None,), dtype="int32", name="ids")
    vectors = L.Embedding(20, 4, mask_zero=True)(ids)
    rnn = L.RNN(Scaled(), return_sequences=every, zero_output_for_mask=zeros)
    model = spread(keras.Model(ids, rnn(vectors)))
    path = kb.export_litert(model, tmp_path / "steps.tflite", signatures=("step",))
    stream = ArrayModel(path).stream()
    sequence = np.array([[0, 3, 0, 0, 7, 5, 0]], "int32")
    for step in range(sequence.shape[1]):
        (output,) = stream(sequence[:, step]).values()
        whole = model(sequence[:, : step + 1]).numpy()
        assert output == pytest.approx(whole[:, -1] if every else whole, abs=1e-6)


@pytest.mark.slow
def test_a_stateful_model_streams(tmp_path):
    model = keras.Sequential([keras.Input((None, 4), batch_size=1), L.GRU(3, stateful=True)])
    spread(model)
    path = kb.export_litert(model, tmp_path / "steps.tflite", signatures=("step",))
    stream = ArrayModel(path).stream()
    samples = np.random.default_rng(0).normal(size=(1, 8, 4)).astype("float32")
    model.reset_states() if hasattr(model, "reset_states") else None
    for step in range(8):
        (output,) = stream(samples[:, step]).values()
    plain = keras.Sequential([keras.Input((None, 4)), L.GRU(3)])
    plain.set_weights(model.get_weights())
    assert output == pytest.approx(plain(samples).numpy(), abs=1e-6)


@pytest.mark.slow
def test_a_layer_that_joins_steps_unseen_is_found_by_its_answer(tmp_path):
    class Smooth(L.Layer):
        def call(self, inputs):
            return keras.ops.cumsum(inputs, axis=1)

    model = keras.Sequential([keras.Input((None, 4)), Smooth(), L.GRU(3)])
    with pytest.raises(ValueError, match="Steps must give the same answer as the whole sequence"):
        kb.export_litert(spread(model), tmp_path / "a.tflite", signatures=("step",))
