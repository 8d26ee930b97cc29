"""Alignment plots after each epoch, as files and for TensorBoard."""

import keras
import numpy as np
import pytest
import tensorflow as tf
from frames import frames_of, new_frames_pipeline

import keras_bahdanau as kb
from keras_bahdanau.callbacks import AlignmentPlotCallback

PAIRS = [("one two", "eins zwei"), ("five", "fünf")]


def expected_picture(translator, pair, path, **settings):
    (result,) = translator.align([pair])
    kb.plot_alignment(result, translator.picture(pair[0]), **settings).savefig(path)
    return tf.io.decode_png(path.read_bytes()).numpy()


@pytest.mark.few(1)
@pytest.mark.parametrize("words", [False, True])
def test_each_epoch_has_a_picture_of_each_pair(translator, pass_epochs, tmp_path, words):
    callback = AlignmentPlotCallback(translator, PAIRS, tmp_path / "plots", words=words)
    pass_epochs(translator.model, [callback], 2)
    written = sorted(path for path in (tmp_path / "plots").rglob("*") if path.is_file())
    names = [str(path.relative_to(tmp_path / "plots")) for path in written]
    assert names == [f"epoch-{epoch:03d}/{number}.png" for epoch in (1, 2) for number in (1, 2)]
    for path, pair in zip(written, PAIRS * 2, strict=True):
        expected = expected_picture(translator, pair, tmp_path / "expected.png", words=words)
        np.testing.assert_array_equal(tf.io.decode_png(path.read_bytes()), expected)


def test_an_input_with_a_picture_is_shown_in_it(pass_epochs, tmp_path):
    pipeline = new_frames_pipeline()
    pipeline.model.compile(keras.optimizers.SGD(), kb.losses.TokenCrossentropy())
    pair = (frames_of(12)[0], "one two")
    callback = AlignmentPlotCallback(pipeline, [pair], tmp_path / "plots", words=True)
    pass_epochs(pipeline.model, [callback], 1)
    found = tf.io.decode_png((tmp_path / "plots" / "epoch-001" / "1.png").read_bytes())
    expected = expected_picture(pipeline, pair, tmp_path / "expected.png", words=True)
    np.testing.assert_array_equal(found, expected)
    assert np.ptp(found[..., :3], axis=-1).max() > 50, "frames in colours"


@pytest.mark.slow
def test_tensorboard_gets_the_same_pictures(translator, pass_epochs, tmp_path):
    callback = AlignmentPlotCallback(translator, PAIRS, tmp_path / "events", tensorboard=True)
    pass_epochs(translator.model, [callback], 2)
    (path,) = (tmp_path / "events").iterdir()
    events = [
        tf.compat.v1.Event.FromString(record.numpy()) for record in tf.data.TFRecordDataset(path)
    ]
    found = {(event.step, value.tag): value for event in events for value in event.summary.value}
    assert sorted(found) == [
        (epoch, f"alignment/{number}") for epoch in (0, 1) for number in (1, 2)
    ]
    for (_, tag), value in found.items():
        assert value.metadata.plugin_data.plugin_name in ("images", "")  # set only once per tag
        width, height, picture = tf.make_ndarray(value.tensor)
        pair = PAIRS[int(tag[-1]) - 1]
        expected = expected_picture(translator, pair, tmp_path / "expected.png")
        np.testing.assert_array_equal(tf.io.decode_png(picture), expected)
        assert (int(height), int(width)) == expected.shape[:2]
    assert found[0, "alignment/1"].metadata.plugin_data.plugin_name == "images"


def test_a_translator_of_another_model_is_refused(
    translator, toy_translator, pass_epochs, tmp_path
):
    callback = AlignmentPlotCallback(toy_translator, PAIRS, tmp_path)
    with pytest.raises(ValueError, match="another model"):
        pass_epochs(translator.model, [callback])
