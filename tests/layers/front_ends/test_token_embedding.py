"""Front end for text: rows of an embedding matrix, and a mask of real tokens."""

import keras
import numpy as np
import pytest

from keras_bahdanau.layers import TokenEmbedding

SOURCE = np.array([[3, 1, 4], [5, 0, 0], [0, 0, 0]], "int32")


def test_vectors_are_rows_of_the_matrix(run):
    layer = TokenEmbedding(7, 4)
    layer.build()
    (table,) = layer.get_weights()
    vectors, mask = run(layer, SOURCE)
    assert table.shape == (7, 4)
    np.testing.assert_array_equal(vectors, table[SOURCE])
    np.testing.assert_array_equal(mask, SOURCE != 0)
    assert mask.dtype == bool


def test_rows_have_a_length_of_about_one():
    layer = TokenEmbedding(2000, 50)
    layer.build()
    assert np.linalg.norm(layer.get_weights()[0], axis=1).mean() == pytest.approx(1, abs=0.05)


def test_it_is_built_without_an_input_and_says_its_sizes():
    layer = TokenEmbedding(7, 4)
    assert (layer.source_size, layer.units) == (7, 4)
    vectors, mask = layer(keras.Input((None,), dtype="int32"))
    assert (vectors.shape, mask.shape) == ((None, None, 4), (None, None))
    assert (vectors.dtype, mask.dtype) == ("float32", "bool")


def test_it_computes_in_its_own_precision():
    vectors, _ = TokenEmbedding(7, 4, dtype="mixed_bfloat16")(SOURCE)
    assert keras.backend.standardize_dtype(vectors.dtype) == "bfloat16"


def test_it_is_restored_from_its_config():
    layer = TokenEmbedding(7, 4, name="front_end")
    layer.build()
    assert layer.built
    restored = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(layer))
    assert restored.get_config() == layer.get_config()
    restored.set_weights(layer.get_weights())
    np.testing.assert_array_equal(restored(SOURCE)[0], layer(SOURCE)[0])


@pytest.mark.parametrize(
    "sizes, received",
    [((0, 4), "vocabulary_size=0"), ((7, 2.0), "embedding_units=2.0"), ((None, 4), "=None")],
)
def test_sizes_are_positive_integers(sizes, received):
    with pytest.raises(ValueError, match=f"positive integer. Received: .*{received}"):
        TokenEmbedding(*sizes)
