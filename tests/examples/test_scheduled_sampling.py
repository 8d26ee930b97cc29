"""The scheduled sampling example: the inputs of the second pass, and a training run at toy size."""

from pathlib import Path

import keras
import numpy as np
import pytest

import keras_bahdanau as kb

FOLDER = Path(__file__).parents[2] / "examples" / "scheduled_sampling"
SOURCE = np.array([[4, 5, 3], [6, 3, 0]], "int32")
TARGET = np.array([[2, 4, 5, 6], [2, 6, 0, 0]], "int32")


@pytest.fixture
def model(example):
    keras.utils.set_random_seed(0)
    made = example("train").ScheduledSampling(
        kb.Encoder(8, 4, 3), kb.Decoder(8, 4, kb.layers.DecoderCell(6))
    )
    made.build()
    return made


@pytest.mark.slow
def test_the_rate_is_the_share_of_own_tokens(model):
    output = model((SOURCE, TARGET), training=True)
    plain = kb.Seq2Seq(model.encoder, model.decoder)
    own = np.argmax(plain((SOURCE, TARGET)), axis=-1)
    np.testing.assert_array_equal(
        model.sampled(keras.ops.convert_to_tensor(TARGET), output), TARGET
    )
    model.rate.assign(1.0)
    read = np.asarray(model.sampled(keras.ops.convert_to_tensor(TARGET), output))
    np.testing.assert_array_equal(read[:, 0], TARGET[:, 0])
    np.testing.assert_array_equal(read[0, 1:], own[0, :-1])
    np.testing.assert_array_equal(read[1], [2, own[1, 0], 0, 0])  # padding is unchanged


@pytest.mark.slow
def test_a_short_training_leaves_a_plain_translator(example, tmp_path, capsys):
    path = tmp_path / "sampled.keras"
    sizes = ["--epochs", "1", "--pairs", "60", "--units", "8", "--vocabulary", "200"]
    example("train").main([*sizes, "--out", str(path)])
    assert type(kb.Translator.load(path).model) is kb.Seq2Seq
    assert "BLEU" in capsys.readouterr().out


@pytest.mark.parametrize(("step", "rate"), [(0, 1 / 6), (np.log(5) * 5, 0.5)])
def test_the_schedule_is_the_inverse_sigmoid(example, step, rate):
    class Model:
        rate = keras.Variable(0.0)

        class optimizer:  # noqa: N801
            iterations = step

    schedule = example("train").Schedule(5.0)
    schedule.set_model(Model)
    schedule.on_train_batch_begin(0)
    assert float(Model.rate) == pytest.approx(rate, abs=0.06)  # the step number is an integer
