"""Batches: their content, shapes and order, and a bound on their padding."""

import itertools
import re

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.data import bucketing
from keras_bahdanau.data.batching import BatchedPairs, batches
from keras_bahdanau.data.bucketing import _bounds
from keras_bahdanau.data.epochs import Skipped
from keras_bahdanau.sources.feature_source import FeatureSource
from keras_bahdanau.sources.image_source import ImageSource
from keras_bahdanau.sources.ink_source import InkSource
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, PAD, START

RANDOM = np.random.default_rng(3)
# Characters are tokens: the word mark, the letters, and the end token.
PAIRS = [
    ("".join(RANDOM.choice(list("abc"), n)), "".join(RANDOM.choice(list("xyz"), m)))
    for n, m in RANDOM.integers(1, 15, size=(200, 2))
]


@pytest.fixture(scope="module")
def subwords():
    """The vocabulary of both sides."""
    return Subwords.train_pair(PAIRS, 11, model_type="char", normalization="identity")[0]


@pytest.fixture(scope="module")
def data(subwords):
    return BatchedPairs(PAIRS, subwords, subwords, 60, buckets=3)


def test_no_module_takes_the_place_of_the_function():
    import keras_bahdanau as kb

    assert kb.data.BatchedPairs is BatchedPairs
    assert kb.data.batches is batches


def arrays(dataset):
    return [tuple(np.asarray(part) for part in tf.nest.flatten(batch)) for batch in dataset]


def real(row):
    return tuple(row[row != PAD].tolist())


def padded(rows):
    return [[*row, *[PAD] * (max(map(len, rows)) - len(row))] for row in rows]


def same(left, right):
    return len(left) == len(right) and all(
        np.array_equal(a, b)
        for first, second in zip(left, right, strict=True)
        for a, b in zip(first, second, strict=True)
    )


def test_batch_of_one_pair_by_hand(subwords):
    (mark, a, b, _), (_, x, _) = subwords.encode(["ab", "x"])
    ((source, target_in), target_out, weight), *rest = BatchedPairs(
        [("ab", "x")], subwords, subwords
    ).dataset()
    assert not rest
    assert source.numpy().tolist() == [[mark, a, b, END]]
    assert target_in.numpy().tolist() == [[START, mark, x, PAD]]
    assert target_out.numpy().tolist() == [[mark, x, END, PAD]]
    assert weight.numpy().tolist() == [[1.0, 1.0, 1.0, 0.0]]
    assert source.dtype == target_in.dtype == target_out.dtype == tf.int32
    assert weight.dtype == tf.float32


def test_each_side_is_split_by_its_own_vocabulary():
    source, target = Subwords.train_pair(PAIRS, 8, joint=False, model_type="char")
    assert source != target
    (batch,) = arrays(BatchedPairs([("cab", "zyx")], source, target).dataset())
    assert source.tokens(batch[0]).tolist() == [[*"▁cab", "</s>"]]
    assert target.tokens(batch[1]).tolist() == [["<s>", *"▁zyx"]]
    assert target.tokens(batch[2]).tolist() == [[*"▁zyx", "</s>"]]


def test_sides_that_are_none_are_refused(subwords):
    with pytest.raises(TypeError, match="`source` must be a Source, or the Subwords for a text"):
        BatchedPairs(PAIRS, PAIRS, subwords)


def test_every_pair_appears_once_in_an_epoch(data, subwords):
    sides = ([real(row) for row in subwords.encode(side)] for side in zip(*PAIRS, strict=True))
    expected = sorted(zip(*sides, strict=True))
    seen = [
        (real(source), real(target_out))
        for batch in arrays(data.epoch(0))
        for source, _, target_out, _ in zip(*batch, strict=True)
        if real(source)
    ]
    assert sorted(seen) == expected


def test_target_in_is_target_out_moved_by_one(data):
    for _, target_in, target_out, weight in arrays(data.epoch(1)):
        assert np.array_equal(weight, (target_out != PAD).astype(np.float32))
        for entered, left in zip(target_in, target_out, strict=True):
            if real(left):
                assert real(entered) == (START, *real(left)[:-1])
                assert real(left)[-1] == END
            else:
                assert not entered.any()


def test_each_bucket_has_one_shape_within_the_tokens_of_a_batch(data):
    shapes = {part.shape for batch in arrays(data.epoch(0)) for part in batch}
    assert shapes == set(data.shapes)
    assert len(data.shapes) == 3
    assert all(rows * length <= 60 for rows, length in data.shapes)


def test_a_batch_has_at_most_one_empty_row(data):
    for source, *_, weight in arrays(data.epoch(0)):
        assert (weight.sum(axis=1) == 0).sum() <= 1
        assert np.array_equal(weight.sum(axis=1) == 0, source.sum(axis=1) == 0)


def test_steps_and_tokens_are_those_of_every_epoch(data):
    for number in range(3):
        epoch = arrays(data.epoch(number))
        assert len(epoch) == data.steps == data.epoch(number).cardinality().numpy()
        assert sum(batch[3].sum() for batch in epoch) == data.tokens


def test_epoch_depends_on_seed_and_number_alone(data, subwords):
    epochs = [arrays(data.epoch(number)) for number in range(2)]
    again = BatchedPairs(PAIRS, subwords, subwords, 60, buckets=3)
    assert same(arrays(again.epoch(1)), epochs[1])
    assert not same(epochs[0], epochs[1])
    other = BatchedPairs(PAIRS, subwords, subwords, 60, buckets=3, seed=1)
    assert not same(arrays(other.epoch(0)), epochs[0])


@pytest.mark.slow
def test_first_step_skips_exactly_the_batches_before(data):
    whole = arrays(data.epoch(2))
    for step in (0, 1, data.steps - 1, data.steps):
        rest = data.epoch(2, first_step=step)
        assert rest.cardinality().numpy() == data.steps - step
        assert same(arrays(rest), whole[step:])


@pytest.mark.slow
def test_each_iteration_of_the_dataset_is_the_next_epoch(data, subwords):
    dataset = batches(PAIRS, subwords, subwords, 60, buckets=3)
    assert dataset.cardinality().numpy() == data.steps
    for number in range(3):
        assert same(arrays(dataset), arrays(data.epoch(number)))


@pytest.mark.few(1)
@pytest.mark.parametrize("shuffle", [True, False])
def test_an_epoch_passes_over_few_pairs_until_it_has_the_least_steps(subwords, shuffle):
    settings = {"batch_sentences": 8, "shuffle": shuffle, "seed": 2}
    plain = BatchedPairs(PAIRS[:20], subwords, subwords, **settings)
    long = BatchedPairs(PAIRS[:20], subwords, subwords, least_steps=7, **settings)
    assert (plain.steps, long.steps) == (3, 9)
    passes = [batch for number in (3, 4, 5) for batch in arrays(plain.epoch(number))]
    assert same(arrays(long.epoch(1)), passes)
    assert same(arrays(long.epoch(1, first_step=4)), passes[4:])
    few = BatchedPairs(PAIRS[:20], subwords, subwords, least_steps=3, **settings)
    assert same(arrays(few.epoch(1)), arrays(plain.epoch(1)))


def test_a_dataset_may_begin_at_a_later_epoch(data):
    dataset = data.dataset(first_epoch=2)
    for number in (2, 3):
        assert same(arrays(dataset), arrays(data.epoch(number)))
    with pytest.raises(ValueError, match="`first_epoch` must be .* Received: first_epoch=-1"):
        data.dataset(first_epoch=-1)


def test_dimensions_are_unknown_to_the_graph(data):
    for spec in tf.nest.flatten(data.dataset().element_spec):
        assert spec.shape.as_list() == [None, None]


def test_order_is_that_of_the_pairs_without_shuffling(subwords):
    pairs = [("abc", "x"), ("a", "y"), ("cba", "z")]
    data = BatchedPairs(pairs, subwords, subwords, buckets=1, shuffle=False)
    ((source, _), _, _), *_ = data.epoch(7)
    assert np.array_equal(source, padded(subwords.encode([s for s, _ in pairs])))


def test_empty_and_long_pairs_are_left_out_and_counted(subwords):
    pairs = [("a", "x"), ("", "x"), ("a", " "), ("", ""), ("abca", "x"), ("a", "xyzx"), ("ab", "x")]
    data = BatchedPairs(pairs, subwords, subwords, max_length=5)
    assert data.skipped == Skipped(empty=3, too_long=2)
    assert data.tokens == 6
    assert [length for _, length in data.shapes] == [3, 4]


@pytest.mark.parametrize("pairs", [[], [("", "x")], [("abcabc", "x")]])
def test_nothing_left_is_an_error_that_counts(subwords, pairs):
    with pytest.raises(ValueError, match=f"Received: {len(pairs)} pairs"):
        BatchedPairs(pairs, subwords, subwords, max_length=4)


def test_sentence_longer_than_a_batch_has_its_own(subwords):
    data = BatchedPairs([("a" * 30, "x"), ("b" * 30, "y")], subwords, subwords, batch_tokens=10)
    assert data.shapes == [(1, 32)]
    assert data.steps == 2


def test_rows_are_spread_evenly_over_the_batches(subwords):
    data = BatchedPairs([("ab", "x")] * 10, subwords, subwords, batch_tokens=16)  # 4 rows of 4
    assert data.shapes == [(4, 4)]
    rows = [int((batch[0].sum(axis=1) > 0).sum()) for batch in arrays(data.epoch(0))]
    assert sorted(rows) == [3, 3, 4]


def positions(lengths, bounds, batch_tokens):
    """Count all positions of one side, bucket by bucket."""
    total, shortest = 0, 0
    for bound in bounds:
        count = sum(shortest < length <= bound for length in lengths)
        if count:
            steps = -(-count // max(1, batch_tokens // bound))
            total += steps * -(-count // steps) * bound
        shortest = bound
    return total


@pytest.mark.parametrize("buckets", [1, 2, 3, 4, 9])
@pytest.mark.parametrize("batch_tokens", [12, 50, 10**6])
def test_bounds_waste_no_more_than_any_others(buckets, batch_tokens):
    lengths = np.random.default_rng(5).choice([2, 3, 4, 7, 8, 12, 20], size=60)
    different = sorted(set(lengths.tolist()))
    fewest = min(
        positions(lengths, (*inner, different[-1]), batch_tokens)
        for count in range(min(buckets, len(different)))
        for inner in itertools.combinations(different[:-1], count)
    )
    bounds = _bounds(np.bincount(lengths), batch_tokens, buckets)
    assert len(bounds) <= buckets
    assert bounds.tolist() == sorted(bounds)
    assert positions(lengths, bounds.tolist(), batch_tokens) == fewest


def test_bounds_among_many_lengths_waste_little_more(monkeypatch):
    lengths = np.random.default_rng(5).integers(1, 400, size=2000)
    exact = _bounds(np.bincount(lengths), 1000, 5)
    monkeypatch.setattr(bucketing, "MOST_LENGTHS", 40)
    bounds = _bounds(np.bincount(lengths), 1000, 5)
    assert len(bounds) == 5 and bounds[-1] == lengths.max()
    least = positions(lengths, exact.tolist(), 1000)
    assert least <= positions(lengths, bounds.tolist(), 1000) < 1.1 * least


@pytest.fixture(scope="module")
def by_sentences(subwords):
    return BatchedPairs(PAIRS, subwords, subwords, batch_sentences=7, sort_batches=4)


def test_sentences_are_fetched_sorted_and_split_by_hand(subwords):
    """Two batches of two are sorted together by the longer side; then the rest follows."""
    pairs = [("abcab", "x"), ("a", "xy"), ("ab", "x"), ("a", "xyzx"), ("c", "z")]
    data = BatchedPairs(pairs, subwords, subwords, batch_sentences=2, sort_batches=2, shuffle=False)
    order = [[1, 2], [3, 0], [4]]
    found = arrays(data.epoch(0))
    assert len(found) == data.steps == 3
    for members, (source, target_in, target_out, weight) in zip(order, found, strict=True):
        sides = zip(*(pairs[member] for member in members), strict=True)
        sources, targets = (padded(subwords.encode(side)) for side in sides)
        np.testing.assert_array_equal(source, sources)
        np.testing.assert_array_equal(target_out, targets)
        assert target_in.shape == weight.shape == target_out.shape


def test_every_pair_appears_once_in_an_epoch_by_sentences(by_sentences, subwords):
    targets = subwords.encode([t for _, t in PAIRS])
    for number in (0, 1):
        seen = [real(row) for batch in arrays(by_sentences.epoch(number)) for row in batch[2]]
        assert sorted(seen) == sorted(map(real, targets))


def test_batches_by_sentences_have_so_many_rows_and_no_needless_column(by_sentences):
    found = arrays(by_sentences.epoch(0))
    assert len(found) == by_sentences.steps == -(-200 // 7)
    assert by_sentences.epoch(0).cardinality().numpy() == by_sentences.steps
    sizes = sorted(len(source) for source, *_ in found)
    assert sizes == [4] + [7] * 28
    for source, target_in, target_out, weight in found:
        assert (source != PAD).any(axis=0).all() and (source != PAD).any(axis=1).all()
        assert (target_out != PAD).any(axis=0).all()
        np.testing.assert_array_equal(target_in[:, 0], START)
        np.testing.assert_array_equal(weight, target_out != PAD)
    assert by_sentences.shapes == ()


def test_sorting_more_batches_at_once_leaves_less_padding(subwords):
    def padding(sort_batches):
        data = BatchedPairs(
            PAIRS, subwords, subwords, batch_sentences=10, sort_batches=sort_batches
        )
        return sum(
            (batch[2] == PAD).sum() + (batch[0] == PAD).sum() for batch in arrays(data.epoch(0))
        )

    assert padding(20) < padding(4) < padding(1)


def test_an_epoch_by_sentences_can_be_gone_on_with(by_sentences, subwords):
    whole = arrays(by_sentences.epoch(2))
    again = BatchedPairs(PAIRS, subwords, subwords, batch_sentences=7, sort_batches=4)
    for step in (0, 5, by_sentences.steps):
        rest = again.epoch(2, first_step=step)
        assert rest.cardinality().numpy() == by_sentences.steps - step
        assert same(arrays(rest), whole[step:])
    assert not same(arrays(by_sentences.epoch(3)), whole)


def test_batches_are_measured_in_one_way(subwords):
    with pytest.raises(ValueError, match="batch_tokens=60, batch_sentences=7. Leave one"):
        BatchedPairs(PAIRS, subwords, subwords, 60, batch_sentences=7)


# Words of one or two letters; with the word mark, they have two or three tokens.
LINKED = [("ab c", "x yz"), ("a", "z"), ("b a c", "y")]
LINKS = [{(0, 1), (1, 1)}, set(), {(1, 0), (2, 0)}]
ALIGNED = [  # ▁ a b ▁ c </s> for ▁ x ▁ y z </s>, and so on
    [[0] * 6, [0] * 6, *[[0.2] * 5 + [0]] * 3, [0] * 5 + [1]],
    [[0] * 3, [0] * 3, [0, 0, 1]],
    [*[[0, 0, 0.25, 0.25, 0.25, 0.25, 0]] * 2, [0] * 6 + [1]],
]


@pytest.mark.few(1)
@pytest.mark.parametrize("size", [{"batch_sentences": 3}, {"batch_tokens": 21, "buckets": 1}])
def test_alignments_are_a_third_input_over_tokens(subwords, size):
    data = BatchedPairs(LINKED, subwords, subwords, alignments=LINKS, shuffle=False, **size)
    (((source, target_in, alignment), target_out, _),) = data.epoch(0)
    assert alignment.dtype == tf.float32
    assert alignment.shape == (len(source), target_out.shape[1], source.shape[1])
    order = [real(row) for row in subwords.encode([s for s, _ in LINKED])]
    for row, found in zip(source.numpy(), alignment.numpy(), strict=True):
        expected = np.array(ALIGNED[order.index(real(row))])
        height, width = expected.shape
        np.testing.assert_allclose(found[:height, :width], expected, rtol=1e-6)
        assert not found[height:].any() and not found[:, width:].any()


def test_every_epoch_has_the_alignments_of_its_pairs(subwords):
    """The links of a pair, between words at the same places, follow it through shuffling."""
    pairs = [("a " * n, "x " * n) for n in range(1, 9)] * 4
    links = [{(i, i) for i in range(n)} for n in range(1, 9)] * 4
    data = BatchedPairs(pairs, subwords, subwords, 40, buckets=3, alignments=links)
    for (source, _, alignment), target_out, _ in data.epoch(1).as_numpy_iterator():
        for row, real_target, weights in zip(source, target_out, alignment, strict=True):
            words = ((row != PAD).sum() - 1) // 2
            block = np.kron(np.eye(words), np.full((2, 2), 0.5))
            np.testing.assert_array_equal(weights[: 2 * words, : 2 * words], block)
            ends = 1.0 if words > 0 else 0.0
            assert weights[2 * words, 2 * words] == ends
            assert weights.sum() == (real_target != PAD).sum()


def test_alignments_leave_the_rest_of_a_batch_as_it_is(subwords):
    plain = BatchedPairs(LINKED, subwords, subwords)
    aligned = batches(LINKED, subwords, subwords, alignments=LINKS)
    assert [spec.shape.rank for spec in tf.nest.flatten(aligned.element_spec)] == [2, 2, 3, 2, 2]
    for one, other in zip(arrays(plain.epoch(0)), arrays(aligned), strict=True):
        assert same([one], [(*other[:2], *other[3:])])


def test_alignments_of_other_pairs_are_refused(subwords):
    with pytest.raises(ValueError, match="2 sets for 3 pairs"):
        BatchedPairs(LINKED, subwords, subwords, alignments=LINKS[:2])
    with pytest.raises(ValueError, match=r"`alignments\[1\]`.*\(0, 1\) for 1 source and 1 target"):
        BatchedPairs(LINKED, subwords, subwords, alignments=[LINKS[0], {(0, 1)}, LINKS[2]])


def test_pairs_that_are_left_out_may_have_any_links(subwords):
    data = BatchedPairs([("a", "x"), ("", "x")], subwords, subwords, alignments=[set(), {(7, 7)}])
    assert data.steps == 1


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("batch_tokens", 0),
        ("batch_sentences", 0),
        ("sort_batches", 0),
        ("buckets", 0),
        ("max_length", -1),
        ("seed", -1),
        ("buckets", 2.0),
    ],
)
def test_settings_are_checked(subwords, setting, value):
    with pytest.raises(ValueError, match=f"Received: {setting}={value}"):
        BatchedPairs(PAIRS, subwords, subwords, **{setting: value})


def test_epoch_and_first_step_are_checked(data):
    with pytest.raises(ValueError, match="first_step="):
        data.epoch(0, first_step=data.steps + 1)
    with pytest.raises(ValueError, match="number=-1"):
        data.epoch(-1)


@pytest.mark.parametrize(
    ("source", "one", "message"),
    [
        (FeatureSource(4), np.ones((4, 3)), r"sources\[0\] of shape \(4, 3\)"),
        (FeatureSource(2), np.full((3, 2), np.nan), "with NaN or infinity"),
        (InkSource(), [np.ones((4, 3))], r"arrays \(points, 2\) of finite values"),
        (ImageSource(), np.full((32, 32), 255, np.int64), "of dtype int64. Use uint8, or floats"),
        (ImageSource(), "images/1.png", r"Pass a path as pathlib.Path\(...\)"),
    ],
)
def test_arrays_that_a_source_can_not_read_are_refused(source, one, message):
    target = Subwords.train(["a b c"], 7, model_type="word", exact=False)
    with pytest.raises((TypeError, ValueError), match=message):
        BatchedPairs([(one, "a")], source, target, batch_sentences=2)


def test_the_source_may_have_a_limit_of_its_own():
    source = FeatureSource(2)
    target = Subwords.train(["a b c"], 7, model_type="word", exact=False)
    pairs = [(np.ones((time, 2)), text) for time, text in [(9, "a"), (5, "a b c"), (10, "b")]]
    data = BatchedPairs(pairs, source, target, batch_sentences=2, max_length=3, max_source_length=9)
    assert data.used.tolist() == [0]
    assert (data.skipped.empty, data.skipped.too_long) == (0, 2)
    assert data.source_lengths.tolist() == [9, 5, 10]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ((["one two", "two", "three"], ["eins zwei", "zwei", "drei"]), "zip(inputs, targets)"),
        (["one\teins"], "Each of `pairs` must be (input, target). Received: 'one\\teins'"),
        ([("one", "eins", 1)], "`pairs` must be (input, target)"),
        ([("one", None)], "Received: targets[0]=None"),
        ([("two", "zwei"), ("one", float("nan"))], "Received: targets[1]=nan"),
    ],
)
def test_what_is_no_pair_of_texts_is_refused(subwords, pairs, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        BatchedPairs(pairs, subwords, subwords)


def test_numbers_of_numpy_are_numbers(subwords):
    pairs = np.array(PAIRS[:8])
    plain = BatchedPairs(PAIRS[:8], subwords, subwords, batch_tokens=64)
    other = BatchedPairs(pairs, subwords, subwords, batch_tokens=np.int64(64))
    for one, two in zip(plain.dataset(), other.dataset(), strict=True):
        same(one, two)
