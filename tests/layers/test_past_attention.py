"""Attention over the decoder's past matches its equations at each step."""

import extract
import numpy as np
import pytest
import reference

from keras_bahdanau.layers import (
    BahdanauAttention,
    ForcedAlignment,
    Memory,
    PastAttention,
    ProjectedMemory,
)

RANDOM = np.random.default_rng(22)
LENGTHS = (4, 2, 0)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
QUERIES = RANDOM.normal(size=(3, 5, 7)).astype("float32")
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
UNITS = 3


def built(length):
    attention = PastAttention(BahdanauAttention(5), length, UNITS)
    attention.build(QUERIES.shape, VALUES.shape)
    return extract.randomize(attention)


def answers(attention):
    return lambda query, values, mask: attention(
        query, values, mask=mask, return_attention_scores=True
    )


def past(attention, queries, step, length):
    """Return d_i, computed from the last `length` queries before step i."""
    (P,) = extract.arrays(attention.projection)
    before = queries[max(0, step - length) : step]
    if not len(before):
        return np.zeros(UNITS)
    beta = reference.softmax(
        reference.additive_scores(queries[step], before, extract.attention(attention))
    )
    return beta @ (before @ P)


@pytest.mark.few(1)
@pytest.mark.parametrize("length", [1, 2, 10])
def test_each_step_looks_at_the_steps_before_it(run, length):
    attention = built(length)
    contexts, weights = run(answers(attention), QUERIES, VALUES, MASK)
    source = run(answers(attention.attention), QUERIES, VALUES, MASK)
    np.testing.assert_allclose(contexts[..., :6], source[0], atol=1e-6)
    np.testing.assert_allclose(weights, source[1], atol=1e-6)
    for row, queries in enumerate(QUERIES.astype("float64")):
        for step in range(len(queries)):
            expected = past(attention, queries, step, length)
            np.testing.assert_allclose(contexts[row, step, 6:], expected, atol=1e-5)


def test_each_hypothesis_of_a_beam_has_a_past_of_its_own(run):
    attention, beam = built(2), QUERIES[:, :3]

    def two_steps(first, second, values, mask):
        """Return the contexts of two steps' second one; the queries are `first` and `second`."""
        memory = Memory(values, mask, summary=(), last=(), task=())
        prepared, state = (
            ProjectedMemory(memory, attention.prepare(memory)),
            first_state(memory, first),
        )
        state = attention.attend(first, prepared, state).state
        return attention.attend(second, prepared, state).context

    def first_state(memory, query):
        inner, *buffers = attention.initial_state(memory)
        if len(query.shape) == 2:
            return inner, *buffers
        return inner, *(np.repeat(buffer[:, None], query.shape[1], axis=1) for buffer in buffers)

    found = two_steps(beam, beam[:, ::-1], VALUES, MASK)
    for n in range(3):
        alone = two_steps(beam[:, n], beam[:, 2 - n], VALUES, MASK)
        np.testing.assert_allclose(found[:, n], alone, atol=1e-5)


def test_it_can_be_exported_if_the_attention_over_the_source_can():
    assert PastAttention(BahdanauAttention(5)).exportable
    assert not PastAttention(ForcedAlignment()).exportable


@pytest.mark.parametrize("name", ["length", "units"])
def test_sizes_must_be_positive_integers(name):
    with pytest.raises(ValueError, match=f"`{name}`.*positive integer. Received: {name}=0"):
        PastAttention(BahdanauAttention(5), **{name: 0})


def test_the_attention_over_the_source_must_be_a_layer():
    with pytest.raises(TypeError, match="must be a layer, or the config.*Received: 'bahdanau'"):
        PastAttention("bahdanau")
