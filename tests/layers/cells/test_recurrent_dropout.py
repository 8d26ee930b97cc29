"""Recurrent dropout uses the same mask at all steps of a sentence."""

import functools

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.layers.cells.keras_cell import CELLS
from keras_bahdanau.layers.cells.parallel import ParallelCell
from keras_bahdanau.layers.cells.stack import CellStack

UNITS = 64
INPUTS = np.random.default_rng(5).normal(size=(3, 4)).astype("float32")
STATES = tuple(np.random.default_rng(6).normal(size=(2, 3, UNITS)).astype("float32"))

PARALLEL = [kind for kind in CELLS if issubclass(CELLS[kind], ParallelCell)]

every_kind = pytest.mark.parametrize("kind", [kind for kind in CELLS if kind not in PARALLEL])


def built(kind, share=0.25, **kwargs):
    cell = CELLS.get(kind, UNITS, recurrent_dropout=share, **kwargs)
    cell.build(INPUTS.shape)
    return cell, STATES[: len(cell.state_sizes)]


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_a_mask_drops_its_share_and_scales_the_rest(run, policy):
    cell, _ = built("gru", dtype=policy)
    (mask,) = run(lambda like: cell.dropout_masks(tf.shape(like)[0], training=True), INPUTS)
    assert (mask.shape, mask.dtype.name) == ((3, UNITS), cell.compute_dtype)
    scale = np.float32(tf.cast(1 / 0.75, cell.compute_dtype))
    np.testing.assert_allclose(np.unique(np.float32(mask)), [0, scale], rtol=1e-6)
    assert 0.1 < np.mean(np.float32(mask) == 0) < 0.4


def test_masks_differ_by_sentence_and_by_draw():
    cell, _ = built("gru")
    (first,), (second,) = (cell.dropout_masks(3, training=True) for _ in range(2))
    assert not np.array_equal(first, second)
    assert len(np.unique(first, axis=0)) == 3


@pytest.mark.parametrize("training", [False, None])
def test_nothing_is_dropped_outside_of_training(training):
    assert built("gru")[0].dropout_masks(3, training=training) == ()


def test_nothing_is_dropped_of_a_share_of_nothing():
    assert built("gru", share=0.0)[0].dropout_masks(3, training=True) == ()


@pytest.mark.few(3)
@every_kind
def test_the_product_misses_what_is_dropped_and_the_rest_of_the_step_does_not(run, kind):
    cell, states = built(kind)
    dropout_masks = cell.dropout_masks(3, training=True)

    def dropped(inputs, h, *rest):
        return cell.step(cell.project(inputs), (h, *rest), dropout_masks=dropout_masks)[1]

    def by_hand(inputs, h, *rest):
        return cell.advance(cell.project(inputs), h * dropout_masks[0], (h, *rest))

    found, expected = (run(function, INPUTS, *states) for function in (dropped, by_hand))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-6)


def test_a_gru_that_keeps_its_state_keeps_all_of_it(run):
    cell, states = built("gru")
    cell.input_projection.bias.assign(np.repeat([100.0, 0.0, 0.0], UNITS))
    dropout_masks = cell.dropout_masks(3, training=True)
    _, found = run(
        lambda *args: cell.step(*args, dropout_masks=dropout_masks), cell.project(INPUTS), states
    )
    np.testing.assert_allclose(found, states, atol=1e-6)


def test_all_of_a_sentences_beam_drops_the_same(run):
    cell, (h,) = built("gru")
    dropout_masks = cell.dropout_masks(3, training=True)
    projected = cell.project(INPUTS)
    beamed = [np.stack([array] * 3, axis=1) for array in (projected, h)]
    _, (beams,) = run(lambda x, h: cell.step(x, (h,), dropout_masks=dropout_masks), *beamed)
    _, (rows,) = run(lambda x, h: cell.step(x, (h,), dropout_masks=dropout_masks), projected, h)
    for beam in range(3):
        np.testing.assert_allclose(beams[:, beam], rows, atol=1e-6)


def test_a_call_drops_in_training_only(run):
    cell, states = built("gru")
    plain, still, trained = (
        run(functools.partial(cell, **kwargs), INPUTS, states)[0]
        for kwargs in ({}, {"training": False}, {"training": True})
    )
    np.testing.assert_array_equal(still, plain)
    assert not np.allclose(trained, plain)


def test_a_seed_gives_the_same_masks_again():
    masks = [built("gru", seed=3)[0].dropout_masks(3, training=True)[0] for _ in range(2)]
    np.testing.assert_array_equal(*masks)


def test_each_layer_of_a_stack_drops_its_own():
    stack = CellStack([CELLS.get("gru", UNITS, recurrent_dropout=0.5) for _ in range(2)])
    (lower,), (upper,) = stack.dropout_masks(3, training=True)
    assert not np.array_equal(lower, upper)
    assert stack.dropout_masks(3, training=False) == ((), ())


def test_the_share_must_be_one():
    with pytest.raises(ValueError, match=r"must be in \[0, 1\). Received: recurrent_dropout=1"):
        CELLS.get("gru", UNITS, recurrent_dropout=1)


def test_dropout_adds_no_weights():
    cell, _ = built("gru")
    assert all(isinstance(weight, keras.Variable) and weight.trainable for weight in cell.weights)
    assert len(cell.weights) == len(built("gru", share=0.0)[0].weights)


@pytest.mark.parametrize("kind", PARALLEL)
def test_a_cell_without_a_recurrent_product_has_nothing_to_drop(kind):
    with pytest.raises(ValueError, match=r"must be 0 for a cell .* recurrent_dropout=0.5"):
        CELLS.get(kind, UNITS, recurrent_dropout=0.5)
