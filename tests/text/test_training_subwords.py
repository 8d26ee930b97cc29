"""Training a vocabulary: sizes, settings, symbols, and one-line errors."""

import json

import pytest
import sentencepiece
from animals import PAIRS, SENTENCES, SIZES

from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END


def lists(rows):
    return [row.tolist() for row in rows]


def test_training_is_deterministic():
    for model_type in ("bpe", "unigram"):
        first = Subwords.train(SENTENCES, 24, model_type=model_type)
        assert first == Subwords.train(iter(SENTENCES), 24, model_type=model_type)
        pair = Subwords.train_pair(PAIRS, 24, model_type=model_type)
        assert pair == Subwords.train_pair(iter(PAIRS), 24, model_type=model_type)


def test_long_sentences_take_part_in_training():
    subwords, _ = Subwords.train_pair([("q " * 5000, "z")], 7, model_type="char")
    assert subwords.tokens([4, 5, 6]).tolist() == ["▁", "q", "z"]


def test_training_writes_nothing(capfd):
    Subwords.train(SENTENCES, 24)
    captured = capfd.readouterr()
    assert captured.out == captured.err == ""


@pytest.mark.few(1)
@pytest.mark.parametrize("model_type", SIZES)
def test_largest_vocabulary_is_named_and_works(model_type):
    with pytest.raises(ValueError, match="vocabulary_size=5000") as error:
        Subwords.train(SENTENCES, 5000, model_type=model_type)
    message = str(error.value)
    largest = int(message.split("at most ")[1].split()[0])
    subwords = Subwords.train(SENTENCES, largest, model_type=model_type)
    assert subwords.vocabulary_size == largest
    with pytest.raises(ValueError, match=f"at most {largest} "):
        Subwords.train(SENTENCES, largest + 1, model_type=model_type)
    assert Subwords.train(SENTENCES, 5000, model_type=model_type, exact=False) == subwords
    assert Subwords.train(SENTENCES, largest, model_type=model_type, exact=False) == subwords


@pytest.mark.parametrize("model_type", ["bpe", "unigram"])
def test_smallest_vocabulary_is_named_and_works(model_type):
    with pytest.raises(ValueError, match="vocabulary_size=6") as error:
        Subwords.train(SENTENCES, 6, model_type=model_type)
    smallest = int(str(error.value).split("at least ")[1].split()[0])
    assert Subwords.train(SENTENCES, smallest, model_type=model_type)


@pytest.mark.parametrize("size", [-1, 0, 4, 20.0])
def test_vocabulary_must_hold_more_than_the_special_tokens(size):
    with pytest.raises(ValueError, match=f"vocabulary_size={size}"):
        Subwords.train(SENTENCES, size)


@pytest.mark.parametrize("pairs", [[], [("", "")], [("  ", "\u3000")]])
def test_training_needs_text(pairs):
    with pytest.raises(ValueError, match="needs text.* only empty sentences in the text"):
        Subwords.train([sentence for pair in pairs for sentence in pair], 20)
    with pytest.raises(ValueError, match="needs text.* sentences in the source and target text"):
        Subwords.train_pair(pairs, 20)


def test_side_without_text_is_named():
    with pytest.raises(ValueError, match="only empty sentences in the target text"):
        Subwords.train_pair([("a b", "")], 7, joint=False, model_type="char")


@pytest.mark.parametrize(
    "setting",
    [{"model_type": "bytes"}, {"normalization": "nfc"}, {"character_coverage": 1.5}],
)
def test_unknown_setting_is_refused(setting):
    (name, value), *_ = setting.items()
    with pytest.raises(ValueError, match=str(value)) as error:
        Subwords.train(SENTENCES, 24, **setting)
    assert name in str(error.value)


SYMBOLS = ("<2de>", "<2FR>")

SIZES_WITH_SYMBOLS = {"bpe": 44, "unigram": 28, "char": 25, "word": 20}


@pytest.fixture(scope="module", params=SIZES_WITH_SYMBOLS)
def with_symbols(request):
    size = SIZES_WITH_SYMBOLS[request.param]
    return Subwords.train(
        SENTENCES, size, model_type=request.param, normalization="nmt_nfkc_cf", symbols=SYMBOLS
    )


def test_symbols_are_one_token_each_before_any_word(with_symbols):
    texts = ["<2de> the dog", "<2FR> the dog", "the <2de> dog <2FR>"]
    ids = with_symbols.encode(texts)
    rows = [with_symbols.tokens(row).tolist() for row in ids]
    assert [row[0] for row in rows[:2]] == ["▁<2de>", "▁<2FR>"]
    assert rows[0][1:] == rows[1][1:]
    assert (rows[2].count("▁<2de>"), rows[2].count("▁<2FR>")) == (1, 1)
    assert not any("<2" in token for row in rows for token in row if len(token) != 6)
    assert with_symbols.decode(ids) == texts


def test_ids_of_symbols_equal_those_of_sentencepiece(with_symbols):
    processor = sentencepiece.SentencePieceProcessor(model_proto=with_symbols.model)
    texts = ["<2de> the dog", " <2FR>  the<2de> ", "x<2FR>y", "<2 de>"]
    expected = [processor.encode(text) + [END] for text in texts]
    assert lists(with_symbols.encode(texts)) == expected


def test_symbols_have_the_first_ids_after_the_special_ones(with_symbols):
    tokens = with_symbols.tokens(range(4, 8)).tolist()
    assert tokens == ["<2de>", "▁<2de>", "<2FR>", "▁<2FR>"]


def test_config_keeps_symbols(with_symbols):
    restored = Subwords.from_config(json.loads(json.dumps(with_symbols.get_config())))
    assert restored == with_symbols
    assert lists(restored.encode(["<2FR>"])) == [[7, END]]


def test_a_symbol_stays_whole_inside_of_a_word():
    subwords = Subwords.train(SENTENCES, 21, model_type="char", symbols=["<n>"])
    (ids,) = subwords.encode(["(<n>e"])
    assert subwords.tokens(ids).tolist() == ["▁", "<unk>", "<n>", "e", "</s>"]


def test_both_vocabularies_have_the_symbols():
    sides = Subwords.train_pair(PAIRS, 17, joint=False, model_type="char", symbols=["<2de>"])
    assert sides[0] != sides[1]
    for subwords in sides:
        assert lists(subwords.encode(["<2de>"])) == [[5, END]]


def test_without_symbols_the_model_is_what_it_was():
    assert Subwords.train(SENTENCES, 24, symbols=()) == Subwords.train(SENTENCES, 24)


@pytest.mark.parametrize(
    "symbols", ["<2de>", [""], ["a b"], ["▁a"], ["</s>"], ["<a>", "<a>"], [4], [" <2de>"]]
)
def test_unusable_symbols_are_refused(symbols):
    with pytest.raises(ValueError, match="`symbols` must be distinct UTF-8 strings"):
        Subwords.train(SENTENCES, 24, symbols=symbols)
