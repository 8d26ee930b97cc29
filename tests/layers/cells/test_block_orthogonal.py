"""BlockOrthogonal makes each gate's matrix orthogonal."""

import keras
import numpy as np
import pytest

from keras_bahdanau.layers.cells.keras_cell import CELLS
from keras_bahdanau.layers.initializers import BlockOrthogonal, Orthogonal, replaced_at_once


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_each_block_is_orthogonal_and_none_is_another(dtype):
    matrix = BlockOrthogonal()((4, 12), dtype=dtype)
    assert keras.backend.standardize_dtype(matrix.dtype) == dtype
    blocks = np.split(np.float32(keras.ops.cast(matrix, "float32")), 3, axis=-1)
    for block in blocks:
        np.testing.assert_allclose(
            block @ block.T, np.eye(4), atol=1e-6 if dtype == "float32" else 0.03
        )
    assert np.any(blocks[0] != blocks[1])


def test_a_cell_starts_with_it():
    cell = CELLS.get("gru-reset-before", 4, recurrent_initializer=BlockOrthogonal())
    cell.build((None, 3))
    blocks = [
        *np.split(np.asarray(cell.recurrent_projection.kernel), 2, axis=-1),
        np.asarray(cell.candidate_projection.kernel),
    ]
    for index, block in enumerate(blocks):
        np.testing.assert_allclose(block @ block.T, np.eye(4), atol=1e-6)
        assert not any(np.allclose(block, other) for other in blocks[:index])
    copy = type(cell).from_config(cell.get_config())
    assert copy.get_config() == cell.get_config()


def test_a_seed_gives_the_same_again():
    one, other = (BlockOrthogonal(seed=3)((2, 4)) for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_the_shape_must_be_that_of_square_blocks():
    with pytest.raises(ValueError, match=r"square blocks.*Received: shape=\(2, 3\)"):
        BlockOrthogonal()((2, 3))


@pytest.mark.parametrize("initializer", [BlockOrthogonal(), Orthogonal()])
def test_nothing_is_drawn_where_a_file_replaces_the_values(initializer):
    with replaced_at_once():
        matrix = initializer((4, 12), dtype="bfloat16")
    assert keras.backend.standardize_dtype(matrix.dtype) == "bfloat16"
    np.testing.assert_array_equal(keras.ops.cast(matrix, "float32"), np.zeros((4, 12)))
    assert np.any(initializer((4, 12)))
