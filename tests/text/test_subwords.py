"""Subwords on the host: ids, text and tokens, with a defined result for any bytes."""

import json
import pickle

import numpy as np
import pytest
import sentencepiece
from animals import PAIRS, SENTENCES, SIZES

from keras_bahdanau.text.subwords import Subwords
from keras_bahdanau.text.vocabulary import END, PAD, START, UNKNOWN

ODD_BYTES = [b"", b"   ", b"\xff\xfe\xc3", b"\x00", "猫 é \u2028".encode(), b"the " * 1250]


@pytest.fixture(scope="module")
def subwords():
    return Subwords.train(SENTENCES, 40)


@pytest.fixture(scope="module")
def sides():
    """(source, target): one vocabulary for each side."""
    return Subwords.train_pair(PAIRS, 17, joint=False, model_type="char", normalization="identity")


def lists(rows):
    return [row.tolist() for row in rows]


def test_joint_vocabulary_is_one_object_for_both_sides(subwords):
    source, target = Subwords.train_pair(PAIRS, 40)
    assert source is target
    assert source.vocabulary_size == 40
    sources, targets = zip(*PAIRS, strict=True)
    assert source == Subwords.train([*sources, *targets], 40)


def test_each_side_has_its_own_vocabulary(sides):
    source, target = sides
    assert source != target
    assert source.tokens(source.encode(["cat"])[0]).tolist() == [*"▁cat", "</s>"]
    assert target.tokens(target.encode(["chien"])[0]).tolist() == [*"▁chien", "</s>"]
    assert set(source.tokens(range(17))) != set(target.tokens(range(17)))
    settings = {"model_type": "char", "normalization": "identity"}
    assert source == Subwords.train([one for one, _ in PAIRS], 17, **settings)
    assert target == Subwords.train([one for _, one in PAIRS], 17, **settings)


def test_ids_equal_those_of_sentencepiece(subwords):
    processor = sentencepiece.SentencePieceProcessor(model_proto=subwords.model)
    sentences = ["the red cat", "un chat zigzag", "Ｔｈｅ　dog"]
    expected = [processor.encode(sentence) + [END] for sentence in sentences]
    assert lists(subwords.encode(sentences)) == expected
    assert lists(subwords.encode(sentences, end_of_empty=False)) == expected
    assert subwords.encode([]) == []


def test_sentence_without_token_has_no_id_or_only_the_end(subwords):
    assert lists(subwords.encode(["", "  "], end_of_empty=False)) == [[], []]
    assert lists(subwords.encode(["", "  "])) == [[END], [END]]


@pytest.mark.parametrize("kind", ["bpe", "unigram", "char"])
def test_runs_of_characters_without_an_id_are_named_once(kind):
    subwords = Subwords.train(["ab b a", "ba"], 12, model_type=kind, exact=False)
    assert subwords.unknown(["a <a qq> b<", "ab", ""]) == [["<", "qq>"], [], []]


def test_of_words_those_without_an_id_are_named():
    words = Subwords.train(["ab b a", "ba"], 12, model_type="word", exact=False)
    assert words.unknown(["a <a> b", "ab"]) == [["<a>"], []]


def test_white_space_that_is_a_token_and_has_no_id_is_named():
    letters = Subwords.train(["ab", "ba"], 8, model_type="char", normalization="none", exact=False)
    assert letters.unknown([" ab ", "a\xa0b", "ab"]) == [[" "], ["\xa0"], []]


def test_ids_are_int32(subwords):
    for sentence in ("a", ""):
        for end_of_empty in (True, False):
            assert subwords.encode([sentence], end_of_empty)[0].dtype == np.int32
    assert subwords.known(np.array([3, 4], np.int64)).dtype == np.int32


def test_bytes_and_strings_are_the_same_text(subwords):
    sentences = ["the red cat", "猫 é"]
    assert lists(subwords.encode([one.encode() for one in sentences])) == lists(
        subwords.encode(sentences)
    )


@pytest.mark.parametrize("model_type", SIZES)
def test_text_comes_back(model_type):
    subwords = Subwords.train(SENTENCES, SIZES[model_type], model_type=model_type)
    texts = ["le chien rouge", "", "un chat"]
    assert subwords.decode(subwords.encode(texts)) == texts
    assert subwords.decode([]) == []


def test_text_ends_at_the_first_end_token_without_padding_and_start(subwords):
    le, *chat, _ = subwords.encode(["le chat"])[0].tolist()
    rows = [
        [START, le, *chat, END, le, le, PAD],
        [PAD, le, PAD, *chat],
        [END, le],
        [],
    ]
    expected = ["le chat", "le chat", "", ""]
    assert subwords.decode(rows) == expected
    width = 6 + len(chat)
    assert subwords.decode([row + [PAD] * (width - len(row)) for row in rows]) == expected


def test_ids_outside_the_vocabulary_are_unknown(subwords):
    wild, unknown = [[5, 40, -1, 10**6, END]], [[5, UNKNOWN, UNKNOWN, UNKNOWN, END]]
    assert subwords.known(wild).tolist() == unknown
    assert subwords.decode(wild) == subwords.decode(unknown)
    assert subwords.decode(wild)[0].count("⁇") == 3
    assert subwords.tokens(wild).tolist() == subwords.tokens(unknown).tolist()
    assert subwords.tokens(np.array([-7, 2**40])).tolist() == ["<unk>", "<unk>"]


@pytest.mark.parametrize("shape", [(), (4,), (2, 2), (1, 2, 2), (0,), (2, 0)])
def test_tokens_keep_the_shape_of_the_ids(subwords, shape):
    ids = np.arange(4)[: int(np.prod(shape))].reshape(shape)
    expected = np.array(["", "<unk>", "<s>", "</s>"], object)[ids]
    found = subwords.tokens(ids)
    assert np.shape(found) == shape
    assert np.array_equal(found, expected)


def test_any_bytes_give_ids_and_text(subwords):
    rows = subwords.encode(ODD_BYTES)
    assert len(rows[-1]) == 1251
    texts = subwords.decode(rows)
    assert [texts[0], texts[1], texts[5]] == ["", "", ("the " * 1250).strip()]
    assert "⁇" in texts[2] and "⁇" in texts[3]


def test_config_is_json_and_round_trips(subwords, sides):
    for original in (subwords, *sides):
        restored = Subwords.from_config(json.loads(json.dumps(original.get_config())))
        assert restored == original
        assert hash(restored) == hash(original)
        assert lists(restored.encode(["the dog"])) == lists(original.encode(["the dog"]))
    assert subwords != sides[0]
    assert subwords != "subwords"


def test_a_pickle_holds_the_model_alone(subwords):
    assert subwords.graph.vocabulary_size == 40  # the graph object can't be pickled
    restored = pickle.loads(pickle.dumps(subwords))
    assert restored == subwords
    assert lists(restored.encode(["the dog"])) == lists(subwords.encode(["the dog"]))


def test_bytes_that_are_no_model_are_refused(subwords):
    for model in (b"", b"none", subwords.model[:-100]):
        with pytest.raises(ValueError, match="SentencePiece model.* Received: .* bytes"):
            Subwords(model)
    with pytest.raises(TypeError, match="`model` must be .* Received: model of type str"):
        Subwords("vocabulary.model")


def test_model_with_other_special_ids_is_refused(tmp_path):
    prefix = tmp_path / "other"
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["ab"] * 5),
        model_prefix=str(prefix),
        model_type="char",
        vocab_size=6,
        minloglevel=3,
    )
    with pytest.raises(ValueError, match="must be 0, 1, 2 and 3. Received: -1, 0, 1, 2"):
        Subwords(prefix.with_suffix(".model").read_bytes())
