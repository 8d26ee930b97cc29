"""Multi-head attention matches its equations, computed one head at a time."""

import extract
import numpy as np
import pytest
import reference

from keras_bahdanau.layers import (
    ATTENTIONS,
    Attention,
    BahdanauAttention,
    FixedContext,
    ForcedAlignment,
    Memory,
    MultiHeadAttention,
    PastAttention,
    ProjectedMemory,
)

RANDOM = np.random.default_rng(21)
LENGTHS = (4, 2, 0)
VALUES = RANDOM.normal(size=(3, 4, 6)).astype("float32")
QUERIES = RANDOM.normal(size=(3, 5, 7)).astype("float32")
MASK = np.arange(4) < np.array(LENGTHS)[:, None]
HEADS = 2


def built(attention, heads=HEADS):
    attention = MultiHeadAttention(attention, heads)
    attention.build(QUERIES.shape, VALUES.shape)
    return extract.randomize(attention)


def answers(attention):
    return lambda query, values, mask: attention(
        query, values, mask=mask, return_attention_scores=True
    )


def additive(head, query, keys):
    return reference.additive_scores(query, keys, extract.attention(head))


def dot(head, query, keys):
    return keys @ query


def scaled_dot(head, query, keys):
    return keys @ query / np.sqrt(len(query))


def one_head(attention, index, score, query, values):
    """Return c and alpha of one head for the values of one sentence."""
    (Q,), (K,), (V,) = (
        extract.arrays(projections[index])
        for projections in (attention.queries, attention.keys, attention.values)
    )
    alpha = reference.softmax(score(attention.attentions[index], query @ Q, values @ K))
    return alpha @ (values @ V), alpha


@pytest.mark.parametrize(
    ("name", "score"), [("additive", additive), ("dot", dot), ("scaled-dot", scaled_dot)]
)
def test_each_head_asks_and_looks_by_itself(run, name, score):
    attention = built(Attention(name, units=5))
    contexts, weights = run(answers(attention), QUERIES, VALUES, MASK)
    for row, length in enumerate(LENGTHS):
        for step, query in enumerate(QUERIES[row].astype("float64")):
            values = VALUES[row, :length].astype("float64")
            if not length:
                assert not contexts[row].any() and not weights[row].any()
                continue
            heads = [one_head(attention, n, score, query, values) for n in range(HEADS)]
            found, alphas = zip(*heads, strict=True)
            assert np.abs(alphas[0] - alphas[1]).max() > 1e-2
            np.testing.assert_allclose(contexts[row, step], np.concatenate(found), atol=1e-5)
            expected = np.pad(np.mean(alphas, axis=0), (0, 4 - length))
            np.testing.assert_allclose(weights[row, step], expected, atol=1e-5)


def test_heads_take_their_own_state_along(run):
    attention = built(BahdanauAttention(5, coverage="sum"))
    whole = run(answers(attention), QUERIES, VALUES, MASK)

    def second_step(queries, values, mask):
        memory = Memory(values, mask, summary=(), last=(), task=())
        prepared = ProjectedMemory(memory, attention.prepare(memory))
        first = attention.attend(queries[:, 0], prepared, attention.initial_state(memory))
        return attention.attend(queries[:, 1], prepared, first.state)

    found = run(second_step, QUERIES, VALUES, MASK)
    np.testing.assert_allclose(found.context, whole[0][:, 1], atol=1e-6)
    for head, other in ([0, 1], [1, 0]):
        assert np.abs(found.state[head].coverage - found.state[other].coverage).max() > 1e-2


def test_a_beam_is_answered_as_each_of_its_queries_alone(run):
    attention = built(BahdanauAttention(5))

    def attend(query, values, mask):
        memory = Memory(values, mask, summary=(), last=(), task=())
        prepared = ProjectedMemory(memory, attention.prepare(memory))
        return attention.attend(query, prepared, attention.initial_state(memory))[:3]

    beam = run(attend, QUERIES, VALUES, MASK)
    for n in range(QUERIES.shape[1]):
        alone = run(attend, QUERIES[:, n], VALUES, MASK)
        for one, other in zip(beam, alone, strict=True):
            np.testing.assert_allclose(one[:, n], other, atol=1e-5)


def test_heads_that_do_not_divide_the_values_are_rounded_down():
    attention = built(BahdanauAttention(5), heads=4)
    assert attention.context_units(6) == 4
    assert attention(QUERIES, VALUES).shape == (3, 5, 4)


def test_it_can_be_exported_if_its_heads_can():
    assert MultiHeadAttention(BahdanauAttention(5), 2).exportable
    assert not MultiHeadAttention(ForcedAlignment(), 2).exportable


def test_what_it_copies_must_be_a_layer():
    with pytest.raises(TypeError, match="must be a layer, or the config.*Received: 'additive'"):
        MultiHeadAttention("additive", 2)


@pytest.mark.parametrize("heads", [0, 1.5, None, True])
def test_heads_must_be_a_positive_integer(heads):
    with pytest.raises(ValueError, match="`heads`.*positive integer. Received: heads="):
        MultiHeadAttention(BahdanauAttention(5), heads)


def test_heads_have_the_width_of_what_they_are_of():
    past = PastAttention(BahdanauAttention(4), length=3, units=2)
    attention = MultiHeadAttention(past, heads=2)
    assert attention.context_units(6) == 2 * past.context_units(3)
    with pytest.raises(ValueError, match=r"attention layer with weights. Received: FixedContext"):
        MultiHeadAttention(FixedContext(), heads=2)
    with pytest.raises(ValueError, match="the number of heads, must be a positive"):
        ATTENTIONS.get("additive", units=4, heads=0)
