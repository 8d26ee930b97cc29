"""Batches from shards contain the same pairs as batches from memory, in any order of windows."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from keras_bahdanau.data.batching import BatchedPairs
from keras_bahdanau.data.shards.sharded_batches import ShardedBatches, ShardWindow, _windows
from keras_bahdanau.data.shards.shards import Shards, write_card, write_shard
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import PAD

RANDOM = np.random.default_rng(3)
# Characters are tokens: the word mark, the letters, and the end token.
PAIRS = [
    ("".join(RANDOM.choice(list("abc"), n)), "".join(RANDOM.choice(list("xyz"), m)))
    for n, m in RANDOM.integers(0, 15, size=(120, 2))
]
MEASURES = [{"batch_tokens": 90, "buckets": 3}, {"batch_sentences": 9, "sort_batches": 2}]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.train_pair(PAIRS, 11, model_type="char", normalization="identity")[0]


@pytest.fixture(scope="module")
def shards_of(subwords, tmp_path_factory):
    """Function that writes the first pairs into shards of a given size."""

    def write(size, count=120):
        directory = tmp_path_factory.mktemp(f"of_{size}")
        entries = []
        for first in range(0, count, size):
            sources, targets = zip(*PAIRS[first : first + size][: count - first], strict=True)
            source = source_of(subwords).rows(sources)
            entries.append(
                write_shard(directory, len(entries), source, IdRows.encoded(subwords, targets))
            )
        return write_card(directory, entries, source_of(subwords), subwords)

    return write


@pytest.fixture(scope="module")
def shards(shards_of):
    return shards_of(20)


def arrays(batches):
    return [tuple(np.asarray(part) for part in tf.nest.flatten(batch)) for batch in batches]


def same(left, right):
    return len(left) == len(right) and all(
        np.array_equal(a, b)
        for first, second in zip(left, right, strict=True)
        for a, b in zip(first, second, strict=True)
    )


def pairs_in(batches):
    """Count the occurrences of each pair of id rows in some batches."""
    rows = [
        (tuple(source[source != PAD].tolist()), tuple(target[target != PAD].tolist()))
        for sources, _, targets, _ in batches
        for source, target in zip(sources, targets, strict=True)
    ]
    return collections.Counter(pair for pair in rows if pair[0])


@pytest.mark.few(1)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("size", [120, 20])
def test_batches_of_one_window_in_order_are_those_of_the_pairs(shards_of, subwords, measure, size):
    settings = {**measure, "max_length": 14, "shuffle": False, "least_steps": 20}
    expected = BatchedPairs(PAIRS, subwords, subwords, **settings)
    found = ShardedBatches(shards_of(size), **settings)
    assert same(arrays(found.arrays(2)), arrays(expected.arrays(2)))
    for name in ("steps", "tokens", "shapes", "skipped"):
        assert getattr(found, name) == getattr(expected, name), name
    assert found.skipped.empty and found.skipped.too_long
    assert found.dataset().element_spec == expected.dataset().element_spec


@pytest.mark.few(1)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("window", [1, 50])
def test_every_epoch_has_each_pair_once_in_another_order(shards, subwords, measure, window):
    expected = pairs_in(arrays(BatchedPairs(PAIRS, subwords, subwords, **measure).arrays(0)))
    data = ShardedBatches(shards, window=window, **measure)
    epochs = [arrays(data.arrays(number)) for number in (0, 1)]
    for epoch in epochs:
        assert pairs_in(epoch) == expected
        assert len(epoch) == data.steps
        assert sum(batch[3].sum() for batch in epoch) == data.tokens
    assert not same(*epochs)
    again = ShardedBatches(Shards(shards.directory), window=window, **measure)
    assert same(arrays(again.arrays(1)), epochs[1])
    other = ShardedBatches(shards, window=window, seed=1, **measure)
    assert not same(arrays(other.arrays(0)), epochs[0])


def test_shapes_are_those_of_the_corpus_and_within_the_tokens_of_a_batch(shards):
    data = ShardedBatches(shards, 60, buckets=3, window=20)
    assert len(data.windows) == 6
    shapes = {part.shape for batch in arrays(data.arrays(0)) for part in batch}
    assert shapes == set(data.shapes)
    assert len(shapes) == 3
    assert all(rows * length <= 60 for rows, length in data.shapes)


def test_padding_of_windows_is_close_to_that_of_all_pairs(shards, subwords):
    """A window of 60 pairs has at most one more batch per bucket than its fraction of all pairs."""

    def padding(data):
        source, _, target, _ = zip(*arrays(data.arrays(0)), strict=True)
        rows = np.concatenate([np.ravel(one) for one in (*source, *target)])
        return (rows == PAD).mean()

    whole = BatchedPairs(PAIRS, subwords, subwords, 60, buckets=3)
    parts = ShardedBatches(shards, 60, buckets=3, window=60)
    assert len(parts.windows) == 2
    assert whole.steps <= parts.steps <= whole.steps + 3
    assert padding(parts) < padding(whole) + 0.05


@pytest.mark.few(1)
@pytest.mark.parametrize("measure", MEASURES)
def test_first_step_skips_exactly_the_batches_before(shards, measure):
    data = ShardedBatches(shards, window=40, **measure)
    whole = arrays(data.arrays(2))
    assert same(arrays(data.epoch(2)), whole)
    assert data.epoch(2, first_step=3).cardinality().numpy() == data.steps - 3
    for step in (1, data.steps // 2, data.steps):
        assert same(arrays(data.arrays(2, first_step=step)), whole[step:])


def test_nothing_is_read_of_the_windows_before_the_first_step(shards, monkeypatch):
    """Each of the 4 windows has rows 0 to 4, 5 to 9, and so on, of each shard."""
    data = ShardedBatches(shards, 90, window=30, shuffle=False)
    read, part = [], Shards.part
    monkeypatch.setattr(Shards, "part", lambda self, *at: read.append(at) or part(self, *at))
    assert len(arrays(data.arrays(0, first_step=data.steps - 1))) == 1
    assert read == [(number, 15, 20) for number in range(6)]
    read.clear()
    arrays(data.arrays(0))
    assert read == [(number, first, first + 5) for first in (0, 5, 10, 15) for number in range(6)]


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("workers", [2, 3])
def test_workers_share_the_pairs_and_go_in_step(shards, measure, workers):
    parts = [
        ShardedBatches(shards, window=15, shard=(index, workers), **measure)
        for index in range(workers)
    ]
    epochs = [arrays(part.arrays(1)) for part in parts]
    assert {len(epoch) for epoch in epochs} == {part.steps for part in parts}
    alone = ShardedBatches(shards, **measure)
    assert {part.tokens for part in parts} == {alone.tokens}
    shared = [pairs_in(epoch) for epoch in epochs]
    assert sum(shared, collections.Counter()) == pairs_in(arrays(alone.arrays(1)))
    assert all(sum(pairs.values()) > 60 / workers for pairs in shared)
    if parts[0].shapes:
        for batches in zip(*epochs, strict=True):
            assert len({batch[0].shape for batch in batches}) == 1


def test_a_worker_without_pairs_gets_batches_without_weight(shards_of):
    """With 9 shards of one pair each, the first of two workers has no pair to read."""
    data = ShardedBatches(shards_of(1, 9), batch_sentences=2, shard=(0, 2))
    assert data.skipped.empty == 1
    batches = arrays(data.arrays(0))
    assert len(batches) == data.steps == 4
    assert not any(batch[3].any() for batch in batches)
    assert all(len(batch[0]) == 1 for batch in batches)


def test_each_window_has_its_share_of_every_part_of_the_corpus(shards):
    """Each of 3 windows has a third of each of the 6 shards, which are in the order of the text."""
    data = ShardedBatches(shards, batch_sentences=120, window=40, max_length=20)
    epoch = [pairs_in([batch]) for batch in arrays(data.arrays(0))]
    assert len(epoch) == len(data.windows) == 3
    for number in range(6):
        sides = shards.part(number, 0, 20)
        rows = [np.split(side.flat(), side.lengths.cumsum())[:-1] for side in sides]
        there = {(tuple(a.tolist()), tuple(b.tolist())) for a, b in zip(*rows, strict=True)}
        assert all(2 <= len(there & {*window}) <= 7 for window in epoch)


def test_windows_of_many_shards_have_some_that_are_spread_evenly(monkeypatch):
    monkeypatch.setattr("keras_bahdanau.data.shards.sharded_batches.SPREAD", 3)
    assert _windows([3, 3, 3, 9, 1, 1], 6) == [
        *(ShardWindow(range(0, 6, 2), part, 2) for part in (0, 1)),  # 3 + 3 + 1 pairs
        *(ShardWindow(range(1, 6, 2), part, 3) for part in (0, 1, 2)),  # 3 + 9 + 1 pairs
    ]
    with pytest.raises(ValueError, match="at most 100,000 windows. Received: 200,000 pairs"):
        _windows([10**5, 10**5], 1)


def test_an_id_of_no_vocabulary_is_an_error_that_names_the_file(shards_of):
    shards = shards_of(50)
    path = shards.directory / "00002" / "target.ids.npy"
    ids = np.load(path)
    ids[3] = 11
    np.save(path, ids)
    data = ShardedBatches(shards, 60)
    with pytest.raises(ValueError, match=r"00002/target.*row 0 contains 11, but"):
        arrays(data.arrays(0))


def test_ids_that_are_cut_are_an_error_before_the_first_batch(shards_of):
    shards = shards_of(50)
    path = shards.directory / "00002" / "source.ids.npy"
    path.write_bytes(path.read_bytes()[:-4])
    with pytest.raises(ValueError, match="Received: path='.*00002/source.ids.npy' .it has"):
        ShardedBatches(shards, 60)


def test_a_limit_that_no_pair_reaches_takes_no_memory(shards):
    settings = {"batch_tokens": 90, "shuffle": False}
    data, limited = (ShardedBatches(shards, max_length=n, **settings) for n in (10**9, 16))
    assert data.shapes == limited.shapes
    assert same(*(arrays(one.epoch(0)) for one in (data, limited)))


def test_nothing_left_is_an_error_that_counts(shards):
    with pytest.raises(ValueError, match="Received: 120 pairs"):
        ShardedBatches(shards, max_length=1)


@pytest.mark.parametrize(
    ("settings", "received"),
    [
        ({"window": 0}, "window=0"),
        ({"max_source_length": 0}, "max_source_length=0"),
        ({"batch_tokens": 0}, "batch_tokens=0"),
        ({"shard": (2, 2)}, "index=2"),
        ({"shard": (0, 0)}, "count=0"),
        ({"shard": (0, 10**6)}, "count=1000000"),
        ({"batch_tokens": 60, "batch_sentences": 7}, "batch_sentences=7"),
    ],
)
def test_settings_are_checked(shards, settings, received):
    with pytest.raises(ValueError, match=f"Received: .*{received}"):
        ShardedBatches(shards, **settings)


def test_ids_that_are_damaged_while_a_training_reads_them_are_one_clear_line(shards_of):
    shards = shards_of(20, 40)
    data = ShardedBatches(shards, batch_tokens=90, max_length=14)
    ids = np.load(shards.directory / "00001" / "target.ids.npy")
    ids[shards.part(1, 0, 3)[1].lengths.sum()] = 99  # the first id of row 3
    np.save(shards.directory / "00001" / "target.ids.npy", ids)
    with pytest.raises(ValueError, match="00001/target.ids.npy. .row 3 contains 99") as caught:
        with data.errors():
            for _ in data.epoch(0):
                pass
    assert "\n" not in str(caught.value) and "Prepare the corpus again" in str(caught.value)
