"""Reports about the pairs that a training run leaves out, and about its first and slow steps."""

import types

import keras
import numpy as np
import pytest

from keras_bahdanau.data import BatchedPairs
from keras_bahdanau.data.mixing import MixedBatches
from keras_bahdanau.data.shards.sharded_batches import ShardedBatches
from keras_bahdanau.data.shards.shards import write_card, write_shard
from keras_bahdanau.models.ctc_loss import ctc_loss
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.id_rows import IdRows
from keras_bahdanau.training import TrainingOptions, TrainingPlan, reports, train, vocabularies
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.reports import (
    ReportSteps,
    report_pairs_without_ctc_path,
    report_skipped_of,
    report_texts,
)

LONG = "a b " * 30


def told(pairs, kind="training"):
    lines = []
    side = Subwords.train(["a b"], 12, model_type="word", exact=False)
    batches = BatchedPairs(pairs, side, side, max_length=8)
    inputs = [source for source, _ in pairs]
    report_skipped_of(kind, batches, inputs, source_of(side), 8, lines.append)
    return lines


@pytest.mark.parametrize("kind, option", [("training", " (--max-length)"), ("validation", "")])
def test_one_pair_that_is_too_long_is_named(kind, option):
    pairs = [("a", "b"), ("a" + LONG, "b"), ("", "b")]
    assert told(pairs, kind) == [
        f"1 {kind} pair with an empty side is left out",
        f"1 {kind} pair with more than 8 tokens is left out{option}: {('a' + LONG)[:40] + '…'!r}",
    ]


def test_of_many_pairs_three_are_named_and_the_others_counted():
    pairs = [("a", "b"), *((f"a{number} ", LONG) for number in range(1005))]
    assert told(pairs) == [
        "1,005 training pairs with more than 8 tokens are left out (--max-length): "
        "'a0 ', 'a1 ', 'a2 ' and 1,002 more"
    ]


def test_a_limit_of_the_source_is_named_with_its_option():
    side, lines = Subwords.train(["a b"], 12, model_type="word", exact=False), []
    pairs = [("a", "b"), (LONG, "b")]
    batches = BatchedPairs(pairs, side, side, max_length=128, max_source_length=20)
    arguments = source_of(side), 128, lines.append, (3000, "frames")
    report_skipped_of("training", batches, ["a", "b"], *arguments)
    assert lines == [
        "1 training pair with more than 128 tokens, or a source of more than 3,000 frames, is left "
        "out (--max-length, --max-source-length): 'b'"
    ]
    with pytest.raises(ValueError, match="max_length=128 of them, or max_source_length=20 .*or"):
        BatchedPairs(pairs[1:], side, side, max_length=128, max_source_length=20)


def characters():
    return Subwords.train(["ab", "ba"], 7, model_type="char", exact=False)


def model_of(reduction, ctc_weight=0.3):
    encoder = types.SimpleNamespace(reduction=reduction)
    return types.SimpleNamespace(encoder=encoder, ctc_weight=ctc_weight)


def told_of_ctc(pairs, *settings):
    lines, side = [], characters()
    batches = BatchedPairs(pairs, side, side, max_length=20)
    report_pairs_without_ctc_path(batches, model_of(*settings), lines.append)
    return lines


def test_pairs_without_a_path_of_ctc_are_counted_and_told():
    # Each text becomes a word mark, its letters and, in sources, the end token.
    pairs = [("abab", "ab"), ("ab", "aba"), ("abab", "abbb"), ("ab" * 20, "a"), ("", "abab")]
    advice = (
        "Use an encoder or cells that shorten the source less, longer tokens such as subwords or "
        "words, or --ctc-weight 0"
    )
    assert told_of_ctc(pairs, 1) == [
        "1 training pair has more target tokens than CTC has places, one for each position of the "
        f"source: CTC learns nothing from it. {advice}"
    ]
    assert told_of_ctc(pairs, 2) == [
        "2 training pairs have more target tokens than CTC has places, one for each 2 positions of "
        f"the source: CTC learns nothing from them. {advice}"
    ]
    assert told_of_ctc(pairs[:1], 2) == []
    assert told_of_ctc(pairs, 2, 0.0) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("reduction", [1, 2, 4])
def test_the_count_is_that_of_the_losses_without_a_path(tmp_path, reduction):
    random, side = np.random.default_rng(0), characters()
    pairs = [
        tuple("".join(random.choice([*"ab"], size)) for size in random.integers(1, 12, 2))
        for _ in range(60)
    ]
    sources, targets = (IdRows.encoded(side, texts) for texts in zip(*pairs, strict=True))
    labels = targets.padded(np.arange(60), (60, 15))
    labels = np.where(np.pad(labels[:, 1:], ((0, 0), (0, 1))) > 0, labels, 0)  # without end tokens
    places = -(-sources.lengths // reduction)
    mask = np.arange(15) < places[:, np.newaxis]
    losses = np.asarray(ctc_loss(np.zeros((60, 15, side.vocabulary_size), "float32"), mask, labels))
    expected = int((losses == 0).sum())
    batches = BatchedPairs(pairs, side, side)
    entries = [
        write_shard(
            tmp_path, first // 30, sources.part(first, first + 30), targets.part(first, first + 30)
        )
        for first in (0, 30)
    ]
    shards = write_card(tmp_path, entries, source_of(side), side)
    assert 0 < expected < 60 and batches.pathless(reduction) == expected
    assert ShardedBatches(shards, batch_tokens=90).pathless(reduction) == expected
    assert MixedBatches([batches, batches], [1, 1]).pathless(reduction) == 2 * expected


@pytest.mark.slow
def test_a_training_tells_how_many_pairs_of_all_it_has(tmp_path):
    lines, sizes = [], {"units": 4, "embedding_units": 4, "attention_units": 4}
    options = TrainingOptions(
        **sizes, model_type="char", epochs=1, max_length=8, batch_sentences=2, batch_tokens=0
    )
    pairs = [("a", "b"), ("b", "a"), (LONG, "b")]
    train(pairs, pairs[:2], tmp_path / "run", options, 2, lines.append)
    assert any(line.startswith("2 of 3 pairs, 1 batch per epoch, ") for line in lines)
    assert "building the graph: the first step takes the longest" in lines


@pytest.mark.parametrize(
    "count, given, told",
    [(9, None, True), (10, None, False), (9, "given", False)],
)
def test_more_subwords_than_pairs_get_one_hint(count, given, told):
    side = Subwords.train(["ab", "ba"], 10, model_type="bpe", exact=False)
    size, lines = side.vocabulary_size, []
    pairs = size - 10 + count
    vocabularies._report_rare((given and side, given and side), (side, side), pairs, lines.append)
    hint = (
        f"{size:,} tokens for {pairs:,} pairs: most subwords occur only once. Try "
        "--source-model-type char, or a smaller --vocabulary-size"
    )
    assert lines == [hint] * told


def test_long_steps_are_told_each_half_minute_where_there_is_no_bar(monkeypatch):
    clock = iter([0.0, 20.0, 31.0, 31.0, 50.0, 60.0, 70.0, 95.0, 95.0])
    monkeypatch.setattr(reports.time, "monotonic", lambda: next(clock))
    lines = []
    callback = ReportSteps(lines.append, lines=True)
    callback.set_params({"steps": 1200})
    callback.on_train_begin()
    callback.on_epoch_begin(4)
    for batch in range(3):  # at 20, 31 and 50 seconds
        callback.on_train_batch_end(batch, {"loss": np.float32(2.5)})
    callback.on_epoch_end(4)
    callback.on_epoch_begin(5)
    for batch in range(2):  # at 70 and 95 seconds
        callback.on_train_batch_end(batch, {})
    assert lines == [
        "building the graph: the first step takes the longest",
        "epoch 5: step 2 of 1,200, loss 2.5000",
        "epoch 6: step 2 of 1,200",
    ]
    assert isinstance(callback, keras.callbacks.Callback)


def test_steps_of_a_resumed_epoch_are_counted_from_its_begin(monkeypatch):
    clock = iter([0.0, 31.0, 31.0, 40.0, 80.0, 80.0])
    monkeypatch.setattr(reports.time, "monotonic", lambda: next(clock))
    lines = []
    callback = ReportSteps(lines.append, lines=True, first_step=2)
    callback.set_params({"steps": 45})
    callback.on_train_begin()
    callback.on_epoch_begin(4)
    callback.on_train_batch_end(2, {})
    callback.on_epoch_end(4)
    callback.set_params({"steps": 47})
    callback.on_epoch_begin(5)
    callback.on_train_batch_end(0, {})
    assert lines[1:] == ["epoch 5: step 5 of 47", "epoch 6: step 1 of 47"]


def test_texts_that_the_vocabularies_do_not_know_are_reported():
    side, lines = Subwords.train(["a b"], 12, model_type="word", exact=False), []
    data = TrainingData.build([("a", "b"), ("b", "e")], [("a", "a c"), ("b", "d b")])
    plan = TrainingPlan(TrainingOptions().resolved(), source_of(side), side, data)
    report_texts(plan, lines.append)
    assert lines == [
        "1 of 2 targets of the training has parts that the vocabulary does not know: e",
        "2 of 2 targets of the validation have parts that the vocabulary does not know: c d",
    ]


def test_targets_that_the_vocabulary_can_not_write_are_reported():
    side, lines = Subwords.train(["a2 b"], 12, model_type="char", exact=False), []
    data = TrainingData.build([("a", "b"), ("a", "a²")], [("a", "b")])
    plan = TrainingPlan(TrainingOptions().resolved(), source_of(side), side, data)
    report_texts(plan, lines.append)
    assert len(lines) == 1
    assert "can't write 1 of 2 targets of the training" in lines[0]
    assert "--target-normalization none" in lines[0]
