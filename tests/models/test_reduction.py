"""Front ends and readers that reduce several positions to one vector."""

import keras
import numpy as np
import pytest
from decoders import new_decoder
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau.models.ensemble import Ensemble


class EveryOther(keras.layers.Layer):
    """A reader that keeps positions 0, 2, 4 and so on."""

    reduction = 2

    def __init__(self, output_units, **kwargs):
        super().__init__(**kwargs)
        self.output_units = output_units

    def build(self, inputs_shape, lengths_shape=None):
        self.built = True

    def call(self, inputs, lengths, training=None):
        return inputs[:, ::2]

    def last(self, values, mask):
        return values[:, 0]


def new_encoder(readers, **settings):
    front_end = kb.layers.FrameProjection(4, 4)
    encoder = kb.Encoder(front_end=front_end, readers=readers, **settings)
    encoder.build()
    front_end.projection.set_weights([np.eye(4), np.zeros(4)])
    return encoder


@pytest.mark.parametrize("lengths", [[5, 4], [1, 0], [3, 5]])
def test_the_memory_has_a_position_for_each_started_group(lengths):
    encoder = new_encoder([EveryOther(4), EveryOther(4)])
    assert encoder.reduction == 4
    values = np.arange(2 * 5 * 4, dtype=np.float32).reshape(2, 5, 4) + 1
    memory = encoder((values, np.array(lengths, np.int32)))
    counts = ops.convert_to_numpy(ops.sum(ops.cast(memory.mask, "int32"), axis=1))
    assert counts.tolist() == [-(-length // 4) for length in lengths]
    real = np.arange(2) < counts[:, None]
    np.testing.assert_array_equal(memory.values, np.where(real[..., None], values[:, ::4], 0))


def test_a_residual_connection_needs_one_length():
    encoder = new_encoder([EveryOther(4), EveryOther(4)], residual=True)
    values = np.ones((1, 8, 4), np.float32)
    np.testing.assert_array_equal(encoder((values, np.array([8]))).values, np.ones((1, 2, 4)))


def new_model(readers):
    return kb.Seq2Seq(
        kb.Encoder(front_end=kb.layers.FrameProjection(3, 4), readers=readers),
        new_decoder(8, 4, 4, attention=kb.layers.BahdanauAttention(4)),
    )


def test_a_result_names_every_position_of_the_memory():
    target = kb.text.Subwords.train(["eins zwei drei"], 8, model_type="word", exact=False)
    source = kb.sources.FeatureSource(3)
    model = kb.Seq2Seq(
        kb.Encoder(front_end=source.front_end(4), readers=[EveryOther(4)]),
        new_decoder(target.vocabulary_size, 4, 4, attention=kb.layers.BahdanauAttention(4)),
    )
    pipeline = kb.Pipeline(source, model, target)
    frames = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)
    result = pipeline.align([(frames, "eins zwei")])[0]
    assert result.source_tokens == ["0", "2", "4"]
    assert result.alignment.shape == (3, 3)
    np.testing.assert_allclose(result.alignment.sum(axis=1), 1, rtol=1e-6)
    traced = pipeline.trace(frames, result)
    np.testing.assert_allclose(traced.weights, result.alignment, atol=1e-6)


@pytest.mark.parametrize(
    "readers", [{"readers": [EveryOther(4)]}, {"kind": "pyramidal", "units": 4, "depth": 2}]
)
def test_an_encoder_of_text_keeps_each_token(readers):
    with pytest.raises(ValueError, match="not merge tokens. Received: reduction=2 with front_end"):
        kb.Encoder(7, 4, **readers)


def test_guided_alignment_needs_a_weight_for_each_position():
    model = new_model([EveryOther(4)])
    with pytest.raises(ValueError, match="guided_alignment=0.5, an encoder of reduction=2"):
        kb.Seq2Seq(model.encoder, model.decoder, guided_alignment=0.5)


def test_an_ensemble_has_one_reduction():
    models = [new_model([EveryOther(4)]), new_model([EveryOther(4), EveryOther(4)])]
    with pytest.raises(ValueError, match="have the same reduction.*2, 4"):
        Ensemble(models)
    assert Ensemble(models[:1]).source_limits.reduction == 2


class Grid(kb.layers.FrameProjection):
    grid_height = 3


def test_a_grid_keeps_its_positions():
    kb.Encoder(front_end=Grid(4, 4), kind="bidirectional", units=4)
    for refused in ({"readers": [EveryOther(4)]}, {"kind": "pyramidal", "units": 4, "depth": 2}):
        with pytest.raises(ValueError, match="Received: reduction=.* of grid_height=3. Leave"):
            kb.Encoder(front_end=Grid(4, 4), **refused)
