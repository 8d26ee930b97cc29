"""Attention with several combined parts matches its equations; attention by name."""

import extract
import numpy as np
import pytest
import reference

from keras_bahdanau import layers
from keras_bahdanau.layers import ATTENTIONS

RANDOM = np.random.default_rng(26)
LENGTHS = (5, 3, 0)
WIDTH, FILTERS, SIZE = 1, 2, 3
VALUES = RANDOM.normal(size=(3, 5, 6)).astype("float32")
QUERIES = RANDOM.normal(size=(3, 4, 7)).astype("float32")
MASK = np.arange(5) < np.array(LENGTHS)[:, None]


def local_p_with_coverage():
    """Return an attention with Luong's general score, local-p, and coverage in the score."""
    return layers.Attention("general", window=layers.LocalPredictive(WIDTH), coverage="sum")


def monotonic_with_convolution():
    """Return an additive, monotonic attention with local-m and the last weights in its score."""
    return layers.BahdanauAttention(
        5,
        window=layers.LocalMonotonic(WIDTH),
        normalizer="monotonic",
        coverage=layers.LocationConvolution(FILTERS, SIZE),
    )


def near(place, length):
    return np.abs(np.arange(length) - place) <= WIDTH


def local_p_oracle(attention, queries, values):
    """Yield contexts and weights for a sentence, in the notation of Luong et al. and Tu et al."""
    (K,), (V,) = (
        extract.arrays(layer)
        for layer in (attention.score.key_projection, attention.coverage.projection)
    )
    (W,), (v,) = map(extract.arrays, (attention.window.projection, attention.window.v))
    C = np.zeros(len(values))
    for q in queries:
        e = (values @ K + C[:, None] * V[0]) @ q
        p = len(values) * reference.sigmoid(np.tanh(q @ W) @ v[:, 0])
        allowed = near(p, len(values))
        alpha = np.where(allowed, np.exp(e - e.max()), 0)
        alpha /= alpha.sum()
        alpha *= np.exp(-((np.arange(len(values)) - p) ** 2) / (2 * (WIDTH / 2) ** 2))
        C = C + alpha
        yield alpha @ values, alpha


def monotonic_oracle(attention, queries, values):
    """Yield contexts and weights, in the notation of Chorowski et al. and Raffel et al."""
    W, U, v = extract.attention(attention)
    (F,), (projection,) = (
        extract.arrays(layer)
        for layer in (attention.coverage.convolution, attention.coverage.projection)
    )
    (r,) = extract.arrays(attention.normalizer)
    length = len(values)
    last, before = np.zeros(length), np.eye(length)[0]
    for i, q in enumerate(queries):
        windows = [np.pad(last, 1)[j : j + SIZE] for j in range(length)]
        f = np.array([window @ F[:, 0] for window in windows])
        e = np.tanh(q @ W + values @ U + f @ projection) @ v
        p = np.where(near(min(i, length - 1), length), reference.sigmoid(e + r), 0)
        last = np.array(
            [
                p[j] * sum(before[k] * np.prod(1 - p[k:j]) for k in range(j + 1))
                for j in range(length)
            ]
        )
        before = last
        yield last @ values, last


@pytest.mark.parametrize(
    ("new", "oracle"),
    [
        (local_p_with_coverage, local_p_oracle),
        (monotonic_with_convolution, monotonic_oracle),
    ],
)
def test_window_normalizer_and_location_work_together(run, new, oracle):
    attention = new()
    attention.build(QUERIES.shape, VALUES.shape)
    extract.randomize(attention)

    def function(query, values, mask):
        return attention(query, values, mask=mask, return_attention_scores=True)

    contexts, weights = run(function, QUERIES, VALUES, MASK)
    for row, length in enumerate(LENGTHS):
        if not length:
            assert not contexts[row].any() and not weights[row].any()
            continue
        values = VALUES[row, :length].astype("float64")
        steps = oracle(attention, QUERIES[row].astype("float64"), values)
        for step, (context, alpha) in enumerate(steps):
            np.testing.assert_allclose(contexts[row, step], context, atol=1e-5)
            np.testing.assert_allclose(weights[row, step, :length], alpha, atol=1e-5)
            assert not weights[row, step, length:].any()


def test_a_name_stands_for_the_layer():
    assert isinstance(ATTENTIONS.get(None), layers.FixedContext)
    assert isinstance(ATTENTIONS.get("forced"), layers.ForcedAlignment)
    bahdanau = ATTENTIONS.get("bahdanau", 8, dropout=0.5, name="mine", dtype="mixed_bfloat16")
    assert isinstance(bahdanau, layers.BahdanauAttention)
    assert (bahdanau.units, bahdanau.dropout, bahdanau.name) == (8, 0.5, "mine")
    assert bahdanau.score.compute_dtype == "bfloat16"


@pytest.mark.parametrize("kind", layers.SCORES)
def test_every_score_is_an_attention(kind):
    attention = ATTENTIONS.get(kind, 8, window="local-m")
    assert type(attention.score) is type(layers.SCORES.get(kind, 8))
    assert isinstance(attention.window, layers.LocalMonotonic)


def test_heads_share_the_units_and_the_past_goes_around_them():
    attention = ATTENTIONS.get("additive", 8, heads=2, past=5, name="mine")
    assert isinstance(attention, layers.PastAttention)
    assert (attention.length, attention.name) == (5, "mine")
    heads = attention.attention
    assert isinstance(heads, layers.MultiHeadAttention)
    assert [head.score.units for head in heads.attentions] == [4, 4]


@pytest.mark.parametrize("kind", ["luong", 3])
def test_an_unknown_name_is_refused(kind):
    with pytest.raises(ValueError, match="`attention` must be one of None, 'bahdanau'"):
        ATTENTIONS.get(kind)


@pytest.mark.parametrize("part", [{"window": "local-p"}, {"coverage": "sum"}, {"dropout": 0.1}])
def test_a_class_by_its_registered_name_has_parts_of_its_own(part):
    assert isinstance(ATTENTIONS.get("keras_bahdanau>LuongAttention"), layers.LuongAttention)
    with pytest.raises(ValueError, match=f"with scores. Received: {[*part][0]}="):
        ATTENTIONS.get("keras_bahdanau>LuongAttention", **part)


@pytest.mark.parametrize("kind", [None, "forced"])
@pytest.mark.parametrize(
    "part", [{"heads": 2}, {"window": "local-p"}, {"coverage": "sum"}, {"dropout": 0.1}]
)
def test_parts_of_an_attention_that_scores_are_refused(kind, part):
    ((name, value),) = part.items()
    with pytest.raises(ValueError, match=f"with scores. Received: {name}={value!r}, attention="):
        ATTENTIONS.get(kind, **part)
