"""An encoder built from parts equals one built with shorthand arguments; frames; saving."""

import extract
import keras
import numpy as np
import pytest
import reference
from decoders import new_decoder

from keras_bahdanau import Seq2Seq, layers
from keras_bahdanau.models import Encoder

SOURCE = np.array([[3, 1, 4, 1], [5, 0, 0, 0], [0, 0, 0, 0]], "int32")
RANDOM = np.random.default_rng(0)
FRAMES = layers.Frames(
    RANDOM.normal(size=(3, 4, 5)).astype("float32"), np.array([4, 2, 0], "int32")
)
REAL = np.arange(4) < FRAMES.lengths[:, np.newaxis]


def built(encoder):
    encoder.build()
    return extract.randomize(encoder)


def assert_same(found, expected, **tolerance):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, **tolerance)


SHORTHANDS = {
    "bidirectional": (
        {"depth": 2, "summary": "backward"},
        lambda: [layers.BidirectionalRNN(3), layers.BidirectionalRNN(3)],
    ),
    "unidirectional": (
        {"kind": "unidirectional", "cell": "lstm"},
        lambda: [layers.UnidirectionalRNN(3, cell="lstm")],
    ),
    "convolutional": (
        {"kind": "convolutional", "depth": 2},
        lambda: [layers.ConvolutionalReader(3, depth=2)],
    ),
}


@pytest.mark.slow
@pytest.mark.few(1)
@pytest.mark.parametrize("name", SHORTHANDS)
def test_shorthand_and_whole_parts_are_one_encoder(run, name):
    shorthand, readers = SHORTHANDS[name]
    settings = {"summary": shorthand["summary"]} if "summary" in shorthand else {}
    one = built(Encoder(7, 4, 3, **shorthand))
    other = built(Encoder(front_end=layers.TokenEmbedding(7, 4), readers=readers(), **settings))
    for mine, its in zip(one.get_weights(), other.get_weights(), strict=True):
        np.testing.assert_array_equal(mine, its)
    assert_same(run(one, SOURCE), run(other, SOURCE), rtol=0)
    assert one.memory_shape == other.memory_shape
    assert (other.source_size, other.front_end.units) == (7, 4)


@pytest.mark.slow
def test_each_of_the_two_can_be_given_alone(run):
    plain = run(built(Encoder(7, 4, 3)), SOURCE)
    front_end = Encoder(front_end=layers.TokenEmbedding(7, 4), units=3)
    readers = Encoder(7, 4, readers=[layers.BidirectionalRNN(3)])
    for encoder in (front_end, readers):
        assert_same(run(built(encoder), SOURCE), plain, rtol=0)


@pytest.mark.parametrize(
    "arguments, received",
    [
        ({"vocabulary_size": 7}, "vocabulary_size=7"),
        ({"embedding_units": 4}, "embedding_units=4"),
    ],
)
def test_a_whole_front_end_stands_beside_no_argument_that_makes_one(arguments, received):
    with pytest.raises(ValueError, match=f"`front_end` already has its .* {received}. Pass"):
        Encoder(front_end=layers.TokenEmbedding(7, 4), units=3, **arguments)


@pytest.mark.parametrize(
    "arguments, received",
    [
        ({"units": 3}, "units=3"),
        ({"cell": "lstm"}, "cell='lstm'"),
        ({"depth": 2, "kind": "convolutional"}, "depth=2, kind='convolutional'"),
        ({"recurrent_dropout": 0.1}, "recurrent_dropout=0.1"),
    ],
)
def test_whole_readers_stand_beside_no_argument_that_makes_some(arguments, received):
    with pytest.raises(ValueError, match=f"`readers` already has its .*, {received}. Pass"):
        Encoder(7, 4, readers=[layers.BidirectionalRNN(3)], **arguments)


@pytest.fixture
def of_frames():
    front_end = layers.FrameProjection(5, 4, name="front_end")
    readers = [layers.BidirectionalRNN(3), layers.ConvolutionalReader(6, depth=1)]
    return built(Encoder(front_end=front_end, readers=readers, residual=True, dropout=0.2))


def test_frames_are_projected_and_read_by_the_equations(run):
    encoder = built(Encoder(front_end=layers.FrameProjection(5, 4), units=3))
    W, b = extract.arrays(encoder.front_end.projection)
    (reader,) = encoder.readers
    cells = extract.keras_cell(reader.forward_layer), extract.keras_cell(reader.backward_layer)
    memory = run(encoder, FRAMES)
    for row, length in enumerate(FRAMES.lengths[:2]):
        vectors = np.float64(FRAMES.values[row, :length]) @ W + b
        # treats each frame as a separate token
        expected = reference.encoder(np.arange(length), vectors, [cells])
        np.testing.assert_allclose(memory.values[row, :length], expected[0], atol=1e-5)
        np.testing.assert_allclose(memory.summary[row], expected[1], atol=1e-5)
        np.testing.assert_allclose(memory.task[row], vectors[0], atol=1e-5)
    np.testing.assert_array_equal(memory.mask, REAL)
    assert not memory.values[~REAL].any() and not memory.summary[2].any()


def test_frames_behind_a_length_change_nothing(run, of_frames):
    wild = np.where(REAL[..., np.newaxis], FRAMES.values, np.float32(np.nan))
    wider = np.pad(wild, [(0, 0), (0, 3), (0, 0)], constant_values=np.inf)
    found = run(of_frames, layers.Frames(wider, FRAMES.lengths))
    expected = run(of_frames, FRAMES)
    np.testing.assert_allclose(found.values[:, :4], expected.values, atol=1e-6)
    assert not found.values[:, 4:].any() and not found.mask[:, 4:].any()
    assert_same(found[2:], expected[2:], atol=1e-6)


def test_the_shapes_of_an_encoder_of_frames_are_known(of_frames):
    symbols = of_frames(layers.Frames(keras.Input((None, 5)), keras.Input((), dtype="int32")))
    shapes = [symbol.shape for symbol in keras.tree.flatten(symbols)]
    assert shapes == [*filter(None, of_frames.memory_shape)]
    assert of_frames.source_size == 5


def test_whole_parts_are_saved_and_loaded_without_custom_objects(tmp_path, of_frames):
    of_frames(FRAMES)
    of_frames.save(tmp_path / "encoder.keras")
    loaded = keras.saving.load_model(tmp_path / "encoder.keras")
    assert loaded.get_config() == of_frames.get_config()
    assert [type(reader) for reader in loaded.readers] == [type(r) for r in of_frames.readers]
    assert_same(loaded(FRAMES), of_frames(FRAMES), rtol=0)


@pytest.mark.slow
def test_a_model_of_frames_is_fitted_saved_and_loaded(tmp_path, of_frames):
    model = Seq2Seq(Encoder.from_config(of_frames.get_config()), new_decoder(9, 4, 6))
    target = np.array([[2, 5], [2, 6], [2, 7]], "int32")
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(1e-2), loss)
    before = model.evaluate((FRAMES, target), target, verbose=0)
    model.fit((FRAMES, target), target, epochs=5, verbose=0)
    assert model.evaluate((FRAMES, target), target, verbose=0) < before
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(loaded((FRAMES, target)), model((FRAMES, target)))
