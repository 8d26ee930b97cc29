"""Defaults that follow from the number of pairs."""

import dataclasses

import pytest

from keras_bahdanau import Translator
from keras_bahdanau.training import Run, TrainingOptions, train
from keras_bahdanau.training.many_pairs import with_defaults_of_many
from keras_bahdanau.training.presets import PRESETS

CHARACTERS = TrainingOptions(preset="characters", model_type="char", normalization="none")


def settings(options, count):
    found = with_defaults_of_many(options, count).resolved()
    return found.dropout, found.batch_sentences, found.learning_rate


def test_many_pairs_take_less_dropout_and_larger_batches():
    assert settings(CHARACTERS, 20_000) == (0.3, 32, 1e-3)
    assert settings(CHARACTERS, 20_001) == (0.2, 64, 1.5e-3)


def test_still_more_words_and_phonemes_take_still_less_dropout():
    phonemes = dataclasses.replace(CHARACTERS, target_model_type="word")
    assert settings(phonemes, 100_000) == (0.2, 64, 1.5e-3)
    assert settings(phonemes, 100_001) == (0.08, 64, 1.5e-3)
    assert settings(CHARACTERS, 100_001) == (0.2, 64, 1.5e-3)  # as names
    given = dataclasses.replace(phonemes, dropout=0.3)
    assert settings(given, 100_001) == (0.3, 64, 1.5e-3)


def test_what_follows_from_the_dropout_follows():
    assert with_defaults_of_many(CHARACTERS, 30_000).resolved().embedding_dropout == 0.133


@pytest.mark.parametrize(
    "given, expected",
    [
        ({"dropout": 0.3}, (0.3, 64, 1.5e-3)),
        ({"dropout": 0.0, "learning_rate": 0.01}, (0.0, 64, 0.01)),
        ({"batch_sentences": 32}, (0.2, 32, 1.5e-3)),
        ({"batch_tokens": 500}, (0.2, 0, 1.5e-3)),
    ],
)
def test_an_option_that_is_given_wins(given, expected):
    assert settings(dataclasses.replace(CHARACTERS, **given), 10**6) == expected


@pytest.mark.parametrize("preset", sorted({*PRESETS} - {"characters"}))
def test_other_presets_are_the_same_for_any_number(preset):
    options = TrainingOptions(preset=preset)
    assert with_defaults_of_many(options, 10**6) is options
    assert options.undecided() == []


def test_one_line_tells_of_them():
    lines = []
    for count in (20_000, 20_001):
        with_defaults_of_many(CHARACTERS, count, lines.append)
    assert lines == [
        "defaults for more than 20,000 pairs: dropout 0.2, batch_sentences 64, learning_rate 0.0015"
    ]


def test_a_run_keeps_the_defaults_that_it_began_with(tmp_path):
    run, pairs = Run(tmp_path / "run"), [("a", "b")]
    run.begin(with_defaults_of_many(CHARACTERS, 30_000), pairs, pairs, {})
    assert settings(run.kept(CHARACTERS), 30_000) == (0.2, 64, 1.5e-3)
    run.check(CHARACTERS, pairs, pairs)
    earlier = Run(tmp_path / "earlier")
    earlier.begin(CHARACTERS, pairs, pairs, {})  # as before there were defaults for many pairs
    assert settings(earlier.kept(CHARACTERS), 30_000) == (0.3, 32, 1e-3)
    earlier.check(CHARACTERS, pairs, pairs)
    with pytest.raises(ValueError, match=r"dropout=0.3. Received: dropout=0.2"):
        earlier.check(dataclasses.replace(CHARACTERS, dropout=0.2), pairs, pairs)


@pytest.mark.slow
def test_a_training_takes_and_records_what_it_found(tmp_path, monkeypatch):
    many = PRESETS["characters"].of_many_pairs
    monkeypatch.setitem(many, 2, many[20_000])
    options = TrainingOptions(
        preset="characters", units=8, embedding_units=4, attention_units=4, epochs=1, epoch_steps=1
    )
    pairs, told = [("<N> 한국", "h a n"), ("<N> 나라", "n a"), ("<V> 가", "k a")], []
    symbols, settings = ["<N>", "<V>"], {"verbose": 0, "say": told.append}
    path = train(pairs, pairs, tmp_path / "run", options, symbols=symbols, **settings)
    card = Run(tmp_path / "run").read_card()["options"]
    names = ("dropout", "batch_sentences", "source_normalization", "target_normalization")
    assert [card[name] for name in names] == [0.2, 64, "nfd", "none"]
    assert any(line.startswith("defaults for more than 2 pairs: dropout 0.2") for line in told)
    translator = Translator.load(path)
    tokens = translator.source.subwords.tokens
    (ids,) = translator.source.subwords.encode(["학"])  # a syllable that no pair has
    assert tokens(ids).tolist() == ["\u1112", "\u1161", "\u11a8", "</s>"]
    assert translator.search.write_symbols  # the target has a vocabulary without symbols
