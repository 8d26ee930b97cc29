"""A pipeline file with 16-bit weights."""

import zipfile

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.pipelines.archive import read_card


@pytest.fixture(scope="module")
def halved(toy_translator, tmp_path_factory):
    path = tmp_path_factory.mktemp("halved") / "translator.keras"
    toy_translator.save(path, weights="float16")
    return path


def test_a_file_in_16_bits_is_compressed(toy_translator, tmp_path):
    toy_translator.save(tmp_path / "half.keras", weights="float16")
    with zipfile.ZipFile(tmp_path / "half.keras") as archive:
        weights = archive.getinfo("model.weights.h5")
    assert weights.compress_size < 0.95 * weights.file_size


def test_each_weight_is_the_nearest_of_16_bits(halved, toy_translator):
    weights = kb.Translator.load(halved).model.get_weights()
    expected = [value.astype(np.float16) for value in toy_translator.model.get_weights()]
    assert {value.dtype.name for value in weights} == {"float32"}
    for value, nearest in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(value, nearest.astype(np.float32))


def test_the_file_has_less_than_half_the_weights_size(halved, toy_translator, tmp_path):
    toy_translator.save(tmp_path / "full.keras")
    saved = (tmp_path / "full.keras").stat().st_size - halved.stat().st_size
    assert saved > 2 * toy_translator.model.count_params()
    read_card(halved)  # raises an error unless all hashes match


def test_a_weight_that_is_too_large_leaves_nothing(toy_translator, tmp_path):
    variable = toy_translator.model.trainable_variables[0]
    before = variable.numpy()
    variable.assign(np.where(np.arange(before.size).reshape(before.shape) == 1, 7e4, before))
    try:
        with pytest.raises(ValueError, match="must be at most 65,504. Received: .*=70000"):
            toy_translator.save(tmp_path / "large.keras", weights="float16")
    finally:
        variable.assign(before)
    assert not list(tmp_path.iterdir())


def test_other_precisions_are_refused(toy_translator, tmp_path):
    with pytest.raises(ValueError, match="'float32' or 'float16'. Received: weights='int8'"):
        toy_translator.save(tmp_path / "new.keras", weights="int8")
