"""The step protocol has six members, and any model that implements them can be searched."""

import keras
import numpy as np
import pytest
from keras import ops

import keras_bahdanau as kb
from keras_bahdanau.models import Ensemble, Prepared, Seq2Seq, SourceLimits, StepModel


class Echo(StepModel):
    """A model that repeats the source token by token, followed by the end token, 3."""

    target_vocabulary_size, source_limits, exportable = 7, SourceLimits(7), True

    def encode(self, features, alignment=(), training=None):
        return Prepared(features, ops.not_equal(features, 0))

    def initial_state(self, prepared, steps=None):
        return ops.zeros_like(prepared.projected[:, 0])

    def decode_step(self, tokens, state, prepared):
        source = prepared.projected
        places = ops.one_hot(state, source.shape[1])  # (batch, [beam,] source_time)
        source = source if len(state.shape) == 1 else ops.expand_dims(source, axis=1)
        token = ops.cast(ops.sum(places * ops.cast(source, "float32"), axis=-1), "int32")
        log_probs = ops.log(0.01 + 0.93 * ops.one_hot(token, 7))
        return log_probs, places, state + 1


def test_the_protocol_has_six_members():
    members = {name for name in vars(StepModel) if not name.startswith("_")}
    assert members == StepModel.__abstractmethods__
    assert members == {
        *("encode", "initial_state", "decode_step"),
        *("target_vocabulary_size", "source_limits", "exportable"),
    }


@pytest.mark.parametrize("kind", [Seq2Seq, Ensemble])
def test_the_models_implement_it(kind):
    assert issubclass(kind, StepModel) and issubclass(kind, keras.Model)


@pytest.mark.parametrize("missing", sorted(StepModel.__abstractmethods__))
def test_a_model_without_a_member_is_refused(missing):
    members = {name: vars(Echo)[name] for name in StepModel.__abstractmethods__ - {missing}}
    with pytest.raises(TypeError, match=missing):
        type("Incomplete", (StepModel,), members)()


@pytest.mark.parametrize("beam_width", [1, 2])
def test_any_model_of_the_protocol_is_searched(beam_width):
    source = np.array([[5, 4, 6, 3], [4, 3, 0, 0], [0, 0, 0, 0]], "int32")
    options = kb.SearchOptions(beam_width=beam_width, max_length=6)
    result = kb.search.search_model(Echo(), ops.convert_to_tensor(source), options, start=2, end=3)
    np.testing.assert_array_equal(ops.convert_to_numpy(result.ids)[:, 0, :4], source)
    np.testing.assert_array_equal(result.finished[:, 0], [True, True, True])
