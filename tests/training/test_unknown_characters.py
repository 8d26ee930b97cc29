"""Characters in no training pair: a model trained with unknown characters copies them."""

import dataclasses
import types

import numpy as np
import pytest

import keras_bahdanau as kb
from keras_bahdanau.data.pairs import PairList
from keras_bahdanau.sources import ImageSource
from keras_bahdanau.sources.text_source import source_of
from keras_bahdanau.text import Subwords
from keras_bahdanau.training import TrainingOptions, TrainingPlan, train
from keras_bahdanau.training.data import TrainingData
from keras_bahdanau.training.saved_pipeline import initial_search

RANDOM = np.random.default_rng(2)
STEMS = ["".join(RANDOM.choice(list("abcdefgh"), RANDOM.integers(3, 7))) for _ in range(400)]
PAIRS = [(stem, f"{stem}s") for stem in STEMS]
NEW = ["abÖcd", "ÄÜbac", "fgé", "ÄbÜac"]  # a run of two unknown characters is one token
SETTINGS = {
    **{"preset": "characters", "units": 48, "embedding_units": 24, "attention_units": 24},
    **{"dropout": 0.0, "label_smoothing": 0.0, "learning_rate": 0.01, "ema_momentum": 0.9},
    **{"epochs": 1, "epoch_steps": 120, "seed": 1, "unknown_rate": 0.3, "best_by": "perplexity"},
    **{"encoder": "convolutional", "bridge": "zeros", "cell": "ssru"},  # halves the tracing time
}


def options(**others):
    return TrainingOptions(**{**SETTINGS, **others})


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    out = tmp_path_factory.mktemp("unknown") / "run"
    return train(PAIRS, PAIRS[:20], out, options=options(), verbose=0)


@pytest.mark.slow
def test_letters_that_no_pair_had_are_copied(trained):
    translator = kb.Translator.load(trained)
    assert translator.search.replace_unknown
    texts = [one.text for one in translator.translate(NEW)]
    assert texts == [f"{one}s" for one in NEW]


@pytest.mark.slow
def test_the_search_of_a_further_training_copies_too(trained, tmp_path):
    translator = kb.Translator.load(trained)
    translator.search = dataclasses.replace(translator.search, replace_unknown=False)
    translator.save(tmp_path / "plain.keras")
    path = train(
        *(PAIRS[:32], PAIRS[:4], tmp_path / "run"),
        options=TrainingOptions(epochs=1, epoch_steps=1, unknown_rate=0.3),
        initial=tmp_path / "plain.keras",
        verbose=0,
    )
    assert kb.Translator.load(path).search.replace_unknown


@pytest.mark.parametrize(
    "given, received",
    [({"target_model_type": "word"}, "'char' and 'word'"), ({"model_type": "bpe"}, "'bpe' and")],
)
def test_words_are_refused_before_vocabularies_are_learnt(tmp_path, given, received):
    told = []
    given = {"options": options(**given), "verbose": 0, "say": told.append}
    with pytest.raises(ValueError, match=f"unknown_rate=0.3 with {received}"):
        train(PAIRS, PAIRS[:9], tmp_path / "run", **given)
    assert not [line for line in told if "vocabulary has" in line]


@pytest.mark.parametrize("given", [{"attention": "none"}, {"encoder": "pyramidal"}])
def test_characters_without_a_weight_each_are_refused_before_a_run_begins(given):
    ((name, value),) = given.items()
    received = f"Received: unknown_rate=0.3, {name}={value!r}. Leave out unknown_rate"
    with pytest.raises(ValueError, match=received):
        options(**given).resolved()


def test_a_source_that_is_no_text_is_refused(tmp_path):
    pairs = [(np.eye(8), "abc")] * 4
    given = TrainingOptions(unknown_rate=0.3)
    source = ImageSource(height=8, width=8)
    with pytest.raises(ValueError, match="unknown_rate=0.3 with 'ImageSource' and 'bpe'"):
        train(pairs, pairs[:1], tmp_path / "run", options=given, source=source, verbose=0)


@pytest.mark.slow
@pytest.mark.parametrize(
    "types, copies",
    [
        ({}, True),
        ({"target_model_type": "word"}, False),
        ({"target_normalization": "nfd"}, False),
    ],
)
def test_a_pointer_generator_of_characters_begins_with_a_search_that_copies(types, copies):
    settings = {"model_type": "char", "normalization": "none"}
    given = {name.removeprefix("target_"): value for name, value in types.items()}
    source = Subwords.train(["가 ab"], 30, exact=False, **settings)
    target = Subwords.train(["가 ab"], 30, exact=False, **{**settings, **given})
    with_copies = options(copy=True, unknown_rate=0.0).resolved()
    data = TrainingData.build([("a", "b")], [("a", "b")])
    plan = TrainingPlan(with_copies, source_of(source), target, data)
    search = initial_search(plan)
    assert (search.replace_unknown, search.write_symbols) == (copies, True)
    plain = options(unknown_rate=0.0).resolved()
    assert not initial_search(plan._replace(options=plain)).replace_unknown


@pytest.mark.slow
def test_a_space_is_never_unknown():
    pairs = PairList([("a b", "a b")])
    subwords, _ = Subwords.train_pair(pairs, 20, model_type="char", exact=False)
    data, workers = TrainingData(pairs, pairs), types.SimpleNamespace(index=0, count=1)
    given = options(unknown_rate=0.9, epoch_steps=60, batch_sentences=1).resolved()
    batches, _ = TrainingPlan(given, source_of(subwords), subwords, data).batches(workers)
    hidden = [
        {*subwords.tokens(whole[0]).tolist()} - {*subwords.tokens(ids[0]).tolist()}
        for ((ids, _), *_), whole in zip(
            batches.arrays(0), [subwords.encode(["a b"])] * 60, strict=True
        )
    ]
    assert {frozenset(one) for one in hidden} == {frozenset(one) for one in ("", "a", "b")}


@pytest.mark.slow
def test_two_workers_have_the_batches_of_one():
    pairs = PairList(PAIRS[:30])
    subwords, _ = Subwords.train_pair(pairs, 20, model_type="char", exact=False)
    data, given = TrainingData(pairs, pairs), options(epoch_steps=6, batch_sentences=5).resolved()

    def sources(index, count):
        workers = types.SimpleNamespace(index=index, count=count)
        plan = TrainingPlan(given, source_of(subwords), subwords, data)
        batches, _ = plan.batches(workers)
        return [ids for ((ids, _), *_) in batches.arrays(0)]

    parts = zip(sources(0, 1), sources(0, 2), sources(1, 2), strict=True)
    for whole, first, second in parts:
        np.testing.assert_array_equal(first, whole[0::2])
        np.testing.assert_array_equal(second, whole[1::2])
