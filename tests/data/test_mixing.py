"""Mixed batches: exact fractions, order set only by seed and epoch, resuming at any batch."""

import collections
import types

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.data.batching import BatchedPairs
from keras_bahdanau.data.corpora import Corpora, Corpus
from keras_bahdanau.data.epochs import Skipped
from keras_bahdanau.data.mixing import MixedBatches, batches_of_each, shares_by_size
from keras_bahdanau.data.shards.sharded_batches import ShardedBatches
from keras_bahdanau.data.shards.shards import write_card, write_shard
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subwords import Subwords

RANDOM = np.random.default_rng(5)
LARGE, SMALL = (
    [("".join(RANDOM.choice(list(letters), n)), "x" * n) for n in RANDOM.integers(1, 9, count)]
    for letters, count in (("abc", 60), ("uv", 20))
)


@pytest.fixture(scope="module")
def subwords():
    settings = {"model_type": "char", "normalization": "identity", "symbols": ["<2de>"]}
    return Subwords.train_pair(LARGE + SMALL, 13, **settings)[0]


@pytest.fixture(scope="module")
def parts(subwords):
    """Two corpora, with 6 and 2 batches of 10 pairs."""
    return [
        BatchedPairs(pairs, subwords, subwords, batch_sentences=10, sort_batches=1, seed=seed)
        for seed, pairs in enumerate((LARGE, SMALL))
    ]


def flat(batches):
    return [[np.asarray(part) for part in tf.nest.flatten(batch)] for batch in batches]


def assert_same(left, right):
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        for a, b in zip(one, other, strict=True):
            np.testing.assert_array_equal(a, b)


def counted(batches):
    """Count the occurrences of each source, given by its ids."""
    rows = (tuple(row[row != 0].tolist()) for source, *_ in batches for row in source)
    return collections.Counter(filter(None, rows))


def test_shares_by_size_follow_the_temperature():
    assert shares_by_size([900, 100]).tolist() == pytest.approx([0.9, 0.1])
    assert shares_by_size([900, 100], 2).tolist() == pytest.approx([30 / 40, 10 / 40])
    # 16^(1/4) : 81^(1/4) = 2 : 3.
    assert shares_by_size([16, 81], 4).tolist() == pytest.approx([2 / 5, 3 / 5])
    assert shares_by_size([10**9, 1], 1000).tolist() == pytest.approx([0.5, 0.5], abs=0.01)


@pytest.mark.parametrize(
    "steps, shares, expected",
    [
        (10, [0.7, 0.25, 0.05], [7, 2, 1]),
        (10, [1, 1, 1], [4, 3, 3]),
        (4, [98, 1, 1], [2, 1, 1]),  # every corpus gets a batch
        (3, [1e-6, 1, 1e6], [1, 1, 1]),
        (100, [7, 2, 1], [70, 20, 10]),
    ],
)
def test_each_corpus_has_its_share_of_an_epoch_up_to_rounding(steps, shares, expected):
    assert batches_of_each(steps, shares).tolist() == expected


def test_an_epoch_has_as_many_batches_as_one_pass_in_exact_shares(parts):
    mixed = MixedBatches(parts, [1, 1])
    assert [part.steps for part in parts] == [6, 2]
    assert (mixed.steps, mixed.counts.tolist(), mixed.tokens) == (
        *(8, [4, 4]),
        sum(len(target) + 2 for _, target in LARGE + SMALL),  # plus the word mark and the end token
    )
    for epoch in range(3):
        assert np.bincount(mixed.order(epoch)).tolist() == [4, 4]


def test_the_order_is_that_of_seed_and_epoch_alone(parts):
    mixed, other = (MixedBatches(parts, [3, 1], least_steps=80, seed=7) for _ in range(2))
    assert mixed.steps == 80
    np.testing.assert_array_equal(mixed.order(5), other.order(5))
    assert not np.array_equal(mixed.order(5), mixed.order(6))
    third = MixedBatches(parts, [3, 1], least_steps=80, seed=8)
    assert not np.array_equal(mixed.order(5), third.order(5))


def test_a_corpus_that_ends_begins_anew_and_one_that_does_not_goes_on(parts):
    mixed = MixedBatches(parts, [1, 1])
    # 3 epochs of 4 + 4 batches: two passes over 6 batches, and six over 2.
    batches = [batch for epoch in range(3) for batch in flat(mixed.arrays(epoch))]
    expected = counted(flat(parts[0].arrays(0)))
    expected.update(counted(flat(parts[0].arrays(0))))
    for _ in range(6):
        expected.update(counted(flat(parts[1].arrays(0))))
    assert counted(batches) == expected


def test_an_epoch_resumes_at_any_batch(parts):
    mixed = MixedBatches(parts, [1, 1], seed=3)
    whole = flat(mixed.arrays(2))
    for step in range(mixed.steps + 1):
        assert_same(flat(mixed.arrays(2, step)), whole[step:])
    rest = mixed.epoch(2, first_step=3)
    assert rest.cardinality() == 5
    assert_same(flat(rest), whole[3:])
    with pytest.raises(ValueError, match="from 0 to 8, .* Received: first_step=9"):
        mixed.epoch(0, 9)


def test_a_dataset_goes_from_epoch_to_epoch(parts):
    mixed = MixedBatches(parts, [1, 1])
    dataset = mixed.dataset(first_epoch=1)
    assert dataset.cardinality() == 8
    for epoch in (1, 2):
        assert_same(flat(dataset), flat(mixed.arrays(epoch)))


@pytest.mark.parametrize("least_steps", [0, 15])
def test_one_corpus_alone_is_as_plain_batches_are(subwords, parts, least_steps):
    settings = {"batch_tokens": 60, "buckets": 2, "seed": 4}
    plain = BatchedPairs(SMALL, subwords, subwords, least_steps=least_steps, **settings)
    mixed = MixedBatches(
        [BatchedPairs(SMALL, subwords, subwords, **settings)], [0.3], least_steps=least_steps
    )
    assert (mixed.steps, mixed.tokens, mixed.shapes) == (plain.steps, plain.tokens, plain.shapes)
    for epoch in (0, 1):
        assert_same(flat(mixed.arrays(epoch)), flat(plain.arrays(epoch)))


@pytest.fixture(scope="module")
def shards(subwords, tmp_path_factory):
    """The large corpus on disk, plus a pair with an empty source."""
    directory, source = tmp_path_factory.mktemp("large"), source_of(subwords)
    sources, targets = zip(*LARGE, ("", "x"), strict=True)
    rows = (source.rows(sources), IdRows.encoded(subwords, targets))
    return write_card(directory, [write_shard(directory, 0, *rows)], source, subwords)


def test_shards_get_their_tag_as_text_does(subwords, shards):
    settings = {"batch_sentences": 10, "sort_batches": 1, "shuffle": False}
    corpora = Corpora([Corpus("disk", shards, tag="<2de>"), Corpus("text", SMALL)])
    on_disk, in_memory = corpora.parts()
    assert (len(corpora), [*corpora]) == (81, SMALL)
    (expected,) = Corpora([Corpus("memory", [*LARGE, ("", "x")], tag="<2de>")]).parts()
    expected = BatchedPairs(expected, subwords, subwords, **settings)
    tagged = ShardedBatches(on_disk, **settings)
    assert_same(flat(tagged.arrays(0)), flat(expected.arrays(0)))
    assert tagged.skipped == Skipped(empty=1, too_long=0)
    mixed = MixedBatches(
        [tagged, BatchedPairs(in_memory, subwords, subwords, **settings)], [1, 1], seed=1
    )
    assert mixed.counts.tolist() == [4, 4]
    assert_same(flat(mixed.arrays(1))[3:], flat(mixed.arrays(1, 3)))


@pytest.mark.parametrize("model_type", ["char", "grapheme", "bpe"])
def test_a_tag_on_disk_is_that_before_text_where_spaces_are_kept(tmp_path, model_type):
    texts = [text for pair in LARGE for text in pair]
    subwords = Subwords.train(
        texts, 40, model_type=model_type, normalization="none", symbols=["<2de>"], exact=False
    )
    source = source_of(subwords)
    rows = (source.rows([LARGE[0][0]]), IdRows.encoded(subwords, [LARGE[0][1]]))
    shards = write_card(tmp_path, [write_shard(tmp_path, 0, *rows)], source, subwords)
    (tagged,) = Corpora([Corpus("disk", shards, tag="<2de>")]).parts()
    found, _ = tagged.part(0, 0, 1)
    (expected,) = subwords.encode([f"<2de> {LARGE[0][0]}"])
    found = found.padded(np.arange(1), (1, len(expected)))
    np.testing.assert_array_equal(found, [expected])


def test_what_is_left_out_is_counted_over_all_corpora():
    def part(empty, broken):
        return types.SimpleNamespace(
            **{"steps": 1, "tokens": 1, "shapes": [(2, 9)], "skipped": Skipped(empty, 1)},
            **{"source_lengths": np.ones(5, int), "broken": np.array(broken, int)},
            feature_spec=None,
        )

    mixed = MixedBatches([part(2, [4]), part(0, []), part(1, [0, 3])], [1, 1, 1])
    assert mixed.skipped == Skipped(empty=3, too_long=3)
    assert mixed.broken.tolist() == [4, 10, 13]
    assert (mixed.shapes, mixed.source_lengths.tolist()) == ([(2, 9)], [1] * 15)


@pytest.mark.parametrize("shares", [[1], [1, 0], [1, -1], [1, float("nan")], [[1, 1]]])
def test_shares_are_one_positive_number_for_each_corpus(parts, shares):
    with pytest.raises(ValueError, match="`shares` must contain 2 positive .* Received: shares="):
        MixedBatches(parts, shares)
