"""Subword sampling: samples spell the same text, have the right frequencies, and fit batches."""

import collections
import io
import json
import subprocess
import sys

import numpy as np
import pytest
import sentencepiece

from keras_bahdanau.data.batching import BatchedPairs
from keras_bahdanau.text.subword_sampling import SubwordSampler
from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, PAD

WORDS = ("lower", "lowest", "newer", "newest", "wider", "widest", "low", "new", "wide")
RANDOM = np.random.default_rng(1)
PAIRS = [
    (" ".join(RANDOM.choice(WORDS, n)), " ".join(RANDOM.choice(WORDS, n)).upper())
    for n in RANDOM.integers(1, 8, 120)
]
SENTENCES = [source for source, _ in PAIRS]


@pytest.fixture(scope="module", params=["bpe", "unigram"])
def subwords(request):
    return Subwords.train_pair(PAIRS, 40, model_type=request.param)[0]


def epoch(data, number, first_step=0):
    return [
        [np.asarray(part) for part in (*inputs, target_out, weight)]
        for inputs, target_out, weight in data.epoch(number, first_step)
    ]


def texts(subwords, batches):
    """Decode the target sentences of some batches."""
    return subwords.decode([row for batch in batches for row in batch[2] if row[0] != PAD])


def same(left, right):
    return len(left) == len(right) and all(
        np.array_equal(a, b)
        for first, second in zip(left, right, strict=True)
        for a, b in zip(first, second, strict=True)
    )


def test_what_is_drawn_spells_the_sentence_in_other_ways(subwords):
    sampler = SubwordSampler(subwords.model, 0.3)
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    draws = [sampler.sample(SENTENCES, seed) for seed in range(3)]
    for rows in draws:
        assert processor.decode(rows) == SENTENCES
    assert draws[0] != draws[1] != draws[2]


def test_the_same_seed_draws_the_same_whatever_was_drawn_before(subwords):
    sampler = SubwordSampler(subwords.model, 0.3)
    first = sampler.sample(SENTENCES, (0, 1))
    assert sampler.sample(SENTENCES, (0, 2)) != first
    other = SubwordSampler(subwords.model, 0.3)
    assert other.sample(SENTENCES, (0, 1)) == first


def test_a_sentence_is_split_alike_whatever_stands_beside_it(subwords):
    sampler = SubwordSampler(subwords.model, 0.3)
    together = sampler.sample(SENTENCES, (3, 1))
    assert sampler.sample(SENTENCES[::-1], (3, 1)) == together[::-1]
    alone = [row for sentence in SENTENCES for row in sampler.sample([sentence], (3, 1))]
    assert alone == together


DRAWN_ELSEWHERE = """
import hashlib, json, sys, threading
import sentencepiece
from keras_bahdanau.text import Subwords
from keras_bahdanau.text.subword_sampling import SubwordSampler

config, sentences, before, in_thread = json.load(sys.stdin)
model = Subwords.from_config(config).model
processor = sentencepiece.SentencePieceProcessor(model_proto=model)
for threads in before:
    processor.encode(sentences, enable_sampling=True, alpha=0.5, nbest_size=-1, num_threads=threads)
sampler = SubwordSampler(model, 0.3)

def draw():
    for epoch in range(4):
        print(sampler.sample(sentences, (5, epoch)))

thread = threading.Thread(target=draw)
thread.start() if in_thread else draw()
"""


@pytest.mark.few(1)
def test_other_processes_and_threads_draw_the_same(subwords):
    """It does not depend on earlier draws or on the number of threads."""
    work = [([], False), ([1], True), ([4, 1], False)]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", DRAWN_ELSEWHERE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in work
    ]
    answers = [
        process.communicate(json.dumps([subwords.get_config(), SENTENCES, *each]))[0]
        for process, each in zip(processes, work, strict=True)
    ]
    sampler = SubwordSampler(subwords.model, 0.3)
    here = "".join(f"{sampler.sample(SENTENCES, (5, epoch))}\n" for epoch in range(4))
    assert answers == [here] * 3


def chi_square(left, right):
    """Return (distance, degrees of freedom) of two samples of equal size, ignoring rare values."""
    sums = {one: left[one] + right[one] for one in {*left, *right}}
    often = [one for one, count in sums.items() if count >= 10]
    return sum((left[one] - right[one]) ** 2 / sums[one] for one in often), len(often) - 1


@pytest.mark.few(1)
@pytest.mark.parametrize("alpha", [0.1, 0.6])
def test_draws_are_as_frequent_as_sentencepieces_own(subwords, alpha):
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    sampler = SubwordSampler(subwords.model, alpha)
    settings = {"enable_sampling": True, "alpha": alpha, "nbest_size": -1}
    for text in ("newest", "widest low", "xlöwérr  <2de> new"):
        own = collections.Counter(tuple(*sampler.sample([text], seed)) for seed in range(3000))
        found = collections.Counter(map(tuple, processor.encode([text] * 3000, **settings)))
        distance, freedom = chi_square(own, found)
        # Two samples from one distribution exceed this once in ten million times.
        assert distance < freedom + 6 * np.sqrt(2 * freedom) + 18


@pytest.mark.parametrize("settings", [{}, {"byte_fallback": True}, {"split_by_whitespace": False}])
def test_next_to_no_chance_splits_as_the_model_does(settings):
    """This holds for any text, and for models that `Subwords.train` does not make."""
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(SENTENCES),
        model_writer=model,
        model_type="bpe",
        vocab_size=330,
        hard_vocab_limit=False,
        user_defined_symbols=["<2de>", "▁<2de>"],
        minloglevel=2,
        **{"pad_id": 0, "unk_id": 1, "bos_id": 2, "eos_id": 3},
        **settings,
    )
    processor = sentencepiece.SentencePieceProcessor(model_proto=model.getvalue())
    texts = [*SENTENCES, "", " ", "xyzñ  löwerr", "<2de> low<2de>er", "low\n▁new", "日本", "w" * 99]
    texts += ["".join(RANDOM.choice([*"lownerst xéÿ▁\t"], n)) for n in RANDOM.integers(1, 40, 200)]
    sampler = SubwordSampler(model.getvalue(), 1e-12)
    assert sampler.sample(texts, 0) == processor.encode(texts)


@pytest.mark.few(1)
def test_a_word_of_13000_characters_is_split_too(subwords):
    rows = SubwordSampler(subwords.model, 0.1).sample(["newest" * 3000], 0)
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    assert processor.decode(rows) == ["newest" * 3000]


def test_bpe_leaves_out_that_share_of_merges():
    """A word of two letters has one merge, which is left out with the probability alpha."""
    subwords = Subwords.train(["ab " * 9, "ab"], 8)  # ▁ a b, then ▁ab or ab
    sampler = SubwordSampler(subwords.model, 0.25)
    whole = sentencepiece.SentencePieceProcessor(model_proto=subwords.model).encode("ab")
    rows = [row for seed in range(4000) for row in sampler.sample(["ab"], seed)]
    kept = np.mean([row[-1] == whole[-1] for row in rows])
    assert abs(kept - 0.75) < 0.03


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_symbols_stay_whole(model_type):
    subwords, _ = Subwords.train_pair(PAIRS, 40, model_type=model_type, symbols=("<2de>",))
    sampler = SubwordSampler(subwords.model, 0.5)
    rows = sampler.sample([f"<2de> {sentence}" for sentence in SENTENCES], 0)
    assert {subwords.tokens(row[0]) for row in rows} == {"▁<2de>"}


@pytest.mark.few(1)
@pytest.mark.parametrize("measure", [{"batch_tokens": 120}, {"batch_sentences": 16}])
def test_each_epoch_has_all_pairs_split_anew(subwords, measure):
    data = BatchedPairs(PAIRS, subwords, subwords, subword_sampling=0.2, **measure)
    epochs = [epoch(data, number) for number in range(3)]
    for batches in epochs:
        assert len(batches) == data.steps
        assert sorted(texts(subwords, batches)) == sorted(target for _, target in PAIRS)
        for source, target_in, target_out, weight in batches:
            assert np.array_equal(weight, target_out != PAD)
            assert np.array_equal((source == END).sum(1), (source[:, 0] != PAD))
            assert np.array_equal(
                target_in[:, 1:][weight[:, 1:] > 0], target_out[:, :-1][weight[:, 1:] > 0]
            )
    tokens = [sum(int(batch[3].sum()) for batch in batches) for batches in epochs]
    assert len(set(tokens)) > 1 and tokens[0] == data.tokens


def test_a_pair_stays_a_pair():
    """Source and target have the same words, in lower and upper case."""
    pairs = [(words, words.upper()) for words in SENTENCES]
    source, target = Subwords.train_pair(pairs, 40, joint=False)
    data = BatchedPairs(pairs, source, target, 120, subword_sampling=0.3)
    source_of = sentencepiece.SentencePieceProcessor(model_proto=source.model)
    for batches in (epoch(data, number) for number in (0, 3)):
        sources = [
            source_of.decode([int(i) for i in row if i not in (PAD, END)])
            for batch in batches
            for row in batch[0]
            if row[0] != PAD
        ]
        assert [spelt.upper() for spelt in sources] == texts(target, batches)


@pytest.mark.few(1)
@pytest.mark.parametrize("measure", [{"batch_tokens": 120}, {"batch_sentences": 16}])
def test_an_epoch_goes_on_where_it_was_left(subwords, measure):
    data = BatchedPairs(PAIRS, subwords, subwords, subword_sampling=0.2, seed=4, **measure)
    batches = epoch(data, 2)
    again = BatchedPairs(PAIRS, subwords, subwords, subword_sampling=0.2, seed=4, **measure)
    assert same(epoch(again, 2, first_step=3), batches[3:])
    assert not same(epoch(again, 1), batches)


@pytest.mark.few(1)
def test_shapes_are_few_in_all_epochs(subwords):
    data = BatchedPairs(PAIRS, subwords, subwords, 120, buckets=3, subword_sampling=0.2)
    shapes = {batch[0].shape for number in range(6) for batch in epoch(data, number)}
    assert {rows for rows, _ in shapes} == {rows for rows, _ in data.shapes}
    assert max(length for _, length in shapes) == data.shapes[-1][1], "none beyond the longest"
    assert len(shapes) <= 4 * len(data.shapes)


@pytest.mark.few(1)
def test_no_sentence_grows_beyond_the_longest(subwords):
    plain = BatchedPairs(PAIRS, subwords, subwords, 400, max_length=7)
    data = BatchedPairs(PAIRS, subwords, subwords, 400, max_length=7, subword_sampling=0.5)
    assert data.skipped == plain.skipped and data.skipped.too_long > 0
    assert all(batch[0].shape[1] <= 7 for number in range(3) for batch in epoch(data, number))


@pytest.mark.few(1)
@pytest.mark.parametrize("source, target", [(7, 20), (20, 7)])
def test_each_side_has_a_bound_of_its_own(subwords, source, target):
    limits = {"max_length": target, "max_source_length": source}
    data = BatchedPairs(PAIRS, subwords, subwords, 400, subword_sampling=0.5, **limits)
    batches = [batch for number in range(4) for batch in epoch(data, number)]
    longest = [
        max(batch[side].astype(bool).sum(axis=1).max() for batch in batches) for side in (0, 1)
    ]
    assert longest[0] <= source and longest[1] <= target
    assert max(longest) > 7


def test_pairs_with_an_empty_side_are_left_out_as_ever(subwords):
    data = BatchedPairs(
        [*PAIRS[:9], ("", "NEW"), ("new", "")], subwords, subwords, subword_sampling=0.2
    )
    assert data.skipped.empty == 2
    assert len(texts(subwords, epoch(data, 1))) == 9


@pytest.mark.parametrize(
    "settings, message",
    [
        (
            {"subword_sampling": 1.0},
            r"`subword_sampling` must be .* Received: subword_sampling=1.0",
        ),
        (
            {"subword_sampling": "a"},
            r"`subword_sampling` must be .* Received: subword_sampling='a'",
        ),
        (
            {"subword_sampling": 0.1, "alignments": [set()] * len(PAIRS)},
            r"the same way. Received: alignments, with subword_sampling=0.1. Leave",
        ),
    ],
)
def test_unusable_settings_are_refused(subwords, settings, message):
    with pytest.raises(ValueError, match=message):
        BatchedPairs(PAIRS, subwords, subwords, **settings)


@pytest.mark.parametrize("model_type", ["char", "word"])
def test_only_bpe_and_unigram_are_sampled(model_type):
    subwords = Subwords.train(["a b c"], 7, model_type=model_type, exact=False)
    with pytest.raises(ValueError, match=f"Received: a model of type '{model_type}'"):
        SubwordSampler(subwords.model, 0.1)
